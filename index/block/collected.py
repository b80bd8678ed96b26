"""Collects what walks find in a chunk, hits of plain events and single matches of others, and puts all in order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from index.block.answers import Part, Rows
from index.block.dealing import dealt
from index.block.hits import Found, Hits, Singles, Tally, scatter, settle, tally
from index.block.listing import listed
from index.block.ordering import Dealer, arranged
from index.block.owner_lists import Owners, count_owners
from index.block.scene import Scene

MANY = 2.5
"""Hits of fewer matches than this, on the average, are sorted as matches: a mask costs more than so few are worth."""

_DIRECT = 1 << 14
"""Of up to 64 events so many hits are expected if the walk is to write them where they stay."""


class Collected:
    """The matches of a chunk.

    Parameters
    ----------
    first
        The chunk's first event.
    plain
        Bool [events of the chunk]: which are plain, see `index.event_block.EventBlock.plain`.
    words
        How many words a mask has.
    owners, some_dead
        Who owns the records, and whether anybody is dead.
    expected
        For so many hits there is room at once.
    """

    def __init__(
        self, first: int, plain: npt.NDArray[np.bool_], words: int, owners: Owners, some_dead: bool, expected: int
    ) -> None:
        self._first, self._events, self._lanes = first, len(plain), (0,) * words
        self._owners, self._some_dead = owners, some_dead
        self._plain = _mask(plain, words)
        self._hits, self._size, self._matches = Hits.of(words).with_room(0, expected), 0, 0
        self._dealer: Dealer | None = None
        # there has to be room for a whole buffer besides, and the hits of few events are mostly fewer
        self._is_direct = words > 1 or expected >= _DIRECT

    @property
    def hits(self) -> int:
        """How many hits of plain events there are."""
        return self._size

    def room(self, buffer: Found) -> Found:
        """Return where a walk is to write: the hits themselves, as long as none has had to be scored, or the buffer."""
        if not self._is_direct:
            return buffer
        begin, end = self._size, self._size + len(buffer.owner)
        self._hits = self._hits.with_room(begin, end)
        hits = self._hits
        return buffer._replace(owner=hits.owner[begin:end], points=hits.points[begin:end], mask=hits.mask[begin:end])

    def tally(self, n: int, found: Found) -> Tally:
        """Count the matches of the first ``n`` hits that a walk has found."""
        return Tally(*map(int, tally(self._lanes, n, self._plain, self._owners, found)))

    def add(
        self,
        n: int,
        counted: Tally,
        found: Found,
        buffer: Found,
        scene: Scene,
    ) -> None:
        """Score and keep the first ``n`` hits, which have been counted and were found where `room` said."""
        self._matches += counted.all - counted.single
        if self._is_direct and not counted.late + counted.single:
            self._size += n
            return
        if self._is_direct:
            buffer.take(n, found)
            self._is_direct = False
        self._hits = self._hits.with_room(self._size, self._size + n + counted.late)
        singles = Singles.of(counted.single)
        self._size, count = settle(
            self._lanes, n, self._plain, self._owners, scene, buffer, self._hits, self._size, singles
        )
        self._deal(singles, count)

    def parts(self) -> list[Part]:
        """Return all, each match once."""
        found: list[Part] = []
        hits, size, owners = self._hits, self._size, self._owners
        owned = int(count_owners(hits.owner, size, owners.start)) if size else 0
        if self._matches < MANY * owned:
            singles = Singles.of(self._matches)
            self._deal(singles, scatter(self._lanes, self._first, owners, hits, size, singles))
        elif size:
            found.append(
                listed(hits, size, self._matches, owned, owners, self._some_dead, self._first, self._events)
                or dealt(hits, size, owned, owners, self._first, self._events)
            )
        if self._dealer is not None:
            found.append(Rows(arranged(len(owners.is_dead), [self._dealer.runs()]), self._first, self._events))
        return found

    def _deal(self, singles: Singles, count: int) -> None:
        if count:
            if self._dealer is None:
                self._dealer = Dealer(self._first, self._events)
            self._dealer.add(singles.event[:count], singles.owner[:count], singles.points[:count])


def _mask(events: npt.NDArray[np.bool_], words: int) -> npt.NDArray[np.uint64]:
    """Return a mask of so many words of the events that are true."""
    bits = np.zeros(8 * words, np.uint8)
    packed = np.packbits(events, bitorder="little")
    bits[: len(packed)] = packed
    return bits.view(np.dtype("<u8")).astype(np.uint64, copy=False)
