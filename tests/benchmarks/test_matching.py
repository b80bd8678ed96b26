"""The matching benchmark: others are held to the same answers, none can end it, and its page says what was measured."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks import block_measure
from benchmarks.block_measure import BlockResult, Cost, Timing, build_block, measure_block
from benchmarks.compare.a_tree_peer import ATree
from benchmarks.compare.apart import Bounds, run_apart
from benchmarks.compare.contender import Contender, Outcome, Pairs, Unable
from benchmarks.compare.engines import EngineContender, RankingCheck, WrongAnswer
from benchmarks.compare.mokaccino_peer import Mokaccino
from benchmarks.compare.perq_peer import Perq
from benchmarks.compare.plain import Makers, branches, translate
from benchmarks.matching_report import draw, write_table
from benchmarks.matching_results import Compared, Measured, load, store
from benchmarks.reach import REACH, verdicts
from benchmarks.timing import Span, fastest
from benchmarks.workloads.registry import WORKLOADS, workload
from index.block.engine import BlockEngine
from index.block.reached import Touched
from index.engines import engine_named
from index.matches import Matches
from schemas.errors import TocsinError
from schemas.expression import And, Contains, Expression, In, Not, NotIn, Or
from schemas.records import Event, Subscription

BOUNDS = Bounds(60, 4)
NOBODY = Outcome(Span(0, 0), None, Pairs.of_lists([]))


def test_each_input_is_made_anew_and_its_fastest_call_counts() -> None:
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    called: list[int] = []
    span = fastest(called.append, [make, make], repetitions=3, seconds=60)
    assert called == made == list(range(6))
    assert 0 < span.wall < 1
    assert 0 <= span.cpu < 1
    assert Span(2.0, 4.0).over(1000) == Span(2.0, 4.0)


def test_no_repetition_begins_when_the_time_is_up() -> None:
    called: list[int] = []
    fastest(called.append, [lambda: 0], repetitions=1000, seconds=0)
    assert len(called) == 1


class Stub:
    """A contender that does what it is told; ``build`` is what matters."""

    name = "stub"

    def __init__(self, what: str) -> None:
        self._what = what

    def build(self, subscriptions: Sequence[Subscription]) -> None:
        if self._what == "unable":
            raise Unable("has no such thing")
        if self._what == "wrong":
            raise WrongAnswer("differs")
        if self._what == "forever":
            while True:
                pass
        if self._what == "memory":
            self._held = np.ones(2**30)
        if self._what == "death":
            os._exit(1)
        if self._what == "signal":
            os.kill(os.getpid(), signal.SIGTERM)

    def match(self, events: Sequence[Event]) -> Outcome:
        return NOBODY


@pytest.mark.parametrize(
    ("what", "bounds", "error", "message"),
    [
        ("unable", BOUNDS, Unable, "has no such thing"),
        ("wrong", BOUNDS, WrongAnswer, "differs"),
        ("forever", Bounds(1, 4), Unable, "took longer than 1 s"),
        ("memory", Bounds(60, 1), Unable, "more than 1 GB"),
        ("death", BOUNDS, Unable, "ended with code 1, most likely"),
        ("signal", BOUNDS, Unable, "ended with SIGTERM, most likely"),
    ],
)
def test_a_contender_that_fails_is_told_and_ends_nothing(
    what: str, bounds: Bounds, error: type[TocsinError], message: str
) -> None:
    with pytest.raises(error, match=message):
        run_apart(lambda: Stub(what), [], [], bounds)


BEYOND = {("perq", "ads"), ("perq", "w2"), ("perq", "trees")}
"""What a library cannot say."""


def contender(name: str) -> Contender:
    if name == "a-tree":
        folder = os.environ.get("TOCSIN_TEST_A_TREE")
        if shutil.which("cargo") is None or folder is None:
            pytest.skip("builds a crate for minutes: set TOCSIN_TEST_A_TREE to a folder for it, with cargo on the path")
        return ATree(Path(folder))
    try:
        return Mokaccino() if name == "mokaccino" else Perq()
    except Unable as unable:
        pytest.skip(f"{name} {unable}")


@pytest.mark.parametrize("source", ["ads", "w2", "trees", "ranges", "keywords"])
@pytest.mark.parametrize("name", ["mokaccino", "perq", "a-tree"])
def test_public_libraries_give_the_same_matches(name: str, source: str) -> None:
    other = contender(name)
    subscriptions, events = workload(source).subscriptions(1500), workload(source).events(16)
    expected = EngineContender(BlockEngine(), BlockEngine().build(subscriptions)).match(events).pairs
    assert len(expected.event)
    if (name, source) in BEYOND:
        with pytest.raises(Unable, match="has nothing like NotIn"):
            other.build(subscriptions)
        return
    other.build(subscriptions)
    assert other.match(events).pairs.same(expected)


@pytest.mark.parametrize("name", ["counting", "kindex-dnf"])
def test_compared_engines_are_held_to_the_same_rows_in_the_same_order(name: str) -> None:
    subscriptions, events = workload("ads-zipf").subscriptions(3000), workload("ads-zipf").events(8)
    block = EngineContender(BlockEngine(), BlockEngine().build(subscriptions))
    expected = {top: block.answers(events, top) for top in (0, 10)}
    outcome = run_apart(
        lambda: EngineContender(engine_named(name), ranked=RankingCheck(expected)), subscriptions, events, BOUNDS
    ).outcome
    assert outcome.pairs.same(block.match(events).pairs)
    assert outcome.top is not None
    shifted = {top: dataclasses.replace(found, points=found.points + 1) for top, found in expected.items()}
    with pytest.raises(WrongAnswer, match=name):
        run_apart(
            lambda: EngineContender(engine_named(name), ranked=RankingCheck(shifted)), subscriptions, events, BOUNDS
        )


def test_pairs_are_compared_whatever_their_order() -> None:
    one = Pairs.of_lists([[3, 1], [], [2]])
    assert one.event.tolist() == [0, 0, 2]
    assert one.ordinal.tolist() == [1, 3, 2]
    assert one.same(Pairs.of_lists([{1, 3}, set(), {2}]))
    assert not one.same(Pairs.of_lists([[1, 3], [2], []]))


def test_translation_takes_the_normal_form_and_refuses_what_has_no_maker() -> None:
    makers: Makers[str] = {
        And: " & ".join,
        Or: " | ".join,
        In: lambda leaf: leaf.attribute,
        NotIn: lambda leaf: f"~{leaf.attribute}",
    }
    a, b = In("a", (1,)), In("b", (2,))
    tree: Expression = Not(Or((a, Not(b))))
    [(ordinal, branch)] = branches([Subscription("s", tree)])
    assert (ordinal, translate(branch, makers)) == (0, "~a & b")
    assert [o for o, _ in branches([Subscription("s", Or((a, b))), Subscription("t", And((a, Not(a))))])] == [0, 0]
    with pytest.raises(Unable, match="Contains"):
        translate(Contains("a", "x"), makers)


def result(ms: float = 1.0) -> BlockResult:
    cost = Cost(ms, ms)
    timings = [Timing(words, top, cost) for words in (None, 1, 2, 4, 8) for top in (0, 10, 100)]
    return BlockResult(
        2.0,
        {"program": 40.0, "leaf": 0.01},
        7.0,
        timings,
        cost,
        cost,
        {"walk": ms},
        Cost(0.5, 0.5),
        Touched(1000, 64_000),
    )


def test_limits_are_judged_at_the_largest_size_and_growth_over_a_tenth() -> None:
    found = verdicts({"w3": {100_000: result(0.01), 1_000_000: result(0.08)}}, {"w3": 1_000_000})
    assert [(v.line, v.word) for v in found] == [
        ("all matches", "**missed**, 1.6 ×"),
        ("one event alone", "met"),
        ("10 × the subscriptions", "**missed**, 1.1 ×"),
    ]
    small = verdicts({"w3": {1000: result(0.01)}}, {"w3": 1_000_000})
    assert [v.word for v in small] == ["(met; not at full size)"] * 2


def test_every_limit_names_a_workload() -> None:
    assert {reach.workload for reach in REACH} <= set(WORKLOADS)


def test_a_block_has_fewer_events_where_its_matches_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, happened = BlockEngine(), [Event({"a": (1,)})] * 512
    matcher = engine.open(engine.build([Subscription(f"{i:03d}", In("a", (1,))) for i in range(100)]))
    for most, events in ((500_000, 4096), (250_000, 2048), (102_400, 1024), (60_000, 512), (10, 512)):
        monkeypatch.setattr(block_measure, "MOST_MATCHES", most)
        assert block_measure._block_size(matcher, happened) == events


def test_a_run_replaces_its_own_results_and_the_page_shows_all(tmp_path: Path) -> None:
    file = tmp_path / "matching.json"
    other = Compared("counting", 1.5, Cost(4.0, 4.0), None, Cost(2.0, 2.0), stream=Cost(0.5, 0.5))
    store(file, Measured("w3", 1000, 64, 1, result(), [other, Compared("perq", note="is not | installed")]))
    store(file, Measured("ads", 1000, 64, 1, result(), []))
    store(file, Measured("w3", 1000, 64, 1, result(0.5), [other]))
    store(file, Measured("w3", 1000, 64, 1, result(0.03125), []))
    rows = load(file)
    assert [(row.workload, row.block.ms(0)) for row in rows] == [("ads", 1.0), ("w3", 0.03125)]
    write_table(rows, tmp_path / "matching.md")
    draw(rows, tmp_path / "matching.png")
    page = (tmp_path / "matching.md").read_text()
    assert "| w3 | 1,000 | counting | 4.000 | 2.000 | 2.0 | 0.500 | 8.0 | – | 1.5 |  |" in page
    assert "| w3 | 1,000 | 7 | 0.0 | 0.5000 | 0.0312 | 0.0312 | 0.0312 | 0.031 | 0.0312 | 2.0 | 40.0 |" in page
    assert "| w3 | 1,000 | 40.0 | program 40.0 |" in page
    assert "| w3 | 1,000 | 512 | 1,000 | 0.1 | 3.58 | 16000 | 0.00 | 0 |" in page
    assert (tmp_path / "matching.png").read_bytes().startswith(b"\x89PNG")


def test_the_block_engine_is_measured_with_every_top_and_width() -> None:
    source = workload("w2")
    subscriptions, events = source.subscriptions(2000), source.events(100)
    built = build_block(subscriptions)
    found, parts = measure_block(built, events, repetitions=1, seconds=5), built.parts
    assert {(t.words, t.top) for t in found.timings} == {
        (w, top) for w in (None, 1, 2, 4, 8, 32) for top in (0, 10, 100)
    }
    assert all(t.cost.cpu > 0 for t in found.timings)
    assert found.bytes == pytest.approx(sum(part.nbytes for part in parts.values()) / 2000)
    matches: Matches = EngineContender(BlockEngine(), parts).answers(events, 0)
    assert found.matches == len(matches) / 100
    assert found.phases
    assert found.writing is not None
    assert found.touched is not None
    assert 0 < found.touched.records < found.touched.bytes
