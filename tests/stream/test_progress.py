"""How far the index has come: who waits for it is woken, no sooner than it may be, by a stop too, and not for ever."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import pytest

from schemas.errors import TocsinError
from stream import progress as module
from stream.progress import IndexProgress, Stopping

LONG = 60.0


class Script:
    """Stands for the module `time` and for all waiting: each wait is noted, and the next step happens meanwhile."""

    def __init__(self, progress: IndexProgress, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []
        self.steps: list[Callable[[], None]] = []
        monkeypatch.setattr(module, "time", self)
        monkeypatch.setattr(progress._changed, "wait", self._wait)

    def monotonic(self) -> float:
        return self.now

    def at(self, seconds: float, then: Callable[[], None] = lambda: None) -> None:
        """Let the next wait last until so long after the beginning."""

        def step() -> None:
            self.now = 1_000.0 + seconds
            then()

        self.steps.append(step)

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.steps.pop(0)()


@pytest.fixture
def progress() -> IndexProgress:
    return IndexProgress(2, {0: 5, 1: 1})


@pytest.fixture
def script(progress: IndexProgress, monkeypatch: pytest.MonkeyPatch) -> Script:
    return Script(progress, monkeypatch)


def test_it_tells_the_latest_version_and_what_all_have_absorbed() -> None:
    given = {0: 5}
    progress = IndexProgress(2, given)
    given[0] = progress.absorbed[0] = 99
    assert (progress.version, progress.absorbed) == (2, {0: 5})
    progress.published(4, {1: 7})
    progress.published(3, {0: 6})
    assert (progress.version, progress.absorbed) == (4, {0: 6, 1: 7})


def test_what_is_absorbed_is_not_waited_for(progress: IndexProgress, script: Script) -> None:
    assert progress.wait_for({0: 5, 1: 0}, LONG) == 2
    assert progress.reaches({}, 0.0)
    assert script.waits == []


def test_a_wait_goes_on_until_all_is_absorbed_and_returns_the_version_that_has_it(
    progress: IndexProgress, script: Script
) -> None:
    script.at(1, lambda: progress.published(3, {0: 6}))
    script.at(4, lambda: progress.published(4, {1: 2}))
    assert progress.wait_for({0: 6, 1: 2}, 10) == 4
    assert script.waits == [10, 9]


def test_a_wait_that_is_too_long_is_told_with_both_offsets(progress: IndexProgress, script: Script) -> None:
    script.at(10)
    with pytest.raises(TocsinError, match=r"up to \{0: 6\} within 10 s \(it is at \{0: 5, 1: 1\}\); start the job"):
        progress.wait_for({0: 6}, 10)
    assert script.waits == [10]


def test_each_pause_begins_the_time_of_who_waits_anew(progress: IndexProgress, script: Script) -> None:
    script.at(6, lambda: progress.pause(0))
    script.at(12)
    script.at(16)
    assert not progress.reaches({0: 6}, 10)
    assert script.waits == [10, 10, 4]


def test_a_pause_lasts_for_all_of_its_time_and_a_sleep_at_most_so_long(progress: IndexProgress, script: Script) -> None:
    script.at(3, lambda: progress.published(3, {}))
    script.at(10)
    progress.pause(10)
    assert script.waits == [10, 7]
    script.at(12)
    progress.sleep(5)
    assert script.waits == [10, 7, 5]


WAYS: list[Callable[[IndexProgress], object]] = [
    lambda progress: progress.sleep(LONG),
    lambda progress: progress.pause(LONG),
    lambda progress: progress.wait_for({0: 6}, LONG),
]


@pytest.mark.parametrize("wait", WAYS)
def test_a_stop_ends_every_wait_that_is_under_way_or_begins(
    progress: IndexProgress, script: Script, wait: Callable[[IndexProgress], object]
) -> None:
    script.at(1, progress.stop)
    for _ in range(2):
        with pytest.raises(Stopping):
            wait(progress)
    assert script.waits == [LONG]


@pytest.mark.parametrize("wake", [IndexProgress.stop, lambda progress: progress.published(3, {0: 6})])
def test_who_waits_in_another_thread_is_woken(
    progress: IndexProgress, wake: Callable[[IndexProgress], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, real = threading.Event(), progress._changed.wait

    def noted(seconds: float) -> bool:
        waits.set()  # with the lock, which who wakes it needs
        return real(seconds)

    def wait() -> None:
        with contextlib.suppress(Stopping):
            progress.wait_for({0: 6}, LONG)

    monkeypatch.setattr(progress._changed, "wait", noted)
    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    assert waits.wait(LONG)
    wake(progress)
    waiting.join(LONG / 6)
    assert not waiting.is_alive()
