"""Commands that write to the topics: topics, subscribe, unsubscribe, publish."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from stream.commands.publish import CATCH_UP
from tests.stream.command_line import PATIENCE, CommandLine
from tests.waiting import wait_for


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
    assert result.stderr.endswith("; 1 without 'geo.id', and so without a key\n")
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
    wait_for(lambda: len(fresh.records(fresh.events)) == 1, PATIENCE)
    time.sleep(0.5)  # as long as the ten that follow take
    _, told = running.communicate(b'{"n": 2}\n' * 10, PATIENCE)
    assert "published 11 events" in told.decode()
    times = sorted(fresh.timestamps(fresh.events))
    assert len(times) == 11
    assert times[-1] - times[1] >= 450 - 1000 * CATCH_UP - 2
