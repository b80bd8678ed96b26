"""Leaves that are shorthand, written out as plainer leaves, over derived attributes where that makes them plain.

Each function returns an expression with the truth of the leaf, and with its score in mode all; a leaf that is plain
already comes back as it is. What comes out may be reduced again.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from index.plain_patterns import plain_pattern
from index.preimages import range_below
from schemas.addresses import network_bounds
from schemas.expression import (
    And,
    Attribute,
    Cidr,
    Contains,
    ContainsAll,
    Derive,
    EndsWith,
    EqualsSet,
    Expression,
    Glob,
    In,
    Keywords,
    Matches,
    Or,
    Range,
    StartsWith,
    Version,
    Within,
)
from schemas.instants import instant
from schemas.texts import analyser, fold, glob_ignoring_case, glob_regex, prefix_bounds, tokens
from schemas.values import Value
from schemas.versions import version_key

NEVER = Or(())


def reduced(leaf: Expression) -> Expression:
    """Return a leaf as plainer leaves, or the leaf itself."""
    reduce = _REDUCTIONS.get(type(leaf))
    return leaf if reduce is None else reduce(leaf)


def silent_in(attribute: Attribute, values: tuple[Value, ...]) -> In:
    """Return an ``in`` that never scores."""
    return In(attribute, values, (0.0,) * len(values))


def _range(leaf: Range) -> Expression:
    if leaf.type != "time":
        return range_below(leaf)
    given = {name: getattr(leaf, name) for name in ("gt", "ge", "lt", "le") if getattr(leaf, name) is not None}
    bounds: dict[str, Any] = {name: instant(text) for name, text in given.items()}
    if None in bounds.values():
        return NEVER
    return Range(Derive("~instant", leaf.attribute), **bounds)


def _begins(attribute: Attribute, text: str) -> Range:
    low, high = prefix_bounds(text)
    return Range(attribute, ge=low, lt=high)


def _ends(attribute: Attribute, text: str) -> Range:
    return _begins(Derive("~reverse", attribute), text[::-1])


def _folded(leaf: StartsWith | EndsWith | Contains) -> tuple[Attribute, str]:
    if leaf.ignore_case:
        return Derive("~fold", leaf.attribute), fold(leaf.text)
    return leaf.attribute, leaf.text


def _contains(leaf: Contains) -> Expression:
    attribute, text = _folded(leaf)
    if not text:
        return _begins(attribute, "")
    return Contains(attribute, text) if leaf.ignore_case else leaf


def _glob(leaf: Glob) -> Expression:
    if leaf.ignore_case:
        pattern, is_folded = glob_ignoring_case(leaf.pattern)
        return Matches(Derive("~fold", leaf.attribute) if is_folded else leaf.attribute, pattern)
    return Matches(leaf.attribute, glob_regex(leaf.pattern))


def _matches(leaf: Matches) -> Expression:
    plain = plain_pattern(leaf.pattern)
    if plain is None:
        return leaf
    if plain.open_start and plain.open_end:
        return Contains(leaf.attribute, plain.text)
    if plain.open_start:
        return _ends(leaf.attribute, plain.text)
    if plain.open_end:
        return _begins(leaf.attribute, plain.text)
    return silent_in(leaf.attribute, (plain.text,))


def _version(leaf: Version) -> Expression:
    attribute = Derive("~version", leaf.attribute)
    given = {name: getattr(leaf, name) for name in ("eq", "gt", "ge", "lt", "le") if getattr(leaf, name) is not None}
    keys: dict[str, Any] = {name: version_key(text) for name, text in given.items()}
    if None in keys.values():
        return NEVER
    equal = keys.pop("eq", None)
    inside = Range(attribute, **keys)
    if equal is None:
        return inside
    return silent_in(attribute, (equal,)) if _holds(inside, equal) else NEVER


def _holds(bounds: Range, key: Any) -> bool:
    """Return whether a key lies inside bounds that are keys."""
    return (
        (bounds.gt is None or key > bounds.gt)
        and (bounds.ge is None or key >= bounds.ge)
        and (bounds.lt is None or key < bounds.lt)
        and (bounds.le is None or key <= bounds.le)
    )


def _cidr(leaf: Cidr) -> Expression:
    """Networks are nested or apart, so those inside others go, and the order of their lowest addresses finds them."""
    attribute = Derive("~address", leaf.attribute)
    found = {bounds for network in leaf.networks if (bounds := network_bounds(network)) is not None}
    outer: list[tuple[str, str]] = []
    for low, high in sorted(sorted(found, key=itemgetter(1), reverse=True), key=itemgetter(0)):
        if not outer or high > outer[-1][1]:
            outer.append((low, high))
    single = tuple(low for low, high in outer if low == high)
    parts: list[Expression] = [Range(attribute, ge=low, le=high) for low, high in outer if low < high]
    if single:
        parts.append(silent_in(attribute, single))
    return Or(tuple(parts))


def _keywords(leaf: Keywords) -> Expression:
    """A word that is given twice counts once, by its first weight, as a value of an ``in`` does."""
    attribute = Derive("~tokens", leaf.attribute, (analyser(),))
    words = leaf.any if leaf.all is None else leaf.all
    weight: dict[str, float] = {}
    for place, word in enumerate(words or ()):
        found = tokens(word)
        if len(found) == 1:
            weight.setdefault(found[0], 1.0 if leaf.weights is None else leaf.weights[place])
        elif leaf.all is not None:
            return NEVER
    if leaf.all is None:
        return In(attribute, tuple(weight), tuple(weight.values()))
    return And(tuple(In(attribute, (word,), (points,)) for word, points in weight.items()))


def _contains_all(leaf: ContainsAll) -> Expression:
    return And(tuple(silent_in(leaf.attribute, (value,)) for value in leaf.values))


def _equals_set(leaf: EqualsSet) -> Expression:
    return And((ContainsAll(leaf.attribute, leaf.values), Within(leaf.attribute, leaf.values)))


_REDUCTIONS: dict[type, Callable[[Any], Expression]] = {
    Range: _range,
    StartsWith: lambda leaf: _begins(*_folded(leaf)),
    EndsWith: lambda leaf: _ends(*_folded(leaf)),
    Contains: _contains,
    Glob: _glob,
    Matches: _matches,
    Version: _version,
    Cidr: _cidr,
    Keywords: _keywords,
    ContainsAll: _contains_all,
    EqualsSet: _equals_set,
}
