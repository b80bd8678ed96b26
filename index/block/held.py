"""The best matches of a chunk, from heaps to the answer."""

from __future__ import annotations

from dataclasses import dataclass

from index.block.layout import Int32s, Int64s
from index.block.ranking import Best, sorted_heap
from index.kernel import kernel


@dataclass(frozen=True, eq=False)
class Held:
    """What the heaps of a chunk's events hold; ``first`` is the chunk's first event."""

    first: int
    best: Best

    @property
    def counts(self) -> Int64s:
        """See `index.block.answers.Part`."""
        return self.best.size.astype("int64")[:, None]

    @property
    def classes(self) -> None:
        """See `index.block.answers.Part`."""
        return None

    def write(self, places: Int64s, subscription: Int32s, score: Int64s) -> None:
        """See `index.block.answers.Part`; what the heaps hold is in order afterwards."""
        write_heaps(self.best, places, subscription, score)


@kernel
def write_heaps(best, places, subscription, score):  # type: ignore[no-untyped-def]
    """Write each event's matches from its place on, best first."""
    for event in range(len(places)):
        start, place = best.start[event], places[event]
        sorted_heap(best, event)
        for i in range(best.size[event]):
            subscription[place + i] = best.owner[start + i] >> 1
            score[place + i] = best.points[start + i]
