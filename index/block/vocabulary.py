"""What subscriptions name, interned while a segment is built: attributes, terms, predicates; later numbered as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from index.attribute_names import attribute_name
from schemas.expression import (
    Attribute,
    Contains,
    Exists,
    Expression,
    Matches,
    Not,
    NotExists,
    NotIn,
    Range,
    Within,
)
from schemas.values import Number, Value, value_key


class Everything(NamedTuple):
    """The predicate that holds for every event."""


class Term(NamedTuple):
    """Some value of the attribute is this one."""

    attribute: int
    term: int


class OneOf(NamedTuple):
    """Some value of the attribute is among these; ascending, never one alone (that is a `Term`)."""

    attribute: int
    terms: tuple[int, ...]


class Outside(NamedTuple):
    """Some value of the attribute is none of these; ascending."""

    attribute: int
    terms: tuple[int, ...]
    kind: str = "outside"
    """Tuples of different types may be equal; no `OneOf` equals this."""


class Fits(NamedTuple):
    """Some string value of the attribute matches the regular expression as a whole."""

    attribute: int
    pattern: str


class Holds(NamedTuple):
    """Some string value of the attribute contains the text, which is not empty."""

    attribute: int
    text: str
    kind: str = "holds"
    """No `Fits` equals this."""


class Present(NamedTuple):
    """The attribute has a value."""

    attribute: int


class Inside(NamedTuple):
    """Some value of the attribute lies inside the bounds, all of them texts or all of them numbers."""

    attribute: int
    text: bool
    gt: str | Number | None
    ge: str | Number | None
    lt: str | Number | None
    le: str | Number | None

    @property
    def bounds(self) -> tuple[str | Number, ...]:
        """The bounds that are given."""
        return tuple(b for b in (self.gt, self.ge, self.lt, self.le) if b is not None)


Predicate: TypeAlias = Everything | Term | OneOf | Outside | Fits | Holds | Present | Inside

Literal: TypeAlias = int
"""predicate << 1 | negated."""

ALWAYS: Literal = 0
NEVER: Literal = 1


class Listed(NamedTuple):
    """A list of values: its predicate and its distinct terms, ``term[i]`` being that of value ``place[i]``."""

    predicate: int
    terms: tuple[int, ...]
    places: tuple[int, ...]


class Vocabulary:
    """Numbers attributes, terms and predicates in the order in which they are met.

    Attributes
    ----------
    attributes
        Name to ordinal.
    terms
        (attribute, kind, value) to ordinal; the last two are `schemas.values.value_key`.
    predicates
        Predicate to ordinal; `Everything` is the first.
    """

    def __init__(self) -> None:
        self.attributes: dict[str, int] = {}
        self.terms: dict[tuple[int, str, Value], int] = {}
        self.predicates: dict[Predicate, int] = {Everything(): 0}
        self._lists: dict[tuple[str, tuple[Value, ...], tuple[type, ...]], Listed] = {}

    def literal(self, leaf: Expression) -> Literal:
        """Return the literal of a leaf in normal form but an ``in``, whose list `listed` gives."""
        match leaf:
            case Not(arg):
                return self.literal(arg) ^ 1
            case NotIn(attribute, values):
                return self.listed(attribute, values).predicate << 1 | 1
            case Range():
                return self.range(leaf)
            case Exists(attribute):
                return self._predicate(Present(self._attribute(attribute))) << 1
            case NotExists(attribute):
                return self._predicate(Present(self._attribute(attribute))) << 1 | 1
            case Within(attribute, values):
                terms = self.listed(attribute, values).terms
                return self._predicate(Outside(self._attribute(attribute), tuple(sorted(terms)))) << 1 | 1
            case Matches(attribute, pattern):
                return self._predicate(Fits(self._attribute(attribute), pattern)) << 1
            case Contains(attribute, text):
                return self._predicate(Holds(self._attribute(attribute), text)) << 1
        raise TypeError(f"{type(leaf).__name__} is no leaf in normal form")

    def listed(self, attribute: Attribute, values: tuple[Value, ...]) -> Listed:
        """Return a list of values; the types are part of the look-up since Python takes 1 and True for one value."""
        name = attribute_name(attribute)
        key = (name, values, tuple(map(type, values)))
        found = self._lists.get(key)
        if found is None:
            found = self._lists[key] = self._list(name, values)
        return found

    def _list(self, name: str, values: Sequence[Value]) -> Listed:
        """Intern the values; a NaN equals nothing and is left out, and a list of nothing else is never true."""
        attribute = self._attribute(name)
        terms = self.terms
        places: dict[int, int] = {}
        for place, value in enumerate(values):
            if value == value:
                places.setdefault(terms.setdefault((attribute, *value_key(value)), len(terms)), place)
        ordinals = tuple(places)
        one = len(ordinals) == 1
        predicate = Term(attribute, ordinals[0]) if one else OneOf(attribute, tuple(sorted(ordinals)))
        return Listed(self._predicate(predicate), ordinals, tuple(places.values()))

    def range(self, leaf: Range) -> Literal:
        """Return the literal of a range.

        A NaN bound is never met, nor is a range of two kinds or none of bounds; all are refused before they come here.
        """
        given = [bound for bound in (leaf.gt, leaf.ge, leaf.lt, leaf.le) if bound is not None]
        texts = [isinstance(bound, str) for bound in given]
        if not given or any(bound != bound for bound in given) or len(set(texts)) > 1:
            return NEVER
        attribute = self._attribute(leaf.attribute)
        return self._predicate(Inside(attribute, texts[0], leaf.gt, leaf.ge, leaf.lt, leaf.le)) << 1

    def inside(self, range_: Inside) -> int:
        """Return the predicate of a range that is made while a segment is built."""
        return self._predicate(range_)

    def _attribute(self, attribute: Attribute) -> int:
        return self.attributes.setdefault(attribute_name(attribute), len(self.attributes))

    def _predicate(self, predicate: Predicate) -> int:
        return self.predicates.setdefault(predicate, len(self.predicates))
