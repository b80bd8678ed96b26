"""What one leaf means for one event, slow and obvious: the values it sees, whether it holds, what it scores."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeAlias

from schemas.addresses import parse_network
from schemas.derived import derived_values
from schemas.expression import (
    Attribute,
    Cidr,
    Contains,
    ContainsAll,
    Derive,
    EndsWith,
    EqualsSet,
    Exists,
    Glob,
    In,
    Keywords,
    Leaf,
    Matches,
    NotExists,
    NotIn,
    Range,
    StartsWith,
    Version,
    Within,
)
from schemas.instants import instant
from schemas.patterns import full_match
from schemas.records import Event
from schemas.shares import share_units
from schemas.texts import analyser, fold, glob_ignoring_case, glob_regex, tokens
from schemas.values import Value, ValueKey, same_value, score_term, value_key
from schemas.versions import version_key

Held: TypeAlias = tuple[tuple[Value, float], ...]
"""Values with the event's weights."""


def leaf_values(event: Event, attribute: Attribute) -> Held:
    """Return the distinct values of an attribute, or of what is derived from one, each with its event weight."""
    functions: list[Derive] = []
    while isinstance(attribute, Derive):
        functions.append(attribute)
        attribute = attribute.of
    values = event.attributes.get(attribute, ())
    held: Held = tuple(zip(values, event.weights.get(attribute, (1.0,) * len(values)), strict=True))
    for function in reversed(functions):
        held = _derived(held, function)
    return held


def leaf_holds(leaf: Leaf, event: Event) -> bool:
    """Return whether a leaf is true for the event."""
    if isinstance(leaf, Keywords):
        held = [token for token, _ in _tokens(leaf, event)]
        words = [_token(word) for word in leaf.all or leaf.any or ()]
        return all(word in held for word in words) if leaf.all is not None else any(word in held for word in words)
    values = [value for value, _ in leaf_values(event, leaf.attribute)]
    match leaf:
        case In(_, listed):
            return any(_among(value, listed) for value in values)
        case NotIn(_, listed, strong):
            return not any(_among(value, listed) for value in values) and (len(values) > 0 or not strong)
        case Exists():
            return len(values) > 0
        case NotExists():
            return len(values) == 0
        case ContainsAll(_, listed):
            return all(_among(value, values) for value in listed)
        case Within(_, listed):
            return len(values) > 0 and all(_among(value, listed) for value in values)
        case EqualsSet(_, listed):
            return all(_among(value, values) for value in listed) and all(_among(value, listed) for value in values)
        case Range():
            return any(_inside(value, leaf) for value in values)
    return any(_text_holds(leaf, value) for value in values if isinstance(value, str))


def leaf_terms(leaf: In | Keywords, event: Event) -> list[tuple[Value, float, float]]:
    """Return what a leaf meets: the values, or tokens, that are listed, with the event's weight and the leaf's."""
    if isinstance(leaf, In):
        held, listed = leaf_values(event, leaf.attribute), leaf.values
    else:
        held, listed = _tokens(leaf, event), tuple(_token(word) for word in leaf.all or leaf.any or ())
    weights = (1.0,) * len(listed) if leaf.weights is None else leaf.weights
    return [
        (value, event_weight, next(w for item, w in zip(listed, weights, strict=True) if same_value(item, value)))
        for value, event_weight in held
        if _among(value, listed)
    ]


def leaf_score(leaf: Leaf, event: Event) -> int:
    """Return what a leaf adds to the score in mode all, in units of 1 / SCORE_SCALE; 0 when it does not hold."""
    if not isinstance(leaf, In | Keywords) or not leaf_holds(leaf, event):
        return 0
    return sum(score_term(event_weight, weight) for _, event_weight, weight in leaf_terms(leaf, event))


def relaxed_score(leaf: Leaf, event: Event) -> int | None:
    """Return what a leaf adds to the score in mode relaxed; None when it does not make the subscription match.

    It does when it holds and has a weight other than zero; an ``in`` or ``keywords`` must meet a value with one.
    """
    if not leaf_holds(leaf, event):
        return None
    if isinstance(leaf, In | Keywords):
        return leaf_score(leaf, event) if any(weight != 0 for _, _, weight in leaf_terms(leaf, event)) else None
    weight = _weight(leaf)
    return None if weight == 0 else score_term(1.0, weight)


def threshold_shares(leaf: Leaf, event: Event) -> tuple[int, int]:
    """Return what a leaf contributes in mode threshold, and the most that it could, in units of 1 / SHARE_SCALE."""
    if isinstance(leaf, In | Keywords):
        possible = max((1.0,) if leaf.weights is None else leaf.weights)
        met = max((weight for _, _, weight in leaf_terms(leaf, event)), default=0.0)
    else:
        possible = met = _weight(leaf)
    return share_units(met) if leaf_holds(leaf, event) else 0, share_units(possible)


def _derived(held: Held, function: Derive) -> Held:
    """Return the distinct results of a function; each weighs what the heaviest of its sources does."""
    found: dict[ValueKey | str, tuple[Value, float]] = {}
    for source, weight in held:
        for result in derived_values(function.function, function.args, source):
            key: ValueKey | str = value_key(result) if result == result else "nan"
            if key not in found or weight > found[key][1]:
                found[key] = (result, weight)
    return tuple(found.values())


def _tokens(leaf: Keywords, event: Event) -> Held:
    return leaf_values(event, Derive("~tokens", leaf.attribute, (analyser(),)))


def _token(word: str) -> str:
    """Return the one token that a keyword is."""
    (token,) = tokens(word)
    return token


def _among(value: Value, listed: Sequence[Value]) -> bool:
    return any(same_value(value, item) for item in listed)


def _weight(leaf: Any) -> float:
    """Return the weight that the modes relaxed and threshold give to a leaf other than in and keywords."""
    return 1.0 if leaf.weight is None else float(leaf.weight)


def _text_holds(leaf: Leaf, value: str) -> bool:
    match leaf:
        case Matches(_, pattern):
            return full_match(pattern, value)
        case Glob(_, pattern, False):
            return full_match(glob_regex(pattern), value)
        case Glob(_, pattern):
            regex, is_folded = glob_ignoring_case(pattern)
            return full_match(regex, _folded(value, is_folded))
        case StartsWith(_, text, ignore_case):
            return _folded(value, ignore_case).startswith(_folded(text, ignore_case))
        case EndsWith(_, text, ignore_case):
            return _folded(value, ignore_case).endswith(_folded(text, ignore_case))
        case Contains(_, text, ignore_case):
            return _folded(text, ignore_case) in _folded(value, ignore_case)
        case Version(_, equal):
            key = version_key(value)
            return key is not None and (equal is None or key == version_key(equal)) and _between(key, leaf, version_key)
        case Cidr(_, networks):
            return any(_in_network(value, network) for network in networks)
    raise TypeError(f"{type(leaf).__name__} is no leaf")


def _folded(text: str, ignore_case: bool) -> str:
    return fold(text) if ignore_case else text


def _inside(value: Value, bounds: Range) -> bool:
    """Return whether a value lies inside; booleans never do, nor does a value of another type than the bounds."""
    if bounds.type == "time":
        moment = instant(value) if isinstance(value, str) else None
        return moment is not None and _between(moment, bounds, instant)
    given = [b for b in (bounds.gt, bounds.ge, bounds.lt, bounds.le) if b is not None]
    if isinstance(value, bool) or any(isinstance(b, str) != isinstance(value, str) for b in given):
        return False
    return _between(value, bounds, lambda bound: bound)


def _between(value: Any, bounds: Range | Version, key: Any) -> bool:
    """A NaN compares false with every bound, so it must be asked whether each bound holds, not whether one fails."""
    return (
        (bounds.gt is None or value > key(bounds.gt))
        and (bounds.ge is None or value >= key(bounds.ge))
        and (bounds.lt is None or value < key(bounds.lt))
        and (bounds.le is None or value <= key(bounds.le))
    )


def _in_network(text: str, network: str) -> bool:
    """An IPv6 address that stands for an IPv4 one is that one."""
    try:
        address: IPv4Address | IPv6Address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        address = address.ipv4_mapped or address
    known = parse_network(network)
    return known is not None and known.version == address.version and address in known
