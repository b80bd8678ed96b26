"""Joins subscriptions that say the same; there are many such where people subscribe to what is popular.

Two subscriptions are alike when they have as many clauses, each with the same literals and weights, in any order, as
the other's in its place, and the same priority: then they match the same events with the same scores. The first one's
clauses stay, and a list of all that are like it takes the place of their owner. Trees are alike when their arguments
stand in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from index.block.clauses import Clause, Clauses
from index.block.layout import Bools, Int32s, Int64s
from index.block.leaves import LeafTable
from index.block.nodes import Branch, Node, Test
from index.block.ordering import insert
from index.kernel import inlined, kernel
from index.slices import starts_of

_INSERTED = 48
"""Clauses of so many literals are sorted by insertion."""

_CLAUSE, _AND, _OR = -1, -2, -3
"""Numbers that stand for no literal: a clause begins, an AND or OR in it does."""

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


class Bodies(NamedTuple):
    """What subscriptions say, but for those that are never true, which have no body.

    Attributes
    ----------
    start
        int64 [bodies + 1]: a body's first clause.
    owner, points
        int32, int64 [bodies]: the subscription, and its priority.
    """

    start: Int64s
    owner: Int32s
    points: Int64s

    @classmethod
    def of(cls, clauses: Clauses, points: Int64s) -> Bodies:
        """Return the bodies that the clauses make up."""
        owner, start = np.unique(clauses.owner, return_index=True)
        return cls(np.append(start, len(clauses.owner)), owner, points[owner])


def joined(clauses: Clauses, leaves: LeafTable, points: Int64s) -> tuple[Clauses, OwnerLists]:
    """Return the clauses without those of subscriptions that are like an earlier one, and who owns them.

    Parameters
    ----------
    clauses
        The clauses of all subscriptions.
    leaves
        The leaves by which their literals score.
    points
        int64 [subscriptions], the priorities in score units.
    """
    bodies = Bodies.of(clauses, points)
    first = _firsts(clauses, leaves, bodies)
    kept = first == np.arange(len(first))
    place = (np.cumsum(kept) - 1)[first]
    size = np.bincount(place, minlength=int(kept.sum()))
    owner = bodies.owner[np.argsort(place, kind="stable")][np.repeat(size > 1, size)]
    clauses_each = np.diff(bodies.start)
    number = np.repeat(np.where(size > 1, np.cumsum(size > 1) - 1, -1), clauses_each[kept]).astype(np.int32)
    lists = OwnerLists(number, starts_of(size[size > 1], int((size > 1).sum())), owner)
    return _chosen(clauses, np.repeat(kept, clauses_each)), lists


def _chosen(clauses: Clauses, kept: Bools) -> Clauses:
    """Return the clauses that are kept."""
    lengths, place = np.diff(clauses.start), np.cumsum(kept) - 1
    literals = np.repeat(kept, lengths)
    trees = {int(place[clause]): tree for clause, tree in clauses.trees.items() if kept[clause]}
    start = starts_of(lengths[kept], int(kept.sum()))
    return Clauses(clauses.owner[kept], start, clauses.literal[literals], clauses.leaf[literals], trees)


def _firsts(clauses: Clauses, leaves: LeafTable, bodies: Bodies) -> Int64s:
    """Return for each body the first one that it is like, which may be itself."""
    meaning = _meanings(leaves)
    key = clauses.literal.astype(np.int64) << 32 | meaning[clauses.leaf]
    _sort_short(clauses.start, key)
    for clause in np.flatnonzero(np.diff(clauses.start) > _INSERTED).tolist():
        key[clauses.start[clause] : clauses.start[clause + 1]].sort()
    first = np.arange(len(bodies.owner))
    with_trees = np.unique(np.searchsorted(bodies.start, list(clauses.trees), side="right") - 1)
    plain = np.ones(len(first), np.bool_)
    plain[with_trees] = False
    slots = np.full(1 << (2 * len(first) | 1).bit_length(), -1, np.int32)
    _find(bodies, clauses.start, key, plain, slots, first)
    met: dict[tuple[int, ...], int] = {}
    for body in with_trees.tolist():
        said = _said(range(*bodies.start[body : body + 2].tolist()), clauses, key, meaning)
        if said is not None:
            first[body] = met.setdefault((int(bodies.points[body]), *said), body)
    return first


def _meanings(leaves: LeafTable) -> Int64s:
    """Return a number for each leaf, equal for those of one list that score the same; the last is that of NO_LEAF."""
    weights, of_weight = np.unique(leaves.weight, return_inverse=True)
    meaning = np.where(leaves.even, of_weight.reshape(-1), len(weights) + leaves.uneven)
    return np.append(meaning, meaning.max(initial=-1) + 1)


def _said(which: Iterable[int], clauses: Clauses, key: Int64s, meaning: Int64s) -> list[int] | None:
    """Return clauses as numbers; None if one scores as a whole, by more than what it consists of."""
    said: list[int] = []
    for clause in which:
        tree = clauses.trees.get(clause)
        if tree is None:
            said += _CLAUSE, *key[clauses.start[clause] : clauses.start[clause + 1]].tolist()
        elif tree.weighing is None:
            said += _CLAUSE, *_words(tree, meaning)
        else:
            return None
    return said


def _words(tree: Clause, meaning: Int64s) -> list[int]:
    """Return a tree as numbers: a branch as its kind and length, before its arguments."""
    words: list[int] = []
    work: list[Node] = tree.args[::-1]
    while work:
        node = work.pop()
        if isinstance(node, Test):
            words += node.literal, int(meaning[node.leaf])
        elif isinstance(node, Branch):
            words += _AND if node.conjunction else _OR, len(node.args)
            work += reversed(node.args)
    return words


@kernel
def _sort_short(start, key):  # type: ignore[no-untyped-def]
    """Sort each clause's keys, as far as it has few."""
    for clause in range(len(start) - 1):
        literals = start[clause + 1] - start[clause]
        if literals <= _INSERTED:
            insert(key[start[clause] : start[clause + 1]])


@kernel
def _find(bodies, start, key, plain, slots, first):  # type: ignore[no-untyped-def]
    """Write the first body that each plain one is like; at most half of the slots get taken, so every search ends."""
    mask = np.uint64(len(slots) - 1)
    for body in range(len(first)):
        if not plain[body]:
            continue
        slot = (_hash(bodies, start, key, body) >> np.uint64(20)) & mask
        while slots[slot] >= 0 and not _is_like(bodies, start, key, body, slots[slot]):
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = body
        first[body] = slots[slot]


@inlined
def _hash(bodies, start, key, body):  # type: ignore[no-untyped-def]
    found = np.uint64(bodies.points[body]) * np.uint64(_MIX)
    for i in range(start[bodies.start[body]], start[bodies.start[body + 1]]):
        found = (found ^ (found >> np.uint64(29)) ^ np.uint64(key[i])) * np.uint64(_MIX)
    return found


@inlined
def _is_like(bodies, start, key, body, other):  # type: ignore[no-untyped-def]
    own, others = bodies.start[body], bodies.start[other]
    clauses = bodies.start[body + 1] - own
    is_like = bodies.points[body] == bodies.points[other] and bodies.start[other + 1] - others == clauses
    shift = start[others] - start[own]
    clause = 0
    while is_like and clause < clauses:
        clause += 1
        is_like = start[others + clause] - start[own + clause] == shift
    i = start[own]
    while is_like and i < start[own + clauses]:
        is_like = key[i] == key[i + shift]
        i += 1
    return is_like
