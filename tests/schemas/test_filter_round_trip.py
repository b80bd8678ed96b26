"""Properties of filter texts: trees come back from their text, and no text whatever raises anything but a refusal."""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.check import check_expression
from schemas.errors import Refused
from schemas.expression import (
    And,
    Attribute,
    Contains,
    Derive,
    EndsWith,
    Exists,
    Expression,
    In,
    Leaf,
    Not,
    NotExists,
    NotIn,
    Or,
    Range,
    StartsWith,
)
from schemas.filter_text import format_filter, parse_filter
from tests import strategies
from tests.leaf_strategies import rich_leaves, weighted_leaves

A, B, C = Exists("a"), Exists("b"), Exists("c")

KEYWORDS = "all and any between exists false in is not null or strong true AND True"
UNUSUAL = 'a.b a..b .a a. 1a a1.2b a-b é e\u0301 ıs exiſts " "" ` a`b \' -- /* ^ \u200b \ufeff \u0660 x\0 like lower(x)'
NAMES = [*KEYWORDS.split(" "), *UNUSUAL.split(" "), "", "a b", "a\nb"]

GOOD = (
    "a contains all ( 'x' , 2 ) ^ 0.5 and b not within ( 'x' ) or c equals ( true ) and d has any of ( 'x' ^ 2 , 'y' )",
    "a matches '[a-z]+' and b not like '%x!%_' escape '!' ignore case and c starts with 'x' ^ 2 and d ends with 'y'",
    "'1.2' < v version <= '2.0-rc.1' ^ 0.5 or ip not in cidr ( '10.0.0.0/8' , '::/0' ) or text has none of ( 'x' )",
    "a >= time '2026-05-01' and time '2026-05-01T00:00:00Z' < b < timestamp '2026-05-02T00:00:00+01:00' ^ 3",
    "a mod 4 % 3 = 1 && ( lower ( b ) + 2 ) * 3 / 4 - 5 > 6 || ! substring ( c from 1 for 3 ) glob 'x*' ignore case",
    "10 - 2 * a between 1 and 2 and extract ( year from b ) in ( 2026 ) and length ( c ) exists and d is true",
    "origin in ( 'JFK' ^0.5 , 'LGA' ) ^ -2 and not ( 60 < dep_delay <= 120 or \"gate-no\" is null )",
    "any ( a strong not in ( 1 , 2.5 , true ) , `b` not between 'x' and 'y' )",
    "a.b = 'it''s' or 5 >= d and e != false or all ( true , f exists , not g not exists ) ;",
)
"""Filters with a space between any two tokens, and nowhere else."""

ODD = (
    "^ % like lower( ilike glob has version time date + - * / ! || cidr inn => && null nan "
    "1e999 \0 \u200b ’ \ud800 -- /* */ '' { [ € ı 1.2.3 a..b \" ` ' \n"
    " al tru nto tme select where order missing distinct xor div"
)
PIECES = [*" ".join(GOOD).split(" "), *ODD.split(" "), "9" * 30]


def spelled(tree: Expression) -> str:
    """Return a text in which 1, 1.0 and true differ, and -0.0 and 0.0."""
    return repr(tree)


def names() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(NAMES), st.text(max_size=5).filter(lambda name: not name.startswith("\0")))


def renamed(leaf: Leaf, name: str) -> Expression:
    """Put another name in the place of the leaf's, inside all functions."""
    return msgspec.structs.replace(leaf, attribute=_renamed(leaf.attribute, name))


def _renamed(attribute: Attribute, name: str) -> Attribute:
    if isinstance(attribute, Derive):
        return Derive(attribute.function, _renamed(attribute.of, name), attribute.args)
    return name


@st.composite
def leaves(draw: st.DrawFn) -> Expression:
    """Leaves of every kind with unusual names, and texts with every sign that means something in a filter."""
    kind: Any = draw(st.sampled_from((strategies.leaves, rich_leaves, weighted_leaves, textual_leaves)))
    return renamed(draw(kind()), draw(names()))


@cache
def textual_leaves() -> st.SearchStrategy[Expression]:
    texts = st.text(st.sampled_from("ab'%_*?^ \n\0é😀-\\\""), min_size=1, max_size=4)
    kinds: st.SearchStrategy[Any] = st.sampled_from((StartsWith, EndsWith, Contains))
    weight = st.none() | strategies.weights()
    return st.builds(lambda kind, *members: kind("a", *members), kinds, texts, st.booleans(), weight)


def trees() -> st.SearchStrategy[Expression]:
    def grow(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        args = st.lists(children, max_size=4).map(tuple)
        return st.one_of(st.builds(And, args), st.builds(Or, args), st.builds(Not, children))

    return st.recursive(leaves(), grow, max_leaves=12)


@given(trees())
@settings(max_examples=200)
@example(In("a", (1, True, 1.0, "1", -0.0, 0, 1e16, 5e-324, 2**53 + 1), None))
@example(In("a", ("x", "y"), (-0.0, 1e5)))
@example(And((And(()), Or(()), And((A,)), Or((A,)), And((A, B)), Or((A, B)), Not(And((A, B))), Not(And((A,))))))
def test_a_printed_tree_reads_back_as_itself(tree: Expression) -> None:
    check_expression(tree)
    assert spelled(parse_filter(format_filter(tree))) == spelled(tree)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_can_be_an_attribute(name: str) -> None:
    tree = And((Exists(name), NotExists(name), In(name, (1,)), Not(Range(name, gt=1, le=2))))
    assert parse_filter(format_filter(tree)) == tree


PRINTED: list[tuple[Expression, str]] = [
    (
        And((Or((A, B)), Not(Or((A, B))), Not(A))),
        "(a exists or b exists) and not (a exists or b exists) and not a exists",
    ),
    (Or((And((A, B)), C)), "a exists and b exists or c exists"),
    (Or((Or((A, B)), C)), "(a exists or b exists) or c exists"),
    (Not(And((Or(()),))), "not all(false)"),
    (In("a", ("x",), (2.0,)), "a = 'x'^2"),
    (In("a", ("x", 1.0), (0.5, 1.0)), "a in ('x'^0.5, 1.0^1)"),
    (NotIn("in", (True,), True), '"in" strong != true'),
    (NotIn("a", (1, 2), True), "a strong not in (1, 2)"),
    (Range("a", ge=1, le=2.0), "a between 1 and 2.0"),
    (Range("a", gt=1, le=2), "1 < a <= 2"),
    (Range("a", ge="it's"), "a >= 'it''s'"),
    (NotExists("a b"), '"a b" not exists'),
]


@pytest.mark.parametrize(("tree", "text"), PRINTED, ids=[text for _, text in PRINTED])
def test_a_tree_is_printed_as(tree: Expression, text: str) -> None:
    assert format_filter(tree) == text


@pytest.mark.parametrize(
    ("tree", "code"),
    [
        (In("a", ()), "value.empty_list"),
        (In("a", (float("nan"),)), "value.not_finite"),
        (Range("a"), "range.no_bound"),
        (In("a", (2**64,)), "value.integer_range"),
        (In("a", (1, 2), (1.0,)), "weights.length"),
    ],
)
def test_a_tree_that_is_not_allowed_is_not_printed(tree: Expression, code: str) -> None:
    with pytest.raises(Refused) as caught:
        format_filter(tree)
    assert caught.value.code == code


def nested(depth: int) -> Expression:
    tree: Expression = A
    for level in range(depth):
        tree = (Not(tree), And((tree, B)), Or((tree,)))[level % 3]
    return tree


def test_a_tree_of_2000_levels_is_printed_and_read_and_one_of_2001_is_refused_by_both() -> None:
    text = format_filter(nested(2000))
    assert format_filter(parse_filter(text)) == text
    for refusing in (lambda: format_filter(nested(2001)), lambda: parse_filter(f"not ({text})")):
        with pytest.raises(Refused) as caught:
            refusing()
        assert caught.value.code == "expression.too_deep"
    assert caught.value.path == "line 1, column 1"


def answers(text: str) -> None:
    """Read a text into an allowed tree that prints and reads back, or have it refused with a place inside the text."""
    try:
        tree = parse_filter(text)
    except Refused as refused:
        refusal = refused
    else:
        check_expression(tree)
        assert spelled(parse_filter(format_filter(tree))) == spelled(tree)
        return
    found = re.fullmatch(r"line (\d+), column (\d+)", refusal.path)
    assert found is not None, refusal.path
    lines = text.split("\n")
    assert 1 <= int(found[1]) <= len(lines)
    assert 1 <= int(found[2]) <= len(lines[int(found[1]) - 1]) + 1
    assert refusal.message.encode()


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=14).map("".join))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(text: str) -> None:
    answers(text)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join))
@settings(max_examples=300)
def test_any_sequence_of_words_is_read_or_refused(text: str) -> None:
    answers(text)


def damaged(text: str, rng: random.Random) -> str:
    """Drop, double, replace, insert or cut off up to three words or signs of a filter."""
    words = re.findall(r"'[^']*'|\w+|\s+|\W", text)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(words))
        words[place : place + 1] = rng.choice(
            (
                [],
                [words[place], words[place]],
                [rng.choice(PIECES)],
                [rng.choice(PIECES), words[place]],
                [words[rng.randrange(len(words))]],
                [words[place][:1]],
            )
        )
        words = words[:place] if len(words) > 3 and rng.random() < 0.1 else words
        words = words or ["a"]
    return "".join(words)


def test_a_damaged_filter_is_read_or_refused() -> None:
    rng = random.Random(7)
    for _ in range(1500):
        answers(damaged(rng.choice(GOOD), rng))


BLANKS = (" ", "\n", "\t\r\n", "\u2003", " /**/", "/* 'it''s ** ( */", " --\n", " -- it's (\n")


@given(st.data())
@settings(max_examples=60)
def test_blanks_and_comments_between_words_mean_nothing(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(GOOD))
    words = text.split(" ")
    blanks = st.lists(st.sampled_from(BLANKS), min_size=1, max_size=2).map("".join)
    spaced = "".join(map(str.__add__, data.draw(st.lists(blanks, min_size=len(words), max_size=len(words))), words))
    assert parse_filter(spaced) == parse_filter(text)
