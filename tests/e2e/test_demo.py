"""The demo as a user runs it: it proves itself right, and Ctrl-C leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

COMMAND = [str(Path(sys.executable).with_name("tocsin")), "demo", "--events", "2000", "--subscriptions", "1000"]


def _start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        COMMAND,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )


def _session(leader: int) -> list[list[str]]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.cmdline())
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    return found


def _await_nothing_left(demo: subprocess.Popen[str], folder: Path) -> None:
    """The broker's watchdog notices the end of its owner a moment later."""
    deadline = time.monotonic() + 20
    while left := _session(demo.pid):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    assert [path.name for path in folder.iterdir() if path.name.startswith("tocsin")] == []


def test_the_demo_checks_its_notifications_against_the_oracle_and_ends_with_0(tmp_path: Path) -> None:
    demo = _start(tmp_path)
    output, _ = demo.communicate(timeout=240)
    assert demo.returncode == 0, output
    assert "p99" in output
    assert "\x1b[" not in output, "no colours where there is no terminal"
    _await_nothing_left(demo, tmp_path)


@pytest.mark.parametrize("moment", ["at once", "while the job starts", "while events flow"])
def test_ctrl_c_leaves_no_process_and_no_folder(tmp_path: Path, moment: str) -> None:
    demo = _start(tmp_path)
    assert demo.stdout is not None
    awaited = {"at once": "", "while the job starts": "broker", "while events flow": "job"}[moment]
    for line in demo.stdout:
        if awaited in line and not (moment == "while the job starts" and "jars" in line):
            break
    os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: to the whole group
    output, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, output
    _await_nothing_left(demo, tmp_path)
