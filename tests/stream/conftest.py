"""What tests of commands need: topics on a real broker, a terminal, an index of flights, and an event."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stream import console, index_commands
from tests.stream.command_line import CommandLine


@pytest.fixture(scope="module")
def tocsin(broker: Any) -> CommandLine:
    """A command line whose topics are there, shared by a module's tests."""
    line = CommandLine(broker.bootstrap_servers)
    assert line("topics").returncode == 0
    return line


@pytest.fixture
def fresh(broker: Any) -> CommandLine:
    """A command line whose topics do not exist."""
    return CommandLine(broker.bootstrap_servers)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A pseudo-terminal: (our side, the side that the command gets)."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index directory of subscriptions to flights."""
    return index_commands.flights_index(tmp_path_factory.mktemp("cli-index"))


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with a flight that gives weights."""
    return index_commands.event_file(tmp_path_factory.mktemp("event"))


@pytest.fixture(scope="module")
def plain_event(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same without weights."""
    return console.event_file(tmp_path_factory.mktemp("plain-event"))
