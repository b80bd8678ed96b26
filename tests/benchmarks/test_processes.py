"""Processes that end while a test looks at them are passed over, and so are those that are only being started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from benchmarks import processes
from tests.waiting import wait_for

WORDS = "import time; time.sleep(60)"


@pytest.fixture
def sleepers() -> Iterator[list[subprocess.Popen[bytes]]]:
    started = [subprocess.Popen([sys.executable, "-c", WORDS]) for _ in range(2)]
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_one_that_ends_between_two_looks_is_not_among_the_living(sleepers: list[subprocess.Popen[bytes]]) -> None:
    ends, stays = sleepers

    def is_ours(process: psutil.Process) -> bool:
        if process.pid == ends.pid:
            ends.kill()
            ends.wait()
        return process.pid in (ends.pid, stays.pid)

    assert [process.pid for process in processes.living(is_ours, WORDS)] == [stays.pid]


def test_one_that_has_ended_has_no_command_no_children_and_takes_no_signal(
    sleepers: list[subprocess.Popen[bytes]],
) -> None:
    ended, stays = [psutil.Process(process.pid) for process in sleepers]
    assert WORDS in processes.command_of(ended)
    sleepers[0].kill()
    wait_for(lambda: ended.status() == psutil.STATUS_ZOMBIE, 30)
    assert processes.command_of(ended) == ""
    assert processes.children_of(ended) == []
    sleepers[0].wait()
    assert processes.command_of(ended) == ""
    assert processes.children_of(ended) == []
    processes.kill([ended, stays])
    assert sleepers[1].wait(30) == -9


def test_a_child_with_its_parents_command_line_is_not_among_the_outermost(
    sleepers: list[subprocess.Popen[bytes]],
) -> None:
    """As that of Java, which has Java's until it runs its own."""
    forks = "import os, time; pid = os.fork(); pid and os.write(1, b'%d\\n' % pid); time.sleep(60)"
    alone = psutil.Process(sleepers[0].pid)
    parent = subprocess.Popen([sys.executable, "-c", forks], stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        found = processes.living(lambda process: process.pid in (child, parent.pid, alone.pid))
        assert {process.pid for process in found} == {child, parent.pid, alone.pid}
        assert {process.pid for process in processes.outermost(found)} == {parent.pid, alone.pid}
    finally:
        started = psutil.Process(parent.pid)
        processes.kill([*processes.children_of(started), started])
        parent.communicate()
