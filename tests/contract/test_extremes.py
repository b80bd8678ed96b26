"""The contract of `index.engine` at the ends: of numbers, of texts, of Unicode, of sizes; engine equals oracle.

What the oracle says is worked out once for all widths of the engine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import pytest

from index.engine import Engine
from index.event_block import EventBlock
from schemas.check import check_subscription
from schemas.errors import Refused
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
    NotExists,
    NotIn,
    Or,
    Range,
    StartsWith,
    Version,
    Within,
)
from schemas.limits import Limits
from schemas.records import Event, Subscription
from schemas.values import INT64_MAX, INT64_MIN, Value
from tests.contract.support import Row, expected, numbered, opened, rows
from tests.contract.support import block_engine as engine
from tests.deep import deep

__all__ = ["engine"]

Case = tuple[list[Subscription], list[Event]]

INTEGERS = (INT64_MIN, INT64_MIN + 1, -(2**53) - 1, -1, 0, 1, 2**53, 2**53 + 1, 2**62, INT64_MAX - 1, INT64_MAX)
FLOATS = (
    *(-0.0, 0.0, 0.5, -0.5, 1.5, 5e-324, -5e-324, 2.0**-1023, 2.0**-1022),
    *(2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1.7976931348623157e308, -1.7976931348623157e308),
)
NOT_FINITE = (math.nan, math.inf, -math.inf)
PLANES = tuple(chr(plane * 0x10000 + offset) for plane in range(17) for offset in (0x41, 0xFFFD))
"""Two characters of each plane, assigned or not, among them the last but two; A is the first."""
MEGABYTE = 2**20
LONG = (
    "a" * MEGABYTE,
    "a" * (MEGABYTE - 1) + "b",
    "b" + "a" * (MEGABYTE - 1),
    "A" * MEGABYTE,
    "ab c" * (MEGABYTE // 4),
    "1." * (MEGABYTE // 2) + "2",
    "ß" * (MEGABYTE // 2),
    "\U0010ffff" * (MEGABYTE // 4),
)
LIMITS = Limits(depth=2000)


def allowed(expressions: Iterable[Expression]) -> list[Subscription]:
    """Return those that a subscription may say, numbered."""
    taken = []
    for expression in expressions:
        try:
            check_subscription(Subscription("", expression), LIMITS)
        except Refused:
            continue
        taken.append(expression)
    return numbered(taken)


@cache
def numbers() -> Case:
    finite: tuple[Value, ...] = (*INTEGERS, *FLOATS, True, False)
    tests: list[Expression] = []
    for value in finite:
        tests += [In("x", (value,), (0.5,)), NotIn("x", (value,), True), Within("x", (value, 1))]
        tests += [EqualsSet("x", (value,)), ContainsAll("x", (value, 0))]
    for bound in (*INTEGERS, *FLOATS):
        tests += [Range("x", ge=bound), Range("x", gt=bound), Not(Range("x", le=bound)), Range("x", lt=bound)]
    for function, argument in itertools.product(
        ("add", "subtract", "multiply", "divide", "mod"), (1, -1, 3, 0.5, 2**62, INT64_MIN, INT64_MAX, 5e-324, 1e308)
    ):
        derived = Derive(function, "x", (argument,))
        tests += [Exists(derived), In(derived, (0, 1, -1, INT64_MAX, INT64_MIN, 2.0**63)), Range(derived, gt=2**53)]
    for function in ("abs", "round", "floor", "ceil", "length", "lower", "year"):
        derived = Derive(function, "x")
        tests += [Exists(derived), Within(derived, (0, 1, 2, INT64_MAX, 2.0**63)), Range(derived, ge=2**53, le=2**63)]
    alone = [Event({"x": (value,)}) for value in (*finite, *NOT_FINITE)]
    mixed = [Event({"x": pair}, {"x": (2.0, -1.0)}) for pair in itertools.combinations((*INTEGERS, *NOT_FINITE), 2)]
    return allowed(tests), [*alone, *mixed, Event({"y": (1,)})]


def texts(words: Sequence[str], patterns: Sequence[str]) -> list[Expression]:
    """Return every leaf that looks at texts, for each of these."""
    tests: list[Expression] = [Exists("x"), NotExists("x"), *(Matches("x", pattern) for pattern in patterns)]
    for word in words:
        tests += [In("x", (word, "z")), NotIn("x", (word,), True), Within("x", (word, "z")), EqualsSet("x", (word,))]
        tests += [Range("x", ge=word), Range("x", lt=word), ContainsAll("x", (word,)), Version("x", ge=word)]
        tests += [Keywords("x", any=(word,)), Keywords("x", all=(word,), weights=(0.5,)), Cidr("x", (word,))]
        for fold_case in (False, True):
            tests += [StartsWith("x", word, fold_case), EndsWith("x", word, fold_case), Contains("x", word, fold_case)]
            tests.append(Glob("x", f"*{word}?", fold_case))
        tests += [In(Derive(function, "x"), (word,)) for function in ("lower", "upper")]
        tests += [In(Derive("substring", "x", (2, 1)), (word,)), In(Derive("substring", "x", (MEGABYTE,)), (word,))]
    tests += [Range(Derive("length", "x"), ge=low, le=high) for low, high in ((0, 0), (1, 1), (2, 3), (4, 2**21))]
    return tests


@cache
def empty_texts() -> Case:
    held: tuple[tuple[Value, ...], ...] = (("",), ("", "a"), ("a",), (" ",), ("\0",), ("", 0, False))
    return allowed(texts(("", "a", " ", "\0"), ("", ".*", ".+", "a?", "()"))), [Event({"x": values}) for values in held]


@cache
def planes() -> Case:
    patterns = (".", r"\x{1F600}", r"[\x{10000}-\x{10FFFF}]", r"\p{L}", *(f"(?i){c}" for c in PLANES[:4]))
    held = [(character,) for character in PLANES] + [(a + b,) for a, b in itertools.pairwise(PLANES)] + [PLANES]
    return allowed(texts((*PLANES, "a", "\uffff\U00010000"), patterns)), [Event({"x": values}) for values in held]


@cache
def long_texts() -> Case:
    first, second = LONG[0], LONG[1]
    tests: list[Expression] = [
        *(In("x", (first, "z"), (0.5, 1.0)), NotIn("x", (first,)), Within("x", (first, second)), EqualsSet("x", LONG)),
        *(Range("x", gt=first), Range("x", lt=second), Range("x", ge="aa", le="ab"), ContainsAll("x", (first, second))),
        *(StartsWith("x", first[:-1]), EndsWith("x", first[:-1]), EndsWith("x", "b"), StartsWith("x", "A", True)),
        *(Contains("x", first[: MEGABYTE // 2] + "b"), Contains("x", "b c"), Contains("x", "SSSS", True)),
        *(Matches("x", "a*"), Matches("x", "a*b"), Matches("x", "(?i).*B.*"), Glob("x", "*b"), Glob("x", "?*A?", True)),
        *(Keywords("x", any=("c", "ab"), weights=(0.5, 1.0)), Keywords("x", all=("ab",)), Version("x", ge="1.1")),
        *(Range(Derive("length", "x"), ge=MEGABYTE), In(Derive("substring", "x", (MEGABYTE,)), ("a", "b"))),
        *(In(Derive("lower", "x"), (first,)), Exists(Derive("upper", "x")), Exists(Derive("year", "x"))),
        Cidr("x", ("::/0", "0.0.0.0/0")),
    ]
    return allowed(tests), [Event({"x": values}) for values in (*((value,) for value in LONG), LONG, ("a",))]


@cache
def large() -> Case:
    many = tuple(range(10_000))
    listed = tuple(f"{value}" for value in many)
    weights = tuple(value / 2**12 for value in range(10_000))
    tests: list[Expression] = [
        In("a", many, (0.25,) * 10_000),
        In("s", listed, weights),
        NotIn("a", many),
        NotIn("s", listed, True),
        Within("a", many),
        Within("s", listed),
        ContainsAll("a", many[:50]),
        EqualsSet("s", listed),
        Keywords("s", any=listed[:2_000], weights=weights[:2_000]),
        And((In("a", many[100:]), In("s", listed[:-100], weights[:-100]))),
        Or(tuple(In("a", (value,), (value / 2**12,)) for value in range(5_000))),
        Or(tuple(And((In("a", (value,)), NotIn("s", (f"{value}",)))) for value in range(2_500))),
        And(tuple(NotIn("a", (value,)) for value in range(5_000))),
        Or(tuple(StartsWith("s", f"{value:04d}") for value in range(2_500))),
        Or(tuple(Range("a", gt=value, lt=value + 2) for value in range(0, 10_000, 2))),
        Or(tuple(Version("s", eq=f"{value}.0") for value in range(5_000))),
    ]
    for leaf in (
        In("a", (7,), (2.0,)),
        NotIn("a", (7,)),
        Range("a", lt=7),
        Contains("s", "7"),
        Keywords("s", all=("7",)),
    ):
        tests += [deep(lambda inner, _: Not(inner), count, leaf) for count in (1_998, 1_999)]
    held: list[tuple[Value, ...]] = [(0,), (7,), (99, 100), (4_999,), (9_999,), (10_000,), (-1, 5_000), (7.0, 6, 2)]
    happened = [Event({"a": values, "s": tuple(f"{int(v):04d}" for v in values)}) for values in held]
    happened += [
        Event({"a": values, "s": tuple(f"{v}" for v in values)}, {"a": (0.5,) * len(values)}) for values in held
    ]
    return allowed(tests), happened


CASES: tuple[tuple[Callable[[], Case], int], ...] = (
    (numbers, 330),
    (empty_texts, 60),
    (planes, 600),
    (long_texts, 28),
    (large, 26),
)
"""Each with how many subscriptions it has at least, since those that are refused are left out."""


@cache
def wanted(case: Callable[[], Case]) -> list[Row]:
    return expected(*case())


@pytest.mark.parametrize(("case", "least"), CASES, ids=[case.__name__ for case, _ in CASES])
def test_at_the_ends_the_engine_answers_as_the_oracle(engine: Engine, case: Callable[[], Case], least: int) -> None:
    population, happened = case()
    assert len(population) >= least
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == wanted(case)
    matched = {ordinal for _, ordinal, _ in wanted(case)}
    assert len(matched) > len(population) / 3


@cache
def hundred_thousand() -> tuple[list[Subscription], list[Event], list[Row]]:
    values = tuple(range(-50_000, 50_000))
    tests: list[Expression] = [
        In("a", (49_999, 50_000), (0.5, 1.0)),
        In("a", tuple(range(0, 100, 7)), tuple(float(value) for value in range(0, 100, 7))),
        NotIn("a", (0,)),
        Range("a", gt=49_998),
        Not(Range("a", lt=-49_999)),
        Within("a", (1, 2, 3)),
        ContainsAll("a", (-50_000, 0, 49_999)),
        ContainsAll("a", (-50_000, 0, 50_000)),
        In(Derive("mod", "a", (1_000,)), (999, -999), (1.0, 2.0)),
        In(Derive("abs", "a"), (50_000,), (1.5,)),
        Range(Derive("multiply", "a", (2,)), ge=99_998),
        Exists(Derive("length", "a")),
    ]
    population = numbered(tests)
    happened = [Event({"a": values}, {"a": tuple(value / 2**10 for value in values)}), Event({"a": (0,)})]
    return population, happened, expected(population, happened)


def test_an_event_of_a_hundred_thousand_weighted_values_scores_as_the_oracle_says(engine: Engine) -> None:
    population, happened, answer = hundred_thousand()
    assert len(answer) > len(population) / 2
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == answer
