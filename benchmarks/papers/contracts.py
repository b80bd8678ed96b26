"""Workloads of "Indexing Boolean Expressions" (Whang et al., VLDB 2009), section 7 and its table 1, over the ads data.

DNFs are those of `benchmarks.workloads.ads`. The table gives Zipf exponents of 2.0 to 3.0 and average sizes of 1.6 to
3.5 beside each other; sizes 1 to 20 with these averages have exponents of 2.5, 2.0 and 1.5, which are used here.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import cycle

import numpy as np

from benchmarks.workloads.ads import ATTRIBUTES, Ads
from benchmarks.workloads.draws import stream
from index.uncollected import no_garbage_collection
from schemas.expression import And, Expression, In, NotIn, Or
from schemas.records import Event, Subscription
from schemas.values import Value

EXPONENTS = {2.5: 1.6, 2.0: 2.3, 1.5: 3.5}
"""Exponent to average DNF size."""


def dnf(months: int = 1, exponent: float = 2.5, dimension: int = ATTRIBUTES) -> Ads:
    """Return the DNF workload; with m months a subscription matches about 12 % / m of the events."""
    return Ads(exponent=exponent, months=months, dimension=dimension)


def cnf(subscriptions: Sequence[Subscription]) -> list[Subscription]:
    """Return CNFs from DNFs: each conjunction without its month becomes a disjunction, the month one of its own."""
    with no_garbage_collection():
        return [Subscription(s.id, _cnf(s.expression)) for s in subscriptions]


def _cnf(expression: Expression) -> Expression:
    branches = expression.args if isinstance(expression, Or) else (expression,)
    clauses: list[Expression] = []
    for branch in branches:
        assert isinstance(branch, And)
        *literals, month = branch.args
        clauses.append(Or(tuple(literals)) if len(literals) > 1 else literals[0])
    return And((*clauses, month))


def weighted(subscriptions: Sequence[Subscription], events: Sequence[Event], seed: int = 1) -> list[Subscription]:
    """Weigh all ``in`` predicates by the rarity of their keys, as section 7 does.

    A key's upper bound is 10 / (events of 1,000 that have it), which gives the paper's example, 0.1 for a key of 100
    events. A weight is drawn around 0.8 of the bound with a variance of 0.05 of it, and cut to between 0 and the bound.
    """
    rng = stream(seed, "rarity")
    counts: Counter[tuple[str, Value]] = Counter(
        (name, value) for event in events for name, values in event.attributes.items() for value in values
    )
    scale = 1000 / len(events)
    drawn = cycle(rng.standard_normal(1 << 20).tolist())

    def weigh(leaf: Expression) -> Expression:
        if not isinstance(leaf, In) or not isinstance(leaf.attribute, str):
            return leaf
        name = leaf.attribute
        bounds = [10 / max(1.0, scale * counts[name, value]) for value in leaf.values]
        found = [min(b, max(0.0, 0.8 * b + (0.05 * b) ** 0.5 * next(drawn))) for b in bounds]
        return In(leaf.attribute, leaf.values, tuple(found))

    with no_garbage_collection():
        return [Subscription(s.id, _mapped(s.expression, weigh)) for s in subscriptions]


def _mapped(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    if isinstance(expression, And | Or):
        return type(expression)(tuple(_mapped(arg, change) for arg in expression.args))
    return change(expression)


def dnf_statistics(subscriptions: Sequence[Subscription], events: Sequence[Event]) -> str:
    """Return the sentence that compares what was generated with table 1."""
    expressions = [s.expression for s in subscriptions]
    conjunctions = [c for e in expressions for c in (e.args if isinstance(e, Or) else (e,))]
    predicates = [p for c in conjunctions if isinstance(c, And) for p in c.args]
    keys = np.mean([len(event.attributes) for event in events])
    free = len(predicates) - len(conjunctions)
    negated = sum(isinstance(p, NotIn) for p in predicates)
    return (
        f"{len(conjunctions) / len(subscriptions):.2f} conjunctions a DNF (stated 1.6 to 3.5), "
        f"{len(predicates) / len(conjunctions):.2f} predicates a conjunction (stated 3.65), "
        f"{negated / free:.3f} of them negated but for the month (stated 0.1), {keys:.0f} keys an event (stated 91), "
        f"{len(set(conjunctions)) / len(conjunctions):.2f} of the conjunctions distinct"
    )


def cnf_statistics(subscriptions: Sequence[Subscription]) -> str:
    """Return the sentence that compares what was generated with table 1."""
    clauses = [clause for s in subscriptions if isinstance(s.expression, And) for clause in s.expression.args]
    sizes = [len(clause.args) if isinstance(clause, Or) else 1 for clause in clauses]
    free = sum(sizes) - len(subscriptions)
    return (
        f"{len(clauses) / len(subscriptions):.2f} disjunctions a CNF (stated 2.6 to 4.5), "
        f"{free / (len(clauses) - len(subscriptions)):.2f} predicates a disjunction but for the month (stated 2.65)"
    )


def weighted_events(events: Sequence[Event], seed: int = 1) -> list[Event]:
    """Give every value of the events a weight between 0 and 1."""
    rng = random.Random(seed)
    return [
        Event(e.attributes, {name: tuple(rng.random() for _ in values) for name, values in e.attributes.items()})
        for e in events
    ]
