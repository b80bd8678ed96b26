"""How far a lagging job says it is."""

from __future__ import annotations

import math

import pytest

from stream.catch_up import CatchUp, told
from stream.metrics import Snapshot, line


def test_the_time_left_is_the_lag_over_the_rate_at_which_it_shrinks() -> None:
    catch_up = CatchUp()
    assert catch_up.seconds(10_000, 100.0) is None
    assert catch_up.seconds(8_000, 102.0) == 8.0
    assert catch_up.seconds(7_000, 104.0) == pytest.approx(7_000 / 750)
    assert catch_up.seconds(0, 106.0) is None


def test_a_lag_that_grows_has_no_end() -> None:
    catch_up = CatchUp()
    catch_up.seconds(10, 0.0)
    assert catch_up.seconds(20, 1.0) == math.inf
    assert catch_up.seconds(15, 2.0) == math.inf, "it shrank once, by less than it grew before"
    assert catch_up.seconds(5, 3.0) == pytest.approx(5 / 3.75)


def test_it_is_told_beside_the_lag_unless_the_job_keeps_up() -> None:
    assert [told(seconds) for seconds in (None, 0.5, 40.4, 600.0, 9_000.0, math.inf)] == [
        "",
        "",
        " (caught up in about 40 s)",
        " (caught up in about 10 min)",
        " (caught up in about 2 h)",
        " (not shrinking)",
    ]
    assert ", lag 12,000 (caught up in about 8 s), index" in line(Snapshot(seconds=5.0), 12_000, 1, 1, catch_up=8.0)
