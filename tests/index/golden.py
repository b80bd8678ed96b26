"""A directory of the format, kept in ``tests/data``: ``make golden`` writes one when `array_file.FORMAT` is raised.

It holds one of each kind of file, and the answers that its subscriptions give to some events. Directories of earlier
formats stay, and every later version must open them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

from index import segment, statistics_store
from index.array_file import FORMAT
from index.block.engine import BlockEngine
from index.directory import IndexDirectory
from index.event_block import EventBlock
from index.manifest import latest
from index.merge import merge
from index.merge_policy import MergePlan
from index.observed.collector import Collector
from index.observed.statistics import EventStatistics
from index.oracle import best_matches
from index.pins import pin_latest
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.json_codec import decode_event, decode_subscription
from schemas.records import Event, Subscription
from tests.local import local

DATA = Path(__file__).parent.parent / "data"
PREFIX = "index-format-"
ANSWERS = "answers.json"
OWNER, BATCH = "job/a:b", 7
SOURCE = "topic subscriptions (id golden) of cluster golden with 1 partition"

RECORDS: dict[str, dict[str, Any]] = {
    "in": {"filter": "origin in ('JFK'^0.5, 'LGA'^0.25)", "priority": 1.5, "labels": {"desk": "ops", "é": "ü"}},
    "not-in": {"filter": "carrier != 'UA' and origin exists"},
    "strong": {"filter": "carrier strong not in ('UA', 'AA') or gate not exists"},
    "always": {"filter": "carrier != 'UA'"},
    "true": {"filter": "true"},
    "false": {"filter": "false"},
    "range": {"filter": "delay > 60 and delay <= 1e3 or 5 < hour < 7"},
    "texts": {"filter": "origin between 'J' and 'K' or code >= 'x'"},
    "time": {"filter": "day > time '2026-05-01T08:00:00+02:00'"},
    "sets": {"filter": "tags contains all ('a', 'b') or tags within ('c', 1, true) or tags equals ('d', 2.5)"},
    "needles": {"filter": "note starts with 'Late' ignore case or note ends with 'gate' or note contains 'storm'"},
    "patterns": {"filter": "note glob 'x*[a-c]?' or note like '%wind_' or note matches '[a-f]+\\\\d{2}'"},
    "version": {"filter": "agent version >= '1.10' and agent version < '2.0-rc.1'"},
    "cidr": {"filter": "ip in cidr ('10.0.0.0/8', '2001:db8::/32')"},
    "words": {"filter": "note has all ('late', 'gate') or note has any ('storm', 'wind')"},
    "derived": {"filter": "lower(origin) = 'jfk' and delay % 7 = 3 or length(note) > 20 or year(day) = 2026"},
    "not": {"filter": "not (origin = 'JFK' and (delay > 60 or not carrier = 'B6'))"},
    "deep": {"filter": "(a = 1 or b = 2 and (c = 3 or d = 4 and (e = 5 or f = 6))) and (a exists or f exists)"},
    "relaxed": {"filter": "origin = 'JFK'^0.5 and delay > 60^0.25 and note contains 'storm'^2", "mode": "relaxed"},
    "threshold": {"filter": "origin = 'JFK'^3 and delay > 60 and gate exists", "mode": "threshold", "threshold": 0.6},
    "valid": {"filter": "origin exists", "not_before": "2026-01-01T00:00:00Z", "not_after": "2026-12-31T23:59:59.5Z"},
    "numbers": {"filter": "n in (1, 1.5, 9007199254740993, -0.5) and m in (true, '1')"},
    "\U0001f600": {"filter": "origin = 'JFK'", "priority": -2},
}
"""Ids to records as they travel: every leaf, every mode, and what else a subscription may have."""

ALIKE = {id_: {"filter": "carrier = 'B6' and origin = 'JFK'^0.5", "priority": 0.5} for id_ in ("as", "he", "says")}
"""Some that say the same, which share a record from format 4 on."""

REPLACED = {"not-in": {"filter": "carrier = 'B6'^4"}, "new": {"filter": "delay < 0 or n = 1"}}
REMOVED = ["true"]
MERGED_LATE = {"late": {"filter": "note has 'late'"}, "new": {"filter": "n = 1 and m exists"}}

EVENTS: list[dict[str, Any]] = [
    {},
    {
        "origin": "JFK",
        "delay": 75,
        "carrier": ["B6", "AA"],
        "gate": "C2",
        "$weights": {"origin": 2, "carrier": {"B6": 0.5}},
    },
    {"origin": ["LGA", "K"], "delay": [3, 1000], "hour": 6, "carrier": "UA", "$top": 3},
    {"day": "2026-05-01T06:00:01Z", "code": "y", "tags": ["a", "b", "z"]},
    {"tags": [1, True], "note": "late at the gate", "agent": "1.10.2", "ip": "10.1.2.3"},
    {"tags": ["d", 2.5], "note": ["Strong wind", "xyzb1", "ab12"], "agent": "v1.9", "ip": "2001:db8::1"},
    {"a": 1, "b": 2, "c": 3, "f": 6, "n": 9007199254740993, "m": True, "delay": -1},
    {"n": [1, 1.5], "m": "1", "note": "a storm that is longer than twenty letters", "day": "2026-12-31"},
]
TIMES = [None, 1_780_000_000_000_000, 1_600_000_000_000_000]
"""Times that the events have, in turn; microseconds."""


def subscriptions(records: dict[str, dict[str, Any]]) -> list[Subscription]:
    return [decode_subscription(id_, msgspec.json.encode(record)) for id_, record in records.items()]


def events() -> list[Event]:
    return [decode_event(msgspec.json.encode(e), TIMES[i % len(TIMES)]) for i, e in enumerate(EVENTS)]


def first(format_: int = FORMAT) -> dict[str, dict[str, Any]]:
    """What is published first to a directory of a format."""
    return RECORDS | (ALIKE if format_ >= 4 else {})


def final(format_: int = FORMAT) -> list[Subscription]:
    """What the latest version holds."""
    records = first(format_) | REPLACED | MERGED_LATE
    return subscriptions({id_: record for id_, record in records.items() if id_ not in REMOVED})


def pinned(format_: int = FORMAT) -> list[Subscription]:
    """What the version holds that a batch is pinned to."""
    return subscriptions(first(format_))


def answers(held: list[Subscription]) -> list[list[tuple[str, int]]]:
    return [best_matches(held, event, event.top) for event in events()]


def observed(seen: list[Event]) -> EventStatistics:
    collector = Collector()
    collector.see(EventBlock.from_events(seen))
    return collector.take()


def write(root: Path) -> None:
    """Write a directory with segments of every leaf, dead sets, a pin and statistics."""
    layout, engine = IndexDirectory.of(root), BlockEngine()
    writer = IndexWriter(layout, SOURCE)
    writer.publish([write_segment(layout, engine, pinned())], [], {0: 23})
    pin_latest(layout, OWNER, BATCH, known=1)
    statistics_store.add(layout, observed(events()))
    statistics_store.fold(layout)
    with mock.patch.object(segment, "STATISTICS_FROM", 1):  # so that a small segment keeps what large ones keep
        names = tuple(entry.segment.name for entry in latest(layout).segments)
        merge(layout, MergePlan(names), engine)
    writer.publish([write_segment(layout, engine, subscriptions(REPLACED))], REMOVED, {0: 26})
    writer.publish([write_segment(layout, engine, subscriptions(MERGED_LATE))], [], {0: 28})
    statistics_store.add(layout, observed(events()[1:3]))
    told = {"latest": answers(final()), "pinned": answers(pinned())}
    local(layout.root / ANSWERS).write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")


def main() -> int:
    root = DATA / f"{PREFIX}{FORMAT}"
    if root.exists() and "--again" not in sys.argv:
        print(f"{root} is there; raise FORMAT in index/array_file.py first, or say --again before it was released")
        return 1
    shutil.rmtree(root, ignore_errors=True)
    write(root)
    print(f"wrote {root}, {sum(path.stat().st_size for path in root.rglob('*') if path.is_file()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
