"""Decoders of the job: what they refuse about Avro when it starts, and that no record ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.avro_schemas import RegistryUnavailable
from schemas.errors import Refused, TocsinError
from schemas.limits import Limits
from stream.decoding import Decoding, Format, event_decoder, guarded, read_schema, subscription_decoder
from stream.registry import RegistryClient


def test_a_schema_file_that_is_missing_or_no_schema_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TocsinError, match=r"none\.avsc can't be read: .*; correct events\.schema_file"):
        read_schema(tmp_path / "none.avsc")
    (tmp_path / "bad.avsc").write_text('{"type": "record"}')
    with pytest.raises(TocsinError, match=r"bad\.avsc is refused: the Avro schema can't be used"):
        read_schema(tmp_path / "bad.avsc")
    (tmp_path / "good.avsc").write_text('{"type": "record", "name": "R", "fields": []}')
    assert read_schema(tmp_path / "good.avsc") == '{"type": "record", "name": "R", "fields": []}'
    assert read_schema(None) is None
    for text, said in (
        (b'"string"', "its schema is 'string', and an event is a record"),
        (b'{"type": "array", "items": "long"}', "its schema is 'array', and an event is a record"),
        (b'{"type": "record", "name": "\xff"}', r"is not UTF-8 text: .*; correct events\.schema_file"),
    ):
        (tmp_path / "other.avsc").write_bytes(text)
        with pytest.raises(TocsinError, match=rf"the schema file \S+other\.avsc .*{said}"):
            read_schema(tmp_path / "other.avsc")


def test_properties_of_the_registry_are_text_and_unknown_ones_are_refused() -> None:
    RegistryClient({"url": "http://127.0.0.1:1", "timeout": "0.5", "max.retries": "3", "cache.capacity": "10"})
    with pytest.raises(TocsinError, match=r"the table registry is refused .*no\.such"):
        RegistryClient({"url": "http://127.0.0.1:1", "no.such": "1"})
    with pytest.raises(TocsinError, match="the table registry is refused"):
        RegistryClient({"url": "http://127.0.0.1:1", "timeout": "soon"})


def test_a_record_over_which_a_decoder_fails_is_refused_unless_the_machine_fails() -> None:
    def decode(error: Exception) -> None:
        raise error

    with pytest.raises(Refused, match=r"ended in OverflowError: too large; .* report it with the record") as caught:
        guarded(decode)(OverflowError("too large\nand more"))
    assert caught.value.code == "record.unforeseen"
    with pytest.raises(Refused, match="ended in KeyError: 'x'; "):
        guarded(decode)(KeyError("x"))
    for error in (RegistryUnavailable("the registry is away"), MemoryError(), ConnectionResetError()):
        with pytest.raises(type(error)) as same:
            guarded(decode)(error)
        assert same.value is error


@pytest.mark.parametrize("format_", ["json", "avro", "avro_registry"])
def test_every_decoder_of_the_job_is_guarded(format_: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("so")

    for name in ("json_event.decode_event", "json_codec.decode_subscription"):
        monkeypatch.setattr(f"schemas.{name}", broken)
    for name in ("AvroEventDecoder", "AvroSubscriptionDecoder"):
        monkeypatch.setattr(f"schemas.avro_codec.{name}.decode", broken)
    decoding = Decoding(format=format_, registry=(("url", "http://127.0.0.1:1"),), limits=Limits(depth=7))
    with pytest.raises(Refused, match="ZeroDivisionError: so"):
        event_decoder(decoding)(b"{}", None)
    with pytest.raises(Refused, match="ZeroDivisionError: so"):
        subscription_decoder(decoding)("s", b"{}")


@pytest.mark.parametrize("format_", ["json", "avro", "avro_registry"])
def test_every_decoder_of_the_job_heeds_the_limits(format_: Format) -> None:
    decoding = Decoding(format=format_, registry=(("url", "http://127.0.0.1:1"),), limits=Limits(record_bytes=8))
    with pytest.raises(Refused, match=r"limits\.record_bytes"):
        event_decoder(decoding)(b" " * 9, None)
    with pytest.raises(Refused, match=r"limits\.record_bytes"):
        subscription_decoder(decoding)("s", b" " * 9)
