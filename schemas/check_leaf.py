"""Whether one leaf is allowed: what it lists, its texts, patterns, bounds, networks, words and weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from schemas.addresses import network_bounds, parse_network
from schemas.check_parts import (
    Bound,
    check_attribute,
    check_list,
    check_number,
    check_order,
    check_values,
    check_weight,
    check_weights,
    given_bounds,
)
from schemas.errors import Refused
from schemas.expression import (
    Cidr,
    Contains,
    ContainsAll,
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
from schemas.limits import Limits, shown
from schemas.patterns import compile_pattern
from schemas.records import Mode
from schemas.texts import fold, glob_ignoring_case, glob_regex, tokens
from schemas.values import ValueKey, value_key
from schemas.versions import version_key


def check_leaf(leaf: Leaf, limits: Limits, mode: Mode | None) -> float:
    """Check one leaf and return the magnitude of its weights, 1 for each that is left out where one may be given.

    Parameters
    ----------
    leaf
        The leaf.
    limits
        What it may hold.
    mode
        The subscription's mode; None when it is not known, as in a filter text.

    Raises
    ------
    Refused
        The first thing that is not allowed, with a path relative to the leaf.
    """
    check_attribute(leaf.attribute, limits)
    magnitude = _CHECKS[type(leaf)](leaf, limits)
    return _check_leaf_weight(leaf, mode) if magnitude is None else magnitude


def _split(predicate: str, connective: str) -> str:
    """Return the cure of a list too long, for a predicate whose parts say together what the whole does."""
    return f"split it over several predicates {predicate}, joined by {connective}"


def _check_in(leaf: In, limits: Limits) -> float:
    check_values(leaf.values, limits, _split("in", "or"))
    return check_weights(leaf.values, leaf.weights, value_key)


def _check_not_in(leaf: NotIn, limits: Limits) -> float:
    check_values(leaf.values, limits, _split("not in", "and"))
    return 0.0


def _check_contains_all(leaf: ContainsAll, limits: Limits) -> None:
    check_values(leaf.values, limits, _split("contains all", "and"))


def _check_set(leaf: Within | EqualsSet, limits: Limits) -> None:
    check_values(leaf.values, limits, "list fewer or raise the setting: this predicate can't be split")


def _check_exists(leaf: Exists, limits: Limits) -> None:
    """Presence asks for nothing but the attribute."""


def _check_not_exists(leaf: NotExists, limits: Limits) -> float:
    return 0.0


def _check_leaf_weight(leaf: Any, mode: Mode | None) -> float:
    """Check the weight of a leaf that has one for itself; only the modes relaxed and threshold count it."""
    weight: float | None = leaf.weight
    if weight is None:
        return 0.0 if mode == "all" else 1.0
    check_weight(weight, ".weight")
    if mode == "all":
        raise Refused(
            "weights.position",
            "this predicate has a weight, but in the mode all only in and keywords score; leave the weight out, or "
            "set the mode relaxed or threshold",
            ".weight",
        )
    return abs(weight)


def _check_range(leaf: Range, limits: Limits) -> None:
    if leaf.type is not None and leaf.type != "time":
        raise Refused(
            "range.type",
            f'there is no range of type {leaf.type!r:.40}; leave type out for numbers and strings, or write "time"',
            ".type",
        )
    lower, upper = given_bounds(leaf)
    check_bound = _check_bound if leaf.type is None else _check_time
    if lower is not None:
        check_bound(*lower)
    if upper is not None:
        check_bound(*upper)
    elif lower is None:
        raise Refused("range.no_bound", "the range has no bound; give gt, ge, lt or le, or ask for exists", "")
    if lower is None or upper is None:
        return
    if isinstance(lower[0], str) != isinstance(upper[0], str):
        raise Refused(
            "range.type",
            f"one bound is a string and the other a number ({lower[0]!r:.60} and {upper[0]!r:.60}); no value can lie "
            "between them, so give two numbers or two strings",
            f".{upper[1]}",
        )
    check_order(lower, upper, instant if leaf.type == "time" else _itself)


def _itself(bound: Any) -> Any:
    return bound


def _check_bound(bound: Any, name: str) -> None:
    if isinstance(bound, bool):
        raise Refused(
            "range.type",
            "a bound is a boolean; bounds are numbers or strings, ask for a boolean with in",
            f".{name}",
        )
    if not isinstance(bound, str):
        check_number(bound, f".{name}")


def _check_time(bound: Any, name: str) -> None:
    if not isinstance(bound, str) or instant(bound) is None:
        raise Refused(
            "range.time",
            f"{shown(bound)} is no RFC 3339 time with a zone, and no date; write it like 2026-05-01T08:00:00Z or "
            "2026-05-01",
            f".{name}",
        )


def _check_version(leaf: Version, limits: Limits) -> None:
    lower, upper = given_bounds(leaf)
    equal: Bound | None = None if leaf.eq is None else (leaf.eq, "eq")
    for bound in (equal, lower, upper):
        if bound is not None and version_key(bound[0]) is None:
            raise Refused(
                "version.syntax",
                f"{bound[0]!r:.60} is no version; write dotted numbers and perhaps the tags of a pre-release, like "
                "1.10.2 or 2.0.0-rc.1",
                f".{bound[1]}",
            )
    other = lower or upper
    if other is None:
        if equal is None:
            raise Refused("range.no_bound", "no version is given; give eq, gt, ge, lt or le", "")
    elif equal is not None:
        raise Refused("range.two_bounds", f"eq stands beside {other[1]}; keep one of the two", f".{other[1]}")
    if lower is not None and upper is not None:
        check_order(lower, upper, version_key)


def _check_matches(leaf: Matches, limits: Limits) -> None:
    _check_pattern(leaf.pattern)


def _check_glob(leaf: Glob, limits: Limits) -> None:
    """Check a glob pattern as it will be used, folded or not."""
    try:
        pattern = glob_ignoring_case(leaf.pattern)[0] if leaf.ignore_case else glob_regex(leaf.pattern)
    except Refused as refused:
        raise Refused(refused.code, refused.message, ".pattern") from None
    _check_pattern(pattern)


def _check_pattern(pattern: str) -> None:
    try:
        compile_pattern(pattern)
    except Refused as refused:
        raise Refused(refused.code, refused.message, ".pattern") from None


def _check_text(leaf: StartsWith | EndsWith | Contains, limits: Limits) -> None:
    if not leaf.text:
        raise Refused(
            "text.empty",
            "the text is empty, so every string would fit; give a text, or ask for exists",
            ".text",
        )


def _check_cidr(leaf: Cidr, limits: Limits) -> None:
    check_list(leaf.networks, limits, ".networks", "network", _split("in cidr", "or"))
    for place, network in enumerate(leaf.networks):
        if network_bounds(network) is not None:
            continue
        right = parse_network(network, strict=False)
        cure = "write it like 10.0.0.0/8 or 2001:db8::/32" if right is None else f"the network is {right}"
        fault = "is no network" if right is None else "is an address inside a network"
        raise Refused("cidr.syntax", f"{network!r:.60} {fault}; {cure}", f".networks[{place}]")


def _check_keywords(leaf: Keywords, limits: Limits) -> float:
    if (leaf.all is None) == (leaf.any is None):
        raise Refused(
            "keywords.all_or_any",
            f"{'neither all nor any is' if leaf.all is None else 'both all and any are'} given; give exactly one of "
            "the two",
            "",
        )
    words, path = (leaf.any or (), ".any") if leaf.all is None else (leaf.all, ".all")
    check_list(words, limits, path, "word", _split("has any", "or") if leaf.all is None else _split("has all", "and"))
    for place, word in enumerate(words):
        found = tokens(word)
        if len(found) != 1 or found[0] != fold(word):
            raise Refused("keywords.token", f"{word!r:.60} is not one word; {_words_cure(found)}", f"{path}[{place}]")
    return check_weights(words, leaf.weights, _word_key)


def _words_cure(found: tuple[str, ...]) -> str:
    if not found:
        return "a word has a letter or a digit"
    return f"give its words one by one ({', '.join(found):.60}), or ask for the text with contains"


def _word_key(word: str) -> ValueKey:
    return value_key(fold(word))


_CHECKS: Final[dict[type, Callable[[Any, Limits], float | None]]] = {
    In: _check_in,
    NotIn: _check_not_in,
    Range: _check_range,
    Exists: _check_exists,
    NotExists: _check_not_exists,
    ContainsAll: _check_contains_all,
    Within: _check_set,
    EqualsSet: _check_set,
    Matches: _check_matches,
    StartsWith: _check_text,
    EndsWith: _check_text,
    Contains: _check_text,
    Glob: _check_glob,
    Version: _check_version,
    Cidr: _check_cidr,
    Keywords: _check_keywords,
}
"""What checks each leaf; it returns the magnitude of the weights, None when the leaf has one weight for itself."""
