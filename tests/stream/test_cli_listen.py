"""listen: what it shows of notifications, in a pipe and in a terminal, and when it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

from tests.stream.command_line import PATIENCE, CommandLine


def notification(subscription: str, score: float, offset: int) -> dict[str, Any]:
    event = {"topic": "e", "partition": 0, "offset": offset, "key": None, "time": "2026-03-01T12:00:00.000Z"}
    body = {"subscription": subscription, "score": score, "rank": 1, "event": event, "labels": {"desk": "ops"}}
    return {"key": subscription, "value": json.dumps(body)}


def test_listen_prints_the_topic_s_bytes_one_notification_a_line(fresh: CommandLine) -> None:
    fresh("topics")
    sent = [notification("s-1", 1.25, n) for n in range(3)] + [notification("s-2", 0.5, 9)]
    fresh.produce(fresh.notifications, sent)
    all_of_them = fresh("listen", "--from-beginning", "--count", "4")
    assert all_of_them.returncode == 0
    assert sorted(all_of_them.stdout.splitlines()) == sorted(record["value"] for record in sent)
    one = fresh("listen", "--from-beginning", "--subscription", "s-2", "--count", "1")
    assert one.stdout.splitlines() == [sent[-1]["value"]]


def test_listen_hears_what_comes_after_it_began_and_nothing_before(fresh: CommandLine) -> None:
    fresh("topics")
    fresh.produce(fresh.notifications, [notification("old", 1, 0)])
    process = fresh.start("listen", "--count", "1", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert b"listening" in process.stderr.readline()
    fresh.produce(fresh.notifications, [notification("new", 1, 1)])
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert json.loads(out)["subscription"] == "new"


def test_listen_ends_quietly_on_ctrl_c(tocsin: CommandLine) -> None:
    process = tocsin.start("listen", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err == b""


def test_listen_ends_when_its_reader_has_gone(fresh: CommandLine) -> None:
    """`tocsin listen | head -n 1` ends with head, also when no further notification ever comes."""
    fresh("topics")
    fresh.produce(fresh.notifications, [notification("s-1", 1, 0)])
    reader, writer = os.pipe()
    process = fresh.start("listen", "--from-beginning", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert os.read(reader, 10)
    os.close(reader)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 141
    assert b"Traceback" not in err


def test_listen_shows_a_table_in_a_terminal(fresh: CommandLine) -> None:
    fresh("topics")
    fresh.produce(fresh.notifications, [notification("late-\x1b[31mjfk", 1.25, 0)])
    code, screen = fresh.on_a_terminal("listen", "--from-beginning", "--count", "1", columns=120)
    assert code == 0
    assert "1 notification" in screen
    assert "desk=ops" in screen
    assert "late-\\x1b[31mjfk" in screen  # a record does not steer the terminal


FOREIGN = [
    "not JSON",
    "[]",
    "{}",
    json.dumps(notification("x", 1, 0)["value"]),
    '{"event": {"topic": "e"}, "subscription": "s-1"}',
    '{"event": null, "subscription": "s-1", "score": 1.0, "rank": 1, "labels": {}}',
    "[" * 100_000,
    '{"more": ' + "[" * 100_000,
]
"""Values on a topic of notifications that somebody else has written."""


def test_listen_passes_over_what_is_no_notification(fresh: CommandLine) -> None:
    fresh("topics")
    fresh.produce(fresh.notifications, [{"key": "s-1", "value": value} for value in FOREIGN])
    of_event = {"event": json.loads(notification("", 1, 7)["value"])["event"]}
    of_event["matches"] = [{"subscription": name, "score": 1, "labels": {}} for name in ("s-0", "s-1")]
    fresh.produce(fresh.notifications, [notification("s-1", 1.25, 0), {"key": "s-1", "value": json.dumps(of_event)}])
    one = fresh("listen", "--from-beginning", "--subscription", "s-1", "--count", "2")
    assert (one.returncode, len(one.stdout.splitlines())) == (0, 2)
    command = ("listen", "--from-beginning", "--count", str(len(FOREIGN) + 2))
    code, screen = fresh.on_a_terminal(*command, columns=120)
    assert code == 0
    assert f"2 notifications and {len(FOREIGN)} other records" in screen
