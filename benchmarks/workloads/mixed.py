"""A little of every leaf, connective and match mode, on records of a made-up shop; meant for tests.

Values are few, so that leaves meet values often and subscriptions match now and then.
"""

from __future__ import annotations

import random

from benchmarks.workloads.workload import identifiers
from schemas.expression import (
    And,
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
from schemas.records import Event, Subscription
from schemas.values import Value

COLOURS = ("red", "green", "blue", "Blue", "dark red")
TAGS = ("new", "sale", "used", "gift", "bulk", "eco")
WORDS = ("spark", "kafka", "stream", "index", "match", "event", "rule")
VERSIONS = ("1.2", "1.2.0", "1.10.1", "2.0.0-rc.1", "2.0.0", "v2.1")
ADDRESSES = ("10.0.0.1", "10.1.2.3", "192.168.7.9", "2001:db8::1", "::ffff:10.0.0.1")
NETWORKS = ("10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32", "0.0.0.0/0")
INSTANTS = ("2026-01-31T23:59:59Z", "2026-02-01T01:00:00+01:00", "2026-02-28", "2025-12-31T12:00:00.5Z")
PATHS = ("/shop/red/1.html", "/shop/blue/22.html", "/Shop/green/3.json", "/cart", "")
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, -1.0)


class Mixed:
    """The workload."""

    name = "mixed"
    size = 100_000

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed

    def subscriptions(self, count: int) -> list[Subscription]:
        """See `benchmarks.workloads.workload.Workload`; every sixth is relaxed, every sixth has a threshold."""
        rng = random.Random(f"subscriptions {self._seed}")
        return [self._subscription(rng, number, name) for number, name in enumerate(identifiers(count))]

    def _subscription(self, rng: random.Random, number: int, name: str) -> Subscription:
        priority = rng.choice((0.0, 0.0, 0.5, -2.0))
        if number % 6 == 4:
            return Subscription(name, Or(_flat(rng, WEIGHTS)), priority, "relaxed")
        if number % 6 == 5:
            return Subscription(
                name, And(_flat(rng, (0.25, 1.0, 3.0))), priority, "threshold", rng.choice((0.3, 0.5, 1.0))
            )
        return Subscription(name, _tree(rng, rng.randint(1, 3)), priority)

    def events(self, count: int) -> list[Event]:
        """See `benchmarks.workloads.workload.Workload`; attributes are often absent, some values weighted."""
        rng = random.Random(f"events {self._seed}")
        return [_event(rng) for _ in range(count)]


def _event(rng: random.Random) -> Event:
    whole: dict[str, tuple[Value, ...]] = {
        "colour": (rng.choice(COLOURS),),
        "tags": tuple(rng.sample(TAGS, rng.randint(1, 4))),
        "price": (rng.choice((rng.randint(-5, 40), rng.uniform(-5, 40))),),
        "text": (" ".join(rng.choices(WORDS, k=rng.randint(1, 5))).capitalize() + "!",),
        "version": (rng.choice(VERSIONS),),
        "ip": tuple(rng.sample(ADDRESSES, rng.randint(1, 2))),
        "at": (rng.choice(INSTANTS),),
        "path": (rng.choice(PATHS),),
        "odd": (rng.choice(("35", 35, 35.0, True, "", 0, "not a version")),),
    }
    attributes = {name: values for name, values in whole.items() if rng.random() < 0.8}
    weights = {
        name: tuple(rng.choice((0.5, 1.0, 2.0)) for _ in values)
        for name, values in attributes.items()
        if rng.random() < 0.3
    }
    return Event(attributes, weights)


def _tree(rng: random.Random, depth: int) -> Expression:
    if depth == 1:
        return _leaf(rng, ())
    args = tuple(_tree(rng, rng.randint(1, depth - 1)) for _ in range(rng.randint(2, 3)))
    node: Expression = And(args) if rng.random() < 0.5 else Or(args)
    return Not(node) if rng.random() < 0.15 else node


def _flat(rng: random.Random, weights: tuple[float, ...]) -> tuple[Leaf, ...]:
    """Return positive leaves with weights, as the modes relaxed and threshold want them."""
    found: list[Leaf] = []
    wanted = rng.randint(1, 4)
    while len(found) < wanted:
        leaf = _leaf(rng, weights)
        if not isinstance(leaf, NotIn | NotExists):
            found.append(leaf)
    return tuple(found)


def _leaf(rng: random.Random, weights: tuple[float, ...]) -> Leaf:
    """Return one leaf of any kind; ``weights`` to choose from, none for leaves that have no weight in mode all."""
    tags = tuple(rng.sample(TAGS, rng.randint(1, 4)))
    words = tuple(rng.sample(WORDS, rng.randint(1, 2)))
    fold = rng.random() < 0.5
    one = rng.choice(weights) if weights else None
    makers = (
        lambda: In("colour", tuple(rng.sample(COLOURS, 2)), _several(rng, weights or WEIGHTS, 2)),
        lambda: In(rng.choice(_derived()), (0, 1, "red", "re", 2026, 3)),
        lambda: NotIn("tags", tags, strong=fold),
        lambda: Range("price", ge=rng.randint(-5, 40), weight=one),
        lambda: Range("colour", ge="b", lt="h", weight=one),
        lambda: Range("at", ge="2026-01-01", lt="2026-02-01T00:00:00Z", type="time", weight=one),
        lambda: Exists(rng.choice(("tags", "odd", "path")), weight=one),
        lambda: NotExists(rng.choice(("tags", "odd", "path"))),
        lambda: ContainsAll("tags", tags[:2], weight=one),
        lambda: Within("tags", tags, weight=one),
        lambda: EqualsSet("tags", tags[:2], weight=one),
        lambda: Matches("path", r"/shop/[a-z]+/\d+\.html", weight=one),
        lambda: StartsWith("path", "/shop", ignore_case=fold, weight=one),
        lambda: EndsWith("path", ".HTML" if fold else ".html", ignore_case=fold, weight=one),
        lambda: Contains("path", "BLUE" if fold else "blue", ignore_case=fold, weight=one),
        lambda: Glob("path", "/shop/*/?.*", ignore_case=fold, weight=one),
        lambda: Version("version", ge=rng.choice(VERSIONS), weight=one),
        lambda: Version("version", eq="1.2", weight=one),
        lambda: Cidr("ip", (rng.choice(NETWORKS),), weight=one),
        lambda: Keywords("text", all=words, weights=_several(rng, weights or WEIGHTS, len(words))),
        lambda: Keywords("text", any=words),
    )
    return rng.choice(makers)()


def _several(rng: random.Random, weights: tuple[float, ...], count: int) -> tuple[float, ...]:
    return tuple(rng.choice(weights) for _ in range(count))


def _derived() -> tuple[Derive, ...]:
    return (
        Derive("mod", "price", (4,)),
        Derive("length", "colour"),
        Derive("substring", "colour", (1, 2)),
        Derive("lower", "colour"),
        Derive("year", "at"),
        Derive("round", Derive("multiply", "price", (0.1,))),
        Derive("abs", "price"),
    )
