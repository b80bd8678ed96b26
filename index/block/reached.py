"""What of a segment a block reaches by its access sets: tests hold it against the matches, benchmarks measure it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.block.matcher import BlockMatcher, Marked
from index.event_block import EventBlock


class Touched(NamedTuple):
    """What is read of a segment's postings for a block.

    Attributes
    ----------
    records
        Records of the groups whose two rows hold together, counted for each chunk: the tests that are made.
    bytes
        Their owners, bounds, heads and words, tails included.
    """

    records: int
    bytes: int


def candidates(matcher: BlockMatcher, block: EventBlock) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the (event, ordinal) pairs that the access sets let through, before any program runs, each once.

    They are a superset of the matches.
    """
    postings, pairs = matcher.postings, []
    for events, marked, listed in matcher.listings(block):
        for at in range(listed):
            group = marked.memory.live_group[at]
            records = slice(*postings.group_record[group : group + 2])
            owners = np.unique([o for word in postings.record_owner[records].tolist() for o in _owners(matcher, word)])
            pairs.append(np.stack(np.meshgrid(_reached(matcher, marked, at, events), owners), -1).reshape(-1, 2))
    found = np.unique(np.concatenate([np.zeros((0, 2), np.int64), *pairs]), axis=0)
    return found[:, 0].astype(np.int32), found[:, 1].astype(np.int32)


def touched(matcher: BlockMatcher, block: EventBlock) -> Touched:
    """Return how much of the segment all matches of a block touch."""
    postings, records, words = matcher.postings, 0, 0
    for _, marked, listed in matcher.listings(block):
        held, groups = marked.chunk.masks, marked.memory.live_group[:listed]
        both = held[marked.memory.live_row[:listed]] & held[postings.group_second[groups]]
        groups = groups[both.any(axis=1)]
        records += int((postings.group_record[groups + 1] - postings.group_record[groups]).sum())
        words += int((postings.group_word[groups + 1] - postings.group_word[groups]).sum())
    a_record = sum(a.itemsize for a in (postings.record_owner, postings.record_bound, postings.record_head))
    return Touched(records, postings.words.itemsize * words + a_record * records)


def _owners(matcher: BlockMatcher, word: int) -> list[int]:
    """Return the owners that a record's word stands for."""
    if word >= 0:
        return [word >> 1]
    start, listed = matcher.postings.owner_list_start, matcher.postings.owner_list
    return (listed[start[-1 - word] : start[-word]] >> 1).tolist()  # type: ignore[no-any-return]


def _reached(matcher: BlockMatcher, marked: Marked, at: int, events: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return those of a chunk's events that reach a listed group."""
    memory, held = marked.memory, marked.chunk.masks
    bits = held[memory.live_row[at]] & held[matcher.postings.group_second[memory.live_group[at]]]
    return events[np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))]
