"""The words of the metrics line."""

from __future__ import annotations

from collections import Counter

import pytest

from stream.instruments import Instruments
from stream.metrics import Metrics, Snapshot, line
from stream.output import Committed
from stream.rows import Counts

COMMITTED = Committed(0.1, Counter())


def test_a_quiet_index_of_one_is_told_in_the_singular() -> None:
    told = line(Snapshot(seconds=5.0, version=1), lag=0, subscriptions=1, tail=1)
    assert told == "0 events/s, 0 matches/s, lag 0, index v1 with 1 subscription in 1 segment"


def test_rates_times_and_counts_are_told_with_thousands_and_plurals() -> None:
    snapshot = Snapshot(
        seconds=2.0,
        batches=10,
        counts=Counts(records=5_000, matches=12_000, dead_letters=1),
        subscriptions=Counts(records=1_200, dead_letters=1),
        wait_ns=10_000_000,
        spark_ns=790_000_000,
        commit_ns=160_000_000,
        version=37,
    )
    assert line(snapshot, lag=1_000, subscriptions=20_034, tail=4) == (
        "2,500 events/s, 6,000 matches/s, lag 1,000, index v37 with 20,034 subscriptions in 4 segments, "
        "96 ms a batch (wait 1, match 79, commit 16), 1,200 subscription updates, 2 dead letters"
    )
    one = Snapshot(seconds=1.0, subscriptions=Counts(records=1, dead_letters=1))
    assert line(one, 0, 0, 0).endswith("with 0 subscriptions in 0 segments, 1 subscription update, 1 dead letter")


def test_what_was_taken_is_counted_once_and_the_position_stays() -> None:
    metrics = Metrics(Instruments("tests"))
    metrics.begin_at({0: 5})
    metrics.matched(Counts(records=3), {1: 7}, [(0, 3)], COMMITTED, wait_ns=1, spark_ns=2, commit_ns=3)
    metrics.absorbed(Counts(records=4), COMMITTED, absorb_ns=1, publish_ns=2, commit_ns=3)
    first, second = metrics.take(2), metrics.take(5)
    assert (first.batches, first.counts.records, first.subscriptions.records, first.version) == (1, 3, 4, 2)
    assert (second.batches, second.counts.records, second.subscriptions.records, second.version) == (0, 0, 0, 5)
    assert metrics.position() == {0: 5, 1: 7}


def test_a_micro_batch_of_either_query_ends_the_idle_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("stream.metrics.time.monotonic", lambda: now[0])
    metrics = Metrics(Instruments("tests"))
    now[0] = 130.0
    assert metrics.idle_seconds() == 30.0
    metrics.absorbed(Counts(), None, absorb_ns=0, publish_ns=0, commit_ns=0)
    assert metrics.idle_seconds() == 0.0
    now[0] = 131.0
    metrics.matched(Counts(), {}, [], COMMITTED, wait_ns=0, spark_ns=0, commit_ns=0)
    assert metrics.idle_seconds() == 0.0
