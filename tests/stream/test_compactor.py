"""The compaction's supervision: a process that ends is started again, after pauses that grow while it ends at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stream import compactor
from stream.compactor import Compactor, Ended
from tests.waiting import wait_for

FAILS = "import sys; print('no space left', file=sys.stderr); sys.exit(1)"
MERGES = "print(0.5, flush=True)"


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(compactor, "time", clock)
    return clock


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[[str], Compactor]]:
    """Return what makes a compactor of a program in the place of the compaction."""
    made: list[Compactor] = []

    def of(program: str) -> Compactor:
        made.append(Compactor(tmp_path / "index", tmp_path / "log" / "output", merged=lambda _: None))
        made[-1]._command = [sys.executable, "-c", program]
        return made[-1]

    yield of
    for one in made:
        one.__exit__(None, None, None)


def until_it_ends(watched: Compactor) -> Ended:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (ended := watched.keep_running()) is not None:
            return ended
        time.sleep(0.01)
    raise AssertionError("it did not end")


def test_an_error_that_lasts_is_met_ever_more_seldom(
    clock: Clock, watched: Callable[[str], Compactor], tmp_path: Path
) -> None:
    failing = watched(FAILS)
    pauses = []
    for _ in range(8):
        ended = until_it_ends(failing)
        assert ended.code == 1
        pauses.append(ended.pause)
        clock.now += ended.pause - 0.01
        assert failing.keep_running() is None
        assert failing._process is None, "not before the pause is over"
        clock.now += 0.02
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert (tmp_path / "log" / "output").read_text().splitlines() == ["no space left"] * 8


def test_the_pause_is_the_first_again_after_a_merge_or_a_minute(
    clock: Clock, watched: Callable[[str], Compactor]
) -> None:
    one = watched(FAILS)
    for expected in (1, 2, 4):
        assert until_it_ends(one).pause == expected
        clock.now += expected
    one.keep_running()
    clock.now += 61
    assert until_it_ends(one).pause == 1, "it has lived for a minute"
    one._command = [sys.executable, "-c", MERGES]
    clock.now += 1
    one.keep_running()
    wait_for(lambda: one._has_merged, 30)
    assert until_it_ends(one).pause == 1, "it has merged something"
