"""The fuzzer: a short run finds no difference, and what it would find it finds, makes small and reports."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from index.block.matcher import BlockMatcher
from index.matches import Matches
from schemas import expression, records
from tests.fuzz import run
from tests.fuzz.reference import Answer, Reference
from tests.fuzz.seeds import first_wrong
from tests.fuzz.trial import FEW, Counts, compare

SMALL = 3
"""A seed with few subscriptions and events, some of whose matches score less than nothing."""


def test_a_run_of_five_seconds_finds_no_difference() -> None:
    counts = Counts()
    differing = run.fuzz(5, 2, counts)
    assert differing is None, run.reproduction(differing)
    assert counts.pairs > 10_000
    assert counts.matches > 100
    assert counts.compared == 25 * counts.trials
    assert counts.rows > 5 * counts.matches, "each is found by masks of every width"


def test_the_time_begins_after_the_first_trial() -> None:
    tried: list[int] = []

    def goes_wrong(seed: int) -> bool:
        tried.append(seed)
        time.sleep(0.2 if seed == 5 else 0.01)
        return False

    assert first_wrong(goes_wrong, 0.1, 5, str) is None
    assert len(tried) > 2
    for seconds, most, seeds in ((0.0, None, [5]), (9.0, 1, [5]), (9.0, 3, [5, 6, 7])):
        tried.clear()
        assert first_wrong(goes_wrong, seconds, 5, str, most) is None
        assert tried == seeds
    assert first_wrong(lambda seed: seed == 8, 9.0, 5, str) == 8


def test_a_run_that_did_next_to_nothing_fails_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for pairs, matches, rows, code, said in (
        (49_999, 9, 90, 1, "49,999 pairs are too few"),
        (50_000, 0, 0, 1, "no pair matched"),
        (50_000, 9, 8, 1, "answers had 8 rows of 9 matches"),
        (50_000, 9, 90, 0, "no difference"),
    ):
        little = Counts(pairs=pairs, matches=matches, rows=rows)

        def done(seconds: float, seed: int, counts: Counts, little: Counts = little) -> None:
            vars(counts).update(vars(little))

        monkeypatch.setattr(run, "fuzz", done)
        assert run.main(["--minutes", "1"]) == code
        assert said in capsys.readouterr().out.splitlines()[-1]


def test_every_mode_and_leaf_is_drawn_and_matches_now_and_then() -> None:
    matched: set[str] = set()
    for seed in range(2, 12):
        population, events = run.drawn(seed)
        reference = Reference(events[:50])
        for subscription in population:
            if reference.answer(subscription).holds.any():
                leaves = getattr(subscription.expression, "args", (subscription.expression,))
                matched |= {subscription.mode, *(type(leaf).__name__ for leaf in leaves)}
    kinds = {kind.__name__ for kind in expression.Leaf.__args__}
    assert matched >= kinds | {"all", "relaxed", "threshold", "And", "Or", "Not"}


def _without_negative(self: BlockMatcher, *args: Any) -> Matches:
    found = _match(self, *args)
    rows = found.rows()
    return rows.take(rows.score >= 0).matches(len(found.begin) - 1)


_match = BlockMatcher.match


def test_a_difference_ends_the_run_and_is_made_small(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(BlockMatcher, "match", _without_negative)
    assert run.main(["--minutes", "9", "--seed", str(SMALL)]) == 1
    printed = capsys.readouterr().out
    assert f"python -m tests.fuzz.run --seed {SMALL}" in printed
    known: dict[str, Any] = {**vars(expression), **vars(records), "nan": math.nan, "inf": math.inf}
    exec(printed[printed.index("population = [") :], known)
    population, events = known["population"], known["events"]
    assert (len(population), len(events)) == (1, 1)
    assert len(events[0].attributes) <= 1
    assert compare(population, events, SMALL, Counts()) is not None
    monkeypatch.undo()
    assert compare(population, events, SMALL, Counts()) is None


def test_blocks_of_all_events_are_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def nothing_of_many(self: BlockMatcher, *args: Any) -> Matches:
        found = _match(self, *args)
        events = len(found.begin) - 1
        asked.append(events)
        rows = found.rows()
        return found if events <= max(FEW) else rows.take(rows.event < 0).matches(events)

    population, events = run.drawn(SMALL)
    assert len(events) > max(FEW)
    monkeypatch.setattr(BlockMatcher, "match", nothing_of_many)
    difference = compare(population, events, SMALL, Counts())
    assert difference is not None
    assert difference.what.startswith("W = 1, all")
    assert asked == [len(events)]


def test_a_reference_that_is_wrong_is_held_to_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(self: Reference, arguments: list[Answer]) -> Answer:
        return arguments[0] if arguments else right(self, arguments)

    right = Reference._or
    monkeypatch.setattr(Reference, "_or", first)
    difference = compare(*run.drawn(SMALL), SMALL, Counts())
    assert difference is not None
    assert difference.what == "the reference, not the engine"
