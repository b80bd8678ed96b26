"""Words and numbers as a person reads them."""

from __future__ import annotations

import pytest

from index.oracle import as_score
from schemas.values import SCORE_SCALE
from stream.wording import counted, spell_score


@pytest.mark.parametrize(
    ("score", "spelt"),
    [
        (0.0, "0"),
        (2.0, "2"),
        (0.5, "0.5"),
        (-1.25, "-1.25"),
        (100.0, "100"),
        (1_234_567.5, "1234567.5"),
        (4_194_304.0, "4194304"),
        (as_score(round(0.1 * SCORE_SCALE)), "0.1"),
        (as_score(1), "0.000001"),
        (2.0**42, "4398046511104"),
    ],
)
def test_a_score_has_all_digits_before_the_point_and_none_behind_it_that_say_nothing(score: float, spelt: str) -> None:
    assert spell_score(score) == spelt


def test_what_is_counted_is_one_or_several() -> None:
    assert [counted(n, "event") for n in (0, 1, 2_000)] == ["0 events", "1 event", "2,000 events"]
