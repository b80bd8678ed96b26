"""What the contract's tests share: the engines by name, what they are given, and what the oracle wants of them."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from index.block.engine import BlockEngine
from index.classic.counting import Counting
from index.classic.dewey import Dewey
from index.classic.enumerated import EnumeratedCnf, EnumeratedDnf
from index.classic.interval import Interval
from index.classic.kindex_cnf import KIndexCnf
from index.classic.kindex_dnf import KIndexDnf
from index.classic.propagation import Propagation
from index.classic.pscan import PScan
from index.classic.scan import Scan
from index.classic.tree_conjunction_scan import ConjunctionScan
from index.classic.tree_expansion import DnfExpansion
from index.classic.tree_scan import TreeScan
from index.engine import Engine, Matcher, SelectiveEngine
from index.event_block import EventBlock
from index.oracle import match_subscription
from schemas.errors import Refused
from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.json_event import decode_event
from schemas.records import Event, Subscription
from schemas.values import Value
from tests.shuffled import ShuffledEngine

Make = Callable[[], Engine]

BLOCK: dict[str, Make] = {
    "block": BlockEngine,
    "block-w1": lambda: BlockEngine(1),
    "block-w2": lambda: ShuffledEngine(2),
    "block-w4": lambda: BlockEngine(4),
    "block-w8": lambda: BlockEngine(8),
    "block-w32": lambda: BlockEngine(32),
}
DNF: dict[str, Make] = {
    "counting": Counting,
    "kindex-dnf": KIndexDnf,
    "kindex-dnf-enumerated": EnumeratedDnf,
    "propagation": Propagation,
    "dnf-expansion": DnfExpansion,
}
CNF: dict[str, Make] = {
    "kindex-cnf": KIndexCnf,
    "kindex-cnf-enumerated": EnumeratedCnf,
}
TREES: dict[str, Make] = {
    "scan": Scan,
    "pscan": PScan,
    "dewey": Dewey,
    "interval": Interval,
    "tree-scan": TreeScan,
    "conjunction-scan": ConjunctionScan,
}
CLASSIC: dict[str, Make] = {**DNF, **CNF, **TREES}
ENGINES: dict[str, Make] = {**BLOCK, **CLASSIC}
"""Name to engine; one that can be made in several ways stands here several times."""

CASES: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text())

EXAMPLES = int(os.environ.get("TOCSIN_TEST_EXAMPLES", "30"))
# A fixture of hypothesis's tests is the engine alone, which keeps nothing between examples.
examples = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)

Row = tuple[int, int, int]
"""event, ordinal, points."""

WEIGHTS = (-2.0, -0.5, 0.0, 0.25, 1.0, 3.0)


@pytest.fixture(params=ENGINES, scope="module")
def engine(request: pytest.FixtureRequest) -> Engine:
    """Return each engine that there is."""
    return ENGINES[request.param]()


@pytest.fixture(params=BLOCK, scope="module")
def block_engine(request: pytest.FixtureRequest) -> Engine:
    """Return the engine that takes every subscription, at each width."""
    return BLOCK[request.param]()


@pytest.fixture(params=CLASSIC, scope="module")
def classic_engine(request: pytest.FixtureRequest) -> SelectiveEngine:
    """Return each engine that may refuse subscriptions."""
    return selective(CLASSIC[request.param]())


def selective(engine: Engine) -> SelectiveEngine:
    """Return an engine that may refuse subscriptions as such."""
    assert isinstance(engine, SelectiveEngine)
    return engine


def opened(engine: Engine, population: Sequence[Subscription]) -> Matcher:
    """Return a segment, built and opened."""
    return engine.open(engine.build(population))


def rows(matcher: Matcher, block: EventBlock, dead: Iterable[int] = ()) -> list[Row]:
    """Return the matches of a block as tuples."""
    gone = np.array(sorted(dead), np.uint32)
    found = matcher.match(block, gone if len(gone) else None).rows()
    assert [column.dtype for column in found] == [np.int32, np.int32, np.int64]
    return list(zip(*(column.tolist() for column in found), strict=True))


def expected(population: Sequence[Subscription], happened: Sequence[Event], dead: Iterable[int] = ()) -> list[Row]:
    """Return what the oracle says, each event's first ``top``."""
    gone = set(dead)
    answer: list[Row] = []
    for e, event in enumerate(happened):
        scored = [(match_subscription(s, event), o) for o, s in enumerate(population) if o not in gone]
        found = sorted((-points, ordinal) for points, ordinal in scored if points is not None)
        answer += [(e, ordinal, -negated) for negated, ordinal in found[: event.top]]
    return answer


def agree(engine: Engine, population: Sequence[Subscription], happened: Sequence[Event]) -> Matcher:
    """See that a segment of the population answers as the oracle, and return it."""
    matcher = opened(engine, population)
    assert rows(matcher, EventBlock.from_events(happened)) == expected(population, happened)
    return matcher


def expressible(engine: Engine, population: Sequence[Subscription]) -> list[Subscription]:
    """Return the subscriptions that the engine takes; check and build must agree on each of the others."""
    if not isinstance(engine, SelectiveEngine):
        return list(population)
    taken = []
    for subscription in population:
        try:
            engine.check(subscription)
        except Refused:
            with pytest.raises(Refused, match=r"cannot express; the engine '(block|scan|kindex-dnf)' does") as refused:
                engine.build([subscription])
            assert refused.value.code == "engine.unsupported"
            assert repr(subscription.id) in str(refused.value)
        else:
            taken.append(subscription)
    return taken


def numbered(expressions: Iterable[Expression]) -> list[Subscription]:
    """Return subscriptions with these expressions, in their order."""
    return [Subscription(f"{i:06d}", expression) for i, expression in enumerate(expressions)]


def case_event(body: dict[str, Any]) -> Event:
    """Decode an event of the shared cases; "$nan" stands for the NaN that JSON cannot write."""
    found = decode_event(json.dumps(body).encode())
    held = {k: tuple(math.nan if v == "$nan" else v for v in vs) for k, vs in found.attributes.items()}
    return Event(held, found.weights, found.top, found.time)


def dense_leaf(rng: random.Random) -> Expression:
    """Return a leaf over few attributes and values, true for about half of the events of `dense_event`."""
    name, values = rng.choice("pqrst"), tuple(rng.sample(range(7), rng.choice((1, 1, 2, 3, 6))))
    match rng.randrange(8):
        case 0:
            return NotIn(name, values, rng.random() < 0.5)
        case 1:
            return Range(name, ge=min(values), lt=max(values) + 1)
        case 2:
            return rng.choice((Exists(name), NotExists(name), Not(Range(name, gt=3))))
        case 3:
            return In(name, values)
        case 4:
            return In(name, values, (rng.choice((-1.5, 0.25)),) * len(values))
    return In(name, values, tuple(rng.choice(WEIGHTS) for _ in values))


def dense_tree(rng: random.Random, depth: int = 3) -> Expression:
    """Return a tree of such leaves."""
    if depth == 0 or rng.random() < 0.15:
        return dense_leaf(rng)
    if rng.random() < 0.1:
        return Not(dense_tree(rng, depth - 1))
    return _group(rng, rng.choice((And, Or)), lambda rng: dense_tree(rng, depth - 1))


def dense_dnf(rng: random.Random) -> Expression:
    """Return an OR of ANDs of such leaves."""
    return _group(rng, Or, lambda rng: _group(rng, And, dense_leaf))


def dense_cnf(rng: random.Random) -> Expression:
    """Return an AND of ORs of such leaves."""
    return _group(rng, And, lambda rng: _group(rng, Or, dense_leaf))


def _group(
    rng: random.Random, connective: type[And] | type[Or], make: Callable[[random.Random], Expression]
) -> And | Or:
    args = tuple(make(rng) for _ in range(rng.choice((1, 2, 2, 3, 4))))
    return And(args) if connective is And else Or(args)


def dense_population(rng: random.Random, make: Callable[[random.Random], Expression], size: int) -> list[Subscription]:
    """Return subscriptions with priorities and validities besides."""

    def one(i: int) -> Subscription:
        priority = rng.choice((0.0, 0.0, 0.5, -1.0))
        return Subscription(f"{i:04d}", make(rng), priority, not_before=rng.choice((None, None, None, 5)))

    return [one(i) for i in range(size)]


def dense_event(rng: random.Random, top: tuple[int | None, ...] = (None, 1, 3, 9)) -> Event:
    """Return an event with several values of most attributes, weighted in half of the cases."""
    held: dict[str, tuple[Value, ...]]
    held = {name: tuple(rng.sample(range(7), rng.choice((1, 1, 2, 4)))) for name in "pqrst" if rng.random() < 0.8}
    weighted = {name: tuple(rng.choice((-1.0, 0.0, 0.5, 2.0)) for _ in values) for name, values in held.items()}
    return Event(held, weighted if rng.random() < 0.5 else {}, rng.choice(top), rng.choice((None, 4, 5)))
