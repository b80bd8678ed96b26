"""Random populations and events, drawn many times faster than hypothesis does, from the same small vocabularies.

The leaves of a population come from one pool, so that what a leaf says of an event is worked out once for all
subscriptions that hold it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from schemas.check import check_subscription
from schemas.errors import Refused
from schemas.expression import (
    And,
    Attribute,
    Cidr,
    Contains,
    ContainsAll,
    Derive,
    EndsWith,
    EqualsSet,
    Exists,
    Expression,
    Glob,
    In,
    Keywords,
    Leaf,
    Matches,
    Not,
    NotExists,
    NotIn,
    Or,
    Range,
    StartsWith,
    Version,
    Within,
)
from schemas.instants import instant
from schemas.records import Event, Mode, Subscription
from schemas.texts import fold
from schemas.values import Value, distinct_values, value_key
from schemas.versions import version_key
from tests.leaf_strategies import (
    ADDRESSES,
    GLOBS,
    INSTANTS,
    NETWORKS,
    OFTEN_DERIVED,
    PATTERNS,
    PIECES,
    RICH_NUMBERS,
    SMALL_NUMBERS,
    TEXTS,
    VERSIONS,
    WORDS,
)
from tests.strategies import NOT_FINITE, NUMBERS, STRINGS, TIMES, WEIGHTS

Item = TypeVar("Item")

ATTRIBUTES = ("a", "b", "c", "geo.lat")
VOCABULARIES: tuple[tuple[Value, ...], ...] = (
    TEXTS,
    VERSIONS,
    ADDRESSES,
    INSTANTS,
    WORDS,
    PIECES,
    STRINGS,
    SMALL_NUMBERS,
    SMALL_NUMBERS,
    RICH_NUMBERS,
    NUMBERS,
    (True, False),
)
NUMBER_FUNCTIONS = ("mod", "add", "subtract", "multiply", "divide")
PLAIN_FUNCTIONS = (
    *("abs", "round", "floor", "ceil", "length", "lower", "upper"),
    *("year", "month", "day", "hour", "minute", "second"),
)
CELLS = 30
"""Bounds of narrow ranges, few enough that a cover's are often a range's."""

LONG = (20, 31, 32, 33, 64, 130)
"""So many leaves has a conjunction that is long: around those numbers the block engine changes how it keeps one."""

MANY_EVENTS = 2_100
"""More than the widest masks have bits for."""

FEW_SUBSCRIPTIONS = 30

THRESHOLDS = (1e-9, 0.1, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 0.7, 0.75, 0.8, 1.0)


class Draw:
    """Draws everything from one source of chance."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._values = self._random.choice((VOCABULARIES, VOCABULARIES, VOCABULARIES[:2], VOCABULARIES[7:8]))
        """Rounds of few values hold more matches, those of all of them more kinds."""
        self._wide: list[Leaf] = []
        """Leaves that nearly every event with their attribute satisfies, so that a conjunction of many may hold."""
        self._size = 0

    def events(self) -> list[Event]:
        """Return a block's events, so many that the widths of masks change around there, more for few subscriptions."""
        size = self._random.choice((1, 40, 64, 65, 130, 200, 300, 520, 600, MANY_EVENTS))
        return [self._event() for _ in range(size if self._size <= FEW_SUBSCRIPTIONS else min(size, 600))]

    def population(self) -> list[Subscription]:
        """Return checked subscriptions, ascending by id as engines take them."""
        positive = [self._weighted(self._leaf(positive=True)) for _ in range(self._random.choice((5, 20, 40)))]
        pool = [self._leaf() for _ in range(self._random.choice((10, 40, 90)))]
        if self._odds(0.3):
            pool += self._narrow_ranges(self._one((80, 300)))
        if self._odds(0.2):
            self._wide = self._wide_leaves()
        self._size = size = self._random.choice((1, FEW_SUBSCRIPTIONS, 150, 400, 900))
        drawn = [self._subscription(f"{i:04d}", pool, positive) for i in range(size)]
        if self._odds(0.4):  # some say what others say, a few of them often
            often = self._one((3, size))
            copies = self._random.sample(range(size), size // 2)
            drawn = [
                msgspec.structs.replace(drawn[i % often] if i in copies else s, id=s.id) for i, s in enumerate(drawn)
            ]
        return [subscription for subscription in drawn if _allowed(subscription)]

    def _one(self, items: Sequence[Item]) -> Item:
        return self._random.choice(items)

    def _odds(self, probability: float) -> bool:
        return self._random.random() < probability

    def _value(self) -> Value:
        return self._one(self._one(self._values))

    def _event(self) -> Event:
        held: dict[str, tuple[Value, ...]] = {}
        for name in ATTRIBUTES:
            if self._odds(0.75):
                values = [self._value() for _ in range(self._one((1, 1, 2, 3, 6)))]
                if self._odds(0.01):
                    values += range(self._one((60, 300)))
                if self._odds(0.04):
                    values.append(self._one(NOT_FINITE))
                held[name] = distinct_values(values)
        weights = {}
        if self._odds(0.4):
            weights = {
                name: tuple(self._one(WEIGHTS) for _ in values) for name, values in held.items() if self._odds(0.6)
            }
        return Event(held, weights, self._one((None, None, 1, 2, 5, 10, 100, 2000)), self._one((None, *TIMES)))

    def _subscription(self, id_: str, pool: Sequence[Leaf], positive: Sequence[Leaf]) -> Subscription:
        mode: Mode = self._one(("all", "all", "all", "relaxed", "threshold"))
        threshold = self._one(THRESHOLDS) if mode == "threshold" else None
        expression = self._tree(pool) if mode == "all" else self._flat(positive)
        priority = self._one((0.0, 0.0, 0.0, *WEIGHTS))
        times = sorted((self._one(TIMES), self._one(TIMES))) if self._odds(0.1) else (None, None)
        return Subscription(id_, expression, priority, mode, threshold, *times)

    def _flat(self, positive: Sequence[Leaf]) -> Expression:
        size = self._one(LONG) if self._odds(0.03) else self._one((1, 2, 3, 5))
        chosen = tuple(self._one(positive) for _ in range(size))
        return chosen[0] if len(chosen) == 1 and self._odds(0.5) else self._either(chosen)

    def _tree(self, pool: Sequence[Leaf]) -> Expression:
        shape = self._random.randrange(10)
        if shape == 0:
            return self._group(Or, lambda: self._group(And, lambda: self._one(pool)))
        if shape == 1:
            return self._group(And, lambda: self._group(Or, lambda: self._one(pool)))
        if shape == 2:
            return And(tuple(self._one(pool) for _ in range(self._one((1, 2, 3, 5)))))
        if shape == 3 and self._odds(0.2):
            return self._either(tuple(self._one(pool) for _ in range(self._one((40, 130)))))
        if shape == 4 and self._odds(0.3):
            return self._deep(pool)
        if shape == 5 and self._wide and self._odds(0.4):
            return self._long(pool)
        return self._nested(pool, self._one((0, 1, 2, 2, 3, 4)))

    def _group(self, connective: type[And] | type[Or], make: Callable[[], Expression]) -> Expression:
        return connective(tuple(make() for _ in range(self._one((1, 2, 2, 3, 4)))))

    def _either(self, args: tuple[Expression, ...]) -> Expression:
        return And(args) if self._odds(0.5) else Or(args)

    def _nested(self, pool: Sequence[Leaf], depth: int) -> Expression:
        if depth == 0 or self._odds(0.15):
            return self._one(pool)
        if self._odds(0.15):
            return Not(self._nested(pool, depth - 1))
        size = self._one((0, 1, 2, 2, 2, 3, 4)) if self._odds(0.2) else self._one((2, 2, 3))
        return self._either(tuple(self._nested(pool, depth - 1) for _ in range(size)))

    def _deep(self, pool: Sequence[Leaf]) -> Expression:
        found: Expression = self._one(pool)
        for _ in range(self._one((10, 60))):
            found = Not(found) if self._odds(0.4) else self._either((self._one(pool), found))
        return found

    def _wide_leaves(self) -> list[Leaf]:
        """Return different leaves of two attributes, which list all values that events may have, or what none has."""
        attributes, known = (
            self._random.sample(ATTRIBUTES, 2),
            distinct_values(v for words in self._values for v in words),
        )
        found: list[Leaf] = []
        uneven = self._odds(0.5)  # else a conjunction of them has one score for all events
        for other in range(max(LONG)):
            kind, attribute = self._random.randrange(3), self._one(attributes)
            values = (*known, 10**6 + other)
            weights = None if kind else (self._one(WEIGHTS),) * len(values)
            if weights and uneven:
                weights = self._weights([value_key(value) for value in values])
            found.append(NotIn(attribute, values[-1:]) if kind == 1 else In(attribute, values, weights))
        return found

    def _long(self, pool: Sequence[Leaf]) -> Expression:
        """Return a conjunction of many leaves which may well hold, or what has one."""
        args: list[Expression] = [*self._random.sample(self._wide, self._one(LONG))]
        if self._odds(0.3):
            args[self._random.randrange(len(args))] = self._group(Or, lambda: self._one(pool))
        found: Expression = And(tuple(args))
        if self._odds(0.2):
            found = Or((self._one(pool), found))
        return Not(found) if self._odds(0.1) else found

    def _leaf(self, positive: bool = False) -> Leaf:
        """Return an allowed leaf; those that no mode but all takes are left out when ``positive``."""
        while True:
            leaf = self._drawn_leaf(positive)
            if _allowed(Subscription("", leaf)):
                return leaf

    def _narrow_ranges(self, count: int) -> list[Leaf]:
        """Return ranges of one attribute, so many that they are posted under covers, some of which are ranges too."""
        attribute = self._one(ATTRIBUTES)
        return [Range(attribute, **self._bounds(range(CELLS), _same)) for _ in range(count)]

    def _drawn_leaf(self, positive: bool) -> Leaf:
        attribute, piece, fold_case = self._attribute(), self._one(PIECES), self._odds(0.4)
        kinds: list[Callable[[], Leaf]] = [
            lambda: In(attribute, *self._listed(self._one((1, 1, 2, 4)))),
            lambda: In(attribute, *self._listed(self._one((1, 3, 6)))),
            lambda: In(attribute, *self._listed(self._one((2, 80)))),
            lambda: Range(attribute, **self._bounds(self._one((SMALL_NUMBERS, NUMBERS, RICH_NUMBERS)), _same)),
            lambda: Range(attribute, **self._bounds(self._one((TEXTS, STRINGS, PIECES)), _same)),
            lambda: Range(attribute, type="time", **self._bounds(INSTANTS, instant)),
            lambda: self._version(attribute),
            lambda: self._keywords(attribute),
            lambda: Exists(attribute),
            lambda: ContainsAll(attribute, self._listed(2)[0]),
            lambda: Within(attribute, self._listed(self._one((2, 8, 20)))[0]),
            lambda: EqualsSet(attribute, self._listed(self._one((1, 2)))[0]),
            lambda: Matches(attribute, self._one(PATTERNS)),
            lambda: Glob(attribute, self._one(GLOBS), fold_case),
            lambda: StartsWith(attribute, piece, fold_case),
            lambda: EndsWith(attribute, piece, fold_case),
            lambda: Contains(attribute, piece, fold_case),
            lambda: Cidr(attribute, tuple(self._one(NETWORKS) for _ in range(self._one((1, 2))))),
        ]
        if not positive:
            kinds.append(lambda: NotIn(attribute, self._listed(self._one((1, 3, 9)))[0], self._odds(0.5)))
            kinds.append(lambda: NotExists(attribute))
        return self._one(kinds)()

    def _attribute(self, depth: int = 0) -> Attribute:
        if depth == 3 or self._odds(0.75):
            return self._one(ATTRIBUTES)
        if self._odds(0.4):
            return self._one(OFTEN_DERIVED)
        inner = self._attribute(depth + 1)
        kind = self._random.randrange(3)
        if kind == 0:
            return Derive(self._one(NUMBER_FUNCTIONS), inner, (self._one((1, 2, 2.0, 3, 0.5, -4, 2**62)),))
        if kind == 1:
            return Derive("substring", inner, self._one(((1,), (2,), (1, 1), (2, 2), (3, 0))))
        return Derive(self._one(PLAIN_FUNCTIONS), inner)

    def _listed(self, size: int) -> tuple[tuple[Value, ...], tuple[float, ...] | None]:
        values = tuple(self._value() for _ in range(size))
        return values, self._weights([value_key(value) for value in values])

    def _keywords(self, attribute: Attribute) -> Keywords:
        words = tuple(self._one(WORDS) for _ in range(self._one((1, 1, 2, 3))))
        weights = self._weights([fold(word) for word in words])
        return (
            Keywords(attribute, None, words, weights) if self._odds(0.5) else Keywords(attribute, words, None, weights)
        )

    def _weights(self, keys: Sequence[Any]) -> tuple[float, ...] | None:
        """Return one weight a key, equal keys having one weight, or none at all."""
        if self._odds(0.5):
            return None
        known = {key: self._one(WEIGHTS) for key in keys}
        return tuple(known[key] for key in keys)

    def _weighted(self, leaf: Any) -> Leaf:
        """Return a leaf with a weight of its own, as the modes relaxed and threshold allow, or as it was."""
        if isinstance(leaf, In | Keywords) or self._odds(0.5):
            return leaf  # type: ignore[no-any-return]
        members = {name: getattr(leaf, name) for name in leaf.__struct_fields__}
        return type(leaf)(**members | {"weight": self._one(WEIGHTS)})  # type: ignore[no-any-return]

    def _version(self, attribute: Attribute) -> Version:
        if self._odds(0.3):
            return Version(attribute, eq=self._one(VERSIONS))
        return Version(attribute, **self._bounds(VERSIONS, version_key))

    def _bounds(self, bounds: Sequence[Any], key: Callable[[Any], Any]) -> dict[str, Any]:
        """Return one bound or two, never an empty range."""
        lower, upper = sorted((self._one(bounds), self._one(bounds)), key=key)
        closed = key(lower) == key(upper)
        given = {
            "ge" if closed else self._one(("gt", "ge")): lower,
            "le" if closed else self._one(("lt", "le")): upper,
        }
        dropped = self._one((None, *given))
        return {name: bound for name, bound in given.items() if name != dropped}


def _same(bound: Any) -> Any:
    return bound


def _allowed(subscription: Subscription) -> bool:
    try:
        check_subscription(subscription)
    except Refused:
        return False
    return True
