"""Hypothesis strategies of every leaf, over derived attributes too, with vocabularies so small that they often match.

Strings are versions, addresses, times, words and texts that differ by case alone, so that one value interests many
leaves.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

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
from schemas.texts import fold
from schemas.values import Value, value_key
from schemas.versions import version_key

RICH_ATTRIBUTES = ("a", "b", "geo.lat")
VERSIONS = ("1", "1.0", "1.2", "v1.2.0", "1.10", "1.2-rc.1", "1.2-M2", "1.2-M10")
ADDRESSES = ("10.0.0.1", "10.1.2.3", "11.0.0.0", "::ffff:10.0.0.1", "::1", "2001:db8::1", "fe80::1%e")
NETWORKS = ("10.0.0.0/8", "10.0.0.1", "0.0.0.0/0", "10.1.0.0/16", "::/0", "2001:db8::/32", "::ffff:10.0.0.0/104")
INSTANTS = (
    *("2026-05-01T08:00:00Z", "2026-05-01T10:00:00+02:00", "2026-05-01", "2026-04-30T23:59:60Z"),
    *("2026-12-31T23:59:59.999999999Z", "1969-12-31"),
)
TEXTS = (
    *(
        "",
        "a",
        "A",
        "b",
        "ab",
        "aB",
        "Straße",
        "STRASSE",
        "spark",
        "Spark kafka",
        "kafka, spark!",
        "a-b 1.2",
        "e\u0301",
    ),
    *("a\n", "\U0001f600", "\U0010ffff", "\uffffa", "1", "true", "ba", "abab"),
)
PIECES = ("a", "A", "b", "ab", "1", "1.", "10.", "s", "S", "ß", "ss", "spark", "kafka", "2026-", "\U0010ffff", "Z", "-")
PATTERNS = (
    *("", ".*", "a.*", ".*1", "[ab]+", "(?i)spark", r"1\.\d+", "spark|kafka.*", "(?s).*\n", r"\pL+", "a?b?", r"10\..*"),
    *("(ab)*", "[^a].*", r"v?1\.2.*", ".*rc.*|.*M.*"),
)
GLOBS = (
    "*",
    "",
    "a*",
    "*1*",
    "?",
    "??",
    "[ab]*",
    "[!a]*",
    "*A",
    "1.?*",
    "*ß*",
    "*SS*",
    "[A-C]*",
    r"\**",
    "*[]-]*",
    "s*k*",
)
WORDS = ("spark", "Spark", "KAFKA", "a", "b", "1.2", "straße", "STRASSE", "\u00e9", "8080")
SMALL_NUMBERS = (-1, 0, 1, 1.0, 2, 2.5, 3, 4, 8, 2026)
RICH_NUMBERS = (*SMALL_NUMBERS, -7, -0.0, 0.1, 2**53 + 1, 2**63 - 1, -(2**63), 1e308, 5e-324)
RICH_WEIGHTS = (0.0, 1.0, 1.0, 0.5, 2.0, 0.1, 3.0, 2.0**-22, 3 * 2.0**-21)
OFTEN_DERIVED = tuple(
    Derive(function, of, args)
    for of in ("a", "b", Derive("lower", "a"))
    for function, args in (
        *(("lower", ()), ("upper", ()), ("length", ()), ("substring", (1, 1)), ("substring", (2,)), ("year", ())),
        *(("mod", (2,)), ("add", (1,))) * (of in ("a", "b")),
    )
)
"""Derived attributes whose results are among the values below, so that leaves over them hold now and then."""


@cache
def rich_strings() -> st.SearchStrategy[str]:
    """Strings that interest the leaves."""
    return st.one_of(*map(st.sampled_from, (VERSIONS, ADDRESSES, INSTANTS, TEXTS, TEXTS, PIECES, WORDS)))


@cache
def rich_values() -> st.SearchStrategy[Value]:
    """Finite values: such strings, few numbers, booleans."""
    numbers = st.sampled_from(SMALL_NUMBERS), st.sampled_from(RICH_NUMBERS)
    return st.one_of(rich_strings(), rich_strings(), rich_strings(), *numbers, st.booleans())


@cache
def rich_attributes(max_depth: int = 2) -> st.SearchStrategy[Attribute]:
    """Names, and now and then what is derived from one by up to so many functions."""
    if max_depth == 0:
        return st.sampled_from(RICH_ATTRIBUTES)
    often = st.sampled_from((*RICH_ATTRIBUTES * 14, *OFTEN_DERIVED))
    return st.one_of(often, often, _derived(rich_attributes(max_depth - 1)))


@cache
def rich_leaves(positive: bool = False) -> st.SearchStrategy[Leaf]:
    """All leaves as mode all allows them; only those that relaxed and threshold allow when ``positive``."""
    attribute = rich_attributes()
    case = st.booleans()
    piece = st.sampled_from(PIECES)
    negative = [] if positive else [st.builds(NotIn, attribute, _lists(), case), st.builds(NotExists, attribute)]
    return st.one_of(
        _memberships(),
        _memberships(),
        _keywords(),
        _ranges(),
        _times(),
        _versions(),
        st.builds(Exists, attribute),
        st.builds(ContainsAll, attribute, _lists(2)),
        st.builds(Within, attribute, _lists(8)),
        st.builds(EqualsSet, attribute, _lists(2)),
        st.builds(Matches, attribute, st.sampled_from(PATTERNS)),
        st.builds(Glob, attribute, st.sampled_from(GLOBS), case),
        st.builds(StartsWith, attribute, piece, case),
        st.builds(EndsWith, attribute, piece, case),
        st.builds(Contains, attribute, piece, case),
        st.builds(Cidr, attribute, st.lists(st.sampled_from(NETWORKS), min_size=1, max_size=2).map(tuple)),
        *negative,
    )


@st.composite
def weighted_leaves(draw: st.DrawFn) -> Leaf:
    """Positive leaves with weights that the modes relaxed and threshold allow, sometimes left out."""
    leaf: Any = draw(rich_leaves(positive=True))
    if isinstance(leaf, In | Keywords) or draw(st.booleans()):
        return leaf  # type: ignore[no-any-return]
    members = {name: getattr(leaf, name) for name in leaf.__struct_fields__}
    return type(leaf)(**members | {"weight": draw(st.sampled_from(RICH_WEIGHTS))})  # type: ignore[no-any-return]


@cache
def _derived(of: st.SearchStrategy[Attribute]) -> st.SearchStrategy[Attribute]:
    number = st.sampled_from((1, 2, 2.0, 3, 0.5, -4, 2**62))
    part = st.tuples(st.integers(1, 4)) | st.tuples(st.integers(1, 3), st.integers(0, 3))
    calls = st.one_of(
        st.tuples(st.sampled_from(("mod", "add", "subtract", "multiply", "divide")), st.tuples(number)),
        st.tuples(st.sampled_from(("abs", "round", "floor", "ceil", "length")), st.just(())),
        st.tuples(st.sampled_from(("lower", "upper", "year", "month", "day", "hour", "minute", "second")), st.just(())),
        st.tuples(st.just("substring"), part),
    )
    return st.builds(lambda call, inner: Derive(call[0], inner, call[1]), calls, of)


@cache
def _lists(max_size: int = 4) -> st.SearchStrategy[tuple[Value, ...]]:
    alike = st.one_of(*(st.sampled_from(values) for values in (TEXTS, VERSIONS, PIECES, SMALL_NUMBERS)))
    return st.lists(st.one_of(rich_values(), alike), min_size=1, max_size=max_size).map(tuple)


@cache
@st.composite
def _memberships(draw: st.DrawFn) -> In:
    listed = draw(_lists(6))
    return In(draw(rich_attributes()), listed, _weights(draw, [value_key(value) for value in listed]))


@cache
@st.composite
def _keywords(draw: st.DrawFn) -> Keywords:
    words = tuple(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)))
    weights = _weights(draw, [fold(word) for word in words])
    attribute = draw(rich_attributes())
    return (
        Keywords(attribute, words, None, weights) if draw(st.booleans()) else Keywords(attribute, None, words, weights)
    )


def _weights(draw: st.DrawFn, keys: list[Any]) -> tuple[float, ...] | None:
    """Draw one weight a key, equal keys getting one weight, or none at all."""
    if draw(st.booleans()):
        return None
    known = {key: draw(st.sampled_from(RICH_WEIGHTS)) for key in keys}
    return tuple(known[key] for key in keys)


@cache
@st.composite
def _ranges(draw: st.DrawFn) -> Range:
    bounds: st.SearchStrategy[Any] = draw(st.sampled_from((st.sampled_from(RICH_NUMBERS), rich_strings())))
    return Range(draw(rich_attributes()), **_bounds(draw, bounds, lambda bound: bound))


@cache
@st.composite
def _times(draw: st.DrawFn) -> Range:
    return Range(draw(rich_attributes(1)), type="time", **_bounds(draw, st.sampled_from(INSTANTS), instant))


@cache
@st.composite
def _versions(draw: st.DrawFn) -> Version:
    attribute = draw(rich_attributes(1))
    if draw(st.integers(0, 2)) == 0:
        return Version(attribute, eq=draw(st.sampled_from(VERSIONS)))
    return Version(attribute, **_bounds(draw, st.sampled_from(VERSIONS), version_key))


def _bounds(draw: st.DrawFn, bounds: st.SearchStrategy[Any], key: Any) -> dict[str, Any]:
    """Draw one bound or two, never an empty range."""
    lower, upper = sorted((draw(bounds), draw(bounds)), key=key)
    closed = key(lower) == key(upper)
    given = {
        draw(st.sampled_from(("ge",) if closed else ("gt", "ge"))): lower,
        draw(st.sampled_from(("le",) if closed else ("lt", "le"))): upper,
    }
    dropped = draw(st.sampled_from((None, *given)))
    return {name: bound for name, bound in given.items() if name != dropped}
