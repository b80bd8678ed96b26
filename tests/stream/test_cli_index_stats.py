"""``tocsin index stats``: sizes, predicates, the always-list, and what was observed of events."""

from __future__ import annotations

import shutil
from pathlib import Path

from index.event_block import EventBlock
from index.observed.collector import Collector
from index.statistics_store import add
from schemas.records import Event
from tests.stream.index_commands import lines, records, run, tocsin


def test_index_stats_shows_sizes_predicates_and_the_always_list(index: Path) -> None:
    shown = lines(run(index, "index", "stats"))
    assert shown[:2] == ["version\t1", "subscriptions\t6"]
    assert any(line.split(maxsplit=1) == ["3", "origin = 'JFK'"] for line in shown)
    assert "always-list: 1 of 6 subscriptions (16.67%)" in shown
    assert shown[-1].startswith("not-ua\t1\tcarrier != 'UA'\t")
    (plain,) = records(tocsin(index, "index", "stats", "--json", "--limit", "2"))
    assert (plain["subscriptions"], plain["always"]) == (6, 1)
    assert plain["offenders"][0]["subscription"] == "not-ua"
    assert {"filter": "origin = 'JFK'", "subscriptions": 3} in plain["common"]
    assert plain["parts"]["bodies"] > 0


def test_index_stats_shows_what_was_observed_of_events(index: Path, tmp_path: Path) -> None:
    assert "no events observed yet" in lines(run(index, "index", "stats"))
    own = tmp_path / "index"
    shutil.copytree(index, own)
    collector = Collector()
    collector.see(EventBlock.from_events([Event({"origin": ("JFK",), "gate": (n,)}) for n in range(4)]))
    add(own, collector.take())
    shown = lines(run(own, "index", "stats", "--limit", "3"))
    assert "most frequent in 4 events observed, of 4 ever" in "\n".join(shown)
    assert [line.split(maxsplit=1) for line in shown if line.startswith("100.00%")] == [
        ["100.00%", "gate exists"],
        ["100.00%", "origin exists"],
        ["100.00%", "origin = 'JFK'"],
    ]
    (plain,) = records(tocsin(own, "index", "stats", "--json", "--limit", "1"))
    assert (plain["observed"], plain["observed_ever"]) == (4, 4)
    assert plain["frequent"] == [{"filter": "gate exists", "share": 1.0}]


def test_index_stats_may_look_at_a_sample(index: Path) -> None:
    (plain,) = records(tocsin(index, "index", "stats", "--json", "--sample", "3"))
    assert (plain["scanned"], plain["subscriptions"]) == (3, 6)
