"""What a matcher has done since it was opened: how much of the postings it read, what it verified, what it skipped."""

from __future__ import annotations

from typing import NamedTuple


class Counters(NamedTuple):
    """Sums over all events.

    Attributes
    ----------
    entries
        Entries of the events' posting lists, of those that were opened; for `propagation` the predicates of the events'
        keys.
    read
        Entries that were looked at. The K-index engines count those at which a list came to stand, not the steps of the
        search for them; all others read every entry.
    candidates
        What was verified: conjunctions, expressions or subscriptions, for trees the places of true conjunctions.
    skipped_by_list
        Pivots passed over because the bounds of their lists were too low: the first pruning.
    skipped_sizes
        Sizes passed over because the bounds of their best lists were too low: the second pruning.
    """

    entries: int
    read: int
    candidates: int
    skipped_by_list: int
    skipped_sizes: int


ENTRIES, READ, CANDIDATES, SKIPPED_BY_LIST, SKIPPED_SIZES = range(5)
