"""``tocsin check``: a filter and an event, without a broker and without an index."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from schemas.errors import Refused, TocsinError
from stream.commands.shared import pointing_at
from tests.stream.console import tocsin, together


def test_check_ends_with_0_for_a_match_and_prints_the_score(plain_event: str) -> None:
    result = tocsin("check", "origin in ('JFK'^0.5, 'LGA') and carrier in ('B6', 'AA'^2)", plain_event)
    assert (result.returncode, result.stdout) == (0, "match, score 3.5\n")


def test_check_takes_the_modes_that_match_in_part(plain_event: str) -> None:
    call = ["check", "origin = 'JFK'^0.7 and price > 1e9^0.3", plain_event, "--mode", "threshold", "--threshold"]
    found = together([[*call, "0.7"], [*call, "0.71"], [*call[:3], "--mode", "relaxed"], [*call, "2"], call[:3]])
    answers = [(result.returncode, result.stdout) for _, result in found]
    assert answers[:3] == [(0, "match, score 0.7\n"), (1, "no match\n"), (0, "match, score 0.7\n")]
    assert answers[3:] == [(2, ""), (2, "")]


def test_check_ends_with_1_for_no_match(plain_event: str) -> None:
    result = tocsin("check", "origin = 'EWR'", plain_event)
    assert (result.returncode, result.stdout, result.stderr) == (1, "no match\n", "")


def test_check_takes_a_tree_and_an_event_from_stdin() -> None:
    tree = '{"op": "range", "attribute": "price", "ge": 5, "lt": 10}'
    assert tocsin("check", tree, "-", stdin='{"price": 7}').returncode == 0
    assert tocsin("check", tree, "-", stdin='{"price": 10}').returncode == 1


def test_check_takes_a_long_filter_from_a_file(plain_event: str, tmp_path: Path) -> None:
    file = tmp_path / "filter.txt"
    file.write_text("origin = 'JFK'\n  and dep_delay > 60\n")
    assert tocsin("check", f"@{file}", plain_event).returncode == 0


def test_explain_says_of_each_predicate_whether_it_holds(plain_event: str) -> None:
    result = tocsin("check", "origin = 'JFK' and not (dep_delay > 90 or gate exists)", plain_event, "--explain")
    assert result.returncode == 0
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()[1:]]
    assert [truth for truth, _ in lines] == ["true", "false", "false"]
    assert "'JFK'" in lines[0][1]
    assert "75" in lines[1][1]
    assert "absent" in lines[2][1]


def test_explain_shows_the_values_that_a_predicate_on_a_function_sees(plain_event: str) -> None:
    result = tocsin(
        "check", "dep_delay % 10 = 5 and length(carrier) > 2 and lower(gate) = 'a'", plain_event, "--explain"
    )
    assert result.stdout.splitlines()[1:] == [
        "  true   dep_delay % 10 = 5  (dep_delay % 10: 5)",
        "  false  length(carrier) > 2  (length(carrier): 2)",
        "  false  lower(gate) = 'a'  (lower(gate): absent)",
    ]


def test_explain_writes_values_as_filters_do() -> None:
    event = '{"on": true, "city": ["O\'Hare", "a\\u001b"], "n": -0.5}'
    result = tocsin("check", "on = 'true' or city = '' or n = ''", "-", "--explain", stdin=event)
    assert result.stdout.splitlines()[1:] == [
        "  false  on = 'true'  (on: true)",
        r"  false  city = ''  (city: 'O''Hare' 'a\x1b')",
        "  false  n = ''  (n: -0.5)",
    ]


def test_check_warns_of_a_filter_that_is_true_or_false_whatever_the_event(plain_event: str) -> None:
    always, never = "every event matches this filter", "no event can match this filter"
    expected = {
        "dep_delay > 60 or not dep_delay > 60": f'{always} because of "dep_delay > 60" and "not dep_delay > 60"',
        "gate is null or gate exists": f'{always} because of "gate not exists" and "gate exists"',
        "origin = 'JFK' and not (origin = 'JFK' and true)": (
            f"{never} because of \"origin = 'JFK'\" and \"not origin = 'JFK'\""
        ),
        "origin = 'JFK' and false": never,
        "origin = 'JFK' and carrier = 1 and carrier not in (1, 2)": (
            f'{never} because of "carrier = 1" and "carrier not in (1, 2)"'
        ),
        "length(carrier) < 0 and origin = 'JFK'": f'{never} because "length(carrier) < 0" never holds',
        "year(carrier) != '2020'": f"{always} because \"year(carrier) != '2020'\" always holds",
    }
    results = together(["check", filter_, plain_event] for filter_ in expected)
    for (call, result), said in zip(results, expected.values(), strict=True):
        assert result.returncode == (0 if said.startswith(always) else 1), call
        assert result.stderr == f"tocsin: warning: {said}\n", call


def test_the_page_on_filters_shows_the_warning_that_happens(plain_event: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "filters.md").read_text()
    call, *said = page.split("\n$ tocsin ")[1].split("\n```")[0].splitlines()
    result = tocsin(*shlex.split(call)[:-1], plain_event)
    assert [*result.stderr.splitlines(), *result.stdout.splitlines()] == said


def test_check_warns_neither_of_true_and_false_nor_of_what_depends_on_the_event(plain_event: str) -> None:
    """Two values of one attribute may satisfy two predicates that no single value does."""
    calls = [["check", filter_, plain_event] for filter_ in ("true", "false", "dep_delay > 90 and dep_delay < 60")]
    assert [result.stderr for _, result in together(calls)] == ["", "", ""]


def test_explain_walks_two_thousand_levels(plain_event: str) -> None:
    """The depth of an expression is a setting; what is said of its predicates does not recurse."""
    nested = "not " * 2000 + "origin = 'JFK'"
    result = tocsin("check", nested, plain_event, "--explain", "--set", "limits.depth=2000")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "match, score 0\n  true   origin = 'JFK'  (origin: 'JFK')\n"


@pytest.mark.parametrize(("opening", "closing"), [('{"op":"not","arg":', "}"), ('{"op":"and","args":[', "]}")])
def test_a_tree_of_two_thousand_levels_is_taken_as_json(
    opening: str, closing: str, plain_event: str, tmp_path: Path
) -> None:
    file = tmp_path / "tree.json"
    leaf = '{"op":"not_in","attribute":"origin","values":["EWR"]}'
    expected = {2_000: 0, 2_001: 2}
    for levels, code in expected.items():
        file.write_text(opening * levels + leaf + closing * levels)
        result = tocsin("check", f"@{file}", plain_event, "--set", "limits.depth=2000")
        assert result.returncode == code, result.stderr
        assert ("too deep" in result.stderr or "deeper than" in result.stderr) is (code == 2)
    file.write_text(opening * 1_998)
    result = tocsin("check", f"@{file}", plain_event, "--set", "limits.depth=2000")
    assert result.returncode == 2
    assert "JSON" in result.stderr


def test_a_refused_filter_ends_with_2_and_says_where(plain_event: str) -> None:
    expected = {
        "origin = = 'JFK'": "line 1, column 10",
        "origin = 'JFK'\nand dep_delay >": "line 2",
        "price between 20 and 10": "20",
        '{"op": "in", "attribute": "a", "values": []}': "values",
        '{"op": "in", "attribute": "a", "values": [1], "weigths": [1]}': "weigths",
        '{"op": ': "JSON",
        '{"op": "exists", "attribute": "a"}, "priority": 1': "JSON",
        "@/no/such/file": "/no/such/file",
    }
    results = together(["check", filter_, plain_event] for filter_ in expected)
    for (call, result), said in zip(results, expected.values(), strict=True):
        assert result.returncode == 2, call
        assert result.stdout == "", call
        assert result.stderr.startswith("tocsin: "), call
        assert said in result.stderr, call
        assert "Traceback" not in result.stderr, call


def test_a_syntax_error_is_shown_with_a_mark_under_its_column(plain_event: str) -> None:
    lines = tocsin("check", "origin = = 'JFK'", plain_event).stderr.splitlines()
    assert lines[-2] == "  origin = = 'JFK'"
    assert lines[-1].index("^") == lines[-2].index("= '")


def test_what_is_refused_in_a_filters_tree_is_shown_with_a_mark_too(plain_event: str) -> None:
    lines = tocsin("check", "\norigin = 'JFK' and\tdep_delay > 60^0.7", plain_event).stderr.splitlines()
    assert lines[-2] == "  origin = 'JFK' and dep_delay > 60^0.7"
    assert lines[-1].index("^") == lines[-2].index("0.7")


def test_of_a_long_line_what_stands_around_the_mark_is_shown() -> None:
    for before, after in ((0, 200_000), (30, 80), (200_000, 0), (200_000, 200_000)):
        refused = Refused("filter.syntax", "no", f"$.filter, line 2, column {before + 1}")
        text = "a\u2028\n" + "\x1bb" * (before // 2) + "?" + "c" * after + "\nd"
        with pytest.raises(TocsinError) as raised, pointing_at(text):
            raise refused
        _, line, mark = str(raised.value).splitlines()
        assert line[mark.index("^")] == "?"
        assert len(line) <= 200


@pytest.mark.parametrize("text", ["[1, 2]", "{", '{"$top": -1}', ""])
def test_an_event_that_is_none_ends_with_2(text: str) -> None:
    result = tocsin("check", "a exists", "-", stdin=text)
    assert result.returncode == 2
    assert result.stderr.startswith("tocsin: ")
    assert "Traceback" not in result.stderr


def test_what_check_prints_has_no_colours_even_when_they_are_forced(plain_event: str) -> None:
    assert tocsin("check", "origin = 'JFK'", plain_event, FORCE_COLOR="1").stdout == "match, score 1\n"
