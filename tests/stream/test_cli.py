"""The command line as a whole: the commands that there are, their help, what it imports, and a pipe that is closed."""

from __future__ import annotations

import subprocess
import sys

import typer.main

from stream.command_table import app
from tests.stream.console import ESCAPE, TOCSIN, tocsin, together

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


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


def test_help_and_settings_import_nothing_heavy() -> None:
    """Spark, Numba, the Kafka client and their like are imported by the commands that need them only."""
    heavy = "pyspark numba numpy pyarrow pandas confluent_kafka lark obstore prometheus_client re2"
    program = (
        f"import sys, stream.command_table, stream.settings; print(*(m for m in '{heavy}'.split() if m in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


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
