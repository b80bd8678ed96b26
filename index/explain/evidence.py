"""What a leaf saw in an event: the values that met it, those that spoke against it, those that it misses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from index.oracle import leaf_holds, leaf_terms, leaf_values
from schemas.expression import (
    Attribute,
    ContainsAll,
    Derive,
    EqualsSet,
    Exists,
    Keywords,
    Leaf,
    NotExists,
    NotIn,
    Within,
)
from schemas.records import Event
from schemas.texts import analyser, tokens
from schemas.values import Value, value_key

_ALONE = "value"


class Evidence(NamedTuple):
    """What a leaf saw.

    Attributes
    ----------
    values
        All values of the attribute, or of what is derived from it; for keywords the tokens. Empty: absent.
    met
        Those by which the leaf holds, or would hold if nothing else were wanted.
    against
        Those by which it does not hold: listed ones for ``not_in``, others than the listed for ``within`` and
        ``equals_set``, any for ``not_exists``.
    missing
        Listed values, or keywords, that all must be there and are not.
    """

    values: tuple[Value, ...]
    met: tuple[Value, ...] = ()
    against: tuple[Value, ...] = ()
    missing: tuple[Value, ...] = ()


def evidence(leaf: Leaf, event: Event) -> Evidence:
    """Return what a leaf saw in an event."""
    values = _values(event, leaf.attribute)
    match leaf:
        case Keywords():
            return _of_keywords(leaf, event)
        case Exists():
            return Evidence(values, met=values)
        case NotExists():
            return Evidence(values, against=values)
        case NotIn(_, listed):
            return Evidence(values, against=_among(values, listed))
        case ContainsAll(_, listed):
            return Evidence(values, met=_among(values, listed), missing=_others(listed, values))
        case Within(_, listed):
            return Evidence(values, met=_among(values, listed), against=_others(values, listed))
        case EqualsSet(_, listed):
            return Evidence(values, _among(values, listed), _others(values, listed), _others(listed, values))
    single = msgspec.structs.replace(leaf, attribute=_ALONE)
    return Evidence(values, met=tuple(v for v in values if leaf_holds(single, Event({_ALONE: (v,)}))))


def _of_keywords(leaf: Keywords, event: Event) -> Evidence:
    found = _values(event, Derive("~tokens", leaf.attribute, (analyser(),)))
    met = tuple(value for value, _, _ in leaf_terms(leaf, event))
    words = tuple(token for word in leaf.all or () for token in tokens(word))
    return Evidence(found, met, missing=_others(words, met))


def _values(event: Event, attribute: Attribute) -> tuple[Value, ...]:
    return tuple(value for value, _ in leaf_values(event, attribute))


def _among(values: Sequence[Value], listed: Sequence[Value]) -> tuple[Value, ...]:
    keys = set(map(value_key, listed))
    return tuple(value for value in values if value_key(value) in keys)


def _others(values: Sequence[Value], listed: Sequence[Value]) -> tuple[Value, ...]:
    keys = set(map(value_key, listed))
    return tuple(value for value in values if value_key(value) not in keys)
