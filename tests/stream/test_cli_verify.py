"""``tocsin verify``: the index against brute force, with the events of a file and with those of the topic."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index.block.engine import BlockEngine
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.filter_text import parse_filter
from schemas.records import Event, Subscription
from stream.commands import sample
from stream.decoding import Decoding
from stream.settings import load_settings
from tests.conftest import BrokerAddress
from tests.stream.command_line import CommandLine
from tests.stream.index_commands import EVENT, lines, records, run, tocsin


def test_verify_ends_with_0_when_nothing_differs(index: Path, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(json.dumps(EVENT | {"dep_delay": delay}) for delay in range(0, 1_000, 10)))
    (said,) = lines(run(index, "verify", str(file), "--sample", "40"))
    assert said.startswith("version 1: 40 events × 6 subscriptions: ")
    assert said.endswith(" matches, no difference")
    (plain,) = records(tocsin(index, "verify", str(file), "--json"))
    assert (plain["events"], plain["differing"], plain["complete"]) == (50, 0, True)
    assert plain["matches"] == 100


def test_verify_leaves_out_what_is_no_event_and_says_so(index: Path) -> None:
    result = tocsin(index, "verify", "-", stdin='{"a": 1}\n\n[1]\nnonsense\n')
    assert result.returncode == 0
    assert "1 event ×" in result.stdout
    assert result.stderr == "2 records left out, no events that the job would accept\n"
    nothing = tocsin(index, "verify", "-", stdin="")
    assert (nothing.returncode, nothing.stderr.startswith("tocsin: there are no events")) == (1, True)


def test_verify_ends_with_1_and_explains_each_difference(index: Path, event: str, tmp_path: Path) -> None:
    """The engine's arrays are those of other subscriptions than the bodies, as after a bug in the engine."""
    bad = tmp_path / "bad"
    swapped = [Subscription(id_, parse_filter("origin = 'LGA'")) for id_ in ("a", "b")]
    told = [Subscription(id_, parse_filter("origin = 'JFK'^2")) for id_ in ("a", "b")]

    class Wrong(BlockEngine):
        def build(self, subscriptions: Any, statistics: Any = None) -> Any:
            return super().build(swapped, statistics)

    IndexWriter(bad).publish([write_segment(bad, Wrong(), told)], [], {})
    result = run(bad, "verify", event)
    assert (result.returncode, result.stderr) == (1, "")
    shown = result.stdout.splitlines()
    assert shown[0] == "version 1: 1 event × 2 subscriptions: 2 matches, 2 differences"
    assert "a: the index says no match, brute force says a match of score 2, for the event" in shown
    assert "a matches, score 2" in shown
    (plain,) = [json.loads(line) for line in tocsin(bad, "verify", event, "--json").stdout.splitlines()]
    assert [(d["subscription"], d["expected"], d["found"]) for d in plain["differences"]] == [
        ("a", 2.0, None),
        ("b", 2.0, None),
    ]
    assert plain["differences"][0]["explanation"]["matches"] is True


def test_the_latest_events_of_the_topic_are_matched_and_nothing_is_created(
    broker: BrokerAddress, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    late = Subscription("late", parse_filter("dep_delay >= 15"))
    IndexWriter(index).publish([write_segment(index, BlockEngine(), [late])], [], {})
    tocsin = CommandLine(broker.bootstrap_servers)
    missing = tocsin("verify", "--index", str(index))
    assert missing.returncode == 1
    assert f"there is no topic {tocsin.events}" in missing.stderr
    again = tocsin("verify", "--index", str(index))
    assert f"there is no topic {tocsin.events}" in again.stderr

    tocsin("publish", "-", "--key-field", "n", stdin="\n".join(f'{{"n": {n}, "dep_delay": {n}}}' for n in range(20)))
    everything = tocsin("verify", "--index", str(index), "--json", "--sample", "1000")
    assert everything.returncode == 0, everything.stderr
    report = json.loads(everything.stdout)
    assert (report["events"], report["matches"], report["differing"]) == (20, 5, 0)
    few = json.loads(tocsin("verify", "--index", str(index), "--json", "--sample", "4").stdout)
    assert (few["events"], few["complete"]) == (4, True)


def test_events_are_decoded_with_the_registry_settings_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """References to secrets are followed, and ``job.registry_failure`` counts."""
    used: list[Decoding] = []

    def decoder(decoding: Decoding) -> Callable[[bytes, int | None], Event]:
        used.append(decoding)
        return lambda value, time: Event({})

    monkeypatch.setenv("TOCSIN_REGISTRY_USER", "me:secret")
    monkeypatch.setattr(sample, "reach", lambda settings: {settings.topics.events})
    monkeypatch.setattr(sample, "_latest", lambda settings, topic, size: [])
    monkeypatch.setattr(sample, "event_decoder", decoder)
    overrides = [
        "events.format=avro_registry",
        "registry.url=http://localhost:8081",
        "registry.basic.auth.user.info=${env:TOCSIN_REGISTRY_USER}",
        "job.registry_failure=dead-letter",
    ]
    sample.sample_of_topic(load_settings(None, overrides, {}), 5)
    (decoding,) = used
    assert dict(decoding.registry) == {"url": "http://localhost:8081", "basic.auth.user.info": "me:secret"}
    assert (decoding.format, decoding.registry_failure) == ("avro_registry", "dead-letter")
