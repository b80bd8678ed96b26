"""Posting storage of the K-index engines: conjunctions of literals, by key and by size.

Whang et al., "Indexing Boolean Expressions", section 3. The size of a conjunction is how many of its literals are not
excluded; conjunctions are numbered in the order of their sizes. A posting list belongs to a key and a size, and holds
the conjunctions of that size with a literal over that key, ascending, each once: where several literals of one
conjunction ask for the same key, there are several lists (the paper's section 4 does so for CNF). Conjunctions of size
0 stand in the list Z too, which every event has.

::

    key_list     int32 [keys + 2]    key k has the lists key_list[k] to key_list[k + 1]; the last key is Z
    list_size    int32 [lists]       size of its conjunctions
    list_start   int64 [lists + 1]   list l is entry[list_start[l]:list_start[l + 1]]
    entry        int32 [entries]     conjunction << 1 | 1, or conjunction << 1 where the literal is excluded
    slot         uint16 [entries]    which of the conjunction's literals it is, excluded ones apart
    weight       float64 [entries]   weight of the key in the conjunction; empty when all literals weigh 1
    list_high    float64 [lists]     largest weight of the list and 0, the bound UB of section 5; empty likewise
    list_low     float64 [lists]     smallest weight of the list and 0, for events with negative weights
    size         int32 [conjunctions]

An event's value, presence and range nodes are keys alike, so a literal may hold through several keys at once, when an
attribute has several values or a list and a range meet: K lists then are necessary for a match, not sufficient, and
candidates are verified by their distinct slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from index.arrays import Arrays, Float64s, Int32s, Int64s, UInt16s
from index.classic.keys import KeyTable
from index.classic.literals import Posted
from index.slices import places_of, starts_of

SLOTS = 2**16 - 1
"""The most literals of one conjunction."""

NO_SLOT = SLOTS
"""The slot of an entry of Z."""


class Postings(NamedTuple):
    """The arrays drawn above, but for ``size``."""

    key_list: Int32s
    list_size: Int32s
    list_start: Int64s
    entry: Int32s
    slot: UInt16s
    weight: Float64s
    list_high: Float64s
    list_low: Float64s


class Entries(NamedTuple):
    """Entries in columns, unordered: key, conjunction, whether plain, slot, weight."""

    key: Int64s
    conjunction: Int64s
    plain: Int64s
    slot: Int64s
    weight: Float64s


def build_postings(table: KeyTable, conjunctions: Sequence[Sequence[Posted]]) -> tuple[Arrays, Int32s]:
    """Return the arrays drawn above, and the number that each of the conjunctions has in them.

    Parameters
    ----------
    table
        The keys.
    conjunctions
        Their literals, at most `SLOTS` each; the empty one is always true.
    """
    literals = np.fromiter(map(len, conjunctions), np.int64, len(conjunctions))
    plain = np.array([not literal.negated for literal in chain.from_iterable(conjunctions)], np.bool_)
    before = np.append(0, np.cumsum(plain))
    first = np.cumsum(literals) - literals
    size = before[first + literals] - before[first]
    return post(table, conjunctions, size, before[:-1] - np.repeat(before[first], literals))


def post(table: KeyTable, expressions: Sequence[Sequence[Posted]], size: Int64s, slot: Int64s) -> tuple[Arrays, Int32s]:
    """Return the arrays for expressions of given sizes, and the number that each of them has in the arrays.

    Parameters
    ----------
    table
        The keys.
    expressions
        Their literals.
    size
        int64 [expressions].
    slot
        int64 [literals of all expressions].
    """
    posted = PostedKeys(table, expressions)
    order = np.argsort(size, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    expression = np.repeat(number, np.fromiter(map(len, expressions), np.int64, len(expressions)))
    entries = _with_zero(_expanded(posted, expression, slot), number[size == 0], table.count)
    return _lists(entries, size[order], table.count), number


class PostedKeys:
    """The distinct literals of all conjunctions, and their keys.

    Attributes
    ----------
    member
        int64 [literals], the literals of all conjunctions one after the other, as indices into the distinct ones.
    plain
        bool [distinct].
    start, key, weight
        Keys and weights of the distinct literals.
    """

    def __init__(self, table: KeyTable, conjunctions: Iterable[Sequence[Posted]]) -> None:
        numbers: dict[Posted, int] = {}
        self.member = np.fromiter(
            (numbers.setdefault(literal, len(numbers)) for literal in chain.from_iterable(conjunctions)), np.int64
        )
        predicate = np.array([literal.literal >> 1 for literal in numbers], np.int64)
        self.plain = np.array([not literal.negated for literal in numbers], np.bool_)
        lengths = table.start[predicate + 1] - table.start[predicate]
        self.start = starts_of(lengths, len(numbers))
        self.key = table.key[places_of(table.start[predicate], lengths)].astype(np.int64)
        self.weight = np.zeros(len(self.key))
        for literal, i in numbers.items():
            if literal.weights is not None:
                self.weight[self.start[i] : self.start[i + 1]] = literal.weights


def _expanded(posted: PostedKeys, conjunction: Int32s, slot: Int64s) -> Entries:
    lengths = np.diff(posted.start)[posted.member]
    place = places_of(posted.start[:-1][posted.member], lengths)
    return Entries(
        posted.key[place],
        np.repeat(conjunction, lengths).astype(np.int64),
        np.repeat(posted.plain[posted.member], lengths).astype(np.int64),
        np.repeat(slot, lengths),
        posted.weight[place],
    )


def _with_zero(entries: Entries, zero: Int32s, key: int) -> Entries:
    """Add the list Z."""
    n = len(zero)
    added = (np.full(n, key), zero.astype(np.int64), np.ones(n, np.int64), np.full(n, NO_SLOT), np.zeros(n))
    return Entries(*(np.concatenate(pair) for pair in zip(entries, added, strict=True)))


def _lists(entries: Entries, size: Int64s, keys: int) -> Arrays:
    """Cut the entries into lists.

    Sizes ascend with the numbers of the conjunctions, so in the order of keys and conjunctions each list is one run,
    unless a conjunction has several entries of one key.
    """
    order = np.argsort(entries.key << 32 | entries.conjunction, kind="stable")
    key, conjunction = entries.key[order], entries.conjunction[order]
    again = np.zeros(len(key), np.bool_)
    again[1:] = (key[1:] == key[:-1]) & (conjunction[1:] == conjunction[:-1])
    copy = np.arange(len(key)) - np.maximum.accumulate(np.where(again, 0, np.arange(len(key))))
    if again.any():
        sorted_ = np.lexsort((conjunction, copy, size[conjunction], key))
        order, key, conjunction, copy = order[sorted_], key[sorted_], conjunction[sorted_], copy[sorted_]
    of_list = np.ones(len(key), np.bool_)
    of_list[1:] = (key[1:] != key[:-1]) | (size[conjunction[1:]] != size[conjunction[:-1]]) | (copy[1:] != copy[:-1])
    first = np.flatnonzero(of_list)
    plain, weight = entries.plain[order], entries.weight[order]
    weighted = bool((weight[(plain == 1) & (key < keys)] != 1.0).any())
    bounds = first if len(first) and weighted else first[:0]
    return {
        "key_list": np.searchsorted(key[first], np.arange(keys + 2)).astype(np.int32),
        "list_size": size[conjunction[first]].astype(np.int32),
        "list_start": np.append(first, len(key)).astype(np.int64),
        "entry": (conjunction << 1 | plain).astype(np.int32),
        "slot": entries.slot[order].astype(np.uint16),
        "weight": weight if weighted else np.zeros(0),
        "list_high": np.maximum(np.maximum.reduceat(weight, bounds), 0.0) if len(bounds) else np.zeros(0),
        "list_low": np.minimum(np.minimum.reduceat(weight, bounds), 0.0) if len(bounds) else np.zeros(0),
        "size": size.astype(np.int32),
    }
