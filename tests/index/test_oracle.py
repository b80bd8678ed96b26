"""The oracle against the shared cases, the laws of the semantics, and tables of what leaves and modes mean."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.oracle import as_score, best_matches, leaf_holds, leaf_values, match_subscription, matches, score
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
from schemas.json_codec import decode_event, decode_subscription
from schemas.records import Event, Subscription
from schemas.values import SCORE_SCALE
from tests.strategies import rich_events, rich_expressions, rich_subscriptions

CASES: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text())


def as_event(members: Any) -> Event:
    """Read a case's event; "$nan" stands for NaN, which JSON has not."""
    event = decode_event(json.dumps(members).encode())
    held = {
        name: tuple(math.nan if value == "$nan" else value for value in values)
        for name, values in event.attributes.items()
    }
    return Event(held, event.weights, event.top)


def as_subscriptions(bodies: dict[str, Any], refused: list[str]) -> list[Subscription]:
    return [decode_subscription(id_, json.dumps(b).encode()) for id_, b in bodies.items() if id_ not in refused]


@pytest.mark.parametrize("case", CASES["matching"], ids=lambda case: case["name"])
def test_every_matching_case_has_its_answer(case: Any) -> None:
    population = as_subscriptions(case["subscriptions"], case.get("refused", []))
    assert case["events"]
    for row in case["events"]:
        found = [id_ for id_, _ in best_matches(population, as_event(row["event"]))]
        assert sorted(found) == sorted(row["matches"]), row


@pytest.mark.parametrize("case", CASES["ranking"], ids=lambda case: case["name"])
def test_every_ranking_case_has_its_order(case: Any) -> None:
    population = as_subscriptions(case["subscriptions"], case.get("refused", []))
    event = as_event(case["event"])
    for top, wanted in case["top"].items():
        found = best_matches(population, event, int(top))
        assert [id_ for id_, _ in found] == wanted
    for id_, points in best_matches(population, event):
        assert points == round(case.get("scores", {}).get(id_, as_score(points)) * SCORE_SCALE)


E_ = Event(
    {
        "s": ("ab", "Straße", 7, True),
        "v": ("1.2-rc.1", "x"),
        "ip": ("::ffff:10.1.2.3", "fe80::1"),
        "t": ("2026-05-01T08:00:00+02:00",),
        "w": ("Spark & Kafka", "the spark"),
        "n": (7, -2.5),
        "nan": (math.nan,),
        "set": (1, "b", 1.5),
    },
    {"w": (2.0, 5.0), "n": (0.5, 3.0), "s": (1.0, 4.0, 2.0, 8.0)},
)

HOLDS: list[tuple[Any, bool]] = [
    (ContainsAll("set", (1.0, "b")), True),
    (ContainsAll("set", (1, "c")), False),
    (ContainsAll("x", (1,)), False),
    (Within("set", ("b", 1.5, 1, 2)), True),
    (Within("set", (1, "b")), False),
    (Within("x", (1,)), False),
    (EqualsSet("set", (1.5, 1, 1.0, "b")), True),
    (EqualsSet("set", (1, "b")), False),
    (EqualsSet("x", (1,)), False),
    (Within("nan", (1,)), False),
    (ContainsAll("nan", (1,)), False),
    (EqualsSet("nan", (1,)), False),
    (Matches("s", "a."), True),
    (Matches("s", "a"), False),
    (Matches("s", "7"), False),
    (Matches("x", ""), False),
    (StartsWith("s", "a"), True),
    (StartsWith("s", "A"), False),
    (StartsWith("s", "A", True), True),
    (StartsWith("s", "STRASS", True), True),
    (EndsWith("s", "SSE", True), True),
    (EndsWith("s", "sse"), False),
    (Contains("s", "aß"), True),
    (Contains("s", "ASS", True), True),
    (Contains("s", "7"), False),
    (Glob("s", "a?"), True),
    (Glob("s", "a"), False),
    (Glob("s", "STRA?E", True), True),
    (Glob("s", "STRA??E", True), False),
    (Glob("s", "stra[ß]*", True), True),
    (Glob("s", "[A-z]TRASS?", True), False),
    (Glob("s", "*ASS*", True), True),
    (Glob("s", "A*"), False),
    (Version("v", eq="1.2.0-rc.1"), True),
    (Version("v", lt="1.2"), True),
    (Version("v", ge="1.2"), False),
    (Version("v", gt="1.2-M10", le="1.2-rc.1"), True),
    (Version("s", ge="0"), False),
    (Cidr("ip", ("10.0.0.0/8",)), True),
    (Cidr("ip", ("::/0",)), True),
    (Cidr("ip", ("::ffff:0:0/96",)), True),
    (Cidr("ip", ("11.0.0.0/8", "fe80::/10")), True),
    (Cidr("ip", ("10.1.2.4",)), False),
    (Cidr("s", ("::/0",)), False),
    (Range("t", ge="2026-05-01T06:00:00Z", le="2026-05-01T06:00:00Z", type="time"), True),
    (Range("t", lt="2026-05-01T06:00:00Z"), False),
    (Range("t", gt="2026-05-02", type="time"), False),
    (Range("n", gt="1970-01-01", type="time"), False),
    (Range("s", gt="1970-01-01", type="time"), False),
    (Keywords("w", all=("spark", "KAFKA")), True),
    (Keywords("w", all=("spark", "flink")), False),
    (Keywords("w", any=("flink", "The")), True),
    (Keywords("w", any=("spar",)), False),
    (Keywords("n", any=("7",)), False),
    (In(Derive("mod", "n", (4,)), (3,)), True),
    (In(Derive("mod", "n", (4,)), (-2.5,)), True),
    (In(Derive("length", "s"), (6, 9)), True),
    (Exists(Derive("length", "n")), False),
    (NotExists(Derive("year", "s")), True),
    (In(Derive("hour", "t"), (6,)), True),
    (NotIn(Derive("year", "s"), (1,)), True),
    (NotIn(Derive("year", "s"), (1,), True), False),
    (EqualsSet(Derive("substring", Derive("lower", "s"), (1, 1)), ("a", "s")), True),
    (Exists(Derive("abs", "nan")), True),
    (Range(Derive("abs", "nan"), ge=0), False),
    (Exists(Derive("mod", "s", (2,))), True),
]


@pytest.mark.parametrize(("leaf", "holds"), HOLDS, ids=repr)
def test_a_leaf_holds_or_not(leaf: Any, holds: bool) -> None:
    assert leaf_holds(leaf, E_) is holds
    assert matches(leaf, E_) is holds
    assert matches(Not(leaf), E_) is not holds


def test_derived_values_are_a_set_in_which_each_weighs_what_its_heaviest_source_does() -> None:
    event = Event({"a": ("B", "b", "c", "ab", 1)}, {"a": (1.0, 3.0, -1.0, 0.5, 9.0)})
    assert leaf_values(event, Derive("lower", "a")) == (("b", 3.0), ("c", -1.0), ("ab", 0.5))
    assert leaf_values(event, Derive("length", Derive("lower", "a"))) == ((1, 3.0), (2, 0.5))
    assert leaf_values(event, Derive("~tokens", "a", ("words",))) == (("b", 3.0), ("c", -1.0), ("ab", 0.5))
    assert leaf_values(event, Derive("length", "x")) == ()
    nans = Event({"a": (math.nan, math.inf, -math.inf)})
    assert len(leaf_values(nans, Derive("multiply", "a", (0,)))) == 1


@pytest.mark.parametrize(
    ("expression", "units"),
    [
        (In("n", (7, -2.5), (2.0, 1.0)), 4.0),
        (Keywords("w", all=("spark", "kafka"), weights=(1.0, 10.0)), 25.0),
        (Keywords("w", any=("spark", "flink"), weights=(1.0, 10.0)), 5.0),
        (Keywords("w", any=("Spark", "SPARK")), 5.0),
        (Or((Keywords("w", all=("spark", "flink")), In("n", (7,)))), 0.5),
        (And((Keywords("w", any=("kafka",)), ContainsAll("n", (7,)), Matches("s", "ab"))), 2.0),
        (In(Derive("lower", "s"), ("straße", "ab")), 5.0),
        (Not(Keywords("w", any=("flink",))), 0.0),
    ],
    ids=repr,
)
def test_in_mode_all_only_in_and_keywords_score(expression: Expression, units: float) -> None:
    assert score(expression, E_) == units * SCORE_SCALE


ONE, TWO = In("n", (7, 8), (2.0, 9.0)), StartsWith("s", "a", weight=3.0)
MISSED = Exists("x", weight=4.0)


@pytest.mark.parametrize(
    ("expression", "units"),
    [
        (ONE, 1.0),
        (And((ONE, TWO, MISSED)), 4.0),
        (Or((ONE, TWO, MISSED)), 4.0),
        (And((TWO, TWO)), 6.0),
        (And((MISSED,)), None),
        (And((Exists("s", weight=0.0),)), None),
        (And((Exists("s", weight=0.0), MISSED)), None),
        (And((Exists("s", weight=0.0), TWO)), 3.0),
        (And((Exists("s", weight=-1.0), MISSED)), -1.0),
        (In("n", (7, 8), (0.0, 1.0)), None),
        (In("n", (7, -2.5), (0.0, 1.0)), 3.0),
        (And((Exists("s"), Exists("n"), Exists("x"))), 2.0),
        (Keywords("w", all=("spark", "kafka"), weights=(1.0, 10.0)), 25.0),
        (Keywords("w", all=("spark", "flink"), weights=(1.0, 10.0)), None),
        (And(()), None),
    ],
    ids=repr,
)
def test_relaxed_matches_when_a_weighted_leaf_is_satisfied_and_adds_their_weights(
    expression: Expression, units: float | None
) -> None:
    found = match_subscription(Subscription("s", expression, 0.5, "relaxed"), E_)
    assert found == (None if units is None else (units + 0.5) * SCORE_SCALE)


@pytest.mark.parametrize(
    ("expression", "threshold", "share"),
    [
        (And((Exists("s"), Exists("x"))), 0.5, 0.5),
        (Or((Exists("s"), Exists("x"))), math.nextafter(0.5, 1), None),
        (And((Exists("s"), Exists("n"), Exists("x"))), 2 / 3, 2 / 3),
        (And((Exists("s"), Exists("n"), Exists("x"))), math.nextafter(2 / 3, 1), None),
        (And((TWO, MISSED)), 0.4, 3 / 7),
        (And((TWO, Exists("x", weight=0.0))), 1.0, 1.0),
        (In("n", (7, 8), (2.0, 8.0)), 0.25, 0.25),
        (In("n", (7, 8), (2.0, 8.0)), 0.26, None),
        (And((In("n", (7, -2.5), (2.0, 8.0)), MISSED)), 0.5, 8 / 12),
        (Keywords("w", all=("spark", "kafka"), weights=(1.0, 3.0)), 1.0, 1.0),
        (Keywords("w", all=("spark", "flink"), weights=(1.0, 3.0)), 1e-9, None),
        (Keywords("w", any=("spark", "flink"), weights=(1.0, 3.0)), 0.3, 1 / 3),
        (MISSED, 1e-300, None),
        # shares are those of the decimals that were written, though no double is four fifths or seven tenths
        (And((*(Exists("s"),) * 4, Exists("x"))), 0.8, 0.8),
        (And((*(Exists("s"),) * 4, Exists("x"))), math.nextafter(0.8, 1), None),
        (And((Exists("s", weight=0.7), Exists("x", weight=0.3))), 0.7, 0.7),
        (And((Exists("s", weight=0.7), Exists("x", weight=0.3))), 0.700001, None),
        (In("n", (7, 8), (0.2, 2.0)), 0.1, 0.1),
        (Or((Exists("s", weight=5e-7), Exists("n", weight=3e-6), Exists("x", weight=3e-6))), 0.5, 0.5),
    ],
    ids=repr,
)
def test_threshold_matches_when_the_share_of_the_weights_reaches_it(
    expression: Expression, threshold: float, share: float | None
) -> None:
    found = match_subscription(Subscription("s", expression, 0.5, "threshold", threshold), E_)
    assert found == (None if share is None else round(share * SCORE_SCALE) + SCORE_SCALE // 2)


@given(rich_expressions(), rich_expressions(), rich_events())
def test_the_laws_of_logic_hold(a: Expression, b: Expression, event: Event) -> None:
    assert matches(Not(a), event) is not matches(a, event)
    assert matches(Not(Not(a)), event) is matches(a, event)
    assert matches(And((a, b)), event) is (matches(a, event) and matches(b, event))
    assert matches(Not(And((a, b))), event) is matches(Or((Not(a), Not(b))), event)
    assert score(And((a, b)), event) == (score(a, event) + score(b, event)) * matches(And((a, b)), event)


@given(rich_events(), st.data())
def test_leaves_with_two_names_agree(event: Event, data: st.DataObject) -> None:
    """Each pair means the same by semantics.md, whatever the event."""
    text = data.draw(st.sampled_from(("a", "1.", "Spark", "s")))
    pairs: list[tuple[Expression, Expression]] = [
        (StartsWith("a", text), Glob("a", f"{text}*")),
        (EndsWith("a", text, True), Glob("a", f"*{text}", True)),
        (Contains("a", text), Matches("a", f"(?s).*\\Q{text}\\E.*")),
        (NotIn("a", (text,)), Not(In("a", (text,)))),
        (NotIn("a", (text,), True), And((Exists("a"), Not(In("a", (text,)))))),
        (EqualsSet("a", (text, 1)), And((Within("a", (text, 1)), ContainsAll("a", (text, 1))))),
        (ContainsAll("a", (text, 1)), And((In("a", (text,)), In("a", (1,))))),
        (Keywords("a", all=("a", "b")), And((Keywords("a", any=("a",)), Keywords("a", any=("b",))))),
        (Cidr("a", ("10.0.0.0/8", "::/0")), Or((Cidr("a", ("10.0.0.0/8",)), Cidr("a", ("::/0",))))),
        (Version("a", eq="1.2"), And((Version("a", ge="1.2", le="1.2.0"),))),
        (StartsWith("a", text, True), StartsWith(Derive("~fold", "a"), text.casefold())),
        (EndsWith("a", text), StartsWith(Derive("~reverse", "a"), text[::-1])),
    ]
    for a, b in pairs:
        assert matches(a, event) is matches(b, event), (a, b)


@given(rich_subscriptions(min_size=2), rich_events())
def test_the_best_are_the_first_of_all(population: list[Subscription], event: Event) -> None:
    everything = best_matches(population, event)
    assert everything == sorted(everything, key=lambda pair: (-pair[1], pair[0].encode()))
    assert best_matches(population, event, 2) == everything[:2]


def test_two_thousand_levels_and_more_are_evaluated_without_recursion() -> None:
    tree: Expression = In("n", (7,))
    for level in range(100_000):
        tree = (Not(tree), And((tree,)), Or((tree, Exists("x"))), Not(tree))[level % 4]  # an even number of NOTs
    assert matches(tree, E_)
    assert not matches(Not(tree), E_)
    deep: Expression = In("n", (7,), (2.0,))
    for _ in range(2_000):
        deep = And((deep, In("n", (7,), (1.0,))))
    assert score(deep, E_) == 1_001 * SCORE_SCALE
