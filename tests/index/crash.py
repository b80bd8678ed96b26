"""What is killed at each file operation: steps of an index's life, each from the same directory, and its model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from index import failpoints, statistics_store, tail
from index.compaction import compact
from index.directory import IndexDirectory
from index.event_block import EventBlock
from index.files import Location
from index.garbage import collect
from index.manifest import Manifest, VersionTaken, latest, publish
from index.merge import merge
from index.merge_policy import MergePlan
from index.observed.collector import Collector
from index.observed.statistics import EventStatistics
from index.pins import pin_latest, pinned_versions, unpin_before
from index.segment import SegmentInfo, write_segment
from index.writer import IndexWriter
from schemas.expression import In
from schemas.records import Event, Subscription
from tests.index.oracle_engine import OracleEngine
from tests.local import local

ENGINE = OracleEngine()
OWNER = "job"

Model = dict[str, int]
"""Id of each subscription to the value that it wants of the attribute ``a``."""

VALUES = range(1, 6)
PROBES = [Event({"a": (value,)}) for value in VALUES]

BEFORE: Model = {"a": 1, "c": 2, "d": 3, "e": 2, "f": 2, "g": 2, "h": 2, "i": 2, "j": 2, "k": 2}
"""The latest version of `build`."""

PINNED: Model = {"a": 1, "b": 1, "c": 1, "z": 1}
"""Version 1, which a batch is pinned to."""

AFTER: Model = {id_: value for id_, value in BEFORE.items() if id_ not in "cd"} | {"a": 4, "b": 4, "l": 4}
"""What `step_publish` makes of `BEFORE`: ``a`` replaced, ``b`` there again, ``c`` and ``d`` removed, ``l`` added."""


def build(root: Path) -> None:
    """Make a directory with history: replaced and removed ids, a pin, statistics, an orphan."""
    layout = IndexDirectory.of(root)
    index = IndexWriter(layout)
    index.publish([written(layout, a=1, b=1, c=1, z=1)], [], {0: 1})
    pin_latest(layout, OWNER, 0, known=1)
    index.publish([written(layout, c=2, d=3)], ["b"], {0: 2})
    for offset, id_ in enumerate("efghijk", 3):
        index.publish([written(layout, **{id_: 2})], ["z"], {0: offset})
    written(layout, orphan=5)
    statistics_store.add(layout, observed())
    statistics_store.fold(layout)
    statistics_store.add(layout, observed())


def written(layout: IndexDirectory, **values: int) -> SegmentInfo:
    """Write a segment of subscriptions that want these values."""
    return write_segment(layout, ENGINE, [Subscription(id_, In("a", (value,))) for id_, value in values.items()])


def observed() -> EventStatistics:
    """Return what a worker counts of the probes."""
    collector = Collector()
    collector.see(EventBlock.from_events(PROBES))
    return collector.take()


def step_publish(layout: IndexDirectory) -> None:
    """Two tasks' segments and removals, published by the driver."""
    parts = [written(layout, a=4, b=5), written(layout, b=4, l=4)]
    IndexWriter(layout).publish(parts, ["c", "d"], {0: 10})


def step_publish_after_a_lost_race(layout: IndexDirectory) -> None:
    """A merge publishes between the driver's reading the latest version and its creating the next."""
    extend, rest = tail.extend, [step_merge]

    def interrupted(*arguments: Any) -> Any:
        entries = extend(*arguments)
        if rest:
            rest.pop()(layout)
        return entries

    with mock.patch.object(tail, "extend", interrupted):
        step_publish(layout)


def step_publish_outrun(layout: IndexDirectory) -> None:
    """A publisher slept until its number had been taken and collected, and takes it back."""
    slept = latest(layout).successor([], {0: 99})
    step_publish(layout)
    IndexWriter(layout).publish([], ["nobody"], {0: 11})
    unpin_before(layout, OWNER, 1)
    collect(layout, superseded=0, unpublished=0)
    try:
        publish(layout, slept)
    except VersionTaken:
        return
    raise AssertionError("the version was published again")


def step_merge(layout: IndexDirectory) -> None:
    """What the compaction process does: fold statistics, then merge."""
    assert compact(layout, ENGINE)


def step_merge_during_a_publication(layout: IndexDirectory) -> None:
    """What dies in the inputs meanwhile is the merged segment's first dead set."""
    names = tuple(entry.segment.name for entry in latest(layout).segments)

    class Interrupted(OracleEngine):
        def build(self, subscriptions):  # type: ignore[no-untyped-def]
            step_publish(layout)
            return super().build(subscriptions)

    assert merge(layout, MergePlan(names), Interrupted()) is not None


def step_merge_that_loses(layout: IndexDirectory) -> None:
    """Another process merges the same segments first, so the work is thrown away."""
    names = tuple(entry.segment.name for entry in latest(layout).segments)

    class Outrun(OracleEngine):
        def build(self, subscriptions):  # type: ignore[no-untyped-def]
            assert merge(layout, MergePlan(names), ENGINE) is not None
            return super().build(subscriptions)

    assert merge(layout, MergePlan(names), Outrun()) is None


def step_collect(layout: IndexDirectory) -> None:
    collect(layout, superseded=0, unpublished=0)


def step_pin(layout: IndexDirectory) -> None:
    """A batch is pinned, and the one before it let go of."""
    pin_latest(layout, OWNER, 1, latest(layout).version)
    unpin_before(layout, OWNER, 1)


def step_observe(layout: IndexDirectory) -> None:
    statistics_store.add(layout, observed())


STEPS: dict[str, Callable[[IndexDirectory], None]] = {
    name.removeprefix("step_"): step for name, step in list(globals().items()) if name.startswith("step_")
}

FINAL: dict[str, Model] = {name: AFTER if "publi" in name else BEFORE for name in STEPS}
"""What the latest version holds when the step was not interrupted."""


@contextmanager
def recorded(places: list[str]) -> Iterator[None]:
    """Note the places that are reached."""
    with mock.patch.object(failpoints, "reach", places.append):
        yield


def known_files(layout: IndexDirectory, manifests: Iterable[Manifest]) -> set[Location]:
    """Return every file that versions, pins and statistics account for."""
    counted, pins = local(layout.statistics).glob("*.seen"), local(layout.pins).glob("owner-*/*.pin")
    files = {layout.all_statistics, *counted, *pins}
    for manifest in manifests:
        files |= {layout.manifest(manifest.version)}
        files |= {layout.segment(entry.segment.name) for entry in manifest.segments}
        files |= {layout.dead_set(entry.dead) for entry in manifest.segments if entry.dead is not None}
    return files


def kept_versions(layout: IndexDirectory) -> set[int]:
    return pinned_versions(layout) | {latest(layout).version}
