"""A worker whose answer nobody takes any more ends as Spark would end it, and leaves nothing in the log."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import socket, sys
from stream.daemon import ended_quietly

def worker(sock, authenticated):
    assert authenticated
    {body}

print("code", ended_quietly(worker)(socket.socket(), True), flush=True)
"""


@pytest.mark.parametrize(
    ("body", "code", "printed", "told"),
    [
        ("raise BrokenPipeError(32, 'Broken pipe')", 1, "", ""),
        ("return 7", 0, "code 7\n", ""),
        ("raise ValueError('another')", 1, "", "ValueError: another"),
    ],
    ids=["nobody listens", "answered", "another error"],
)
def test_only_a_broken_pipe_is_passed_over(body: str, code: int, printed: str, told: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(body=body)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, printed)
    assert told in done.stderr
    assert bool(told) == bool(done.stderr)


def test_what_is_loaded_before_the_first_fork_leaves_one_thread() -> None:
    """A lock that another thread holds when a process forks stays locked in the child."""
    code = "import os, stream.daemon as d; os.environ.update(d.SINGLE_THREADED); d.load(); print(d.threads())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert (done.stdout.strip(), done.stderr) == ("1", "")
