"""Arguments that a command refuses: wrong usage, values that an option can't take, text that is not UTF-8."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from stream.commands.values import moment, time_text
from tests.stream.console import tocsin, together


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


def test_arguments_that_are_not_utf8_are_refused_in_a_sentence(plain_event: str) -> None:
    filter_, tree = "origin = '\udcff'", '{"op":"in","attribute":"origin","values":["\udcff"]}'
    calls = [
        ["check", filter_, plain_event],
        ["check", tree, plain_event],
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


def test_a_filter_is_refused_before_a_broker_is_asked() -> None:
    result = tocsin("subscribe", "s-1", "price >", "--set", "kafka.bootstrap_servers=localhost:1")
    assert result.returncode == 1
    assert "line 1" in result.stderr
    assert "localhost:1" not in result.stderr


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


def test_what_was_meant_is_named_where_an_argument_is_wrong(plain_event: str, tmp_path: Path) -> None:
    (tmp_path / "endless.json").write_text('{"a": "1e999", "b": -1e999}')
    expected = [
        (["check", "@", plain_event], 2, "@ names no file; write @FILE, or @- for stdin"),
        (
            ["check", "@nofile", plain_event],
            2,
            "nofile can't be read: No such file or directory; give the path of a file, or @-",
        ),
        (
            ["check", "a = 1", "nofile"],
            2,
            "nofile can't be read: No such file or directory; give the path of a file, or - ",
        ),
        (["check", "a = 1", ""], 2, "a file without a name can't be read"),
        (["index", "import", ""], 1, "a file without a name can't be read"),
        (["check", "a = 1", str(tmp_path / "endless.json")], 2, "(at byte 20)"),
        (
            ["subscribe", "x", "--expression", "a = 1"],
            1,
            "'a = 1' is no tree as JSON, which --expression takes; a filter",
        ),
        (["subscribe", "x", "a = 1", "--label", "foo=1", "--label", "foo=2"], 2, "'foo' is given twice"),
        (["demo", "--keep", f"{plain_event}/x"], 1, "can't be made: Not a directory; name one that this user may make"),
        (["status", "--endpoint", "foo"], 2, "'foo' is no URL; write it like http://127.0.0.1:9404"),
    ]
    results = together((call for call, _, _ in expected), COLUMNS="200")
    for (call, result), (_, code, said) in zip(results, expected, strict=True):
        assert (result.returncode, result.stdout) == (code, ""), call
        assert said in result.stderr, call
