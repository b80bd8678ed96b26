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
