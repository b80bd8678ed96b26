"""Avro schemas ready to read with: the two that ship with Tocsin, a file's, or a registry's by the record's prefix."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any, Literal, Protocol

from fastavro import parse_schema, schemaless_reader
from fastavro._read_py import schemaless_reader as python_reader

from schemas.errors import Refused, TocsinError

Kind = Literal["event", "subscription"]
"""Which record is read; refusal codes begin with it."""

PREFIX_BYTES = 5
"""Of a registry's prefix: a zero byte, then the schema's id as a big-endian 32-bit integer."""


class RegistryUnavailable(TocsinError):
    """The schema registry can't be asked just now; nothing is wrong with the record, and trying again may help."""


class Registry(Protocol):
    """What is used of confluent-kafka's ``SchemaRegistryClient``."""

    def get_schema(self, schema_id: int) -> Any:
        """Return the schema registered under an id."""

    def get_version(self, subject_name: str, version: int) -> Any:
        """Return one registered version of a subject."""


class AvroReader:
    """Reads record bodies of one writer's schema.

    fastavro's compiled reader has no bound on recursion, so a deeply nested record of a recursive schema would end the
    process; such schemas are read by its Python twin, which raises RecursionError.
    """

    def __init__(self, schema: Any, named: dict[str, Any] | None = None) -> None:
        known: dict[str, Any] = {} if named is None else named
        self.schema = parse_schema(schema, named_schemas=known)
        self.name: str | None = self.schema.get("name") if isinstance(self.schema, dict) else None
        self._read = python_reader if _is_recursive(self.schema, known) else schemaless_reader

    def read(self, body: bytes, kind: Kind) -> Any:
        """Return the record that a body holds, to its last byte.

        Raises
        ------
        Refused
            ``<kind>.avro``, or ``event.too_deep`` or ``expression.too_deep``.
        """
        stream = BytesIO(body)
        try:
            record = self._read(stream, self.schema, None)
        except RecursionError:
            code = "event.too_deep" if kind == "event" else "expression.too_deep"
            raise Refused(code, f"the {kind} is nested far too deep; flatten it") from None
        except Exception as error:  # the reader raises whatever the types it builds raise
            raise Refused(
                f"{kind}.avro",
                f"the {kind} is not a record of the schema {self.name or 'given'}: {type(error).__name__} {error}; "
                "check that producer and job use the same schema, and the same framing",
                f"byte {stream.tell()}",
            ) from None
        if stream.tell() != len(body):
            raise Refused(
                f"{kind}.avro",
                f"{len(body) - stream.tell():,} bytes follow the record; check that producer and job use the same "
                "schema",
                f"byte {stream.tell()}",
            )
        return record


@cache
def generic_event() -> AvroReader:
    """Return the reader of ``event.avsc``."""
    return AvroReader(_shipped("event.avsc"))


@cache
def subscription() -> AvroReader:
    """Return the reader of ``subscription.avsc``."""
    return AvroReader(_shipped("subscription.avsc"))


def reader_of(schema: str | dict[str, Any] | list[Any]) -> AvroReader:
    """Return the reader of a schema given in the settings, as JSON text or already parsed.

    Raises
    ------
    TocsinError
        It is no Avro schema.
    """
    try:
        return AvroReader(json.loads(schema) if isinstance(schema, str) else schema)
    except Exception as error:  # fastavro raises several types over schemas that are none
        raise TocsinError(f"the Avro schema can't be used: {error}; give a valid .avsc file") from error


class RegistryReaders:
    """The readers of framed records, one a schema id; each id is asked for once."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._readers: dict[int, AvroReader] = {}

    def split(self, value: bytes, kind: Kind) -> tuple[AvroReader, bytes]:
        """Return the reader that a framed record names, and the record's body.

        Raises
        ------
        Refused
            ``<kind>.avro_prefix``, ``registry.schema_unknown`` or ``registry.schema_invalid``.
        RegistryUnavailable
            The registry did not answer, or not to this client.
        """
        if len(value) < PREFIX_BYTES or value[0] != 0:
            raise Refused(
                f"{kind}.avro_prefix",
                f"the {kind} does not begin with a schema registry's prefix, a zero byte and four bytes of schema id; "
                "produce it with a registry serializer, or set the topic's format to avro",
                "byte 0",
            )
        schema_id = int.from_bytes(value[1:PREFIX_BYTES], "big")
        reader = self._readers.get(schema_id)
        if reader is None:
            reader = self._readers[schema_id] = self._fetch(schema_id)
        return reader, value[PREFIX_BYTES:]

    def _fetch(self, schema_id: int) -> AvroReader:
        registered = self._ask(schema_id, lambda: self._registry.get_schema(schema_id))
        if registered.schema_type not in (None, "AVRO"):
            raise _invalid(schema_id, f"it is of type {registered.schema_type}, not AVRO")
        named: dict[str, Any] = {}
        self._add_references(schema_id, registered, named)
        try:
            return AvroReader(json.loads(registered.schema_str), named)
        except Exception as error:  # fastavro raises several types over schemas that are none
            raise _invalid(schema_id, str(error)) from None

    def _add_references(self, schema_id: int, registered: Any, named: dict[str, Any]) -> None:
        """Parse the schemas that a schema refers to, those they refer to first."""
        for reference in registered.references or ():

            def ask(subject: str = reference.subject, version: int = reference.version) -> Any:
                return self._registry.get_version(subject, version).schema

            referred = self._ask(schema_id, ask)
            self._add_references(schema_id, referred, named)
            try:
                parse_schema(json.loads(referred.schema_str), named_schemas=named)
            except Exception as error:
                raise _invalid(schema_id, f"its reference {reference.name}: {error}") from None

    def _ask(self, schema_id: int, question: Any) -> Any:
        # the client's package takes long to import, and only framed records need it
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return question()
        except SchemaRegistryError as error:
            if error.http_status_code == 404:
                raise Refused(
                    "registry.schema_unknown",
                    f"the schema registry knows no schema {schema_id}; check that the producer uses the same registry",
                    "byte 1",
                ) from None
            raise RegistryUnavailable(f"the schema registry refused to give schema {schema_id}: {error}") from error
        except Exception as error:  # the transport's errors, whichever it is
            raise RegistryUnavailable(
                f"the schema registry can't be reached for schema {schema_id}: {type(error).__name__} {error}; "
                "check the setting registry.url and that the registry runs"
            ) from error


def _shipped(name: str) -> Any:
    return json.loads(files("schemas").joinpath(name).read_text(encoding="utf-8"))


def _invalid(schema_id: int, reason: str) -> Refused:
    return Refused("registry.schema_invalid", f"the registry's schema {schema_id} can't be used: {reason}", "byte 1")


def _is_recursive(schema: Any, named: dict[str, Any]) -> bool:
    """Return whether a parsed schema holds a type that contains itself, at any depth."""
    return _reaches_itself(schema, named, frozenset(), set())


def _reaches_itself(schema: Any, named: dict[str, Any], inside: frozenset[str], done: set[str]) -> bool:
    """Walk into each named type once: ``done`` holds those that are known not to reach themselves."""
    if isinstance(schema, list):
        return any(_reaches_itself(branch, named, inside, done) for branch in schema)
    if isinstance(schema, str):
        if schema in inside:
            return True
        return schema in named and _reaches_itself(named[schema], named, inside, done)
    name = schema.get("name")
    if name in done:
        return False
    if name is not None:
        inside = inside | {name}
    parts = [schema.get("items"), schema.get("values"), *(field["type"] for field in schema.get("fields", ()))]
    found = any(_reaches_itself(part, named, inside, done) for part in parts if part is not None)
    if name is not None and not found:
        done.add(name)
    return found
