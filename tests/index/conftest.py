"""What many tests of the index begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.directory import IndexDirectory


@pytest.fixture
def layout(tmp_path: Path) -> IndexDirectory:
    directory = IndexDirectory.of(tmp_path / "index")
    directory.create()
    return directory
