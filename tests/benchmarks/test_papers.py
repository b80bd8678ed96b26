"""The papers' workloads have the statistics that the papers state, and a figure says what holds by its own numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks.compare.engines import WrongAnswer
from benchmarks.papers import __main__ as papers
from benchmarks.papers import compare, contracts, figure, fontoura2010, measure, report
from benchmarks.papers.compare_table import Row, disagreements, table
from benchmarks.papers.exchange import CHILDREN, Exchange, statistics
from benchmarks.papers.figure import Claim, Figure, Line, Panel, Published, finish
from benchmarks.papers.measure import build, work
from benchmarks.papers.phases import phases
from benchmarks.papers.reasons import against_counting, read_share
from benchmarks.papers.sweep import Point, ratios, sweep
from index.block.engine import BlockEngine
from index.classic.counting import Counting
from index.engine import Engine, Parts
from index.engines import ENGINES
from index.oracle import matches
from schemas.errors import Refused
from schemas.expression import And, In, NotIn, Or
from schemas.records import Event, Subscription


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here depends on how long something takes, so one pass more or less is no matter."""
    monkeypatch.setattr(measure, "AT_LEAST", 0.0)


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
    assert swept.at("block", 1.0).work == {}
    assert read_share(swept.at("counting", 1.0)) == 1
    assert swept.at("counting", 1.0).indexed > 200
    with pytest.raises(WrongAnswer, match=r"blind finds .* matches an event, others"):
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
    finish(fontoura2010.FIGURES[7]())
    report.write_report()
    assert (tmp_path / "fontoura2010_figure_07.png").stat().st_size > 5000
    page = (tmp_path / "README.md").read_text()
    assert "![average size of a DNF-expanded BE, 20 trees a depth](fontoura2010_figure_07.png)" in page
    assert "* Holds: The size grows exponentially with the depth." in page


def test_a_claim_that_does_not_hold_says_why() -> None:
    claim = Claim("A is faster.", "twice as long.", False, "B has a cache.")
    assert claim.sentence() == "Does not hold: A is faster. Found: twice as long. B has a cache."
    assert ratios(Line("a", [1, 2], [4, 9]), Line("b", [2], [3])) == [3]


def test_a_sweep_measures_each_top_of_one_segment_and_says_what_was_read() -> None:
    engines = {name: ENGINES[name] for name in ("kindex-dnf", "counting")}
    swept = sweep(engines, _points(), (0, 1))
    assert [line.name for line in swept.lines] == ["kindex-dnf", "kindex-dnf, best 1", "counting", "counting, best 1"]
    assert swept.at("kindex-dnf", 1.0, 1).matches <= 1 < swept.at("kindex-dnf", 1.0).matches
    assert 0 < read_share(swept.at("kindex-dnf", 1.0)) < 1
    kindex, counting = swept.at("kindex-dnf", 1.0).work, swept.at("counting", 1.0).work
    found = numbers(against_counting(swept, 1.0, 11.2).replace(",", ""))
    assert found[:2] == [round(kindex["read"]), round(kindex["entries"])]
    assert f"{counting['read']:.0f}" in against_counting(swept, 1.0, 11.2).replace(",", "")


def test_phases_count_the_places_that_are_evaluated() -> None:
    trees = Exchange(2)
    dewey, interval = (phases(name, trees.subscriptions(80), trees.events(6)) for name in ("dewey", "interval"))
    assert dewey.places == interval.places > dewey.matches == interval.matches > 0
    assert dewey.lookup + dewey.sorting + dewey.evaluation < dewey.total


def test_a_panel_is_drawn_beside_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "RESULTS", tmp_path)
    line, mark = Line("a", [1.0, 2.0], [3.0, 4.0]), Published("b", 1.0, 2.0, 3.0, "table")
    for panel, width in ((None, 7.5), (Panel("MB", [line], [mark]), 12)):
        finish(Figure("paper", 1, "title", "x", "y", [line], [], [mark], panel=panel))
        header = (tmp_path / "paper_figure_01.png").read_bytes()[16:20]
        assert int.from_bytes(header) == pytest.approx(width * 110, rel=0.05), "cut to what is drawn"


def test_every_figure_of_both_papers_has_its_command() -> None:
    assert [*papers.PAPERS["whang2009"]] == [14, 15, 16, 17, 18, 19]
    assert [*papers.PAPERS["fontoura2010"]] == [7, 8, 9, 10, 11, 12, 13, 14]
    with pytest.raises(SystemExit, match=r"there is no figure whang2009.1; there are whang2009.14, "):
        papers.main(["whang2009.1"])


def test_a_comparison_keeps_each_row_and_goes_on_where_it_was_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of this size that are there are not measured again; an engine that refuses, or is ended, says why."""
    monkeypatch.setattr(compare, "RESULTS", tmp_path)
    monkeypatch.setattr(compare, "BUDGET", 1.0)
    asked: list[str] = []

    def here(workload: str, engine: str, size: int, _: compare.Bounds) -> Row:
        asked.append(engine)
        return compare.measured(workload, engine, size)

    monkeypatch.setattr(compare, "measured_apart", here)
    for engines in ("block,scan", "block,scan,kindex-cnf,counting"):
        compare.main(["--size", "200", "--only", "ads", "--engines", engines, "--resume"])
    assert asked == ["block", "scan", "kindex-cnf", "counting"]
    page = (tmp_path / "compare.md").read_text()
    assert "`kindex-cnf` takes no part: the subscription 's00000011' holds an OR over an AND whose leaves score" in page
    assert re.search(r"\| `scan` \| 0 \| 0 \| 200 \|", page)
    assert "4 of 4: ads, counting" in capsys.readouterr().out


def test_a_process_of_a_comparison_that_takes_too_long_leaves_a_reason() -> None:
    row = compare.measured_apart("ads", "scan", 1_000_000, compare.Bounds(seconds=2))
    assert row["refused"] == "it needs more than 2 s or 12 GB (SIGXCPU)"


def test_a_comparison_knows_its_workloads_and_engines() -> None:
    with pytest.raises(SystemExit, match=r"there is no more; there are ads, cnf, exchange"):
        compare.main(["--only", "ads,more"])


def test_work_is_counted_an_event() -> None:
    (point,) = _points()
    matcher = build(ENGINES["scan"](), point.subscriptions).matcher
    assert work(matcher, point.events)["candidates"] == len(point.subscriptions)
    assert work(build(ENGINES["block"](), point.subscriptions).matcher, point.events) == {}


def test_the_comparison_tells_by_how_much_the_block_engine_leads_and_who_disagrees() -> None:
    common = {"workload": "ads", "size": 10, "build": 1.0, "bytes": 9.0, "events": 8, "answers": {"all": 7}}
    block = {**common, "engine": "block", "matches": 2.0, "all": 1.0, "top 1": 1.0, "top 10": 1.0, "top 100": 1.0}
    other = {**common, "engine": "scan", "matches": 3.0, "all": 30.0, "top 1": 5.0, "top 10": 6.0, "top 100": 7.0}
    assert "30.0 times (all, against `scan`), 5.0 times (top 1, against `scan`)" in table([block, other])
    assert "Less than 20 times: top 1, top 10, top 100." in table([block, other])
    assert disagreements([block, other]) == ["scan on ads, 10: 3.0 matches an event, block finds 2.0"]
    agreeing = {**other, "matches": 2.0}
    assert disagreements([block, agreeing]) == []
    ranked = {**agreeing, "answers": {"all": 8}}
    assert disagreements([block, ranked]) == ["scan on ads, 10: other rows, order or scores than block's"]
