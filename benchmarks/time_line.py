"""The time line of each micro-batch: from Spark's event log, the driver's trace, and the arrivals at the consumer.

All three take the wall clock of one machine, Spark's in milliseconds. Spark's progress report says how long its own
steps took, not when they began: they follow each other from the beginning of the trigger in the order of `PHASES`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.load import Arrival
from stream.offsets import Offsets
from stream.trace import BatchTrace

PHASES = {
    "trigger": "the oldest event waits for the trigger",
    "offsets": "ends of the topic fetched",
    "offset log": "offset log written",
    "planning": "batch planned",
    "hand-over": "Spark calls the batch function",
    "version": "version of the index awaited and pinned",
    "job": "pass through the workers planned and submitted",
    "start": "tasks start",
    "task": "tasks: records fetched, to Python and back",
    "decode": "tasks: decode",
    "match": "tasks: match",
    "encode": "tasks: encode",
    "answers": "answers come to the driver",
    "produced": "transaction: begun, notifications produced",
    "sent": "transaction: offsets sent",
    "committed": "transaction: committed",
    "delivery": "delivery to the consumer, median event",
    "end": "beside delivery: commit log, end of the trigger",
}
"""Names in the order of time; up to ``committed`` one follows the other, the last two begin together."""


@dataclass(frozen=True)
class Batch:
    """One micro-batch.

    Attributes
    ----------
    number, events
        Spark's number of it, and how many events it has.
    began
        When the oldest of its events that were answered was published; seconds of the wall clock.
    phases
        Milliseconds by name of `PHASES`.
    total
        Milliseconds from ``began`` to the arrival of its median event.
    """

    number: int
    events: int
    began: float
    phases: dict[str, float]
    total: float


@dataclass
class Work:
    """What Spark's scheduler did for a micro-batch; seconds of the wall clock."""

    submitted: float = float("inf")
    launched: float = float("inf")
    finished: float = 0.0
    tasks: int = 0


@dataclass
class SparkLog:
    """The part of Spark's event log that is about one query.

    Attributes
    ----------
    progress
        Spark's report on each micro-batch.
    work
        By micro-batch.
    """

    progress: list[dict[str, Any]] = field(default_factory=list)
    work: dict[int, Work] = field(default_factory=lambda: defaultdict(Work))


def log_settings(folder: Path) -> list[str]:
    """Return the settings with which a job writes Spark's event log to a folder, as plain text."""
    return [
        "spark.spark.eventLog.enabled=true",
        f"spark.spark.eventLog.dir=file://{folder}",
        "spark.spark.eventLog.compress=false",
    ]


def read_batches(events: Path, trace: Path, arrivals: Iterable[Arrival], topic: str) -> list[Batch]:
    """Return the micro-batches of a topic of which at least one event was answered, in order.

    Parameters
    ----------
    events
        The folder of `log_settings`; the job has ended.
    trace
        The file of `stream.trace`.
    arrivals
        Of the notifications.
    topic
        The events'.
    """
    log = _spark_log(events, topic)
    decoded = (msgspec.json.decode(line, type=BatchTrace) for line in trace.read_bytes().splitlines())
    traces = {_key(one.end): one for one in decoded}
    at_place = {(one.partition, one.offset): one for one in arrivals}
    batches = []
    for report in log.progress:
        start, end = (_offsets(report["sources"][0][name], topic) for name in ("startOffset", "endOffset"))
        places = ((p, offset) for p, last in end.items() for offset in range(start.get(p, 0), last))
        answered = [at_place[place] for place in places if place in at_place]
        if answered and _key(end) in traces and report["batchId"] in log.work:
            batches.append(_batch(report, traces[_key(end)], log.work[report["batchId"]], answered))
    return batches


def _batch(report: Mapping[str, Any], trace: BatchTrace, work: Work, answered: Sequence[Arrival]) -> Batch:
    oldest = min(one.published for one in answered)
    median = sorted(answered, key=lambda one: one.arrived)[len(answered) // 2]
    trigger = datetime.fromisoformat(report["timestamp"]).timestamp()
    spent = report["durationMs"]
    planned = [trigger]
    for names in (("latestOffset",), ("walCommit",), ("getBatch", "queryPlanning")):
        planned.append(planned[-1] + sum(spent.get(name, 0) for name in names) / 1000)
    matched = trace.ended - trace.commit_ns / 1e9
    waited = matched - trace.spark_ns / 1e9
    counts, tasks = trace.counts, max(1, work.tasks)
    inside = [ns / tasks / 1e9 for ns in (counts.encode_ns, counts.match_ns, counts.decode_ns)]
    in_task = [work.finished]
    for seconds in inside:
        in_task.append(in_task[-1] - seconds)
    places = [trace.places[f"events.{place}"] for place in ("produced", "offsets-sent", "committed")]
    moments = [
        *planned,
        waited - trace.wait_ns / 1e9,
        waited,
        work.submitted,
        work.launched,
        *reversed(in_task),
        matched,
        *places,
    ]
    lengths, at = [], oldest
    for moment in moments:  # the clocks' milliseconds may overlap by one
        lengths.append(max(0.0, moment - at))
        at = max(at, moment)
    lengths.append(max(0.0, median.arrived - at))
    lengths.append(max(0.0, trigger + spent["triggerExecution"] / 1000 - at))
    phases = {name: 1000 * length for name, length in zip(PHASES, lengths, strict=True)}
    return Batch(report["batchId"], counts.records, oldest, phases, 1000 * (median.arrived - oldest))


def _spark_log(folder: Path, topic: str) -> SparkLog:
    log, query = SparkLog(), ""
    batch_of_stage: dict[int, int] = {}
    for line in _lines(folder):
        event = json.loads(line)
        match event["Event"].rpartition(".")[2]:
            case "StreamingQueryListener$QueryStartedEvent" if event["name"] == topic:
                query = event["id"]
            case "StreamingQueryListener$QueryProgressEvent" if event["progress"]["name"] == topic:
                log.progress.append(event["progress"])
            case "SparkListenerJobStart" if event["Properties"].get("sql.streaming.queryId") == query:
                batch = int(event["Properties"]["streaming.sql.batchId"])
                log.work[batch].submitted = min(log.work[batch].submitted, event["Submission Time"] / 1000)
                batch_of_stage |= dict.fromkeys(event["Stage IDs"], batch)
            case "SparkListenerTaskEnd" if event["Stage ID"] in batch_of_stage:
                work, task = log.work[batch_of_stage[event["Stage ID"]]], event["Task Info"]
                work.launched = min(work.launched, task["Launch Time"] / 1000)
                work.finished = max(work.finished, task["Finish Time"] / 1000)
                work.tasks += 1
    return log


def _lines(folder: Path) -> Iterable[str]:
    for file in sorted(folder.glob("eventlog_v2_*/events_*"), key=lambda file: int(file.name.split("_")[1])):
        with file.open(encoding="utf-8") as lines:
            yield from lines


def _offsets(text: str | None, topic: str) -> Offsets:
    """Return the offsets of Spark's report; the first batch of a query has no beginning."""
    found = json.loads(text)[topic] if text else {}
    return {int(partition): offset for partition, offset in found.items()}


def _key(offsets: Offsets) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(offsets.items()))
