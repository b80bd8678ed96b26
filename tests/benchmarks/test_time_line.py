"""The time line of a batch: what Spark, the driver and the consumer say of it comes together and adds up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.load import Arrival
from benchmarks.time_line import PHASES, read_batches
from stream.rows import Counts
from stream.trace import BatchTrace

BEGAN = 1_800_000_000.0
QUERY, OTHER = "the-query", "another"
BATCH = 7


def _at(milliseconds: float) -> float:
    return BEGAN + milliseconds / 1000


def _lines() -> list[dict[str, Any]]:
    """What Spark logs of one batch and of a job of another query."""
    listener = "org.apache.spark.sql.streaming.StreamingQueryListener$"
    offsets = [json.dumps({"events": {"0": at}}) for at in (5, 8)]
    progress = {
        "name": "events",
        "batchId": BATCH,
        "timestamp": datetime.fromtimestamp(_at(10), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "durationMs": {"latestOffset": 2, "walCommit": 3, "getBatch": 0, "queryPlanning": 4, "triggerExecution": 90},
        "sources": [{"startOffset": offsets[0], "endOffset": offsets[1]}],
    }

    def job(query: str, stage: int, submitted: float) -> dict[str, Any]:
        names = {"sql.streaming.queryId": query, "streaming.sql.batchId": str(BATCH)}
        moment = round(1000 * _at(submitted))
        return {"Event": "SparkListenerJobStart", "Stage IDs": [stage], "Submission Time": moment, "Properties": names}

    def task(stage: int, launched: float, finished: float) -> dict[str, Any]:
        moments = {"Launch Time": round(1000 * _at(launched)), "Finish Time": round(1000 * _at(finished))}
        return {"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Task Info": moments}

    return [
        {"Event": f"{listener}QueryStartedEvent", "name": "events", "id": QUERY},
        job(OTHER, 1, 1),
        job(QUERY, 2, 30),
        task(1, 1, 2),
        task(2, 31, 50),
        task(2, 32, 56),
        {"Event": "SparkListenerJobEnd", "Job ID": 2},
        {"Event": f"{listener}QueryProgressEvent", "progress": progress},
    ]


def test_the_phases_of_a_batch_follow_each_other_from_the_oldest_event_to_the_consumer(tmp_path: Path) -> None:
    log = tmp_path / "spark" / "eventlog_v2_local-1" / "events_1_local-1"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(line) + "\n" for line in _lines()))
    counts = Counts(records=3, decode_ns=2_000_000, match_ns=6_000_000, encode_ns=4_000_000)  # of two tasks
    places = {"events.produced": _at(62), "events.offsets-sent": _at(66), "events.committed": _at(71)}
    trace = BatchTrace(_at(75), 5_000_000, 34_000_000, 16_000_000, places, {0: 8}, counts)
    (tmp_path / "trace").write_bytes(msgspec.json.encode(trace) + b"\n")
    arrivals = [
        Arrival(_at(0), _at(80), 0, 5),
        Arrival(_at(3), _at(81), 0, 7),
        Arrival(_at(-50), _at(-9), 0, 4),  # of the batch before
    ]
    (batch,) = read_batches(tmp_path / "spark", tmp_path / "trace", arrivals, "events")
    expected = {
        "trigger": 10, "offsets": 2, "offset log": 3, "planning": 4, "hand-over": 1, "version": 5, "job": 5, "start": 1,
        "task": 19, "decode": 1, "match": 3, "encode": 2, "answers": 3, "produced": 3, "sent": 4, "committed": 5,
        "delivery": 10, "end": 29,
    }  # fmt: skip
    assert list(batch.phases) == list(PHASES)
    assert batch.phases == pytest.approx(expected, abs=0.01)
    assert (batch.number, batch.events) == (BATCH, 3)
    assert batch.began == _at(0)
    assert batch.total == pytest.approx(81, abs=0.01)
