"""Subscriptions that are read by sight build the very arrays that the normal form builds of them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workloads.registry import workload
from index.block.builder import build_parts
from index.engine import Parts
from schemas.expression import And, Exists, Expression, In, NotExists, NotIn, Or, Range
from schemas.json_codec import decode_subscription, encode_subscription
from schemas.records import Subscription
from schemas.values import Value

ATTRIBUTES = st.sampled_from("abcd")
VALUES: st.SearchStrategy[list[Value]] = st.lists(
    st.sampled_from([1, 1.0, True, "x", "y", "z", 2, 3, 4, 5, 6]), min_size=1, max_size=7
)
WEIGHTS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 1 / 3])


@st.composite
def leaves(draw: st.DrawFn) -> Expression:
    """A leaf that may be plain, and now and then is not."""
    attribute, values = draw(ATTRIBUTES), tuple(draw(VALUES))
    kind = draw(st.integers(0, 7))
    if kind <= 2:
        weighted = draw(st.booleans())
        weights = tuple(draw(WEIGHTS) for _ in values) if draw(st.booleans()) else (draw(WEIGHTS),) * len(values)
        return In(attribute, values, weights if weighted else None)
    if kind <= 4:
        return NotIn(attribute, values, strong=kind == 4 and draw(st.booleans()))
    if kind == 5:
        return Exists(attribute) if draw(st.booleans()) else NotExists(attribute)
    low = draw(st.integers(0, 5))
    return Range(attribute, ge=low, lt=low + draw(st.integers(0, 3)))


STOCK = st.lists(leaves(), min_size=2, max_size=12)


@st.composite
def populations(draw: st.DrawFn) -> list[Subscription]:
    """ORs of ANDs over few leaves that are shared as objects, so that branches repeat and absorb one another."""
    stock = st.sampled_from(draw(STOCK))
    conjunction = st.lists(stock, min_size=1, max_size=4).map(lambda a: a[0] if len(a) == 1 else And(tuple(a)))
    expression = st.lists(conjunction, min_size=1, max_size=5).map(lambda b: b[0] if len(b) == 1 else Or(tuple(b)))
    found = draw(st.lists(expression, min_size=1, max_size=12))
    start = draw(st.sampled_from([None, 5]))
    return [Subscription(f"{i:03}", e, not_before=start if i % 3 == 0 else None) for i, e in enumerate(found)]


def same(a: Parts, b: Parts) -> bool:
    """Whether two segments are the same bytes."""
    return a.keys() == b.keys() and all(a[n].dtype == b[n].dtype and a[n].tobytes() == b[n].tobytes() for n in a)


def normalised(subscriptions: Sequence[Subscription]) -> list[Subscription]:
    """The same subscriptions in a form that no reader knows by sight: an AND of one argument."""
    return [Subscription(s.id, And((s.expression,)), not_before=s.not_before) for s in subscriptions]


@settings(max_examples=150, deadline=None)
@given(populations())
def test_read_by_sight_builds_what_the_normal_form_builds(subscriptions: list[Subscription]) -> None:
    assert same(build_parts(subscriptions), build_parts(normalised(subscriptions)))


def test_workloads_build_the_same_by_sight_and_by_the_normal_form() -> None:
    for name in ("ads-uniform", "w2", "ranges"):
        subscriptions = workload(name).subscriptions(300)
        assert same(build_parts(subscriptions), build_parts(normalised(subscriptions)))


def test_decoded_leaves_that_are_one_object_build_what_leaves_of_their_own_build() -> None:
    made = workload("ads-uniform").subscriptions(300)
    decoded = [decode_subscription(s.id, encode_subscription(s)) for s in made]
    assert same(build_parts(decoded), build_parts(made))
