"""The checker itself: it must notice each kind of mistake, or its zeros mean nothing."""

from __future__ import annotations

from typing import Any

from tests.faults.history import History

PLACE = (0, 7)


def _notification(id_: str, score: float) -> dict[str, Any]:
    return {"subscription": id_, "score": score}


def _history() -> History:
    history = History()
    history.changed("s", "a = 1^0.5")
    history.changed("t", "a = 2")
    history.published(PLACE, {"a": 1}, history.now)
    return history


def test_what_the_oracle_says_is_right() -> None:
    verdict = _history().judge({PLACE: [_notification("s", 0.5)]})
    assert verdict.good
    assert verdict.right == 2


def test_a_missing_notification_is_lost() -> None:
    assert _history().judge({}).lost == 1


def test_a_second_one_is_doubled() -> None:
    assert _history().judge({PLACE: [_notification("s", 0.5)] * 2}).doubled == 1


def test_another_score_another_subscription_and_another_event_are_wrong() -> None:
    history = _history()
    assert history.judge({PLACE: [_notification("s", 0.25)]}).wrong == 1
    assert history.judge({PLACE: [_notification("s", 0.5), _notification("t", 1.0)]}).wrong == 1
    assert history.judge({PLACE: [_notification("s", 0.5), _notification("x", 1.0)]}).wrong == 1
    assert history.judge({PLACE: [_notification("s", 0.5)], (1, 1): [_notification("s", 0.5)]}).wrong == 1


def test_a_change_after_the_event_may_be_applied_and_one_before_it_must_be() -> None:
    history = History()
    history.changed("s", "a = 1^0.25")
    history.changed("s", "a = 1^0.5")
    history.published(PLACE, {"a": 1}, history.now)
    history.changed("s", "a = 1^0.75")
    assert history.judge({PLACE: [_notification("s", 0.5)]}).good
    assert history.judge({PLACE: [_notification("s", 0.75)]}).good
    assert history.judge({PLACE: [_notification("s", 0.25)]}).wrong == 1
    assert history.judge({}).lost == 1
    history.changed("s", None)
    assert history.judge({}).good
