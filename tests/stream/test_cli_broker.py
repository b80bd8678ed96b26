"""The command line against the embedded broker: what it puts on the topics, what it shows of them, how it fails."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.records import DeadLetter
from stream.commands.publish import CATCH_UP
from tests.stream.command_line import PATIENCE, CommandLine


@pytest.fixture(scope="module")
def tocsin(broker: Any) -> CommandLine:
    line = CommandLine(broker.bootstrap_servers)
    assert line("topics").returncode == 0
    return line


@pytest.fixture
def fresh(broker: Any) -> CommandLine:
    """A command line whose topics do not exist."""
    return CommandLine(broker.bootstrap_servers)


def notification(subscription: str, score: float, offset: int) -> dict[str, Any]:
    event = {"topic": "e", "partition": 0, "offset": offset, "key": None, "time": "2026-03-01T12:00:00.000Z"}
    body = {"subscription": subscription, "score": score, "rank": 1, "event": event, "labels": {"desk": "ops"}}
    return {"key": subscription, "value": json.dumps(body)}


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_topics_creates_the_four_topics_and_finds_them_the_second_time(fresh: CommandLine) -> None:
    names = [fresh.events, fresh.subscriptions, fresh.notifications, fresh.dead_letters]
    first, second = fresh("topics"), fresh("topics")
    assert first.returncode == second.returncode == 0
    assert first.stdout.split() == second.stdout.split() == names
    assert all(f"created {name}" in first.stderr for name in names)
    assert second.stderr == ""


def test_subscribe_puts_the_filter_on_the_topic_and_unsubscribe_a_null_value(tocsin: CommandLine) -> None:
    result = tocsin(
        *("subscribe", "s-1", "price > 5 and kind = 'a'^2", "--priority", "1.5"),
        *("--label", "desk=ops", "--label", "note=a=b"),
        *("--not-before", "2026-01-01", "--not-after", "2026-12-31T00:00:00Z"),
    )
    assert (result.returncode, result.stdout) == (0, "")
    assert "subscribed s-1" in result.stderr
    assert tocsin("unsubscribe", "s-1").returncode == 0
    assert [value for key, value in tocsin.records(tocsin.subscriptions) if key == b"s-1"] == [
        {
            "filter": "price > 5 and kind = 'a'^2",
            "priority": 1.5,
            "not_before": "2026-01-01T00:00:00Z",
            "not_after": "2026-12-31T00:00:00Z",
            "labels": {"desk": "ops", "note": "a=b"},
        },
        None,
    ]


def test_subscribe_takes_a_tree_a_filter_from_stdin_and_a_mode(tocsin: CommandLine) -> None:
    tree = {"op": "in", "attribute": "kind", "values": ["a", 1, True]}
    assert tocsin("subscribe", "tree", "--expression", json.dumps(tree)).returncode == 0
    assert tocsin("subscribe", "text", "@-", stdin="kind = 'a'\n  or kind = 'b'\n").returncode == 0
    assert tocsin("subscribe", "part", "a = 1^2 and b > 1", "--mode", "threshold", "--threshold", "0.5").returncode == 0
    records = dict(tocsin.records(tocsin.subscriptions))
    assert records[b"part"] == {"filter": "a = 1^2 and b > 1", "mode": "threshold", "threshold": 0.5}
    assert records[b"tree"] == {"expression": tree}
    assert records[b"text"] == {"filter": "kind = 'a'\n  or kind = 'b'"}


def test_subscribe_warns_of_a_filter_that_can_never_match_and_sends_it_all_the_same(tocsin: CommandLine) -> None:
    result = tocsin("subscribe", "never", "a = 1 and length(b) < 0")
    assert result.returncode == 0
    warning, said = result.stderr.splitlines()
    assert warning == 'tocsin: warning: no event can match this filter because "length(b) < 0" never holds'
    assert said.startswith("subscribed never")
    assert b"never" in dict(tocsin.records(tocsin.subscriptions))


def test_a_refused_subscription_is_not_sent(tocsin: CommandLine) -> None:
    result = tocsin("subscribe", "bad", "price between 20 and 10")
    assert result.returncode == 1
    assert result.stderr.startswith("tocsin: ")
    assert b"bad" not in dict(tocsin.records(tocsin.subscriptions))


def test_the_first_subscription_creates_a_compacted_topic(fresh: CommandLine) -> None:
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

    assert fresh("subscribe", "s-1", "a = 1").returncode == 0
    resource = ConfigResource(ResourceType.TOPIC, fresh.subscriptions)
    admin = AdminClient({"bootstrap.servers": fresh.bootstrap})
    (answer,) = admin.describe_configs([resource]).values()
    assert answer.result(PATIENCE)["cleanup.policy"].value == "compact"


def test_publish_sends_each_line_with_its_key(fresh: CommandLine, tmp_path: Path) -> None:
    lines = ['{"geo": {"id": "a"}, "n": 1}', "", '{"geo": {"id": 7}}', '{"geo": {"id": true}}', '{"n": 2}']
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(lines))
    result = fresh("publish", str(file), "--key-field", "geo.id")
    assert (result.returncode, result.stdout) == (0, "")
    assert "published 4 events" in result.stderr
    keyed = sorted(fresh.records(fresh.events), key=lambda record: str(record[0]))
    assert keyed == [
        (None, {"n": 2}),
        (b"7", {"geo": {"id": 7}}),
        (b"a", {"geo": {"id": "a"}, "n": 1}),
        (b"true", {"geo": {"id": True}}),
    ]


def test_publish_stops_at_the_first_bad_line_and_names_it(fresh: CommandLine) -> None:
    result = fresh("publish", "-", stdin='{"n": 1}\n{"n": 2}\nnonsense\n{"n": 3}\n')
    assert result.returncode == 1
    assert "line 3" in result.stderr
    assert "published 2 events" in result.stderr
    assert sorted(value["n"] for _, value in fresh.records(fresh.events)) == [1, 2]


def test_publish_goes_on_after_bad_lines_when_told_to(fresh: CommandLine) -> None:
    result = fresh("publish", "-", "--skip-bad", stdin='{"n": 1}\n[2]\n{"n": 3}\n{"n": \n')
    assert result.returncode == 0
    assert "line 2 skipped" in result.stderr
    assert "line 4 skipped" in result.stderr
    assert "published 2 events" in result.stderr
    assert sorted(value["n"] for _, value in fresh.records(fresh.events)) == [1, 3]


def test_publish_keeps_to_the_rate(fresh: CommandLine) -> None:
    """Eleven events at 20 a second span ten intervals of 50 ms, but for what a late one may be made up for."""
    assert fresh("publish", "-", "--rate", "20", stdin='{"n": 1}\n' * 11).returncode == 0
    times = fresh.timestamps(fresh.events)
    assert len(times) == 11
    assert max(times) - min(times) >= 500 - 1000 * CATCH_UP - 2  # milliseconds, each rounded down


def test_publish_does_not_make_up_for_a_pause_by_a_burst(fresh: CommandLine) -> None:
    fresh("topics")
    running = fresh.start("publish", "-", "--rate", "20", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdin is not None
    running.stdin.write(b'{"n": 1}\n')
    running.stdin.flush()
    wait_for(lambda: len(fresh.records(fresh.events)) == 1)
    time.sleep(0.5)  # as long as the ten that follow take
    _, told = running.communicate(b'{"n": 2}\n' * 10, PATIENCE)
    assert "published 11 events" in told.decode()
    times = sorted(fresh.timestamps(fresh.events))
    assert len(times) == 11
    assert times[-1] - times[1] >= 450 - 1000 * CATCH_UP - 2


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


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A pseudo-terminal: (our side, the side that the command gets)."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)


def read_terminal(side: int) -> str:
    chunks = []
    try:
        while chunk := os.read(side, 65536):
            chunks.append(chunk)
    except OSError:
        pass  # the other side was closed: how Linux says end of file here
    return b"".join(chunks).decode()


def test_listen_shows_a_table_in_a_terminal(fresh: CommandLine, terminal: tuple[int, int]) -> None:
    fresh("topics")
    fresh.produce(fresh.notifications, [notification("late-\x1b[31mjfk", 1.25, 0)])
    fresh.environment |= {"TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    ours, theirs = terminal
    process = fresh.start("listen", "--from-beginning", "--count", "1", stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    screen = read_terminal(ours)
    assert process.wait(PATIENCE) == 0
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


def test_listen_passes_over_what_is_no_notification(fresh: CommandLine, terminal: tuple[int, int]) -> None:
    fresh("topics")
    fresh.produce(fresh.notifications, [{"key": "s-1", "value": value} for value in FOREIGN])
    of_event = {"event": json.loads(notification("", 1, 7)["value"])["event"]}
    of_event["matches"] = [{"subscription": name, "score": 1, "labels": {}} for name in ("s-0", "s-1")]
    fresh.produce(fresh.notifications, [notification("s-1", 1.25, 0), {"key": "s-1", "value": json.dumps(of_event)}])
    one = fresh("listen", "--from-beginning", "--subscription", "s-1", "--count", "2")
    assert (one.returncode, len(one.stdout.splitlines())) == (0, 2)
    fresh.environment |= {"TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    ours, theirs = terminal
    command = ("listen", "--from-beginning", "--count", str(len(FOREIGN) + 2))
    process = fresh.start(*command, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    screen = read_terminal(ours)
    assert process.wait(PATIENCE) == 0
    assert f"2 notifications and {len(FOREIGN)} other records" in screen


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


def test_dead_letters_are_a_table_in_a_terminal(fresh: CommandLine, terminal: tuple[int, int]) -> None:
    fresh("topics")
    fresh.produce(fresh.dead_letters, letters())
    fresh.environment |= {"TERM": "xterm", "COLUMNS": "160", "LINES": "40"}
    ours, theirs = terminal
    process = fresh.start("dead-letters", stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    screen = read_terminal(ours)
    assert process.wait(PATIENCE) == 0
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


def test_without_a_broker_each_command_says_so_in_one_sentence() -> None:
    line = CommandLine("localhost:1")
    calls = [["listen"], ["subscribe", "s", "a = 1"], ["dead-letters"], ["topics"], ["run"], ["publish", os.devnull]]
    processes = [line.start(*call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for call in calls]
    for call, process in zip(calls, processes, strict=True):
        out, err = process.communicate(timeout=PATIENCE)
        said = err.decode()
        assert process.returncode == 1, call
        assert out == b"", call
        assert said.startswith("tocsin: "), call
        assert "localhost:1" in said, call
        assert "tocsin broker" in said, call
        assert len(said.splitlines()) == 1, call


def test_the_broker_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    line = CommandLine("")
    data = tmp_path / "data"
    process = line.start(
        *("broker", "--port", "0", "--data", str(data)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    address = process.stdout.readline().decode().strip()
    line.environment["TOCSIN_KAFKA__BOOTSTRAP_SERVERS"] = address
    assert line("topics").returncode == 0
    taken = line("broker", "--port", address.rpartition(":")[2], "--data", str(tmp_path / "other"))
    assert taken.returncode == 1
    assert "is taken" in taken.stderr
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert b"Traceback" not in err
    assert data.exists()


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
