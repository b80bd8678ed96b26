"""The demo as a user runs it: it proves itself right, and however it ends, it leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from benchmarks import processes

COMMAND = [str(Path(sys.executable).with_name("tocsin")), "demo", "--subscriptions", "1000"]
TAG = "DEMO_TEST"
"""A variable that every process of the demo inherits: broker and job have sessions of their own."""


class Demo:
    """A running demo, its output so far, and the processes and folders that are its."""

    def __init__(self, folder: Path, events: int) -> None:
        self._folder = folder
        self._tag = uuid.uuid4().hex
        self._lines: list[str] = []
        self.process = subprocess.Popen(
            [*COMMAND, "--events", str(events)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env=os.environ | {"TMPDIR": str(folder), TAG: self._tag},
        )

    def read_to(self, words: str) -> None:
        """Read its output up to a line with these words."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.append(line)
            if words in line:
                return
        pytest.fail(f"the demo ended before it said {words!r}:\n{''.join(self._lines)}")

    def end(self, seconds: float) -> str:
        """Wait for its end and return all its output."""
        rest, _ = self.process.communicate(timeout=seconds)
        return "".join(self._lines) + rest

    def members(self, words: str = "") -> list[psutil.Process]:
        """Return its living processes whose command line has these words."""
        return processes.living(lambda process: process.environ().get(TAG) == self._tag, words)

    def folders(self) -> list[str]:
        """Return what it has made in its temporary folder and not removed."""
        return [path.name for path in self._folder.iterdir()]

    def assert_nothing_left(self) -> None:
        """No folder and no process; Spark's workers notice the end of their Java a moment later."""
        deadline = time.monotonic() + 30
        while left := [*self.folders(), *map(processes.command_of, self.members())]:
            assert time.monotonic() < deadline, left
            time.sleep(0.05)


@pytest.fixture
def start() -> Iterator[Callable[[int], Demo]]:
    """Start demos whose temporary folder is theirs alone; its path is short, as the job's socket files need it."""
    started: list[Demo] = []
    folder = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))

    def begin(events: int) -> Demo:
        started.append(Demo(folder, events))
        return started[-1]

    yield begin
    for demo in started:
        processes.kill(demo.members())
    shutil.rmtree(folder, ignore_errors=True)


def test_the_demo_checks_its_notifications_against_the_oracle_and_ends_with_0(start: Callable[[int], Demo]) -> None:
    demo = start(2000)
    demo.read_to("done starting the job")
    assert demo.members("kafka.Kafka")
    assert demo.members("stream.cli")
    assert len(demo.folders()) >= 2
    output = demo.end(120)
    assert demo.process.returncode == 0, output
    assert "checked against the oracle" in output
    assert "1,000" in output.split("with the same ids, scores and ranks")[1].splitlines()[0]
    assert "\x1b[" not in output, "colours where there is no terminal"
    demo.assert_nothing_left()


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("jars", signal.SIGINT),
        ("done flights and subscriptions", signal.SIGTERM),
        ("done sending the subscriptions", signal.SIGINT),
        ("  starting the job", signal.SIGINT),
        ("done starting the job", signal.SIGHUP),
    ],
)
def test_a_signal_at_any_moment_leaves_no_process_and_no_folder(
    start: Callable[[int], Demo], moment: str, number: signal.Signals
) -> None:
    demo = start(20_000)
    demo.read_to(moment)
    os.killpg(demo.process.pid, number)  # as a terminal does: to the whole group
    output = demo.end(60)
    assert demo.process.returncode == 130, output
    demo.assert_nothing_left()


@pytest.mark.parametrize(
    ("moment", "words", "name"),
    [("  starting the job", "stream.cli", "the job"), ("  matching: ", "kafka.Kafka", "the broker")],
)
def test_a_part_that_dies_ends_the_demo_with_the_end_of_its_log(
    start: Callable[[int], Demo], moment: str, words: str, name: str
) -> None:
    demo = start(20_000)
    demo.read_to(moment)
    assert demo.members(words)
    processes.kill(demo.members(words))
    output = demo.end(60)
    assert demo.process.returncode == 1, output
    assert f"tocsin: {name} ended by itself" in output
    assert "ends with:" in output
    assert "Traceback" not in output
    demo.assert_nothing_left()
