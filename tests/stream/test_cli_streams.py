"""What a command does when a standard stream is closed, full, gone or of another encoding, or Ctrl-C comes early."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from index.block.engine import BlockEngine
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.json_codec import decode_subscription
from tests.stream.console import TOCSIN

PRINTING = [
    "--version",
    "--help",
    "settings --help",
    "settings",
    "check 'origin = 1' event.json",
    "check 'origin = 2' event.json --explain",
    "explain late-jfk event.json",
    "explain event.json",
    "similar 'origin = 1'",
    "similar 'origin = 1' --json",
    "status --set kafka.bootstrap_servers=localhost:1",
    "index stats",
    "index stats --json",
    "index export",
    "index verify",
]
"""Commands that print something, whether they find what is looked for or not."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "event.json").write_text('{"origin": 1}')
    subscription = decode_subscription("late-jfk", json.dumps({"filter": "origin = 1 and gate = '☃'"}).encode())
    IndexWriter(folder / "index").publish([write_segment(folder / "index", BlockEngine(), [subscription])], [], {0: 1})
    return folder


def shell(folder: Path, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in the folder."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    clean |= {"TOCSIN_JOB__INDEX_DIR": "index", "PATH": f"{Path(TOCSIN).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=clean | environment,
    )


def failure(command: str) -> int:
    """Return the exit code of a command that could not do what it was asked for; 1 is an answer of check."""
    return 2 if command.startswith("check") else 1


@pytest.mark.parametrize(
    ("to", "said"),
    [(">/dev/full", "tocsin: the output can't be written: no space is left"), (">&-", "tocsin: the output can't be")],
)
def test_output_that_comes_to_nothing_is_a_sentence_and_a_failure(folder: Path, to: str, said: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda command: shell(folder, f"tocsin {command} {to}"), PRINTING))
    for command, result in zip(PRINTING, results, strict=True):
        assert (result.returncode, len(result.stderr.splitlines())) == (failure(command), 1), command + result.stderr
        assert result.stderr.startswith(said), command


def test_a_reader_that_has_gone_ends_each_command_as_the_signal_would(folder: Path) -> None:
    lines = [f"(sleep 0.3; exec tocsin {command}) | true; exit ${{PIPESTATUS[0]}}" for command in PRINTING]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda line: shell(folder, line), lines))
    for command, result in zip(PRINTING, results, strict=True):
        assert (result.returncode, result.stderr) == (141, ""), command


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("tocsin check 'a = 1' - <&-", 2, "can't be read: Bad file descriptor"),
        ("tocsin check @- event.json <&-", 2, "can't be read: Bad file descriptor"),
        ("tocsin publish - <&-", 1, "stdin can't be read: Bad file descriptor"),
        ("tocsin index import - --check <&-", 1, "stdin can't be read: Bad file descriptor"),
        ("tocsin verify - <&-", 1, "can't be read: Bad file descriptor"),
        ("tocsin check 'a = 1' event.json 2>&-", 1, ""),
        ("tocsin check 'a =' event.json 2>/dev/full", 2, ""),
        ("tocsin check 2>/dev/full", 2, ""),
        ("tocsin subscribe s 'a =' 2>/dev/full", 1, ""),
        ("PYTHONIOENCODING=latin-1 tocsin check \"gate = '☃'\" event.json --explain", 2, "has no '\\u2603'"),
        ("PYTHONIOENCODING=latin-1 tocsin explain late-jfk event.json", 1, "set PYTHONIOENCODING=utf-8"),
        ("PYTHONIOENCODING=latin-1 tocsin similar 'origin = 1'", 1, "the output is latin-1 text"),
        ("PYTHONIOENCODING=latin-1 tocsin similar 'origin = 1' --json", 0, ""),
    ],
)
def test_other_streams_that_are_closed_full_or_of_another_encoding(
    folder: Path, line: str, code: int, said: str
) -> None:
    result = shell(folder, line)
    assert result.returncode == code, result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) == bool(said)


EARLY = """
import sys
from stream.cli import main

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
main()
"""


def test_ctrl_c_while_the_command_line_is_imported_ends_it_quietly() -> None:
    result = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")
