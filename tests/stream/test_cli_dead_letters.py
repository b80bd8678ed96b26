"""dead-letters: what it shows of records that were refused, in a pipe and in a terminal."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from datetime import UTC, datetime
from typing import Any

from schemas.records import DeadLetter
from tests.stream.command_line import PATIENCE, CommandLine

NOW = int(time.time()) * 1000
"""Milliseconds; retention could remove records with times long ago."""


def letters() -> list[dict[str, Any]]:
    bad = DeadLetter(b"s-9", b'{"filter": "a = "}', "filter.syntax", "a value was expected", "subs", 1, 17)
    binary = DeadLetter(None, b"\xff\xfe", "json.syntax", "not JSON", "events", 0, 3)
    return [
        {"key": letter.key, "value": letter.value, "headers": letter.headers(), "timestamp": NOW + n}
        for n, letter in enumerate([bad, binary], 1)
    ]


def test_dead_letters_prints_each_with_reason_and_place(fresh: CommandLine) -> None:
    fresh("topics")
    fresh.produce(fresh.dead_letters, letters())
    result = fresh("dead-letters")
    assert result.returncode == 0
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first == {
        "reason": "filter.syntax",
        "message": "a value was expected",
        "topic": "subs",
        "partition": 1,
        "offset": 17,
        "time": datetime.fromtimestamp(NOW // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.001Z"),
        "key": "s-9",
        "value": '{"filter": "a = "}',
    }
    assert second["partition"] == 0
    assert second["key"] is None
    assert second["value_base64"] == "//4="
    assert len(fresh("dead-letters", "--last", "1").stdout.splitlines()) == 1


def test_dead_letters_are_a_table_in_a_terminal(fresh: CommandLine) -> None:
    fresh("topics")
    fresh.produce(fresh.dead_letters, letters())
    code, screen = fresh.on_a_terminal("dead-letters", columns=160)
    assert code == 0
    assert "filter.syntax" in screen
    assert "base64 //4=" in screen


def test_dead_letters_follows(fresh: CommandLine) -> None:
    fresh("topics")
    process = fresh.start("dead-letters", "--follow", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stdout is not None
    assert b"no dead letters" in process.stderr.readline()
    fresh.produce(fresh.dead_letters, letters()[:1])
    assert json.loads(process.stdout.readline())["reason"] == "filter.syntax"
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    process.communicate()


def test_dead_letters_counts_what_is_none_and_shows_the_others(fresh: CommandLine) -> None:
    fresh("topics")
    mine = letters()
    headers = dict(mine[0]["headers"])
    foreign: list[dict[str, Any]] = [
        {"value": b"no headers"},
        {"value": b"x", "headers": [*(headers | {"tocsin.partition": b"two"}).items()]},
        {"value": b"x", "headers": [*(headers | {"tocsin.offset": b"\xff"}).items()]},
        {"value": b"x", "headers": [(name, value) for name, value in headers.items() if name != "tocsin.reason"]},
    ]
    fresh.produce(fresh.dead_letters, [*foreign, *mine])
    result = fresh("dead-letters")
    assert result.returncode == 0
    assert [json.loads(line)["offset"] for line in result.stdout.splitlines()] == [17, 3]
    assert "4 other records on" in result.stderr
