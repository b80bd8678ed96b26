"""What the job refuses about Avro when it starts: schema files and the registry's client."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.errors import TocsinError
from stream.decoding import read_schema
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


def test_properties_of_the_registry_are_text_and_unknown_ones_are_refused() -> None:
    RegistryClient({"url": "http://127.0.0.1:1", "timeout": "0.5", "max.retries": "3", "cache.capacity": "10"})
    with pytest.raises(TocsinError, match=r"the table registry is refused .*no\.such"):
        RegistryClient({"url": "http://127.0.0.1:1", "no.such": "1"})
    with pytest.raises(TocsinError, match="the table registry is refused"):
        RegistryClient({"url": "http://127.0.0.1:1", "timeout": "soon"})
