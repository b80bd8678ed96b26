"""Hypothesis strategies shared by all tests: values, events, expressions and subscriptions, all of them allowed.

The alphabets are small, so that matches happen, and hold the values that are easily confused: equal numbers of two
types, strings that look like numbers, booleans beside 0 and 1, neighbours beyond 2**53, the ends of 64 bits, -0.0.
Strategies are cached: building and checking a recursive one takes longer than drawing from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st

from schemas.check import check_subscription
from schemas.errors import Refused
from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.records import Event, Subscription
from schemas.values import INT64_MAX, INT64_MIN, Number, Value, distinct_values, value_key
from tests.leaf_strategies import RICH_ATTRIBUTES, rich_leaves, rich_values, weighted_leaves

NUMBERS: tuple[Number, ...] = (
    *(0, -0.0, 1, 1.0, -1, 2, 3, 3.5, 35, 35.0, 0.1, -1.5, 5e-324, 1e308, -1e308),
    *(2**53 - 1, 2**53, float(2**53), 2**53 + 1, 2**53 + 2, -(2**53) - 1),
    *(INT64_MAX, INT64_MAX - 1, float(2**63), INT64_MIN, INT64_MIN + 1, -float(2**63)),
)
STRINGS = ("", "a", "b", "ab", "A", "1", "1.0", '"1"', "true", "null", "é", "\uffff", "\U0001f600", "a\u0000", "x'y\"z")
NOT_FINITE = (math.nan, math.inf, -math.inf)
ATTRIBUTES = ("a", "b", "c", "geo.lat", "é b")
WEIGHTS = (0.0, 1.0, -1.0, 0.5, 2.0, 0.1, 0.7, -3.25, 2.0**-21, 3 * 2.0**-21, 1000.0)
TIMES = (0, 1, 999_999, 1_000_000, 1_700_000_000_000_000, 1_700_000_000_123_456, -1)
IDS = ("s", "s1", "s10", "s2", "S", "é", "\uffff", "\U0001f600", "a b", "x\u0000")


@cache
def strings() -> st.SearchStrategy[str]:
    """Strings from the small alphabet, now and then any text that UTF-8 can hold."""
    return st.one_of(st.sampled_from(STRINGS), st.sampled_from(STRINGS), st.text(max_size=4))


@cache
def numbers() -> st.SearchStrategy[Number]:
    """Finite numbers of both types, mostly from the small alphabet."""
    return st.one_of(
        st.sampled_from(NUMBERS),
        st.sampled_from(NUMBERS),
        st.integers(-3, 40),
        st.integers(INT64_MIN, INT64_MAX),
        st.floats(allow_nan=False, allow_infinity=False),
    )


@cache
def values() -> st.SearchStrategy[Value]:
    """Values that a subscription may list: strings, booleans, finite numbers."""
    return st.one_of(numbers(), strings(), st.booleans())


@cache
def event_values(finite: bool = False) -> st.SearchStrategy[Value]:
    """Values that an event may hold: NaN and the infinities too, unless ``finite``."""
    return values() if finite else st.one_of(values(), values(), values(), st.sampled_from(NOT_FINITE))


@cache
def attributes() -> st.SearchStrategy[str]:
    """Attribute names from a small alphabet, dotted and quoted ones among them."""
    return st.sampled_from(ATTRIBUTES)


@cache
def weights() -> st.SearchStrategy[float]:
    """Weights whose sums over a small subscription stay far under the limit; some fall between two score units."""
    return st.one_of(st.sampled_from(WEIGHTS), st.floats(-1000, 1000))


@st.composite
def events(draw: st.DrawFn, finite: bool = False, max_attributes: int = 5) -> Event:
    """Events with several values an attribute, sometimes weights, a top and a time; ``finite`` leaves NaN out."""
    held = draw(_assignments(finite, max_attributes))
    weighted = draw(st.sets(st.sampled_from(sorted(held)))) if held else set()
    return Event(
        attributes=held,
        weights={name: tuple(draw(weights()) for _ in held[name]) for name in sorted(weighted)},
        top=draw(st.none() | st.integers(1, 5)),
        time=draw(st.none() | st.sampled_from(TIMES)),
    )


@cache
@st.composite
def memberships(draw: st.DrawFn) -> In:
    """``in`` leaves; a value that is listed twice, also as the other type of number, has one weight."""
    listed = draw(_value_lists())
    if not draw(st.booleans()):
        return In(draw(attributes()), listed)
    known = {value_key(value): draw(weights()) for value in listed}
    return In(draw(attributes()), listed, tuple(known[value_key(value)] for value in listed))


@cache
@st.composite
def ranges(draw: st.DrawFn) -> Range:
    """``range`` leaves with one bound or two, over numbers or strings, never inverted and never empty."""
    attribute = draw(attributes())
    bounds: st.SearchStrategy[str | Number] = draw(st.sampled_from((numbers(), numbers(), strings())))
    lower, upper = sorted((draw(bounds), draw(bounds)))
    closed = lower == upper
    names = (
        draw(st.sampled_from(("ge",) if closed else ("gt", "ge"))),
        draw(st.sampled_from(("le",) if closed else ("lt", "le"))),
    )
    sides = draw(st.sampled_from(("both", "both", "lower", "upper")))
    chosen: dict[str, Any] = {names[0]: lower} if sides != "upper" else {}
    if sides != "lower":
        chosen[names[1]] = upper
    return Range(attribute, **chosen)


@cache
def leaves() -> st.SearchStrategy[Expression]:
    """The plain leaves; `rich_leaves` are all of them."""
    return st.one_of(
        memberships(),
        memberships(),
        ranges(),
        st.builds(NotIn, attributes(), _value_lists(), st.booleans()),
        st.builds(Exists, attributes()),
        st.builds(NotExists, attributes()),
    )


@cache
def expressions(max_leaves: int = 12) -> st.SearchStrategy[Expression]:
    """Allowed trees over the plain leaves and all connectives, AND and OR of nothing among them."""
    return st.recursive(leaves(), _grow, max_leaves=max_leaves)


@st.composite
def subscription(draw: st.DrawFn, id_: str, max_leaves: int = 12) -> Subscription:
    """One subscription with this id."""
    validity = sorted(draw(st.lists(st.sampled_from(TIMES), min_size=2, max_size=2)))
    has_start, has_end = draw(
        st.sampled_from(((False, False), (False, False), (True, False), (False, True), (True, True)))
    )
    return Subscription(
        id=id_,
        expression=draw(expressions(max_leaves)),
        priority=draw(st.just(0.0) | weights()),
        not_before=validity[0] if has_start else None,
        not_after=validity[1] if has_end else None,
        labels=draw(st.dictionaries(strings(), strings(), max_size=2)),
    )


@st.composite
def subscriptions(draw: st.DrawFn, min_size: int = 0, max_size: int = 8, max_leaves: int = 12) -> list[Subscription]:
    """Subscriptions with distinct ids, ascending by code points as engines take them."""
    ids: Sequence[str] = sorted(
        draw(st.sets(st.sampled_from(IDS), min_size=min_size, max_size=min(max_size, len(IDS))))
    )
    return [draw(subscription(id_, max_leaves)) for id_ in ids]


@cache
def rich_expressions(max_leaves: int = 12) -> st.SearchStrategy[Expression]:
    """Allowed trees over every leaf, derived attributes among them, as mode all takes them."""
    return st.recursive(rich_leaves(), _grow, max_leaves=max_leaves)


@cache
@st.composite
def rich_events(draw: st.DrawFn, finite: bool = False) -> Event:
    """Events whose values interest `rich_expressions`, sometimes with weights, a top and a time."""
    value = rich_values() if finite else st.one_of(*(rich_values(),) * 7, st.sampled_from(NOT_FINITE))
    size = draw(st.sampled_from((1, 2, 4, 8)))
    listed = st.lists(value, min_size=size, max_size=size).map(distinct_values)
    present = draw(st.sampled_from((*(RICH_ATTRIBUTES,) * 4, RICH_ATTRIBUTES[:1], RICH_ATTRIBUTES[1:], ())))
    held = {name: draw(listed) for name in present}
    weighted = draw(st.sets(st.sampled_from(sorted(held)))) if held else set()
    return Event(
        attributes=held,
        weights={name: tuple(draw(weights()) for _ in held[name]) for name in sorted(weighted)},
        top=draw(st.none() | st.integers(1, 5)),
        time=draw(st.none() | st.sampled_from(TIMES)),
    )


@st.composite
def rich_subscription(draw: st.DrawFn, id_: str, max_leaves: int = 12) -> Subscription:
    """One subscription over every leaf, in any mode."""
    mode = draw(st.sampled_from(("all", "all", "relaxed", "threshold")))
    priority = draw(st.just(0.0) | weights())
    if mode == "all":
        return Subscription(id_, draw(rich_expressions(max_leaves)), priority)
    flat = draw(_flat_expressions())
    if mode == "relaxed":
        return Subscription(id_, flat, priority, "relaxed")
    threshold = draw(st.sampled_from((1e-9, 0.1, 0.2, 1 / 3, 0.5, 2 / 3, 0.7, 0.75, 0.8, 1.0)))
    checked = Subscription(id_, flat, priority, "threshold", threshold)
    try:
        check_subscription(checked)
    except Refused:  # all weights are zero
        return Subscription(id_, Exists("a"), priority, "threshold", threshold)
    return checked


@st.composite
def rich_subscriptions(
    draw: st.DrawFn, min_size: int = 0, max_size: int = 8, max_leaves: int = 12
) -> list[Subscription]:
    """Subscriptions over every leaf and mode with distinct ids, ascending by code points as engines take them."""
    ids = sorted(draw(st.sets(st.sampled_from(IDS), min_size=min_size, max_size=min(max_size, len(IDS)))))
    return [draw(rich_subscription(id_, max_leaves)) for id_ in ids]


@cache
def _flat_expressions() -> st.SearchStrategy[Expression]:
    """The shapes that the modes relaxed and threshold allow."""
    args = st.lists(weighted_leaves(), min_size=1, max_size=5).map(tuple)
    return st.one_of(weighted_leaves(), st.builds(And, args), st.builds(Or, args))


def _grow(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    args = st.lists(children, max_size=4).map(tuple)
    return st.one_of(st.builds(And, args), st.builds(Or, args), st.builds(Not, children))


@cache
def _assignments(finite: bool, max_attributes: int) -> st.SearchStrategy[dict[str, tuple[Value, ...]]]:
    listed = st.lists(event_values(finite), min_size=1, max_size=4).map(distinct_values)
    return st.dictionaries(attributes(), listed, max_size=max_attributes)


@cache
def _value_lists() -> st.SearchStrategy[tuple[Value, ...]]:
    return st.lists(values(), min_size=1, max_size=4).map(tuple)
