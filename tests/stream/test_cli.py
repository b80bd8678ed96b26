"""The command line without a broker: help, usage errors, exit codes, pipes, `check` and `settings`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import typer.main

from schemas.errors import Refused, TocsinError
from stream.command_table import app
from stream.commands.shared import pointing_at
from stream.commands.values import moment, time_text
from stream.settings import load_settings

TOCSIN = str(Path(sys.executable).with_name("tocsin"))
COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
ESCAPE = "\x1b"


def tocsin(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the console script as a shell would, in a pipe."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    return subprocess.run(
        [TOCSIN, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=clean | environment,
    )


def together(calls: Iterable[Sequence[str]], **options: str) -> Iterator[tuple[str, subprocess.CompletedProcess[str]]]:
    """Run several command lines side by side, since most of a run is the interpreter's start."""
    calls = list(calls)
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda call: tocsin(*call, **options), calls)
        yield from zip(map(shlex.join, calls), results, strict=True)


@pytest.fixture
def event(tmp_path: Path) -> str:
    file = tmp_path / "event.json"
    file.write_text('{"origin": "JFK", "carrier": ["B6", "AA"], "dep_delay": 75}')
    return str(file)


def test_the_commands_of_the_documentation_exist() -> None:
    expected = (
        "broker check dead-letters demo explain index listen publish run settings similar status subscribe topics "
        "unsubscribe verify"
    )
    assert expected.split() == COMMANDS


def test_each_help_has_an_example_and_no_colour_codes_in_a_pipe() -> None:
    for call, result in together([command, "--help"] for command in COMMANDS):
        assert result.returncode == 0, call
        assert f"tocsin {call.split()[0]}" in result.stdout.split("Example", 1)[1], call
        assert ESCAPE not in result.stdout, call
        assert result.stderr == "", call


def test_version_names_the_distribution_and_its_version() -> None:
    result = tocsin("--version")
    assert result.returncode == 0
    assert result.stdout.startswith("tocsin 0.")


def test_help_imports_nothing_heavy() -> None:
    """Spark, Numba, the Kafka client and their like are imported by the commands that need them only."""
    heavy = "pyspark numba numpy pyarrow pandas confluent_kafka lark obstore prometheus_client"
    program = f"import sys, stream.command_table; print(*(m for m in '{heavy}'.split() if m in sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def test_wrong_usage_ends_with_2_and_says_so_on_stderr() -> None:
    calls = [
        ["frobnicate"],
        ["subscribe"],
        ["subscribe", "s-1"],
        ["subscribe", "s-1", "a = 1", "--expression", "{}"],
        ["subscribe", "s-1", "a = 1", "--label", "desk"],
        ["listen", "--count", "0"],
        ["publish", "--rate", "fast", "-"],
        ["broker", "--port", "70000"],
        ["run", "--no-such-option"],
    ]
    for call, result in together(calls):
        assert result.returncode == 2, call
        assert result.stdout == "", call
        assert "Usage: tocsin" in result.stderr, call
        assert "Traceback" not in result.stderr, call


def test_arguments_that_are_not_utf8_are_refused_in_a_sentence(event: str) -> None:
    filter_, tree = "origin = '\udcff'", '{"op":"in","attribute":"origin","values":["\udcff"]}'
    calls = [
        ["check", filter_, event],
        ["check", tree, event],
        ["subscribe", "s-1", filter_],
        ["subscribe", "s-1", "--expression", tree],
        ["subscribe", "s-\udcff", "a = 1"],
        ["subscribe", "s-1", "a = 1", "--label", "desk=\udcff"],
        ["subscribe", "s-1", "a = 1", "--not-after", "\udcff"],
        ["unsubscribe", "s-\udcff"],
    ]
    for call, result in together(calls):
        assert (result.returncode, result.stdout) == (2 if "check" in call else 1, ""), call
        assert result.stderr.startswith("tocsin: the "), call
        assert result.stderr.endswith("give it in UTF-8\n"), call
        assert len(result.stderr.splitlines()) == 1, call


def test_a_value_that_an_option_can_not_take_is_named_with_one_that_it_can() -> None:
    subscribe, number, whole = (
        ["subscribe", "s", "a = 1"],
        "is no number; write one such as",
        "is no whole number; write",
    )
    expected = [
        ([*subscribe, "--priority", "nan"], f"nan {number}"),
        ([*subscribe, "--priority=-inf"], f"-inf {number}"),
        ([*subscribe, "--priority", "abc"], f"'abc' {number}"),
        (["publish", "-", "--rate", "nan"], f"'nan' {number}"),
        (["publish", "-", "--rate", "inf"], f"inf {number}"),
        (["publish", "-", "--rate", "0"], "0 is too small; the least is 0.001"),
        (["verify", "--seconds", "infinity"], f"inf {number}"),
        (["index", "verify", "--seconds", "nan"], f"'nan' {number}"),
        (["listen", "--count", "1.5"], f"'1.5' {whole}"),
        (["similar", "a = 1", "--limit", "few"], f"'few' {whole}"),
        (["broker", "--port", "70000"], "70000 is too large; the most is 65535"),
        ([*subscribe, "--not-before", "yesterday"], "'yesterday' is no time; write it like 2026-05-01T08:00:00Z"),
        ([*subscribe, "--not-after", "2026-02-30"], "'2026-02-30' is no time"),
    ]
    results = together((call for call, _ in expected), COLUMNS="200")
    for (call, result), (_, said) in zip(results, expected, strict=True):
        assert result.returncode == 2, call
        assert said in result.stderr, call
        assert f"'{next(word for word in shlex.split(call) if word[:2] == '--').partition('=')[0]}'" in result.stderr


@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("2026-12-31", "2026-12-31T00:00:00Z"),
        ("2026-12-31T10:00:00+02:00", "2026-12-31T08:00:00Z"),
        ("2026-12-31 10:00:00.5Z", "2026-12-31T10:00:00.500000Z"),
    ],
)
def test_a_date_as_a_bound_is_its_midnight_as_explain_has_it(text: str, spelt: str) -> None:
    assert time_text(text, "--not-before") == spelt
    assert moment(text, "--time") == moment(spelt, "--time")


def test_check_ends_with_0_for_a_match_and_prints_the_score(event: str) -> None:
    result = tocsin("check", "origin in ('JFK'^0.5, 'LGA') and carrier in ('B6', 'AA'^2)", event)
    assert (result.returncode, result.stdout) == (0, "match, score 3.5\n")


def test_check_takes_the_modes_that_match_in_part(event: str) -> None:
    call = ["check", "origin = 'JFK'^0.7 and price > 1e9^0.3", event, "--mode", "threshold", "--threshold"]
    found = together([[*call, "0.7"], [*call, "0.71"], [*call[:3], "--mode", "relaxed"], [*call, "2"], call[:3]])
    answers = [(result.returncode, result.stdout) for _, result in found]
    assert answers[:3] == [(0, "match, score 0.7\n"), (1, "no match\n"), (0, "match, score 0.7\n")]
    assert answers[3:] == [(2, ""), (2, "")]


def test_check_ends_with_1_for_no_match(event: str) -> None:
    result = tocsin("check", "origin = 'EWR'", event)
    assert (result.returncode, result.stdout, result.stderr) == (1, "no match\n", "")


def test_check_takes_a_tree_and_an_event_from_stdin() -> None:
    tree = '{"op": "range", "attribute": "price", "ge": 5, "lt": 10}'
    assert tocsin("check", tree, "-", stdin='{"price": 7}').returncode == 0
    assert tocsin("check", tree, "-", stdin='{"price": 10}').returncode == 1


def test_check_takes_a_long_filter_from_a_file(event: str, tmp_path: Path) -> None:
    file = tmp_path / "filter.txt"
    file.write_text("origin = 'JFK'\n  and dep_delay > 60\n")
    assert tocsin("check", f"@{file}", event).returncode == 0


def test_explain_says_of_each_predicate_whether_it_holds(event: str) -> None:
    result = tocsin("check", "origin = 'JFK' and not (dep_delay > 90 or gate exists)", event, "--explain")
    assert result.returncode == 0
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()[1:]]
    assert [truth for truth, _ in lines] == ["true", "false", "false"]
    assert "'JFK'" in lines[0][1]
    assert "75" in lines[1][1]
    assert "absent" in lines[2][1]


def test_explain_shows_the_values_that_a_predicate_on_a_function_sees(event: str) -> None:
    result = tocsin("check", "dep_delay % 10 = 5 and length(carrier) > 2 and lower(gate) = 'a'", event, "--explain")
    assert result.stdout.splitlines()[1:] == [
        "  true   dep_delay % 10 = 5  (dep_delay % 10: 5)",
        "  false  length(carrier) > 2  (length(carrier): 2)",
        "  false  lower(gate) = 'a'  (lower(gate): absent)",
    ]


def test_check_warns_of_a_filter_that_is_true_or_false_whatever_the_event(event: str) -> None:
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
    results = together(["check", filter_, event] for filter_ in expected)
    for (call, result), said in zip(results, expected.values(), strict=True):
        assert result.returncode == (0 if said.startswith(always) else 1), call
        assert result.stderr == f"tocsin: warning: {said}\n", call


def test_the_page_on_filters_shows_the_warning_that_happens(event: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "filters.md").read_text()
    call, *said = page.split("\n$ tocsin ")[1].split("\n```")[0].splitlines()
    result = tocsin(*shlex.split(call)[:-1], event)
    assert [*result.stderr.splitlines(), *result.stdout.splitlines()] == said


def test_check_warns_neither_of_true_and_false_nor_of_what_depends_on_the_event(event: str) -> None:
    """Two values of one attribute may satisfy two predicates that no single value does."""
    calls = [["check", filter_, event] for filter_ in ("true", "false", "dep_delay > 90 and dep_delay < 60")]
    assert [result.stderr for _, result in together(calls)] == ["", "", ""]


def test_explain_walks_two_thousand_levels(event: str) -> None:
    """The depth of an expression is a setting; what is said of its predicates does not recurse."""
    nested = "not " * 1999 + "origin = 'JFK'"
    result = tocsin("check", nested, event, "--explain", "--set", "limits.depth=2000")
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout == "no match\n  true   origin = 'JFK'  (origin: 'JFK')\n"


@pytest.mark.parametrize(("opening", "closing"), [('{"op":"not","arg":', "}"), ('{"op":"and","args":[', "]}")])
def test_a_tree_of_two_thousand_levels_is_taken_as_json(opening: str, closing: str, event: str, tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    leaf = '{"op":"not_in","attribute":"origin","values":["EWR"]}'
    expected = {1_998: 0, 2_000: 2}
    for levels, code in expected.items():
        file.write_text(opening * levels + leaf + closing * levels)
        result = tocsin("check", f"@{file}", event, "--set", "limits.depth=2000")
        assert result.returncode == code, result.stderr
        assert ("too deep" in result.stderr or "deeper than" in result.stderr) is (code == 2)
    file.write_text(opening * 1_998)
    result = tocsin("check", f"@{file}", event, "--set", "limits.depth=2000")
    assert result.returncode == 2
    assert "JSON" in result.stderr


def test_a_refused_filter_ends_with_2_and_says_where(event: str) -> None:
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
    results = together(["check", filter_, event] for filter_ in expected)
    for (call, result), said in zip(results, expected.values(), strict=True):
        assert result.returncode == 2, call
        assert result.stdout == "", call
        assert result.stderr.startswith("tocsin: "), call
        assert said in result.stderr, call
        assert "Traceback" not in result.stderr, call


def test_a_syntax_error_is_shown_with_a_mark_under_its_column(event: str) -> None:
    lines = tocsin("check", "origin = = 'JFK'", event).stderr.splitlines()
    assert lines[-2] == "  origin = = 'JFK'"
    assert lines[-1].index("^") == lines[-2].index("= '")


def test_what_is_refused_in_a_filters_tree_is_shown_with_a_mark_too(event: str) -> None:
    lines = tocsin("check", "\norigin = 'JFK' and\tdep_delay > 60^0.7", event).stderr.splitlines()
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


def test_a_filter_is_refused_before_a_broker_is_asked() -> None:
    result = tocsin("subscribe", "s-1", "price >", "--set", "kafka.bootstrap_servers=localhost:1")
    assert result.returncode == 1
    assert "line 1" in result.stderr
    assert "localhost:1" not in result.stderr


def test_settings_prints_a_file_that_says_the_same_when_read_back(tmp_path: Path) -> None:
    file = tmp_path / "tocsin.toml"
    result = tocsin("settings", "--set", "job.top=7", "--set", "spark.spark.driver.memory=3g")
    assert result.returncode == 0
    file.write_text(result.stdout)
    settings = load_settings(file, environ={})
    assert settings.job.top == 7
    assert settings == load_settings(None, ["job.top=7", "spark.spark.driver.memory=3g"], environ={})


def test_options_after_the_command_go_over_those_before_it_and_over_environment_and_file(tmp_path: Path) -> None:
    file = tmp_path / "tocsin.toml"
    file.write_text("[job]\ntop = 1\nname = 'from-file'\nemit = 'event'\n[topics]\npartitions = 9\n")
    result = tocsin(
        *("--config", str(file), "--set", "job.top=3", "settings", "--set", "job.top=4"),
        TOCSIN_JOB__TOP="2",
        TOCSIN_JOB__NAME="from-environment",
    )
    assert result.returncode == 0
    assert "\ntop = 4\n" in result.stdout
    assert '\nname = "from-environment"\n' in result.stdout
    assert '\nemit = "event"\n' in result.stdout
    assert "\npartitions = 9\n" in result.stdout
    assert tocsin("settings", TOCSIN_CONFIG=str(file)).stdout.count("partitions = 9") == 1


def test_a_failure_is_one_sentence_on_stderr_and_exit_code_1() -> None:
    expected = [
        (["publish", "/no/such.jsonl"], "/no/such.jsonl"),
        (["publish", "-", "--set", "events.format=avro"], "avro"),
        (["subscribe", "s-1", "a = 1", "--set", "subscriptions.format=avro"], "avro"),
        (["subscribe", "s-1", "a = 1", "--priority", "1e300"], "priority"),
    ]
    for (call, result), (_, said) in zip(together(call for call, _ in expected), expected, strict=True):
        assert result.returncode == 1, call
        assert result.stdout == "", call
        assert result.stderr.startswith("tocsin: "), call
        assert said in result.stderr, call
        assert len(result.stderr.splitlines()) == 1, call


def test_a_setting_that_can_not_be_is_wrong_usage_in_every_command(event: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("[job\n")
    wrong, filter_ = ["--set", "job.topp=5"], "a = 1"
    expected = [
        (["--set", "job.topp=5", "settings"], "job.topp"),
        (["settings", "--set", "job.top"], "table.name=value"),
        (["settings", "--set", "job.top=many"], "job.top"),
        (["settings", "--config", "/no/such.toml"], "/no/such.toml"),
        (["settings", "--config", str(tmp_path / "wrong.toml")], "is not TOML"),
        (["run", "--engine", "nosuch"], "job.engine can't be 'nosuch' (--engine)"),
        (["index", "stats", "--index", ""], "job.index_dir can't be '' (--index)"),
        (["similar", filter_, "--set", "job.index_dir="], "job.index_dir can't be '' (--set job.index_dir)"),
        (["listen", *wrong], "job.topp"),
        (["run", *wrong], "job.topp"),
        (["check", filter_, event, *wrong], "job.topp"),
        (["similar", filter_, *wrong], "job.topp"),
        (["index", "stats", *wrong], "job.topp"),
        (["subscribe", "s", filter_, *wrong], "job.topp"),
    ]
    for (call, result), (_, said) in zip(together(call for call, _ in expected), expected, strict=True):
        assert (result.returncode, result.stdout) == (2, ""), call
        assert result.stderr.startswith("tocsin: "), call
        assert said in result.stderr, call
        assert len(result.stderr.splitlines()) == 1, call


def test_what_was_meant_is_named_where_an_argument_is_wrong(event: str, tmp_path: Path) -> None:
    (tmp_path / "endless.json").write_text('{"a": "1e999", "b": -1e999}')
    expected = [
        (["check", "@", event], 2, "@ names no file; write @FILE, or @- for stdin"),
        (
            ["check", "@nofile", event],
            2,
            "nofile can't be read: No such file or directory; give the path of a file, or @-",
        ),
        (
            ["check", "a = 1", "nofile"],
            2,
            "nofile can't be read: No such file or directory; give the path of a file, or - ",
        ),
        (["check", "a = 1", ""], 2, "a file without a name can't be read"),
        (["check", "a = 1", str(tmp_path / "endless.json")], 2, "(at byte 20)"),
        (
            ["subscribe", "x", "--expression", "a = 1"],
            1,
            "'a = 1' is no tree as JSON, which --expression takes; a filter",
        ),
        (["subscribe", "x", "a = 1", "--label", "foo=1", "--label", "foo=2"], 2, "'foo' is given twice"),
        (["status", "--endpoint", "foo"], 2, "'foo' is no URL; write it like http://127.0.0.1:9404"),
    ]
    results = together((call for call, _, _ in expected), COLUMNS="200")
    for (call, result), (_, code, said) in zip(results, expected, strict=True):
        assert (result.returncode, result.stdout) == (code, ""), call
        assert said in result.stderr, call


def test_help_is_wrapped_by_the_width_of_the_terminal_alone() -> None:
    for width in ("70", "300"):
        shown = [line.strip() for line in tocsin("index", "import", "--help", COLUMNS=width).stdout.splitlines()]
        about = shown[shown.index(next(line for line in shown if line.startswith("A line is"))) :]
        paragraph = about[: about.index("")]
        assert len(paragraph) == 1 if width == "300" else all(len(line) > 50 for line in paragraph[:-1])
    assert " ID [FILTER]" in tocsin("subscribe", "--help").stdout.replace("{ID}", "ID")


def test_a_closed_pipe_ends_a_command_quietly() -> None:
    script = f"{TOCSIN} settings | head -n 1; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert result.stderr == ""
    assert result.stdout.splitlines()[-1] in ("0", "141")  # 0 when all was written before the reader went


def test_the_page_of_settings_in_docs_is_the_one_that_the_command_prints() -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    assert page.read_text() == tocsin("settings", "--markdown").stdout, "run `make docs`"


def test_what_check_prints_has_no_colours_even_when_they_are_forced(event: str) -> None:
    assert tocsin("check", "origin = 'JFK'", event, FORCE_COLOR="1").stdout == "match, score 1\n"
