"""What the disk refuses is a sentence with the cure, whatever the operation."""

from __future__ import annotations

import re
from inspect import isfunction
from pathlib import Path
from typing import Any

import pytest

from index import local_files
from schemas.errors import TocsinError

OPERATIONS: dict[str, tuple[Any, ...]] = {
    "make_folder": (),
    "write_new": ([b""],),
    "create_exclusive": (b"",),
    "read": (),
    "map_readonly": (),
    "is_there": (),
    "remove": (),
    "touch": (),
    "names": (),
    "folders": (),
    "ages": ("",),
    "age": (),
    "length": (),
}
"""All that ask the disk for something, with what they take beside a path."""


def test_no_operation_is_left_out() -> None:
    own = (name for name, it in vars(local_files).items() if isfunction(it) and it.__module__ == local_files.__name__)
    assert {name for name in own if not name.startswith("_")} - {"forget"} == set(OPERATIONS)


@pytest.mark.parametrize(("name", "more"), OPERATIONS.items(), ids=OPERATIONS)
def test_a_refusal_is_a_sentence_with_the_cure(name: str, more: tuple[Any, ...], tmp_path: Path) -> None:
    file = tmp_path / "a-file"
    file.write_bytes(b"x")
    with pytest.raises(TocsinError) as caught:
        getattr(local_files, name)(file / "beneath", *more)
    said = rf"Cannot (write|remove|read) {re.escape(str(file))}/beneath: Not a directory\. The index .*"
    assert re.fullmatch(said + r"; .* name another index directory\.", str(caught.value))
