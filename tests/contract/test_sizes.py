"""Shapes of many sizes: what an engine keeps in words, tables and frames of some room is right below and beyond it."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest

from index.engine import Engine
from index.event_block import EventBlock
from schemas.expression import And, Exists, Expression, In, Leaf, Not, NotExists, NotIn, Or, Range
from schemas.records import Event, Subscription
from tests.contract.support import WEIGHTS, Row, block_engine, expected, numbered, opened, rows

__all__ = ["block_engine"]

SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 29, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
MOST_LEAVES = 300
VALUES = 60
ATTRIBUTES = "abcdefgh"


def often(rng: random.Random) -> Leaf:
    """Return a leaf that nearly every event satisfies, so that many of them hold together now and then."""
    return In(*wide(rng), tuple(rng.choice(WEIGHTS) for _ in range(VALUES - 1))) if rng.random() < 0.2 else even(rng)


def even(rng: random.Random) -> Leaf:
    """Return such a leaf that gives the same whatever satisfies it: a conjunction of these has one score."""
    weight = rng.choice(WEIGHTS)
    leaves: list[Leaf] = [
        In(*wide(rng)),
        In(*wide(rng), (weight,) * (VALUES - 1)),
        NotIn("z", (rng.randrange(VALUES),)),
        Range(rng.choice(ATTRIBUTES), ge=-rng.randrange(1, 900)),
        Exists(rng.choice(ATTRIBUTES)),
    ]
    return rng.choice(leaves)


def wide(rng: random.Random) -> tuple[str, tuple[int, ...]]:
    """Return an attribute and all values but one."""
    other = rng.randrange(VALUES)
    return rng.choice(ATTRIBUTES), tuple(value for value in range(VALUES) if value != other)


def seldom(rng: random.Random) -> Leaf:
    """Return a leaf that few events satisfy."""
    attribute = rng.choice(ATTRIBUTES)
    value = rng.randrange(VALUES)
    leaves: list[Leaf] = [
        In(attribute, (value,), (rng.choice(WEIGHTS),)),
        In("z", (value,)),
        Range(attribute, lt=-rng.randrange(1, 500)),
        NotExists(attribute),
        NotIn(attribute, tuple(range(VALUES // 2))),
    ]
    return rng.choice(leaves)


def many(rng: random.Random, make: Callable[[random.Random], Expression], count: int) -> tuple[Expression, ...]:
    return tuple(make(rng) for _ in range(count))


def nested(rng: random.Random, depth: int) -> Expression:
    """Return ANDs and ORs in turn, one in the other."""
    found: Expression = often(rng)
    for level in range(depth):
        found = And((often(rng), found)) if level % 2 else Or((seldom(rng), found))
    return found


def shape(rng: random.Random) -> Expression:
    size = rng.choice(SIZES)
    other = rng.choice([count for count in SIZES if count * size <= MOST_LEAVES])
    make = rng.choice((often, even))
    shapes: list[Callable[[], Expression]] = [
        lambda: And(many(rng, make, size)),
        lambda: Or(many(rng, seldom, size)),
        lambda: Not(Or(many(rng, seldom, size))),
        lambda: And(many(rng, lambda rng: Or(many(rng, seldom, other)), size)),
        lambda: Or(many(rng, lambda rng: And(many(rng, make, other)), size)),
        lambda: And((Or(many(rng, seldom, size)), *many(rng, make, other), Not(And(many(rng, make, 5))))),
        lambda: Or((And(many(rng, make, size)), And((make(rng), Or(many(rng, seldom, other)))))),
        lambda: nested(rng, size),
    ]
    return rng.choice(shapes)()


def event(rng: random.Random) -> Event:
    held: dict[str, tuple[int, ...]] = {
        name: tuple(rng.sample(range(VALUES), rng.choice((1, 2, VALUES)))) for name in ATTRIBUTES if rng.random() < 0.95
    }
    weights = {name: tuple(rng.choice((0.5, 1.0, 2.0)) for _ in values) for name, values in held.items()}
    weighted = {name: given for name, given in weights.items() if rng.random() < 0.3}
    return Event(dict(held), weighted, rng.choice((None, None, 1, 3)))


@cache
def drawn(seed: int) -> tuple[list[Subscription], list[Event], list[Row]]:
    rng = random.Random(seed)
    population, happened = numbered(shape(rng) for _ in range(24)), [event(rng) for _ in range(6)]
    return population, happened, expected(population, happened)


@pytest.mark.parametrize("seed", range(4))
def test_shapes_of_many_sizes_answer_as_the_oracle(block_engine: Engine, seed: int) -> None:
    population, happened, wanted = drawn(seed)
    assert len({ordinal for _, ordinal, _ in wanted}) > 5
    assert rows(opened(block_engine, population), EventBlock.from_events(happened)) == wanted
