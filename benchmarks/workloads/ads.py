"""Advertising contracts: DNFs over 1,461 attributes of falling popularity, every conjunction bound to a month.

The shape is that of Table 1 of Whang et al., "Indexing Boolean Expressions" (VLDB 2009): 1.6 conjunctions a
subscription, 3.65 predicates a conjunction, 92 keys an event. Contracts draw their value lists from a limited stock,
and a contract's conjunctions repeat parts of each other.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from benchmarks.workloads.dnf import Dnf, Leaves, dnf_subscriptions
from benchmarks.workloads.draws import Doubles, Int64s, draw, first_distinct, popularity, starts, stream, weights
from schemas.records import Event, Subscription
from schemas.values import Value

ATTRIBUTES = 1461
MONTHS = 12
EVENT_KEYS = 91
NOT_SHARE = 0.1
COPY_SHARE = 0.5
_MOST_VALUES = 40
_POPULAR_VALUES = (20, 20, 30, 38, 3, 7, 33, 38)
"""How many values the most popular attributes have: they decide how often ads match, so no seed draws them."""
_MOST_PREDICATES = 7
_DRAWN = 14


class Catalogue(NamedTuple):
    """The attributes and the stock of value lists that subscriptions and events draw from.

    The last attribute is the month; its lists are the single months, and they are the last leaves.
    """

    popularity: Doubles
    values: Int64s
    leaves: Leaves
    first_leaf: Int64s

    @property
    def names(self) -> list[str]:
        """Attribute names."""
        return [*(f"a{number:04d}" for number in range(ATTRIBUTES)), "month"]

    @property
    def texts(self) -> list[str]:
        """The value of each number, for all attributes."""
        return [f"v{number}" for number in range(_MOST_VALUES)]


@cache
def catalogue(seed: int) -> Catalogue:
    """Draw the stock: popular attributes have up to 200 lists, others three; a list has three values on average."""
    rng = stream(seed, "catalogue")
    share = popularity(ATTRIBUTES)
    values = rng.integers(2, _MOST_VALUES, size=ATTRIBUTES)
    values[: len(_POPULAR_VALUES)] = _POPULAR_VALUES
    lists = np.maximum(3, (200 * share / share[0]).astype(np.int64))
    attribute = np.repeat(np.arange(ATTRIBUTES), lists)
    length = np.minimum(values[attribute], 1 + rng.geometric(0.5, len(attribute)))
    listed = [np.sort(rng.permutation(v)[:n]) for v, n in zip(values[attribute], length, strict=True)]
    months = np.arange(MONTHS)
    leaves = Leaves(
        np.concatenate([attribute, np.full(MONTHS, ATTRIBUTES)]),
        starts(np.concatenate([length, np.ones(MONTHS, np.int64)])),
        np.concatenate([*listed, months]),
    )
    return Catalogue(share, values, leaves, starts(lists))


def slice_seed(seed: int, number: int) -> int:
    """Return the seed of a slice."""
    return seed * 1_000_000 + number


class Ads:
    """The workload.

    Parameters
    ----------
    seed
        Of all draws.
    weighting
        ``uniform`` or ``zipf`` gives each predicate and each event value a weight.
    exponent
        Zipf exponent of the number of conjunctions; 2.5, 2.0 and 1.5 make 1.6, 2.3 and 3.5 of them on average.
    months
        From how many months subscriptions draw theirs; if from fewer than all, every event is of the first one.
    dimension
        From how many attributes, the most popular ones, subscriptions draw theirs.
    """

    size = 1_000_000

    def __init__(
        self,
        seed: int = 1,
        weighting: str | None = None,
        *,
        exponent: float = 2.5,
        months: int = MONTHS,
        dimension: int = ATTRIBUTES,
    ) -> None:
        self._seed = seed
        self._weighting = weighting
        self._exponent = exponent
        self._months = months
        self._dimension = dimension
        self.name = "ads" if weighting is None else f"ads-{weighting}"

    @classmethod
    def slice_of(cls, seed: int, number: int) -> Ads:
        """Return contracts that a seed of their own draws from the stock of lists of ``seed``, as all its slices do."""
        ads = cls(slice_seed(seed, number))
        ads.__dict__["catalogue"] = catalogue(seed)
        return ads

    @cached_property
    def catalogue(self) -> Catalogue:
        """The stock of lists."""
        return catalogue(self._seed)

    def subscriptions(self, count: int) -> list[Subscription]:
        """See `benchmarks.workloads.workload.Workload`."""
        stock = self.catalogue
        return dnf_subscriptions(stock.leaves, self.columns(count), stock.names, stock.texts)

    def columns(self, count: int) -> Dnf:
        """Return the subscriptions in columns; the leaves are the catalogue's."""
        rng = stream(self._seed, "subscriptions")
        size_share = np.arange(1.0, 21.0) ** -self._exponent
        sizes = 1 + draw(rng, size_share / size_share.sum(), (count,))
        month = rng.integers(0, self._months, count)
        subscription, position, literal = self._by_position(rng, sizes)
        order = np.lexsort((position, subscription))
        literal, owner = literal[order], subscription[order]
        literal = np.hstack([literal, 2 * (self.catalogue.first_leaf[-1] + month[owner])[:, None]])
        used = literal >= 0
        code = literal[used]
        weight = None if self._weighting is None else weights(rng, self._weighting, len(code))
        return Dnf(code >> 1, (code & 1) == 1, starts(used.sum(axis=1)), starts(sizes), weight)

    def _by_position(self, rng: np.random.Generator, sizes: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """Draw all first conjunctions, then all second ones, and so on.

        Returns
        -------
        subscription, position
            int64 [conjunctions].
        literal
            int64 [conjunctions, columns], leaf << 1 | negated, -1 where there is none.
        """
        rows = np.arange(len(sizes))
        before = np.full((len(sizes), 0), -1, np.int64)
        found: list[tuple[Int64s, Int64s, Int64s]] = []
        for position in range(int(sizes.max())):
            going_on = sizes[rows] > position
            rows = rows[going_on]
            before = self._conjunctions(rng, before[going_on])
            found.append((rows, np.full(len(rows), position), before))
        return (
            np.concatenate([r for r, _, _ in found]),
            np.concatenate([p for _, p, _ in found]),
            np.concatenate([literal for _, _, literal in found]),
        )

    def _conjunctions(self, rng: np.random.Generator, before: Int64s) -> Int64s:
        """Return one conjunction a row; half of them begin with the first half of the one before."""
        count = len(before)
        stock = self.catalogue
        share = stock.popularity[: self._dimension]
        attribute = draw(rng, share / share.sum(), (count, _DRAWN))
        lists = np.diff(stock.first_leaf)
        leaf = stock.first_leaf[attribute] + (rng.random(attribute.shape) * lists[attribute]).astype(np.int64)
        literal = 2 * leaf + (rng.random(attribute.shape) < NOT_SHARE)
        copied = np.maximum(1, (before >= 0).sum(axis=1) // 2) * (rng.random(count) < COPY_SHARE)
        kept = np.where(np.arange(before.shape[1]) < copied[:, None], before, -1)
        wanted = np.maximum(np.clip(rng.poisson(1.65, count) + 1, 1, _MOST_PREDICATES), (kept >= 0).sum(axis=1))
        literal = np.hstack([kept, literal])
        about = np.where(literal >= 0, stock.leaves.attribute[literal >> 1], -1 - np.arange(literal.shape[1]))
        taken = first_distinct(about, wanted + (literal < 0).sum(axis=1)) & (literal >= 0)
        chosen = np.where(taken, literal, -1)
        order = np.argsort(~taken, axis=1, kind="stable")[:, :_MOST_PREDICATES]
        return np.take_along_axis(chosen, order, axis=1)

    def keys(self, count: int) -> tuple[Int64s, Int64s]:
        """Return events in columns: attributes and values, int64 [events, EVENT_KEYS + 1], the month last."""
        rng = stream(self._seed, "events")
        stock = self.catalogue
        attribute = np.stack(
            [rng.choice(ATTRIBUTES, EVENT_KEYS, replace=False, p=stock.popularity) for _ in range(count)]
        )
        value = (stock.values[attribute] * rng.random(attribute.shape) ** 2).astype(np.int64)
        month = rng.integers(0, MONTHS if self._months == MONTHS else 1, (count, 1))
        return np.hstack([attribute, np.full_like(month, ATTRIBUTES)]), np.hstack([value, month])

    def events(self, count: int) -> list[Event]:
        """See `benchmarks.workloads.workload.Workload`."""
        attribute, value = self.keys(count)
        names, texts = self.catalogue.names, self.catalogue.texts
        weight = weights(stream(self._seed, "event weights"), "uniform", value.size).reshape(value.shape)
        found = []
        for row in range(count):
            about = [names[a] for a in attribute[row].tolist()]
            attributes: dict[str, tuple[Value, ...]] = {
                name: (texts[v],) for name, v in zip(about, value[row].tolist(), strict=True)
            }
            weighted = zip(about, weight[row].tolist(), strict=True) if self._weighting else ()
            found.append(Event(attributes, {name: (w,) for name, w in weighted}))
        return found
