"""Range predicates as sets of keys: by enumeration or by hierarchies of intervals.

Whang et al., "Indexing Boolean Expressions", section 2.3. The bounds that the subscriptions of a segment name cut an
attribute's numbers, or strings, into elementary intervals: each bound alone, and what lies between two of them; a
value's rank says in which it lies (`index.block.ladders.Ladders`), exactly for 64-bit integers and doubles alike. With
n bounds there are 2 n + 1 of them.

* ``enumeration``: a range is the set of its elementary intervals, up to 2 n + 1 keys; an event's value has one key.
* ``hierarchy``: dyadic groups of elementary intervals, aligned at powers of two; a range is at most 2 log2(2 n + 1) of
  them, an event's value lies in log2(2 n + 1). Ranges of instants go by the calendar: `index.classic.dates`.

::

    number_*, text_*  the bounds, as in `Bounds`
    ladder_levels     int32 [ladders], how many levels the ladder's hierarchy has
    ladder_node       int64 [ladders], where its nodes begin: those of level 0, then those of level 1, ...
    node_key          int32 [nodes], the node's key, -1 where no range has it in its cover
    date_attribute    int32 [n], attributes with ranges of instants
    date_levels       uint64 [n], bit l is set when a node of level l is in some cover
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from index.arrays import Float64s, Int32s, Int64s, UInt8s, group, read_only
from index.attribute_names import derivation
from index.block.ladders import Ladders
from index.block.vocabulary import Inside
from index.byte_rows import ByteRows, compare
from index.classic import dates
from index.engine import Parts
from index.event_block import TIME_ATTRIBUTE, EventBlock
from index.kernel import kernel
from index.slices import starts_of
from index.terms import Dictionary

Method = Literal["hierarchy", "enumeration"]


class Bounds(NamedTuple):
    """The bounds of each ladder, as `index.block.ladders.Ladders` has them; number ladders come before text ladders."""

    number_attribute: Int32s
    number_start: Int64s
    number_double: Float64s
    number_remainder: Int64s
    text_attribute: Int32s
    text_start: Int64s
    text_data: UInt8s
    text_offsets: Int64s


class RangeBuilder:
    """Covers the ranges of one segment with keys.

    Parameters
    ----------
    ranges
        All ranges that will be covered.
    names
        The attributes' names.
    first
        The number of the first key that is given out.
    method
        How to cover.

    Attributes
    ----------
    attributes
        The attribute of each key given out.
    dates
        (attribute, node as a dictionary key, key) of the date nodes among them.
    """

    def __init__(self, ranges: Iterable[Inside], names: Sequence[str], first: int, method: Method) -> None:
        ranges = list(ranges)
        self.attributes: list[int] = []
        self.dates: list[tuple[int, bytes, int]] = []
        self._first = first
        self._method = method
        self._dated = _dated(ranges, names) if method == "hierarchy" else frozenset()
        self._ladders = Ladders(inside for inside in ranges if inside.attribute not in self._dated)
        arrays = self._ladders.arrays()
        bounds = np.concatenate([np.diff(arrays["number_start"]), np.diff(arrays["text_start"])])
        self._ranks = (2 * bounds + 1).tolist()
        self._keys: dict[tuple[int, int, int], int] = {}

    def cover(self, inside: Inside) -> list[int]:
        """Return the keys of a range; none for a range that nothing can lie in."""
        if inside.attribute in self._dated:
            low, high = _half_open(inside)
            return [self._key(-1 - inside.attribute, inside.attribute, *node) for node in dates.cover(low, high)]
        ladder, low, high = self._ladders.cut(inside)
        return [self._key(ladder, inside.attribute, *node) for node in self._dyadic(ladder, low, high + 1)]

    def _dyadic(self, ladder: int, low: int, high: int) -> list[tuple[int, int]]:
        """Return (level, number) of the nodes from rank ``low`` to ``high``, the latter excluded."""
        nodes: list[tuple[int, int]] = []
        level, ranks = 0, self._ranks[ladder]
        while level < self._levels(ranks) - 1 and low < high:
            if low & 1:
                nodes.append((level, low))
                low += 1
            if high == _width(ranks, level):
                high += high & 1  # the last node's missing neighbour holds no rank
            elif high & 1 and low < high:
                high -= 1
                nodes.append((level, high))
            low, high, level = low >> 1, high >> 1, level + 1
        return nodes + [(level, number) for number in range(low, high)]

    def _levels(self, ranks: int) -> int:
        """Return how many levels the hierarchy over the ranks has; an enumeration has one, with all nodes."""
        return (ranks - 1).bit_length() + 1 if self._method == "hierarchy" else 1

    def _key(self, space: int, attribute: int, level: int, number: int) -> int:
        key = self._keys.get((space, level, number))
        if key is None:
            key = self._keys[space, level, number] = self._first + len(self.attributes)
            self.attributes.append(attribute)
            if space < 0:
                self.dates.append((attribute, dates.spell(dates.Node(level, number)), key))
        return key

    def arrays(self, number: Int32s) -> dict[str, npt.NDArray[Any]]:
        """Return the parts drawn above; ``number`` says which key became which."""
        levels = [self._levels(ranks) for ranks in self._ranks]
        sizes = [sum(_width(n, v) for v in range(k)) for n, k in zip(self._ranks, levels, strict=True)]
        node = starts_of(sizes, len(sizes))
        node_key = np.full(int(node[-1]), -1, np.int32)
        used: dict[int, int] = dict.fromkeys(sorted(self._dated), 0)
        for (space, level, rank), key in self._keys.items():
            if space < 0:
                used[-1 - space] |= 1 << level
            else:
                above = sum(_width(self._ranks[space], v) for v in range(level))
                node_key[node[space] + above + rank] = number[key]
        return self._ladders.arrays() | {
            "ladder_levels": np.array(levels, np.int32),
            "ladder_node": node[:-1].copy(),
            "node_key": node_key,
            "date_attribute": np.array(list(used), np.int32),
            "date_levels": np.array(list(used.values()), np.uint64),
        }


def _width(ranks: int, level: int) -> int:
    return ((ranks - 1) >> level) + 1


def _dated(ranges: Iterable[Inside], names: Sequence[str]) -> frozenset[int]:
    """Return the attributes that hold instants and whose bounds all lie between the calendar's ends."""
    found: dict[int, bool] = {}
    for inside in ranges:
        fits = all(isinstance(b, int) and dates.EARLIEST <= b < dates.LATEST for b in inside.bounds)
        found[inside.attribute] = found.get(inside.attribute, _holds_instants(names[inside.attribute])) and fits
    return frozenset(attribute for attribute, dated in found.items() if dated)


def _holds_instants(name: str) -> bool:
    made = derivation(name)
    return name == TIME_ATTRIBUTE or (made is not None and made.steps[-1].function == "~instant")


def _half_open(inside: Inside) -> tuple[int, int]:
    """Return the first instant inside a range of instants, and the first one behind it."""
    low, high = dates.BEGIN, dates.END
    for bound, lower, step in ((inside.ge, 1, 0), (inside.gt, 1, 1), (inside.lt, 0, 0), (inside.le, 0, 1)):
        if bound is not None:
            assert isinstance(bound, int)
            low, high = (max(low, bound + step), high) if lower else (low, min(high, bound + step))
    return low, high


class RangeReader:
    """The ranges of one segment, opened.

    Parameters
    ----------
    parts
        The segment's parts.
    values
        Its dictionary of values, which holds the date nodes too.
    """

    def __init__(self, parts: Parts, values: Dictionary) -> None:
        self._ladders = group(Bounds, parts)
        self._levels = read_only(parts, "ladder_levels")
        self._node = read_only(parts, "ladder_node")
        self._node_key = read_only(parts, "node_key")
        self._dates = list(zip(parts["date_attribute"].tolist(), parts["date_levels"].tolist(), strict=True))
        self._values = values

    def nodes(self, block: EventBlock, attribute: Int32s, value_key: Int32s) -> list[tuple[Int64s, Int32s]]:
        """Return (term, key) columns: the nodes in which the block's terms lie.

        Parameters
        ----------
        block
            The events.
        attribute
            int32 [terms], the segment's number of each term's attribute, -1 for those it does not know.
        value_key
            int32, the key of each entry of the dictionary of values, and -1 as the last.
        """
        found = [self._date_nodes(block, attribute, value_key, *date) for date in self._dates]
        ladders, numbers, first_text = self._ladders, block.numbers, len(self._ladders.number_attribute)
        for ladder, of in enumerate(np.concatenate([ladders.number_attribute, ladders.text_attribute]).tolist()):
            if ladder < first_text:
                term = np.flatnonzero((attribute == of) & ~np.isnan(numbers.double))
                rank = np.empty(len(term), np.int64)
                first, stop = ladders.number_start[ladder], ladders.number_start[ladder + 1]
                bounds = (ladders.number_double[first:stop], ladders.number_remainder[first:stop])
                _rank_numbers(numbers.double[term], numbers.remainder[term], *bounds, rank)
            else:
                term = np.flatnonzero((attribute == of) & block.is_text)
                rank = np.empty(len(term), np.int64)
                first, stop = ladders.text_start[ladder - first_text], ladders.text_start[ladder - first_text + 1]
                keys = block.keys
                _rank_texts(term, keys.data, keys.offsets, first, stop, ladders.text_data, ladders.text_offsets, rank)
            found += self._ladder_nodes(ladder, 2 * int(stop - first) + 1, term, rank)
        return found

    def _ladder_nodes(self, ladder: int, ranks: int, term: Int64s, rank: Int64s) -> list[tuple[Int64s, Int32s]]:
        found = []
        base = int(self._node[ladder])
        for level in range(int(self._levels[ladder])):
            key = self._node_key[base + (rank >> level)]
            found.append((term[key >= 0], key[key >= 0]))
            base += _width(ranks, level)
        return found

    def _date_nodes(
        self, block: EventBlock, attribute: Int32s, value_key: Int32s, of: int, levels: int
    ) -> tuple[Int64s, Int32s]:
        term = np.flatnonzero(attribute == of)
        instants = np.array([block.terms[t][1] for t in term.tolist()], np.int64)
        used = [level for level in range(dates.LEVELS) if levels >> level & 1]
        spelled = [node for level in used for node in dates.spell_all(level, dates.numbers(instants, level))]
        found = self._values.find(np.full(len(spelled), of, np.int32), ByteRows.of(spelled))
        key = value_key[found]
        return np.tile(term, len(used))[key >= 0], key[key >= 0]


@kernel
def _rank_numbers(double, remainder, bound_double, bound_remainder, rank):  # type: ignore[no-untyped-def]
    """Rank numbers among ascending bounds: 2 i + 1 on bound i, 2 i just below it."""
    for t in range(len(rank)):
        d, r = double[t], remainder[t]
        low, high = 0, len(bound_double)
        while low < high:
            middle = (low + high) >> 1
            b = bound_double[middle]
            if b < d or (b == d and bound_remainder[middle] < r):
                low = middle + 1
            else:
                high = middle
        on_bound = low < len(bound_double) and bound_double[low] == d and bound_remainder[low] == r
        rank[t] = 2 * low + on_bound


@kernel
def _rank_texts(terms, data, offsets, first, stop, bound_data, bound_offsets, rank):  # type: ignore[no-untyped-def]
    """As `_rank_numbers`; a term's bytes begin with a letter for their kind, which no bound has."""
    for t in range(len(terms)):
        begin, end = offsets[terms[t]] + 1, offsets[terms[t] + 1]
        low, high = first, stop
        order = 1
        while low < high:
            middle = (low + high) >> 1
            if compare(bound_data, bound_offsets[middle], bound_offsets[middle + 1], data, begin, end) < 0:
                low = middle + 1
            else:
                high = middle
        if low < stop:
            order = compare(bound_data, bound_offsets[low], bound_offsets[low + 1], data, begin, end)
        rank[t] = 2 * (low - first) + (order == 0)
