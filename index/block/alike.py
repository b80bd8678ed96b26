"""Subscriptions that say the same, of which there are many where people subscribe to what is popular, become one.

Two subscriptions are alike when each is a single clause, the clauses have the same literals with the same weights, in
any order, and the priorities are equal: then they match the same events with the same scores. The first one's clause
stays, and a list of all that are like it takes the place of its owner. Trees are alike when their arguments stand in
the same order. A subscription with several clauses stays by itself: an owner's doubles are found by its owner word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.clauses import Clause, Clauses
from index.block.layout import Bools, Int32s, Int64s
from index.block.leaves import LeafTable
from index.block.nodes import Branch, Node, Test
from index.block.rows import starts_of
from index.kernel import inlined, kernel

_INSERTED = 48
"""Clauses of so many literals are sorted by insertion."""

_MIX = 0x9E3779B97F4A7C15
"""2 ** 64 divided by the golden ratio: its multiples scatter neighbours (Knuth)."""


class OwnerLists(NamedTuple):
    """Who owns clauses that several subscriptions have.

    Attributes
    ----------
    number
        int32 [clauses]: the clause's list, or -1 if it has one owner.
    start, owner
        int64 [lists + 1], int32: a list's subscriptions, ascending, two at least.
    """

    number: Int32s
    start: Int64s
    owner: Int32s


def joined(clauses: Clauses, leaves: LeafTable, points: Int64s) -> tuple[Clauses, OwnerLists]:
    """Return the clauses without those that are like an earlier one, and who owns them.

    Parameters
    ----------
    clauses
        The clauses of all subscriptions.
    leaves
        The leaves by which their literals score.
    points
        int64 [subscriptions], the priorities in score units.
    """
    first = _firsts(clauses, leaves, points)
    kept = first == np.arange(len(first))
    place = np.cumsum(kept) - 1
    size = np.bincount(place[first], minlength=int(kept.sum()))
    by_first = np.argsort(place[first], kind="stable")
    of_several = np.repeat(size > 1, size)
    number = np.where(size > 1, np.cumsum(size > 1) - 1, -1).astype(np.int32)
    lists = OwnerLists(number, starts_of(size[size > 1], int((size > 1).sum())), clauses.owner[by_first][of_several])
    lengths = np.diff(clauses.start)
    literals = np.repeat(kept, lengths)
    left = Clauses(
        clauses.owner[kept],
        starts_of(lengths[kept], len(size)),
        clauses.literal[literals],
        clauses.leaf[literals],
        {int(place[clause]): tree for clause, tree in clauses.trees.items() if kept[clause]},
    )
    return left, lists


def _firsts(clauses: Clauses, leaves: LeafTable, points: Int64s) -> Int64s:
    """Return for each clause the first one that it is like, which may be itself."""
    meaning = _meanings(leaves)
    alone = np.bincount(clauses.owner, minlength=len(points))[clauses.owner] == 1
    plain = alone.copy()
    plain[list(clauses.trees)] = False
    first = np.arange(len(clauses.owner))
    key = clauses.literal.astype(np.int64) << 32 | meaning[clauses.leaf]
    _sort_short(clauses.start, key)
    for clause in np.flatnonzero(np.diff(clauses.start) > _INSERTED).tolist():
        key[clauses.start[clause] : clauses.start[clause + 1]].sort()
    slots = np.full(1 << (2 * len(first) | 1).bit_length(), -1, np.int32)
    _find(clauses.start, key, points[clauses.owner], plain, slots, first)
    _find_trees(clauses, meaning, points, alone, first)
    return first


def _meanings(leaves: LeafTable) -> Int64s:
    """Return a number for each leaf, equal for those of one list that score the same; the last is that of NO_LEAF."""
    weights, of_weight = np.unique(leaves.weight, return_inverse=True)
    by_itself = len(weights) + np.arange(len(leaves.weight))
    return np.append(np.where(leaves.even, of_weight.reshape(-1), by_itself), len(weights) + len(leaves.weight))


def _find_trees(clauses: Clauses, meaning: Int64s, points: Int64s, alone: Bools, first: Int64s) -> None:
    """Find the trees that are like an earlier one; a tree that scores as a whole stays by itself."""
    met: dict[tuple[int, ...], int] = {}
    for clause, tree in clauses.trees.items():
        if alone[clause] and tree.weighing is None:
            key = int(points[clauses.owner[clause]]), *_words(tree, meaning)
            first[clause] = met.setdefault(key, clause)


def _words(tree: Clause, meaning: Int64s) -> list[int]:
    """Return a tree as numbers: a branch as its kind and length, which are negative, before its arguments."""
    words: list[int] = []
    work: list[Node] = tree.args[::-1]
    while work:
        node = work.pop()
        if isinstance(node, Test):
            words += node.literal, int(meaning[node.leaf])
        elif isinstance(node, Branch):
            words += -1 - node.conjunction, -len(node.args)
            work += reversed(node.args)
    return words


@kernel
def _sort_short(start, key):  # type: ignore[no-untyped-def]
    """Sort each clause's keys, as far as it has few."""
    for clause in range(len(start) - 1):
        if start[clause + 1] - start[clause] > _INSERTED:
            continue
        for i in range(start[clause] + 1, start[clause + 1]):
            moved, j = key[i], i
            while j > start[clause] and key[j - 1] > moved:
                key[j] = key[j - 1]
                j -= 1
            key[j] = moved


@kernel
def _find(start, key, points, plain, slots, first):  # type: ignore[no-untyped-def]
    """Write each plain clause's first like it; at most half of the slots get taken, so every search ends."""
    mask = np.uint64(len(slots) - 1)
    for clause in range(len(first)):
        if not plain[clause]:
            continue
        slot = (_hash(start, key, points, clause) >> np.uint64(20)) & mask
        while slots[slot] >= 0 and not _is_like(start, key, points, clause, slots[slot]):
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = clause
        first[clause] = slots[slot]


@inlined
def _hash(start, key, points, clause):  # type: ignore[no-untyped-def]
    found = np.uint64(points[clause]) * np.uint64(_MIX)
    for i in range(start[clause], start[clause + 1]):
        found = (found ^ (found >> np.uint64(29)) ^ np.uint64(key[i])) * np.uint64(_MIX)
    return found


@inlined
def _is_like(start, key, points, clause, other):  # type: ignore[no-untyped-def]
    shift = start[other] - start[clause]
    is_like = points[clause] == points[other] and start[other + 1] - start[clause + 1] == shift
    i = start[clause]
    while is_like and i < start[clause + 1]:
        is_like = key[i] == key[i + shift]
        i += 1
    return is_like
