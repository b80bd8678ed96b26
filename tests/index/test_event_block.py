"""The event block holds exactly what the events hold."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index.event_block import NO_TIME, TIME_ATTRIBUTE, EventBlock
from schemas.records import Event
from schemas.values import ValueKey, value_key
from tests.strategies import events

Pair = tuple[ValueKey | str, float]


def content(event: Event) -> dict[str, list[Pair]]:
    """Return the event's values and weights with 1, 1.0 and True told apart as matching does."""
    held: dict[str, list[Pair]] = {}
    for name, values in event.attributes.items():
        weights = event.weights.get(name, (1.0,) * len(values))
        held[name] = [("nan" if v != v else value_key(v), w) for v, w in zip(values, weights, strict=True)]
    if event.time is not None:
        held[TIME_ATTRIBUTE] = [(value_key(event.time), 1.0)]
    return held


def block_content(block: EventBlock, event: int) -> dict[str, list[Pair]]:
    held: dict[str, list[Pair]] = {}
    for i in range(block.offsets[event], block.offsets[event + 1]):
        attribute, value = block.terms[block.term[i]]
        pair = ("nan" if value != value else value_key(value), float(block.weight[i]))
        held.setdefault(block.attributes[attribute], []).append(pair)
    return held


@given(st.lists(events(), max_size=8), st.integers(0, 9))
def test_a_block_holds_its_events(happened: list[Event], default: int) -> None:
    block = EventBlock.from_events(happened, default)
    assert block.size == len(happened)
    assert [block_content(block, e) for e in range(block.size)] == [content(event) for event in happened]
    assert block.top.tolist() == [default if event.top is None else event.top for event in happened]
    assert block.time.tolist() == [NO_TIME if event.time is None else event.time for event in happened]
    assert block.entry_event.tolist() == [e for e in range(block.size) for _ in np.arange(*block.offsets[e : e + 2])]


@given(st.lists(events(finite=True), max_size=8))
def test_a_value_is_one_term_however_many_events_hold_it(happened: list[Event]) -> None:
    block = EventBlock.from_events(happened)
    keys = [(attribute, value_key(value)) for attribute, value in block.terms]
    assert len(set(keys)) == len(keys)
    assert len(set(block.attributes)) == len(block.attributes)
    assert sorted(set(block.term.tolist())) == list(range(len(keys)))


@given(st.lists(events(), max_size=8))
def test_plain_events_have_weights_of_one_and_single_values(happened: list[Event]) -> None:
    plain = [
        all(len(values) == 1 for values in event.attributes.values())
        and all(weight == 1.0 for weights in event.weights.values() for weight in weights)
        for event in happened
    ]
    assert EventBlock.from_events(happened).plain.tolist() == plain


def test_columns_tell_the_kinds_of_values_apart() -> None:
    block = EventBlock.from_events([Event({"a": (1, True, "1", math.nan, 2**53 + 1, 0.5)})])
    assert block.is_text.tolist() == [False, False, True, False, False, False]
    assert np.isnan(block.numbers.double).tolist() == [False, True, True, True, False, False]
    assert block.numbers.remainder.tolist() == [0, 0, 0, 0, 1, 0]
    assert [len(key) for key in block.keys.to_list()] == [9, 2, 2, 0, 9, 9]
