"""broker, the command that runs one, and what the others say when there is none."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.stream.command_line import PATIENCE, CommandLine


def test_without_a_broker_each_command_says_so_in_one_sentence() -> None:
    line = CommandLine("localhost:1")
    calls = [["listen"], ["subscribe", "s", "a = 1"], ["dead-letters"], ["topics"], ["run"], ["publish", os.devnull]]
    processes = [line.start(*call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for call in calls]
    for call, process in zip(calls, processes, strict=True):
        out, err = process.communicate(timeout=PATIENCE)
        said = err.decode()
        assert process.returncode == 1, call
        assert out == b"", call
        assert said.startswith("tocsin: "), call
        assert "localhost:1" in said, call
        assert "tocsin broker" in said, call
        assert len(said.splitlines()) == 1, call


def test_the_broker_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    line = CommandLine("")
    data = tmp_path / "data"
    process = line.start(
        *("broker", "--port", "0", "--data", str(data)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    address = process.stdout.readline().decode().strip()
    line.environment["TOCSIN_KAFKA__BOOTSTRAP_SERVERS"] = address
    assert line("topics").returncode == 0
    taken = line("broker", "--port", address.rpartition(":")[2], "--data", str(tmp_path / "other"))
    assert taken.returncode == 1
    assert "is taken" in taken.stderr
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert b"Traceback" not in err
    assert data.exists()
