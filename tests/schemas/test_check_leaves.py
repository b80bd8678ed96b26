"""What each leaf may hold, and how modes, thresholds and weights go together."""

from __future__ import annotations

import math
from typing import Any

import pytest

from schemas.check import Limits, check_expression, check_subscription
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
from schemas.records import Subscription

A = Exists("a")
NAN = math.nan


def derived(levels: int) -> Derive:
    attribute: Any = "a"
    for _ in range(levels):
        attribute = Derive("lower", attribute)
    return attribute  # type: ignore[no-any-return]


REFUSED: list[tuple[Expression, str, str]] = [
    *((kind("a", ()), "value.empty_list", ".values") for kind in (ContainsAll, Within, EqualsSet)),
    (Within("a", (1, NAN)), "value.not_finite", ".values[1]"),
    (ContainsAll("a", (2**63,)), "value.integer_range", ".values[0]"),
    (Matches("a", "("), "pattern.syntax", ".pattern"),
    (Matches("a", r"(a)\1"), "pattern.syntax", ".pattern"),
    (Glob("a", "[b"), "pattern.syntax", ".pattern"),
    (Glob("a", "[z-A]", True), "pattern.syntax", ".pattern"),
    (StartsWith("a", ""), "text.empty", ".text"),
    (EndsWith("a", ""), "text.empty", ".text"),
    (Contains("a", "", True), "text.empty", ".text"),
    (Version("a"), "range.no_bound", ""),
    (Version("a", eq=""), "version.syntax", ".eq"),
    (Version("a", ge="1.x"), "version.syntax", ".ge"),
    (Version("a", lt="1.x"), "version.syntax", ".lt"),
    (Version("a", gt="1", ge="1"), "range.two_bounds", ".ge"),
    (Version("a", eq="1", le="2"), "range.two_bounds", ".le"),
    (Version("a", ge="1.10", le="1.9"), "range.inverted", ".le"),
    (Version("a", gt="1.0", le="1"), "range.inverted", ".le"),
    (Range("a", gt="2026-05-01", type="date"), "range.type", ".type"),
    (Range("a", type="time"), "range.no_bound", ""),
    (Range("a", gt=1, type="time"), "range.time", ".gt"),
    (Range("a", le="2026-05-01T08:00:00", type="time"), "range.time", ".le"),
    (Range("a", ge="2026-05-01T09:00:00+02:00", le="2026-05-01T06:59:59Z", type="time"), "range.inverted", ".le"),
    (Cidr("a", ()), "value.empty_list", ".networks"),
    (Cidr("a", ("10.0.0.0/8", "10.0.0.1/8")), "cidr.syntax", ".networks[1]"),
    (Cidr("a", ("10.0.0.0/33",)), "cidr.syntax", ".networks[0]"),
    (Keywords("a"), "keywords.all_or_any", ""),
    (Keywords("a", ("b",), ("b",)), "keywords.all_or_any", ""),
    (Keywords("a", all=()), "value.empty_list", ".all"),
    (Keywords("a", any=()), "value.empty_list", ".any"),
    (Keywords("a", any=("b", "b c")), "keywords.token", ".any[1]"),
    (Keywords("a", all=("b-c",)), "keywords.token", ".all[0]"),
    (Keywords("a", all=("",)), "keywords.token", ".all[0]"),
    (Keywords("a", all=(" b",)), "keywords.token", ".all[0]"),
    (Keywords("a", all=("b!",)), "keywords.token", ".all[0]"),
    (Keywords("a", all=("b",), weights=(1.0, 2.0)), "weights.length", ".weights"),
    (Keywords("a", all=("b",), weights=(NAN,)), "weights.range", ".weights[0]"),
    (Keywords("a", any=("b", "B"), weights=(1.0, 2.0)), "weights.conflict", ".weights[1]"),
    (Exists("a", weight=NAN), "weights.range", ".weight"),
    (Exists(Derive("sqrt", "a")), "derive.function", ".attribute.derive"),
    (Exists(Derive("~fold", "a")), "derive.function", ".attribute.derive"),
    (Exists(Derive("lower", Derive("mod", "a", (0,)))), "derive.args", ".attribute.of.args"),
    (Exists(derived(9)), "derive.too_deep", ".attribute.of.of.of.of.of.of.of.of"),
    (Exists(Derive("lower", "\0a")), "attribute.name", ".attribute.of"),
    (Exists(Derive("lower", "x" * 257)), "attribute.too_long", ".attribute.of"),
]


@pytest.mark.parametrize(("leaf", "code", "path"), REFUSED, ids=repr)
def test_a_leaf_that_means_nothing_is_refused_with_its_code_and_path(leaf: Expression, code: str, path: str) -> None:
    with pytest.raises(Refused) as raised:
        check_expression(And((A, leaf)))
    assert (raised.value.code, raised.value.path) == (code, f"$.expression.args[1]{path}")
    assert 15 < len(raised.value.message) < 400


@pytest.mark.parametrize(
    "leaf",
    [
        Exists(derived(8)),
        Matches("a", ""),
        Glob("a", ""),
        Glob("a", "[Z-a]"),
        Version("a", ge="1.0", le="1"),
        Version("a", gt="1.0-rc.1", lt="1"),
        Range("a", ge="2026-05-01T02:00:00+02:00", le="2026-05-01", type="time"),
        Cidr("a", ("10.0.0.1", "::ffff:10.0.0.0/104", "::/0")),
        Keywords("a", any=("b", "B", "can't", "3.14"), weights=(1.0, 1.0, 2.0, 0.0)),
        Exists("a", weight=-1.0),
    ],
    ids=repr,
)
def test_what_is_allowed_passes(leaf: Expression) -> None:
    check_expression(leaf)


def test_the_cure_names_the_right_network() -> None:
    with pytest.raises(Refused, match=r"the network is 10\.0\.0\.0/8"):
        check_expression(Cidr("a", ("10.1.2.3/8",)))


def test_every_list_has_a_limit() -> None:
    limits = Limits(list_length=2)
    for leaf in (Cidr("a", ("10.0.0.1",) * 3), Keywords("a", any=("b",) * 3), Within("a", (1,) * 3)):
        with pytest.raises(Refused) as raised:
            check_expression(leaf, limits)
        assert raised.value.code == "value.list_too_long"


@pytest.mark.parametrize(
    ("leaf", "cure"),
    [
        (In("a", (1, 2, 3)), "several predicates in, joined by or"),
        (NotIn("a", (1, 2, 3)), "several predicates not in, joined by and"),
        (NotIn("a", (1, 2, 3), strong=True), "several predicates not in, joined by and"),
        (ContainsAll("a", (1, 2, 3)), "several predicates contains all, joined by and"),
        (Cidr("a", ("::1", "::2", "::3")), "several predicates in cidr, joined by or"),
        (Keywords("a", any=("b", "c", "d")), "several predicates has any, joined by or"),
        (Keywords("a", all=("b", "c", "d")), "several predicates has all, joined by and"),
        (Within("a", (1, 2, 3)), "this predicate can't be split"),
        (EqualsSet("a", (1, 2, 3)), "this predicate can't be split"),
    ],
)
def test_what_is_proposed_for_a_list_too_long_says_the_same_as_the_list(leaf: Expression, cure: str) -> None:
    with pytest.raises(Refused, match=cure):
        check_expression(leaf, Limits(list_length=2))


def subscription(
    expression: Expression = A, mode: Any = "all", threshold: float | None = None, **members: Any
) -> Subscription:
    return Subscription("s", expression, mode=mode, threshold=threshold, **members)


AB = And((A, Exists("b")))


def test_a_threshold_that_is_hardly_too_high_is_told_with_all_of_its_digits() -> None:
    with pytest.raises(Refused, match=r"the threshold is 1\.0000001, but must be"):
        check_subscription(subscription(A, "threshold", 1.0000001))


@pytest.mark.parametrize(
    ("refused", "code", "path"),
    [
        (subscription(Exists("a", weight=1.0)), "weights.position", "$.expression.weight"),
        (subscription(Not(Matches("a", "b", 0.0))), "weights.position", "$.expression.arg.weight"),
        (subscription(threshold=0.5), "threshold.without_mode", "$.threshold"),
        (subscription(mode="relaxed", threshold=0.5), "threshold.without_mode", "$.threshold"),
        (subscription(mode="threshold"), "threshold.missing", "$.threshold"),
        *((subscription(A, "threshold", t), "threshold.range", "$.threshold") for t in (0.0, -1.0, 1.01, NAN)),
        (subscription(Not(A), "relaxed"), "mode.shape", "$.expression"),
        (subscription(And(()), "relaxed"), "mode.shape", "$.expression"),
        (subscription(Or(()), "threshold", 0.5), "mode.shape", "$.expression"),
        (subscription(Or((A, AB)), "relaxed"), "mode.shape", "$.expression.args[1]"),
        (subscription(And((A, NotIn("a", (1,)))), "relaxed"), "mode.shape", "$.expression.args[1]"),
        (subscription(And((NotExists("a"), A)), "threshold", 0.5), "mode.shape", "$.expression.args[0]"),
        (
            subscription(Or((A, Exists("b", -1.0))), "threshold", 0.5),
            "threshold.weights",
            "$.expression.args[1].weight",
        ),
        (subscription(In("a", (1, 2), (1.0, -1.0)), "threshold", 0.5), "threshold.weights", "$.expression.weights[1]"),
        (subscription(Exists("a", 0.0), "threshold", 0.5), "threshold.weights", "$.expression"),
        (subscription(Exists("a", 2.0**-22), "threshold", 0.5), "threshold.weights", "$.expression"),
        (subscription(And((Exists("a", 2.0**20),) * 5), "relaxed"), "weights.sum", "$"),
        (subscription(And((Keywords("a", any=("b",), weights=(2.0**20,)),) * 5)), "weights.sum", "$"),
    ],
)
def test_a_mode_that_does_not_go_with_the_rest_is_refused(refused: Subscription, code: str, path: str) -> None:
    with pytest.raises(Refused) as raised:
        check_subscription(refused)
    assert (raised.value.code, raised.value.path) == (code, path)
    assert 15 < len(raised.value.message) < 400


@pytest.mark.parametrize(
    "allowed",
    [
        subscription(A, "relaxed"),
        subscription(AB, "threshold", 1.0),
        subscription(Or((Exists("a", -1.0), In("a", (1,), (-2.0,)))), "relaxed"),
        subscription(Or((Exists("a", 0.0), Keywords("a", all=("b",), weights=(2.0**-20,)))), "threshold", 1e-300),
    ],
)
def test_a_mode_that_goes_with_the_rest_passes(allowed: Subscription) -> None:
    check_subscription(allowed)
