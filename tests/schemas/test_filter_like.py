"""LIKE patterns: which leaf each becomes, and that the leaf means what SQL says of the pattern."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import oracle
from schemas.expression import Contains, EndsWith, Expression, Glob, Not, StartsWith
from schemas.filter_text import parse_filter
from schemas.records import Event
from schemas.texts import fold

LIKE: list[tuple[str, Expression]] = [
    ("like 'x%'", StartsWith("a", "x")),
    ("like 'x%%'", StartsWith("a", "x")),
    ("like '%x'", EndsWith("a", "x")),
    ("like '%x y%'", Contains("a", "x y")),
    ("like 'x'", Glob("a", "x")),
    ("like ''", Glob("a", "")),
    ("like '%'", Glob("a", "*")),
    ("like '%%'", Glob("a", "*")),
    ("like 'x_'", Glob("a", "x?")),
    ("like 'x%y'", Glob("a", "x*y")),
    ("like '%x%y%'", Glob("a", "*x*y*")),
    ("like '_%'", Glob("a", "?*")),
    ("like '*[!?]%_'", Glob("a", r"\*\[!\?]*?")),
    (r"like '10\%%'", StartsWith("a", "10%")),
    (r"like '%\_\\'", EndsWith("a", "_\\")),
    (r"like '\\\\%_' escape '!'", Glob("a", r"\\\\\\\\*?")),
    ("like 'x!%!!%' escape '!'", StartsWith("a", "x%!")),
    ("like 'x%_' escape ''", Glob("a", "x*?")),
    (r"like 'x\y%' escape ''", StartsWith("a", r"x\y")),
    ("like 'x%%' escape '%'", Glob("a", "x%")),
    ("like 'x%' ignore case", StartsWith("a", "x", True)),
    ("like 'x!%%' escape '!' ignore case", StartsWith("a", "x%", True)),
    ("ilike '%x'", EndsWith("a", "x", True)),
    ("ILIKE 'x'", Glob("a", "x", True)),
    ("not like 'x%'", Not(StartsWith("a", "x"))),
    ("not ilike '%x%'", Not(Contains("a", "x", True))),
]


@pytest.mark.parametrize(("operator", "tree"), LIKE, ids=[text for text, _ in LIKE])
def test_a_like_pattern_becomes_the_nearest_leaf(operator: str, tree: Expression) -> None:
    assert parse_filter(f"a {operator}") == tree


def fits(pattern: str, text: str, escape: str) -> bool:
    """Say what SQL says, by trying out every length of a "%"."""
    if not pattern:
        return not text
    if pattern[0] == escape:
        return text[:1] == pattern[1] and fits(pattern[2:], text[1:], escape)
    if pattern[0] == "%":
        return any(fits(pattern[1:], text[i:], escape) for i in range(len(text) + 1))
    return text != "" and pattern[0] in ("_", text[0]) and fits(pattern[1:], text[1:], escape)


def patterns(escape: str) -> st.SearchStrategy[str]:
    escaped = st.sampled_from([escape + sign for sign in ("%", "_", escape)])
    plain = st.sampled_from([sign for sign in "abB%%_*?[]^\n\\!" if sign != escape])
    return st.lists(plain | escaped, max_size=6).map("".join)


@given(st.data(), st.sampled_from("\\!*?["), st.text("abB%_*?[]^\n\\!", max_size=6))
@settings(max_examples=400)
def test_the_leaf_means_what_the_pattern_says(data: st.DataObject, escape: str, value: str) -> None:
    pattern = data.draw(patterns(escape))
    written = f"a like '{pattern}' escape '{escape}'"
    event = Event({"a": (value,)})
    assert oracle.matches(parse_filter(written), event) == fits(pattern, value, escape)
    ignoring = oracle.matches(parse_filter(f"{written} ignore case"), event)
    assert ignoring == fits(fold(pattern), fold(value), escape)
