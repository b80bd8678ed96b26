"""The lock of a job's folders: one holder, named to the second, free again however the holder ends."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from schemas.errors import TocsinError
from stream.lock import LOCK_FILE, FolderLock, holder

HOLD = """
import subprocess, sys
from pathlib import Path
from stream.lock import FolderLock
with FolderLock(Path(sys.argv[1]), "job.index_dir", "first"):
    child = subprocess.Popen(["sleep", "60"])
    print(child.pid, flush=True)
    sys.stdin.read()
"""


def _hold(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_second_process_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    with _hold(tmp_path / "new") as holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        opened = len(list(Path("/proc/self/fd").iterdir()))
        words = rf"new is in use by job first, process {holder.pid} on \S+ since .*; stop that one, or .* \(job\.x\)"
        with pytest.raises(TocsinError, match=words), FolderLock(tmp_path / "new", "job.x", "second"):
            pass
        assert len(list(Path("/proc/self/fd").iterdir())) == opened
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait()  # and not for the end of its output, which the child holds
    with FolderLock(tmp_path / "new", "job.x", "second"):
        pass
    subprocess.run(["kill", str(child)], check=True)


def test_a_killed_holder_frees_the_folder_even_while_a_child_of_it_lives(tmp_path: Path) -> None:
    with _hold(tmp_path) as holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        holder.kill()
        holder.wait()
        with FolderLock(tmp_path, "job.x", "second"):
            assert f'"pid":{holder.pid}' not in (tmp_path / LOCK_FILE).read_text()
    subprocess.run(["kill", str(child)], check=True)


def test_a_folder_that_can_not_be_written_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(TocsinError, match=r"can't be taken: \S+file is a file.*\(job\.x\)"),
        FolderLock(tmp_path / "file", "job.x", "j"),
    ):
        pass


def test_a_lock_that_can_not_be_written_down_is_refused_with_the_cure_and_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    opened = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as patched:
        patched.setattr("os.pwrite", full)
        refused = pytest.raises(TocsinError, match=r"can't be taken: No space left .* with room .*\(job\.x\)")
        with refused, FolderLock(tmp_path, "job.x", "j"):
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == opened
    assert holder(tmp_path) is None
    with FolderLock(tmp_path, "job.x", "j") as lock:
        monkeypatch.setattr("os.pwrite", full)
        with pytest.raises(TocsinError, match=r"No space left .*\(job\.x\)"):
            lock.tell("http://127.0.0.1:9404")


def test_whoever_asks_is_told_who_holds_a_folder_and_where_that_job_answers(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with FolderLock(tmp_path, "job.index_dir", "first") as lock:
        found = holder(tmp_path)
        assert found is not None
        assert (found.job, found.pid, found.endpoint) == ("first", os.getpid(), None)
        lock.tell("http://127.0.0.1:9404")
        found = holder(tmp_path)
        assert found is not None
        assert found.endpoint == "http://127.0.0.1:9404"
        lock.tell(None)
        found = holder(tmp_path)
        assert found is not None
        assert (found.job, found.endpoint) == ("first", None), "nothing is left of what was longer"
    assert (tmp_path / LOCK_FILE).exists()
    assert holder(tmp_path) is None


def test_asking_does_not_keep_a_job_from_its_folder(tmp_path: Path) -> None:
    """Who asks takes the lock for a moment; a job that comes just then tries again."""
    (tmp_path / LOCK_FILE).touch()
    with (tmp_path / LOCK_FILE).open() as asked:
        fcntl.flock(asked, fcntl.LOCK_SH)
        release = threading.Timer(0.06, lambda: fcntl.flock(asked, fcntl.LOCK_UN))
        release.start()
        with FolderLock(tmp_path, "job.index_dir", "second"):
            assert holder(tmp_path) is not None
        release.join()
        assert holder(tmp_path) is None
        fcntl.flock(asked, fcntl.LOCK_SH)
        assert holder(tmp_path) is None, "another who asks holds nothing"


def test_a_holder_that_is_no_job_is_told_by_what_it_is(tmp_path: Path) -> None:
    words = r"in use by tocsin index verify, process \d+ on .*; stop that one, or wait"
    with FolderLock(tmp_path, "job.x", "", kind="tocsin index verify"), pytest.raises(TocsinError, match=words):
        FolderLock(tmp_path, "job.x", "second", instead="wait").__enter__()


@pytest.mark.parametrize("content", ["", '{"job":'])
def test_a_folder_is_held_also_while_its_file_does_not_say_by_whom(tmp_path: Path, content: str) -> None:
    with FolderLock(tmp_path, "job.x", "first"):
        (tmp_path / LOCK_FILE).write_text(content)
        assert holder(tmp_path) is not None
        with pytest.raises(TocsinError, match="is in use by another process; stop that one"):
            FolderLock(tmp_path, "job.x", "second").__enter__()


def test_folder_and_file_are_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with FolderLock(tmp_path / "new", "job.x", "j"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / LOCK_FILE).stat().st_mode) == 0o600
