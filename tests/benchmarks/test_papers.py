"""The papers' workloads have the statistics that the papers state, and a figure says what holds by its own numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks.papers import contracts, figure, fontoura2010, report
from benchmarks.papers.compare import disagreements, table
from benchmarks.papers.exchange import CHILDREN, Exchange, statistics
from benchmarks.papers.figure import Claim, Line, finish
from benchmarks.papers.sweep import Point, ratios, sweep
from index.block.engine import BlockEngine
from index.classic.counting import Counting
from index.engine import Engine, Parts
from index.engines import ENGINES
from index.oracle import matches
from schemas.errors import Refused
from schemas.expression import And, In, NotIn, Or
from schemas.records import Event, Subscription


def numbers(sentence: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d+|\d+", sentence)]


@pytest.mark.parametrize(("exponent", "size"), contracts.EXPONENTS.items())
def test_dnfs_have_the_statistics_of_table_1(exponent: float, size: float) -> None:
    ads = contracts.dnf(exponent=exponent)
    found = numbers(contracts.dnf_statistics(ads.subscriptions(4000), ads.events(20)))
    assert found[0] == pytest.approx(size, abs=0.2)
    assert found[3] == pytest.approx(3.65, abs=0.1)
    assert found[5] == pytest.approx(0.1, abs=0.01)
    assert found[7] == pytest.approx(91, abs=1)


def test_cnfs_have_the_statistics_of_table_1() -> None:
    found = numbers(contracts.cnf_statistics(contracts.cnf(contracts.dnf().subscriptions(4000))))
    assert found[0] == pytest.approx(2.6, abs=0.15)
    assert found[3] == pytest.approx(2.65, abs=0.1)


def test_fewer_months_make_more_matches_and_a_low_dimension_names_few_attributes() -> None:
    few, many = contracts.dnf(months=1), contracts.dnf(months=12)
    assert {event.attributes["month"] for event in few.events(30)} == {("v0",)}
    assert len({event.attributes["month"] for event in many.events(60)}) > 6
    shares = [
        sum(matches(s.expression, event) for s in ads.subscriptions(400) for event in ads.events(10))
        for ads in (few, many)
    ]
    assert shares[0] > 4 * shares[1] > 0
    names = {
        leaf.attribute
        for s in contracts.dnf(dimension=20).subscriptions(300)
        for branch in (s.expression.args if isinstance(s.expression, Or) else (s.expression,))
        if isinstance(branch, And)
        for leaf in branch.args
        if isinstance(leaf, In | NotIn)
    }
    assert 10 < len(names) <= 21


def test_rare_keys_get_high_bounds_and_weights_stay_under_them() -> None:
    happened = [Event({"a": ("often",)})] * 99 + [Event({"a": ("seldom",)})]
    leaf = In("a", ("often", "seldom", "never"))
    (weighted,) = contracts.weighted([Subscription("s", And((leaf, NotIn("b", ("x",)))))], happened)
    assert isinstance(weighted.expression, And)
    changed = weighted.expression.args[0]
    assert isinstance(changed, In)
    assert changed.weights is not None
    often, seldom, never = changed.weights
    assert 0 <= often <= 10 / 990
    assert 0 <= seldom <= 1
    assert 0 <= never <= 10
    assert all(0 <= w < 1 for e in contracts.weighted_events(happened[:5]) for w in e.weights["a"])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_exchange_trees_have_the_stated_numbers_of_children(depth: int) -> None:
    found = statistics(Exchange(depth).subscriptions(1500))
    shares = dict(re.findall(r"(\d): (\d\.\d+)", found.split("(")[0]))
    assert {int(k): pytest.approx(float(v), abs=0.03) for k, v in shares.items()} == CHILDREN


def test_trees_that_shall_never_match_do_not() -> None:
    trees = Exchange(2, never=1.0)
    assert not any(matches(s.expression, event) for s in trees.subscriptions(50) for event in trees.events(20))


def _points() -> Sequence[Point]:
    ads = contracts.dnf()
    return [Point(1.0, ads.subscriptions(200), ads.events(5))]


def test_a_sweep_refuses_to_compare_engines_that_find_other_matches() -> None:
    class Blind(Counting):
        def build(self, subscriptions: Sequence[Subscription]) -> Parts:
            return super().build(subscriptions[:10])

    engines: dict[str, Callable[[], Engine]] = {"block": BlockEngine, "counting": Counting}
    swept = sweep(engines, _points())
    assert [line.x for line in swept.lines] == [[1.0], [1.0]]
    assert swept.matches[1.0] > 0
    with pytest.raises(AssertionError, match=r"blind finds .* matches an event, others"):
        sweep({"block": BlockEngine, "blind": Blind}, _points())


def test_a_sweep_names_the_engines_that_take_no_part() -> None:
    point = Point(1.0, contracts.cnf(contracts.dnf(exponent=1.0).subscriptions(300)), contracts.dnf().events(2))
    with pytest.raises(Refused):
        ENGINES["counting"]().build(point.subscriptions)
    swept = sweep({"counting": ENGINES["counting"]}, [point])
    assert swept.lines[0].x == []
    assert swept.refused[0].startswith("counting at 1: the subscription")


def test_a_figure_leaves_a_picture_its_numbers_and_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    finish(fontoura2010.figure_07())
    report.write_report()
    assert (tmp_path / "fontoura2010_figure_07.png").stat().st_size > 5000
    page = (tmp_path / "README.md").read_text()
    assert "![average size of a DNF-expanded BE, 20 trees a depth](fontoura2010_figure_07.png)" in page
    assert "* Holds: The size grows exponentially with the depth." in page


def test_a_claim_that_does_not_hold_says_why() -> None:
    claim = Claim("A is faster.", "twice as long.", False, "B has a cache.")
    assert claim.sentence() == "Does not hold: A is faster. Found: twice as long. B has a cache."
    assert ratios(Line("a", [1, 2], [4, 9]), Line("b", [2], [3])) == [3]


def test_the_comparison_tells_by_how_much_the_block_engine_leads_and_who_disagrees() -> None:
    common = {"workload": "ads", "size": 10, "build": 1.0, "bytes": 9.0, "events": 8}
    block = {**common, "engine": "block", "matches": 2.0, "all": 1.0, "top 1": 1.0, "top 10": 1.0, "top 100": 1.0}
    other = {**common, "engine": "scan", "matches": 3.0, "all": 30.0, "top 1": 5.0, "top 10": 6.0, "top 100": 7.0}
    assert "30.0 times (all, against `scan`), 5.0 times (top 1, against `scan`)" in table([block, other])
    assert disagreements([block, other]) == ["scan finds 3.0 matches an event on ads, block 2.0"]
    assert disagreements([block, {**other, "matches": 2.0}]) == []
