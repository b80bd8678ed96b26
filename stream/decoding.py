"""Which decoder reads a topic's records: JSON, Avro with a schema file, or Avro framed with a registry's schema id."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

import msgspec

from schemas.avro_schemas import Registry, RegistryUnavailable, reader_of
from schemas.errors import Refused, TocsinError, first_line
from schemas.limits import Limits
from schemas.records import Event, Subscription

Format = Literal["json", "avro", "avro_registry"]
RegistryFailure = Literal["wait", "dead-letter"]

Parameters = ParamSpec("Parameters")
Decoded = TypeVar("Decoded")


class Decoding(msgspec.Struct, frozen=True):
    """How to decode one topic's values; frozen and hashable, so that a worker builds each decoder once.

    Attributes
    ----------
    format
        ``json``, ``avro`` (plain body, schema known) or ``avro_registry`` (five-byte prefix with a schema id).
    schema
        The Avro schema as JSON text; None takes the generic one that ships with Tocsin.
    registry
        Configuration of the schema registry client, as sorted (name, value) pairs.
    limits
        What a record may hold.
    registry_failure
        Whether a decoder raises RegistryUnavailable (``wait``) or Refused while the registry does not answer.
    """

    format: Format = "json"
    schema: str | None = None
    registry: tuple[tuple[str, str], ...] = ()
    limits: Limits = Limits()
    registry_failure: RegistryFailure = "wait"


EventDecoder = Callable[[bytes, int | None], Event]
SubscriptionDecoder = Callable[[str, bytes], Subscription]


def read_schema(file: Path | None) -> str | None:
    """Return the text of an Avro schema file, which then travels to the workers.

    Raises
    ------
    TocsinError
        It can't be read, or is no Avro schema, or not one of records.
    """
    if file is None:
        return None
    try:
        text = file.read_text(encoding="utf-8")
        reader_of(text)
        schema = json.loads(text)
    except OSError as error:
        said = f"the schema file {file} can't be read: {error.strerror}; correct events.schema_file"
        raise TocsinError(said) from error
    except UnicodeDecodeError as error:
        raise TocsinError(f"the schema file {file} is not UTF-8 text: {error}; correct events.schema_file") from error
    except TocsinError as error:
        raise TocsinError(f"the schema file {file} is refused: {error}") from error
    kind = schema.get("type") if isinstance(schema, dict) else schema
    if isinstance(kind, str) and kind != "record":
        raise TocsinError(
            f"the schema file {file} is refused: its schema is {kind!r}, and an event is a record, whose fields are "
            f"the attributes; correct events.schema_file"
        )
    return text


@cache
def event_decoder(decoding: Decoding) -> EventDecoder:
    """Return the function (value, event time in microseconds) -> Event; it raises Refused or RegistryUnavailable."""
    if decoding.format == "json":
        from schemas.json_event import decode_event

        return guarded(lambda value, time: decode_event(value, time, decoding.limits))
    from schemas.avro_codec import AvroEventDecoder

    avro = AvroEventDecoder(schema=decoding.schema, registry=_registry(decoding))
    return guarded(_heeding(decoding, lambda value, time: avro.decode(value, time, decoding.limits)))


@cache
def subscription_decoder(decoding: Decoding) -> SubscriptionDecoder:
    """Return the function (id, value) -> Subscription; it raises Refused or RegistryUnavailable."""
    if decoding.format == "json":
        from schemas.json_codec import decode_subscription

        return guarded(lambda id_, value: decode_subscription(id_, value, decoding.limits))
    from schemas.avro_codec import AvroSubscriptionDecoder

    avro = AvroSubscriptionDecoder(registry=_registry(decoding))
    return guarded(_heeding(decoding, lambda id_, value: avro.decode(id_, value, decoding.limits)))


def _registry(decoding: Decoding) -> Registry | None:
    if decoding.format == "avro":
        return None
    from stream.registry import RegistryClient

    return RegistryClient(dict(decoding.registry))


def _heeding(decoding: Decoding, decode: Callable[Parameters, Decoded]) -> Callable[Parameters, Decoded]:
    """Return the decoder with ``registry_failure`` heeded."""
    if decoding.registry_failure == "wait":
        return decode

    @wraps(decode)
    def refusing(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Decoded:
        try:
            return decode(*args, **kwargs)
        except RegistryUnavailable as error:
            raise Refused("registry.unavailable", str(error)) from error

    return refusing


def guarded(decode: Callable[Parameters, Decoded]) -> Callable[Parameters, Decoded]:
    """Return the decoder with whatever else it may raise made a refusal, unless it is the machine's fault.

    A record on a topic stays there: one that ended the job would end it again after each restart.
    """

    @wraps(decode)
    def refusing(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Decoded:
        try:
            return decode(*args, **kwargs)
        except (TocsinError, MemoryError, OSError):
            raise
        except Exception as error:
            raise Refused(
                "record.unforeseen",
                f"to read this record ended in {type(error).__name__}: {first_line(error):.200}; that is a fault of "
                "Tocsin's own, please report it with the record, and until it is mended change what the error names",
            ) from error

    return refusing
