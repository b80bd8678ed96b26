"""Which leaves can't hold beside others over the same attribute, because of what they say of single values.

A positive leaf wants one value, a negated leaf forbids values. So a positive leaf is refuted by negated ones when all
values that it would take are forbidden, and by nothing else: two positive leaves may be met by two different values.
``within`` forbids whatever is not listed. What is forbidden to a derived attribute is forbidden to the values it is
derived from, one by one.

The number of comparisons is linear in the number of leaves and of their values. Beyond it nothing is refuted, which is
never wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from index.attribute_names import Derivation, Step, origin
from index.intervals import TEXTS, Interval, Kind, Union, interval, point, prefix_of
from schemas.derived import derived_values
from schemas.expression import Contains, Exists, Expression, In, Matches, Not, NotExists, NotIn, Range, Within
from schemas.patterns import full_match
from schemas.values import Value, ValueKey, value_key

COMPARISONS = 16
"""How many comparisons are made at most for each leaf, and for each of its values."""

MOST = 8
"""How many leaves of one kind are looked at, where nothing but trying them one by one helps."""


class Literal(NamedTuple):
    """A leaf in normal form, with its negation beside it; it is never a ``not_in`` or ``not_exists``."""

    leaf: Expression
    negated: bool

    @property
    def wants_value(self) -> bool:
        """Whether there must be a value that meets the leaf, or, of a ``within``, one that does not."""
        return self.negated is (type(self.leaf) is Within)


def literal(node: Expression, flipped: bool = False) -> Literal:
    """Return a leaf or negated leaf as a literal, or the opposite of it."""
    if isinstance(node, Not):
        return Literal(node.arg, not flipped)
    if isinstance(node, NotIn):
        return Literal(In(node.attribute, node.values), not flipped)
    if isinstance(node, NotExists):
        return Literal(Exists(node.attribute), not flipped)
    return Literal(node, flipped)


class Refuter:
    """Literals that all hold, in order to ask which others then do not.

    Parameters
    ----------
    literals
        What holds.
    """

    def __init__(self, literals: Sequence[Literal]) -> None:
        self._left = sum(map(_allowance, literals))
        self._wanted: dict[str, list[Literal]] = defaultdict(list)
        self._forbidden: dict[str, dict[Derivation, _Forbidden]] = defaultdict(dict)
        for each in literals:
            source = origin(each.leaf.attribute)  # type: ignore[union-attr]
            if each.wants_value:
                self._wanted[source.base].append(each)
            else:
                self._forbidden[source.base].setdefault(source, _Forbidden()).add(each.leaf)

    def refutes(self, asked: Literal) -> bool:
        """Return whether a literal is false whenever the others hold; False also when that is not found out."""
        self._left += _allowance(asked)
        return self._refutes(asked)

    def _refutes(self, asked: Literal) -> bool:
        source = origin(asked.leaf.attribute)  # type: ignore[union-attr]
        if self._left <= 0:
            return False
        self._left -= 1
        if not asked.wants_value:
            return self._unwanted(asked, source.base)
        known = self._forbidden.get(source.base, {})
        here = known.get(source)
        match asked.leaf:
            case Within(_, values):
                return here is not None and here.allows_only(values)
            case _ if any(each.all and _extends(source, above) for above, each in islice(known.items(), MOST)):
                return True
            case In(_, values):
                return self._all_forbidden(values, source)
            case Range() as leaf if (taken := interval(leaf)) is not None:
                if taken.point is not None:
                    return self._all_forbidden((taken.point,), source)
                return here is not None and self._affords(here) and here.forbids_range(leaf, taken)
            case Contains() | Matches() as leaf:
                return here is not None and self._affords(here) and here.forbids_texts(leaf)
        return False

    def _affords(self, forbidden: _Forbidden) -> bool:
        """Return whether the values that are allowed may be gone through once more."""
        self._left -= len(forbidden.listed)
        return self._left >= 0

    def _unwanted(self, asked: Literal, base: str) -> bool:
        """Return whether a leaf that forbids values would forbid one that is wanted."""
        if type(asked.leaf) is Within:
            return False  # beside it stands an `in` with its list, which wants a value
        alone = Refuter((asked,))
        alone._left = self._left
        refuted = any(map(alone._refutes, self._wanted.get(base, ())[:MOST]))
        self._left = alone._left
        return refuted

    def _all_forbidden(self, values: Iterable[Value], source: Derivation) -> bool:
        """Return whether each value is forbidden, or something that is derived from it."""
        known = self._forbidden.get(source.base, {})
        below = [
            (above.steps[len(source.steps) :], each)
            for above, each in islice(known.items(), MOST)
            if _extends(above, source)
        ]
        for value in values:
            self._left -= len(below)
            if self._left < 0 or not any(_derives_forbidden(value, steps, each) for steps, each in below):
                return False
        return True


class _Forbidden:
    """What the values of one attribute can't be: ``all`` forbids any, and of others those ``listed`` are left."""

    def __init__(self) -> None:
        self.all = False
        self.listed: tuple[Value, ...] = ()
        self._values: set[ValueKey] = set()
        self._allowed: set[ValueKey] | None = None
        self._intervals: list[Interval] = []
        self._texts: list[Contains | Matches] = []

    def add(self, leaf: Expression) -> None:
        """Forbid what meets a leaf or, of a ``within``, what does not."""
        match leaf:
            case Exists():
                self.all = True
            case In(_, values):
                self._values.update(map(value_key, values))
            case Within(_, values):
                listed = set(map(value_key, values))
                self._allowed = listed if self._allowed is None else self._allowed & listed
                self.listed = values
            case Range():
                taken = interval(leaf)
                if taken is not None:
                    self._intervals.append(taken)
            case Contains() | Matches() if len(self._texts) < MOST:
                self._texts.append(leaf)

    @cached_property
    def _unions(self) -> dict[Kind, Union]:
        points = (point(value) for _, value in self._values) if self._intervals else ()
        intervals = [*self._intervals, *(place for place in points if place is not None)]
        kinds: tuple[Kind, ...] = (str, float)
        return {kind: Union(each for each in intervals if each.kind is kind) for kind in kinds}

    def allows_only(self, values: Iterable[Value]) -> bool:
        """Return whether no value is left but some of these."""
        return self._allowed is not None and self._allowed <= set(map(value_key, values))

    def forbids(self, value: Value) -> bool:
        """Return whether a value is forbidden."""
        key, place = value_key(value), point(value)
        return (
            self.all
            or key in self._values
            or (self._allowed is not None and key not in self._allowed)
            or (place is not None and self._covers(place))
            or (isinstance(value, str) and any(_meets(value, leaf) for leaf in self._texts))
        )

    def forbids_range(self, leaf: Range, taken: Interval) -> bool:
        """Return whether all values of a range are forbidden."""
        prefix = prefix_of(leaf)
        return (
            self._covers(taken)
            or (prefix is not None and self._forbids_around(prefix))
            or not (self._allowed is None or any(self._inside(value, taken) for value in self.listed))
        )

    def forbids_texts(self, leaf: Contains | Matches) -> bool:
        """Return whether all texts that meet a leaf are forbidden."""
        return (
            self._covers(TEXTS)
            or (isinstance(leaf, Contains) and self._forbids_around(leaf.text))
            or not (self._allowed is None or any(isinstance(v, str) and _meets(v, leaf) for v in self.listed))
        )

    def _covers(self, taken: Interval) -> bool:
        return bool(self._intervals) and self._unions[taken.kind].covers(taken)

    def _inside(self, value: Value, taken: Interval) -> bool:
        place = point(value)
        return place is not None and taken.covers(place)

    def _forbids_around(self, text: str) -> bool:
        """Return whether all texts that contain one are forbidden."""
        return any(isinstance(leaf, Contains) and leaf.text in text for leaf in self._texts)


def _allowance(each: Literal) -> int:
    leaf = each.leaf
    return COMPARISONS * (1 + len(leaf.values) if isinstance(leaf, In | Within) else 1)


def _extends(longer: Derivation, shorter: Derivation) -> bool:
    """Return whether an attribute is derived from another one, or is the same; both have one base."""
    return longer.steps[: len(shorter.steps)] == shorter.steps


def _derives_forbidden(value: Value, steps: Iterable[Step], forbidden: _Forbidden) -> bool:
    results: tuple[Value, ...] = (value,)
    for step in steps:
        results = tuple(result for each in results for result in derived_values(step.function, step.args, each))
    return any(map(forbidden.forbids, results))


def _meets(text: str, leaf: Contains | Matches) -> bool:
    return leaf.text in text if isinstance(leaf, Contains) else full_match(leaf.pattern, text)
