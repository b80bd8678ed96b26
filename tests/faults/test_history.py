"""The checker itself: it must notice each kind of mistake, or its zeros mean nothing; and it forgets none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.faults.history import History, Order
from tests.faults.report import Report

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


def test_what_comes_once_more_after_its_event_was_judged_is_doubled() -> None:
    history = _history()
    found = {PLACE: [_notification("s", 0.5)]}
    assert history.judge(found).good
    history.settle()
    assert history.events == 1
    assert history.judge({}).good
    assert history.judge(found).doubled == 1


def test_what_was_subscribed_before_the_last_judgement_holds_after_it() -> None:
    history = _history()
    history.settle()
    history.published((0, 8), {"a": 1}, history.now)
    assert history.judge({(0, 8): [_notification("s", 0.5)]}).good
    assert history.judge({}).lost == 1


def test_an_earlier_event_after_a_later_one_of_its_partition_is_late() -> None:
    def told(partition: int, offset: int) -> dict[str, Any]:
        return {"subscription": "s", "event": {"partition": partition, "offset": offset}}

    order = Order()
    assert order.late([told(0, 7), told(1, 3), told(0, 8)]) == []
    assert len(order.late([told(0, 7), told(0, 9)])) == 1


def test_a_run_that_is_gone_on_with_keeps_what_it_has_found(tmp_path: Path) -> None:
    report = Report(seconds=7.0, events=2, changes=2)
    with report.timed("driver killed"):
        report.verdicts["driver killed"] = _history().judge({})
    report.note_ended("driver killed", "tocsin: so it goes")
    report.note_stuck("driver killed", "for long")
    report.save(tmp_path / "state.json")
    again = Report.load(tmp_path / "state.json")
    assert again.runs == report.runs + 1
    assert "in 2 runs" in again.markdown(1)
    again.runs = report.runs
    assert again == report
    assert not again.good
