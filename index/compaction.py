"""Compaction: the merges that are due, carried out once or continuously, of large ones one at a time.

Cut off at any moment it leaves nothing but files that garbage collection removes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Container, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from index import merge_policy, statistics_store
from index.directory import AnyPath, IndexDirectory
from index.engine import Engine
from index.garbage import SUPERSEDED_SECONDS, UNPUBLISHED_SECONDS, collect
from index.manifest import SegmentEntry, latest
from index.merge import merge
from index.merge_policy import MergePlan, SegmentStat
from schemas.errors import TocsinError

MERGES_AT_ONCE = 2
"""A long merge of large segments must not keep the small ones waiting: the tail would grow meanwhile."""

LARGE = 250_000
"""A merge of more live subscriptions waits for another such one: memory is to hold one of `MERGED_LIMIT` at a time."""

FOLD_SECONDS = 30.0
"""Pause between two looks for increments of statistics."""


def due(directory: AnyPath | IndexDirectory, busy: Container[str] = ()) -> list[MergePlan]:
    """Return the merges that the latest version's sizes ask for; ``busy`` segments are being merged already."""
    return merge_policy.plan(stats_of(entry for entry in latest(directory).segments if entry.segment.name not in busy))


def startable(directory: AnyPath | IndexDirectory, running: Sequence[MergePlan]) -> list[MergePlan]:
    """Return the merges to begin beside those that run: the cheapest that are due, one of the large ones at a time."""
    alive = {stat.name: stat.alive for stat in stats_of(latest(directory).segments)}

    def is_large(plan: MergePlan) -> bool:
        return sum(alive.get(name, 0) for name in plan.inputs) > LARGE

    occupied = any(map(is_large, running))
    found: list[MergePlan] = []
    busy = {name for plan in running for name in plan.inputs}
    for plan in due(directory, busy):
        if not (occupied and is_large(plan)):
            found.append(plan)
            occupied = occupied or is_large(plan)
    return found[: MERGES_AT_ONCE - len(running)]


def stats_of(entries: Iterable[SegmentEntry]) -> list[SegmentStat]:
    """Return what the merge policy looks at."""
    return [_stat(entry) for entry in entries]


def _stat(entry: SegmentEntry) -> SegmentStat:
    segment = entry.segment
    return SegmentStat(segment.name, segment.count, entry.dead_count, segment.shard)


def compact(directory: AnyPath | IndexDirectory, engine: Engine) -> list[int]:
    """Carry out the merges that are due until none is, or until another process does; return the versions published."""
    published: list[int] = []
    _fold(directory)
    while plans := due(directory):
        versions = [version for plan in plans if (version := merge(directory, plan, engine)) is not None]
        if not versions:
            break
        published += versions
    return published


def watch(
    directory: AnyPath | IndexDirectory,
    engine: Engine,
    every: float,
    stopped: Callable[[], bool],
    superseded: float = SUPERSEDED_SECONDS,
    unpublished: float = UNPUBLISHED_SECONDS,
    merged: Callable[[float], None] = lambda _: None,
) -> None:
    """Carry out merges as they fall due, fold statistics, and collect garbage, until ``stopped`` says so.

    Parameters
    ----------
    directory
        The index directory; it may not exist yet.
    engine
        Builds the merged segments.
    every
        Seconds between two looks at the latest version.
    stopped
        Asked at each look.
    superseded, unpublished
        As for `index.garbage.collect`.
    merged
        Told of each published merge, how many seconds it took; called from the threads that merge.
    """
    running: dict[Future[int | None], MergePlan] = {}
    collected = folded = time.monotonic()
    with ThreadPoolExecutor(MERGES_AT_ONCE) as pool:
        while not stopped():
            for future in [future for future in running if future.done()]:
                del running[future]
                future.result()
            for plan in startable(directory, list(running.values())):
                running[pool.submit(_merge, directory, plan, engine, merged)] = plan
            if time.monotonic() - folded >= FOLD_SECONDS:
                _fold(directory)
                folded = time.monotonic()
            if time.monotonic() - collected >= superseded / 10:
                collect(directory, superseded, unpublished)
                collected = time.monotonic()
            _pause(running, every)
    for future in running:
        future.result()


def _merge(
    directory: AnyPath | IndexDirectory, plan: MergePlan, engine: Engine, merged: Callable[[float], None]
) -> int | None:
    started = time.perf_counter()
    version = merge(directory, plan, engine)
    if version is not None:
        merged(time.perf_counter() - started)
    return version


def _fold(directory: AnyPath | IndexDirectory) -> None:
    """Fold the increments of statistics; merging can do without, for example on a full disk."""
    with contextlib.suppress(TocsinError):
        statistics_store.fold(directory)


def _pause(running: dict[Future[int | None], MergePlan], seconds: float) -> None:
    """Wait, but no longer than until a merge ends: its result may make the next one due."""
    if running:
        wait(running, timeout=seconds, return_when="FIRST_COMPLETED")
    else:
        time.sleep(seconds)
