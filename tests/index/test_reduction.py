"""Leaves that are shorthand become the plainer leaves that they are short for, and only where both mean the same."""

from __future__ import annotations

import pytest

from index.normal_form import TRUE, normalise
from index.plain_patterns import PlainPattern, plain_pattern
from index.weighted_leaves import WeightedLeaf, truth, weighted_leaves
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
    Matches,
    Not,
    NotIn,
    Or,
    Range,
    StartsWith,
    Version,
    Within,
)
from schemas.records import Subscription

ADDRESS = Derive("~address", "a")
TOKENS = Derive("~tokens", "a", ("words",))
FOLDED = Derive("~fold", "a")


def silent(attribute: str | Derive, *values: str | int) -> In:
    return In(attribute, values, (0.0,) * len(values))


@pytest.mark.parametrize(
    ("leaf", "plainer"),
    [
        (StartsWith("a", "ab"), Range("a", ge="ab", lt="ac")),
        (StartsWith("a", ""), Range("a", ge="")),
        (StartsWith("a", "AB", ignore_case=True), Range(FOLDED, ge="ab", lt="ac")),
        (EndsWith("a", "ab"), Range(Derive("~reverse", "a"), ge="ba", lt="bb")),
        (Contains("a", "B", ignore_case=True), Contains(FOLDED, "b")),
        (Contains("a", ""), Range("a", ge="")),
        (Glob("a", "ab*"), Range("a", ge="ab", lt="ac")),
        (Glob("a", "*a b*"), Contains("a", "a b")),
        (Glob("a", "*ab"), Range(Derive("~reverse", "a"), ge="ba", lt="bb")),
        (Glob("a", r"a\*"), silent("a", "a*")),
        (Glob("a", "a?b"), Matches("a", "(?s)a.b")),
        (Matches("a", r"a\.b"), silent("a", "a.b")),
        (Matches("a", "(?s)ab.*"), Range("a", ge="ab", lt="ac")),
        (Matches("a", "ab.*"), Matches("a", "ab.*")),
        (Version("a", eq="v1.0"), silent(Derive("~version", "a"), "111.")),
        (
            Cidr("a", ("10.0.0.0/8", "10.1.0.0/16", "9.9.9.9", "10.0.0.0/8")),
            Or((Range(ADDRESS, ge="40a000000", le="40affffff"), silent(ADDRESS, "409090909"))),
        ),
        (Range("a", type="time", gt="1970-01-01T00:00:01Z"), Range(Derive("~instant", "a"), gt=1_000_000)),
        (Keywords("a", any=("Spark", "spark", "b"), weights=(2.0, 2.0, 3.0)), In(TOKENS, ("spark", "b"), (2.0, 3.0))),
        (Keywords("a", all=("b", "B", "c")), And((In(TOKENS, ("b",), (1.0,)), In(TOKENS, ("c",), (1.0,))))),
        (ContainsAll("a", (1, 2)), And((silent("a", 1), silent("a", 2)))),
        (Within("a", (1, 2)), And((silent("a", 1, 2), Within("a", (1, 2))))),
        (Not(Within("a", (1, 2))), Or((NotIn("a", (1, 2)), Not(Within("a", (1, 2)))))),
        (EqualsSet("a", (1,)), And((silent("a", 1), Within("a", (1,))))),
        (Range("a", gt=3, le=3), Or(())),
        (Not(Range("a", gt="b", lt="a")), TRUE),
        (Exists("a", weight=2.0), Exists("a")),
    ],
)
def test_examples(leaf: Expression, plainer: Expression) -> None:
    assert repr(normalise(leaf)) == repr(plainer)


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("", PlainPattern("", open_start=False, open_end=False)),
        (r"a\-b\\", PlainPattern("a-b\\", open_start=False, open_end=False)),
        ("(?s).*", PlainPattern("", open_start=True, open_end=True)),
        (r"(?s).*a\\.*", PlainPattern("a\\", open_start=True, open_end=True)),
        (r"(?s)a\.*", None),
        ("(?s)a.b", None),
        ("a.*", None),
        (".*a", None),
        ("(?i)a", None),
        ("a|b", None),
        ("a+", None),
        (r"\d", None),
        (r"\Qa.b\E", None),
        ("a\\", None),
    ],
)
def test_only_patterns_without_operators_are_plain(pattern: str, plain: PlainPattern | None) -> None:
    assert plain_pattern(pattern) == plain


def test_weighted_leaves_keep_what_has_a_weight() -> None:
    leaves = And(
        (
            In("a", (1, 2, 1.0), (0.0, 2.0, 5.0)),
            In("b", (1,), (0.0,)),
            Exists("c", weight=0.5),
            Exists("d", weight=0.0),
            ContainsAll("e", (1, 2)),
            Keywords("a", all=("x", "y"), weights=(1.0, 0.0)),
        )
    )
    subscription = Subscription("s", leaves, mode="relaxed")
    assert weighted_leaves(subscription) == [
        WeightedLeaf(In("a", (2,), (2.0,)), None),
        WeightedLeaf(Exists("c"), 0.5),
        WeightedLeaf(And((silent("e", 1), silent("e", 2))), 1.0),
        WeightedLeaf(And((In(TOKENS, ("x",), (1.0,)), In(TOKENS, ("y",), (0.0,)))), None),
    ]
    wanted = Or((silent("a", 2), Exists("c"), And((silent("e", 1), silent("e", 2)))))
    shown = truth(subscription)
    assert isinstance(shown, Or)
    assert shown.args[:3] == wanted.args
