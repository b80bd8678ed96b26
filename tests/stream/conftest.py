"""What tests of commands need: topics on a real broker, an index of flights, and an event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.stream.command_line import CommandLine
from tests.stream.index_commands import EVENT, event_file, flights_index


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


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index directory of subscriptions to flights."""
    return flights_index(tmp_path_factory.mktemp("cli-index"))


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with a flight that gives weights."""
    return event_file(tmp_path_factory.mktemp("event"), EVENT)


@pytest.fixture(scope="module")
def plain_event(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same without weights."""
    return event_file(tmp_path_factory.mktemp("plain-event"), {k: v for k, v in EVENT.items() if k != "$weights"})
