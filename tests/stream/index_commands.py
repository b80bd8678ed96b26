"""The commands that look into an index directory, run as a shell would or in this process, with an index for them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

from index.block.engine import BlockEngine
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.filter_text import parse_filter
from schemas.json_codec import decode_subscription
from schemas.records import Subscription
from tests.stream import console
from tests.stream.console import ESCAPE

FILTERS = {
    "late-jfk": "origin = 'JFK' and dep_delay > 60 and (gate exists or not carrier = 'AA')",
    "hub-fan": "origin in ('JFK'^0.5, 'LGA'^0.2) and (carrier = 'B6'^2 or carrier = 'AA'^3)",
    "not-ua": "carrier != 'UA'",
    "same-jfk": "(not carrier = 'AA' or gate exists) and dep_delay > 60.0 and origin = 'JFK'",
    "far": "origin = 'EWR' and dep_delay > 600 and gate exists",
}
EVENT = {"origin": "JFK", "dep_delay": 75, "carrier": ["B6", "AA"], "$weights": {"carrier": {"B6": 0.5}}}


def flights_index(folder: Path) -> Path:
    """Publish a version with `FILTERS` and a subscription that has expired."""
    path = folder / "index"
    subscriptions = [
        decode_subscription(id_, json.dumps({"filter": text, "priority": 1}).encode()) for id_, text in FILTERS.items()
    ]
    expired = Subscription("expired", parse_filter("origin = 'JFK'"), not_after=1_000_000)
    IndexWriter(path).publish([write_segment(path, BlockEngine(), [*subscriptions, expired])], [], {0: 6})
    return path


def event_file(folder: Path, event: dict[str, Any]) -> str:
    """Write an event and return where it is."""
    file = folder / "event.json"
    file.write_text(json.dumps(event))
    return str(file)


def on_a_terminal(stream: Literal["stdout", "stderr"], *arguments: str, index: Path) -> tuple[int, str]:
    """Run the console script, one of its streams a terminal with colours; return the code and what came there."""
    environment = os.environ | {"TERM": "xterm-256color", "TOCSIN_JOB__INDEX_DIR": str(index)}
    environment.pop("NO_COLOR", None)
    return console.on_a_terminal(stream, *arguments, environment=environment)


class Said(NamedTuple):
    """What a command printed, and how it ended."""

    stdout: str
    stderr: str
    returncode: int


def run(index: Path, *arguments: str) -> Said:
    """Run the console script as a shell would, in a pipe."""
    result = console.tocsin(*arguments, seconds=120, TOCSIN_JOB__INDEX_DIR=str(index))
    return Said(result.stdout, result.stderr, result.returncode)


def tocsin(index: Path, *arguments: str, stdin: str = "") -> Said:
    """Run a command in this process."""
    result = console.in_process(*arguments, stdin=stdin, TOCSIN_JOB__INDEX_DIR=str(index))
    return Said(result.stdout, result.stderr, result.exit_code)


def lines(result: Said) -> list[str]:
    assert (result.returncode, result.stderr) == (0, "")
    assert ESCAPE not in result.stdout
    return [line.rstrip() for line in result.stdout.splitlines()]


def records(result: Said) -> list[Any]:
    return [json.loads(line) for line in lines(result)]
