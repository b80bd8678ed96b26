"""Keys: all that a literal may ask of an event, numbered, and the translation of an event block into them.

A key is what the papers call an attribute name and value pair. An event has the key of each of its values, the keys of
the presence of its attributes and of the absence of all others, and the keys of all nodes of a range hierarchy in which
one of its values lies (`index.classic.ranges`). So every predicate is a set of keys, and is true when the event has one
of them.

::

    attribute_*    dictionary of the attributes' names
    value_*        dictionary of (attribute, value), (attribute, absence) and (attribute, date node)
    value_key      int32 [values], the key of each entry of that dictionary
    presence_key   int32 [attributes], the key of an attribute's presence, -1 where nobody asks for it
    key_attribute  int32 [keys], ascending: keys of one attribute stand side by side
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from index.arrays import Arrays, Bools, Float64s, Int32s, Int64s, read_only
from index.attribute_names import derivation
from index.block.vocabulary import Everything, Inside, OneOf, Present, Term, Vocabulary
from index.byte_rows import ByteRows
from index.classic.literals import ABSENT
from index.classic.ranges import Method, RangeBuilder, RangeReader
from index.derivations import families
from index.derived_block import extended
from index.engine import Parts
from index.event_block import EventBlock
from index.slices import starts_of
from index.terms import Dictionary, value_bytes

_ABSENCE = b"0"
"""Absence as a dictionary key; no value's bytes and no date node's begin so."""


class EventKeys(NamedTuple):
    """A block as one segment sees it.

    Attributes
    ----------
    plain
        bool [events], see `index.event_block.EventBlock.plain`.
    start
        int64 [events + 1]: event e has the entries ``start[e]`` to ``start[e + 1]`` of ``key`` and ``weight``.
    key
        int32, ascending and distinct within an event.
    weight
        float64, the event's weight of the value; without meaning for other keys.
    """

    plain: Bools
    start: Int64s
    key: Int32s
    weight: Float64s


@dataclass(frozen=True, eq=False)
class KeyTable:
    """The keys of a finished vocabulary.

    Attributes
    ----------
    count
        How many keys there are.
    start, key
        int64 [predicates + 1], int32: the keys of predicate p are ``key[start[p]:start[p + 1]]``, ascending; those of a
        list of values in the order of its terms.
    arrays
        The parts: drawn above and in `index.classic.ranges`.
    """

    count: int
    start: Int64s
    key: Int32s
    arrays: Arrays

    def keys(self, predicate: int) -> Int32s:
        """Return the keys of a predicate."""
        return self.key[self.start[predicate] : self.start[predicate + 1]]


def number_keys(vocabulary: Vocabulary, ranges: Method = "hierarchy") -> KeyTable:
    """Return the keys of a vocabulary whose predicates are lists of values, presences and ranges.

    Keys get a first number in the order values, presences, ranges' nodes, and are then sorted by attribute.
    """
    predicates = list(vocabulary.predicates)
    present = sorted({p.attribute for p in predicates if isinstance(p, Present)})
    place = {attribute: len(vocabulary.terms) + i for i, attribute in enumerate(present)}
    builder = RangeBuilder(
        [p for p in predicates if isinstance(p, Inside)],
        list(vocabulary.attributes),
        len(vocabulary.terms) + len(present),
        ranges,
    )
    lists: list[Sequence[int]] = []
    for predicate in predicates:
        if isinstance(predicate, Term):
            lists.append((predicate.term,))
        elif isinstance(predicate, OneOf):
            lists.append(predicate.terms)
        elif isinstance(predicate, Present):
            lists.append((place[predicate.attribute],))
        elif isinstance(predicate, Inside):
            lists.append(builder.cover(predicate))
        else:
            assert isinstance(predicate, Everything), predicate
            lists.append(())
    attribute = np.array([a for a, _, _ in vocabulary.terms] + present + builder.attributes, np.int32)
    order = np.argsort(attribute, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    start = starts_of(map(len, lists), len(lists))
    key = number[np.fromiter((k for keys in lists for k in keys), np.int64, int(start[-1]))]
    owner = np.repeat(np.arange(len(lists)), np.diff(start))
    presence = np.full(len(vocabulary.attributes), -1, np.int32)
    presence[present] = number[[place[a] for a in present]]
    arrays = _dictionaries(vocabulary, builder, number) | builder.arrays(number)
    arrays |= {"presence_key": presence, "key_attribute": attribute[order]}
    return KeyTable(len(order), start, key[np.lexsort((key, owner))], arrays)


def _dictionaries(vocabulary: Vocabulary, builder: RangeBuilder, number: Int32s) -> Arrays:
    names = ByteRows.of([value_bytes(name) for name in vocabulary.attributes])
    dates = builder.dates
    tags = np.array([a for a, _, _ in vocabulary.terms] + [a for a, _, _ in dates], np.int32)
    spelled = [_ABSENCE if kind == ABSENT else value_bytes(value) for _, kind, value in vocabulary.terms]
    spelled += [node for _, node, _ in dates]
    key = np.concatenate([number[: len(vocabulary.terms)], number[[k for _, _, k in dates]]]).astype(np.int32)
    values = Dictionary.build(tags, ByteRows.of(spelled))
    attributes = Dictionary.build(np.zeros(len(names), np.int32), names)
    return attributes.parts("attribute") | values.parts("value") | {"value_key": key}


class KeyReader:
    """The dictionaries and ranges of one segment, opened."""

    def __init__(self, parts: Parts) -> None:
        self._attributes = Dictionary.of(parts, "attribute")
        self._values = Dictionary.of(parts, "value")
        # the last entry serves what the segment does not know, -1
        self._value_key = np.append(read_only(parts, "value_key"), np.int32(-1))
        self._presence = np.append(read_only(parts, "presence_key"), np.int32(-1))
        self._ranges = RangeReader(parts, self._values)
        attributes = np.arange(len(self._attributes.tags), dtype=np.int32)
        absence = self._value_key[self._values.find(attributes, ByteRows.of([_ABSENCE] * len(attributes)))]
        self._absent, self._absence = attributes[absence >= 0], absence[absence >= 0]
        self.attribute = read_only(parts, "key_attribute")
        self.count = len(self.attribute)
        names = [key[1:].decode("utf-8", "surrogatepass") for key in self._attributes.keys.to_list()]
        self._derived = families(name for name in names if derivation(name) is not None)

    def view(self, block: EventBlock) -> EventKeys:
        """Translate a block."""
        if self._derived:
            block = extended(block, self._derived)
        attribute = self._attributes.find(np.zeros(len(block.names), np.int32), block.names)
        term, key = self._keys_of_terms(block, attribute[block.term_attribute])
        first = np.searchsorted(term, block.term)
        counts = np.searchsorted(term, block.term, side="right") - first
        entry = np.repeat(np.arange(len(block.term)), counts)
        place = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts - first, counts)
        pairs = (self._present(block, attribute), self._lacking(block, attribute))
        event = np.concatenate([block.entry_event[entry], *(events for events, _ in pairs)])
        weight = np.ones(len(event))
        weight[: len(entry)] = block.weight[entry]
        return _sorted(block, event, np.concatenate([key[place], *(keys for _, keys in pairs)]), weight)

    def _keys_of_terms(self, block: EventBlock, attribute: Int32s) -> tuple[Int64s, Int32s]:
        """Return (term, key) pairs, ascending by term; a term has the key of its value and of the nodes above it."""
        key = self._value_key[self._values.find(attribute, block.keys)]
        known = np.flatnonzero(key >= 0)
        pairs = [(known, key[known]), *self._ranges.nodes(block, attribute, self._value_key)]
        term = np.concatenate([t for t, _ in pairs])
        order = np.argsort(term, kind="stable")
        return term[order], np.concatenate([k for _, k in pairs])[order]

    def _present(self, block: EventBlock, attribute: Int32s) -> tuple[Int32s, Int32s]:
        """Return (event, key) of the attributes that events have; an attribute's entries stand side by side."""
        held, event = block.term_attribute[block.term], block.entry_event
        first = np.ones(len(held), np.bool_)
        first[1:] = (held[1:] != held[:-1]) | (event[1:] != event[:-1])
        key = self._presence[attribute[held[first]]]
        return event[first][key >= 0], key[key >= 0]

    def _lacking(self, block: EventBlock, attribute: Int32s) -> tuple[Int32s, Int32s]:
        """Return (event, key) of the attributes that events lack and whose absence somebody asks for."""
        column = np.full(len(self._attributes.tags) + 1, -1)
        column[self._absent] = np.arange(len(self._absent))
        own = column[attribute[block.term_attribute[block.term]]]
        lacks = np.ones((block.size, len(self._absent)), np.bool_)
        lacks[block.entry_event[own >= 0], own[own >= 0]] = False
        event, which = np.nonzero(lacks)
        return event.astype(np.int32), self._absence[which]


def _sorted(block: EventBlock, event: Int32s, key: Int32s, weight: Float64s) -> EventKeys:
    """Order the entries; a node that several values of an event lie in is one entry."""
    code = event.astype(np.int64) << 32 | key
    order = np.argsort(code, kind="stable")
    code = code[order]
    kept = np.ones(len(code), np.bool_)
    kept[1:] = code[1:] != code[:-1]
    order = order[kept]
    start = np.searchsorted(event[order], np.arange(block.size + 1)).astype(np.int64)
    return EventKeys(block.plain, start, key[order], weight[order])
