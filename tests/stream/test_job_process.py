"""The job's launcher: what it writes for the job, what it keeps from it, and how it tells of a job that ended."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from schemas.errors import TocsinError
from stream.demo.settings import demo_settings
from stream.job_process import JobProcess
from stream.settings import load_settings
from tests.waiting import wait_for


def test_the_settings_survive_their_file_and_ignore_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOCSIN_KAFKA__BOOTSTRAP_SERVERS", "elsewhere:9092")
    folder = tmp_path / 'a "quoted" folder, é 𝄞'
    folder.mkdir()
    settings = demo_settings(folder, "127.0.0.1:1234", 5)
    JobProcess(settings, folder)
    assert load_settings(folder / "tocsin.toml", environ={}) == settings
    assert settings.kafka.bootstrap_servers == "127.0.0.1:1234"
    assert settings.job.index_dir == str(folder / "index")


def test_a_job_that_ends_is_told_of_with_the_end_of_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_JOB__NO_SUCH_SETTING", "1")  # would be the reason, if the job saw it
    settings = load_settings(None, ["kafka.client.no.such.property=1"], {})
    with JobProcess(settings, tmp_path, working_folder=tmp_path) as job:
        assert job.wait(60) == 1
        with pytest.raises(TocsinError, match=r"exit code 1; its log ends with:\n.*no\.such\.property"):
            job.check()


STARTER = """
import os, signal, sys
from pathlib import Path
from stream.job_process import JobProcess
from stream.settings import load_settings

job = JobProcess(load_settings(Path(sys.argv[1]), [], {}), Path(sys.argv[2]))
job.start()
print(job.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_job_goes_when_its_starter_is_killed(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('[kafka]\nbootstrap_servers = "127.0.0.1:1"\n')
    command = [sys.executable, "-c", STARTER, str(settings), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    wait_for(lambda: not _alive(int(done.stdout)), 60, "the job goes on without its starter")
    said = (tmp_path / "job.log").read_text()
    assert said == "", "it came to its own end: it looks for its brokers for seconds, and says so"


def _alive(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False
