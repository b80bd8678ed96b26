"""The merge policy: a pure function from the sizes of a version's segments to the merges that are due.

The segments of a shard fall into levels by their number of live subscriptions, each level `FACTOR` times as large as
the one below. A level that has gathered `FACTOR` segments is merged into one of the next level, and one whose fewer
segments fill a segment at the bound of `MERGED_LIMIT` is merged into such ones. A subscription is therefore rewritten
about once a level, and at most ``FACTOR - 1`` segments stand in each that the bound does not cut: the policy of
Lucene's LogMergePolicy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FACTOR = 8
"""Segments that make a merge, and the ratio of sizes from level to level."""

LEVEL_ZERO = 1_000
"""Segments with fewer live subscriptions are all of one level, however small."""

INPUTS_LIMIT = 64
"""The most inputs of one merge; more wait for the next."""

DEAD_SHARE = 1 / 3
"""A segment with a larger share of dead subscriptions is rewritten, alone or in a merge that is due anyway."""

MERGED_LIMIT = 2_500_000
"""The most live subscriptions of a merged segment. A merge of subscriptions with six predicates needs 1.15 KB of memory
for each, 2.9 GB for so many."""


@dataclass(frozen=True)
class SegmentStat:
    """What the policy looks at.

    Attributes
    ----------
    name
        The segment.
    count, dead
        Its subscriptions, and how many of them are dead.
    shard
        Its shard: only segments of one are merged.
    """

    name: str
    count: int
    dead: int
    shard: int = 0

    @property
    def alive(self) -> int:
        """The number of live subscriptions."""
        return self.count - self.dead


@dataclass(frozen=True)
class MergePlan:
    """Segments to be replaced by one segment of their live subscriptions, or by none when there are none."""

    inputs: tuple[str, ...]


def plan(sizes: Sequence[SegmentStat]) -> list[MergePlan]:
    """Return the merges that are due: disjoint, cheapest first.

    Segments that are dead as a whole are dropped by one plan of their own, since that needs no work.
    """
    empty = [s for s in sizes if s.alive == 0]
    plans = [empty] if empty else []
    levels: dict[tuple[int, int], list[SegmentStat]] = {}
    for stat in sorted((s for s in sizes if s.alive > 0), key=lambda s: s.alive):
        levels.setdefault((_level(stat.alive), stat.shard), []).append(stat)
    for _, members in sorted(levels.items()):
        plans += _merges(members)
    return [MergePlan(tuple(stat.name for stat in stats)) for stats in plans]


def everything(sizes: Sequence[SegmentStat]) -> list[MergePlan]:
    """Return the merges after which nothing is dead and a shard's segments are as few as `MERGED_LIMIT` allows."""
    batches: list[list[SegmentStat]] = []
    total = 0
    for stat in sorted(sizes, key=lambda s: (s.shard, s.alive)):
        if not batches or batches[-1][0].shard != stat.shard or total + stat.alive > MERGED_LIMIT:
            batches.append([])
            total = 0
        batches[-1].append(stat)
        total += stat.alive
    wanted = [batch for batch in batches if len(batch) > 1 or batch[0].dead]
    return [MergePlan(tuple(stat.name for stat in batch)) for batch in wanted]


def _level(alive: int) -> int:
    """Return 0 below `LEVEL_ZERO`, and one more for each factor of `FACTOR` above it."""
    level, bound = 0, LEVEL_ZERO
    while alive >= bound:
        level, bound = level + 1, bound * FACTOR
    return level


def _merges(members: Sequence[SegmentStat]) -> list[list[SegmentStat]]:
    """Return a level's merges; ``members`` ascend by live subscriptions, so the smallest are merged first.

    Where `MERGED_LIMIT` ends a batch early, it need only fill more than half of it: what comes of it then never meets
    its like in a merge again, so that large segments are few without being rewritten over and over.
    """
    batch: list[SegmentStat] = []
    total = 0
    for stat in members:
        if len(batch) == INPUTS_LIMIT or total + stat.alive > MERGED_LIMIT:
            break
        batch.append(stat)
        total += stat.alive
    full = 1 < len(batch) < len(members) and total > MERGED_LIMIT / 2
    due = [batch] if full or len(batch) >= FACTOR else []
    taken = {stat.name for stats in due for stat in stats}
    return due + [[s] for s in members if s.name not in taken and s.dead > DEAD_SHARE * s.count]
