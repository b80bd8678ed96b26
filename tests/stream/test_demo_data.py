"""The demo's flights, subscriptions and proof, without broker and job."""

from __future__ import annotations

import io
import os
import signal
import time
from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from index.oracle import as_score, best_matches, matches
from schemas.errors import TocsinError
from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.records import Event, EventRef, Notification, Subscription
from schemas.values import Value
from stream.demo.check import Candidates, differences
from stream.demo.display import Display
from stream.demo.flights import event_key, flight_events
from stream.demo.generated import generated_subscriptions
from stream.demo.interrupt import Stop, supervise
from stream.demo.report import interesting
from stream.demo.subscriptions import written_subscriptions
from stream.demo.workload import Workload, build_workload
from stream.exit_codes import INTERRUPTED

EVENTS = 12_000


@cache
def load() -> Workload:
    return build_workload(EVENTS, 2_000, 2013, lambda: None)


@cache
def decoded() -> list[Subscription]:
    return load().decoded_subscriptions()


# flights


def test_flights_come_in_order_of_scheduled_departure() -> None:
    scheduled = [flight["scheduled"] for flight in load().flights]
    assert scheduled == sorted(scheduled)
    assert len(scheduled) == EVENTS


def test_a_flight_is_joined_with_airline_airports_plane_and_weather() -> None:
    flight = load().flights[0]
    assert (flight["carrier"], flight["flight"], flight["origin"], flight["dest"]) == ("UA", 1545, "EWR", "IAH")
    assert flight["airline"] == {"name": "United Air Lines Inc."}
    assert flight["departure"]["name"] == "Newark Liberty Intl"
    assert flight["destination"]["name"] == "George Bush Intercontinental"
    assert flight["plane"]["tail"] == "N14228"
    assert flight["plane"]["manufacturer"] == "BOEING"
    assert flight["weather"]["temp"] == 39.02


def test_what_is_not_known_is_left_out() -> None:
    def unknown(value: Any) -> bool:
        members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return value is None or value != value or any(map(unknown, members))

    assert not any(unknown(flight) for flight in load().flights)
    cancelled = [flight for flight in load().flights if flight["cancelled"]]
    assert cancelled
    assert not any("dep_delay" in flight or "air_time" in flight for flight in cancelled)
    assert any("plane" not in flight for flight in cancelled)


def test_keys_are_distinct_and_say_which_flight_it_is() -> None:
    assert load().keys[0] == "2013-01-01 UA1545 EWR"
    assert len(set(load().keys)) == EVENTS
    assert event_key(load().flights[7]) == load().keys[7]


def test_the_weight_of_delayed_is_the_delay_in_hours() -> None:
    delayed = [flight for flight in load().flights if "delayed" in flight.get("tags", ())]
    assert delayed
    for flight in delayed:
        assert flight["$weights"]["tags"]["delayed"] == pytest.approx(flight["dep_delay"] / 60, abs=0.005)
    assert {tag for flight in load().flights for tag in flight.get("tags", ())} > {"cancelled", "recovered", "shuttle"}


def test_more_flights_than_there_are_are_refused() -> None:
    with pytest.raises(TocsinError, match="336,776"):
        next(flight_events(336_777))
    with pytest.raises(TocsinError):
        next(flight_events(0))


# subscriptions


def nodes(expression: Expression) -> list[Expression]:
    match expression:
        case And(args) | Or(args):
            return [expression, *(node for arg in args for node in nodes(arg))]
        case Not(arg):
            return [expression, *nodes(arg)]
        case _:
            return [expression]


def test_every_subscription_of_the_demo_is_accepted() -> None:
    assert [s.id for s in decoded()] == list(load().subscriptions)
    assert len(load().written) >= 30


def test_the_written_subscriptions_use_every_leaf_and_connective() -> None:
    kinds = Counter(type(node) for s in decoded()[: len(load().written)] for node in nodes(s.expression))
    assert set(kinds) == {And, Or, Not, In, NotIn, Range, Exists, NotExists}
    excluded = [
        node for s in decoded()[: len(load().written)] for node in nodes(s.expression) if isinstance(node, NotIn)
    ]
    assert {node.strong for node in excluded} == {True, False}
    assert all(s.labels["why"] and s.priority > 0 for s in decoded()[: len(load().written)])
    assert {id_.partition("/")[0] for id_ in load().written} == {"traveller", "airline", "airport"}


def test_the_generated_subscriptions_use_every_leaf_and_connective() -> None:
    generated = decoded()[len(load().written) :]
    assert len(generated) == 2_000
    assert (generated[0].id, generated[-1].id) == ("gen-00001", "gen-02000")
    kinds = Counter(type(node) for s in generated for node in nodes(s.expression))
    assert set(kinds) == {And, Or, Not, In, NotIn, Range, Exists, NotExists}
    assert any(isinstance(node, NotIn) and node.strong for s in generated for node in nodes(s.expression))
    assert any(isinstance(node, In) and node.weights for s in generated for node in nodes(s.expression))
    assert all(2 <= len(leaves(s.expression)) <= 6 for s in generated)


def leaves(expression: Expression) -> list[Expression]:
    return [node for node in nodes(expression) if not isinstance(node, And | Or | Not)]


def test_the_seed_decides_the_generated_subscriptions() -> None:
    flights = load().flights[:500]
    assert dict(generated_subscriptions(flights, 50, 1)) == dict(generated_subscriptions(flights, 50, 1))
    assert dict(generated_subscriptions(flights, 50, 1)) != dict(generated_subscriptions(flights, 50, 2))


def test_most_written_subscriptions_match_some_flight_and_none_matches_many() -> None:
    written = [s for s in decoded() if s.id in written_subscriptions()]
    events = [event for _, event in build_events(EVENTS)]
    counts = {s.id: sum(matches(s.expression, event) for event in events) for s in written}
    assert sum(count > 0 for count in counts.values()) >= 20, counts
    assert max(counts.values()) < EVENTS / 50, counts


@cache
def build_events(count: int) -> list[tuple[int, Event]]:
    return load().drawn_events(count, 7)


# the proof


def answer_of(subscriptions: list[Subscription], event: Event) -> list[tuple[int, str, float]]:
    best = best_matches(subscriptions, event, 5)
    return [(rank, id_, as_score(points)) for rank, (id_, points) in enumerate(best, 1)]


def test_the_proof_accepts_the_oracles_answers_over_all_subscriptions() -> None:
    events = build_events(25)
    answers = {number: answer_of(decoded(), event) for number, event in events}
    assert sum(map(len, answers.values())) > 50
    assert differences(decoded(), events, answers.__getitem__, 5) == []


@pytest.mark.parametrize("flaw", ["missing", "extra", "score", "id", "order", "double", "all missing"])
def test_the_proof_finds_a_single_flaw(flaw: str) -> None:
    events = build_events(25)
    answers = {number: answer_of(decoded(), event) for number, event in events}
    number = next(n for n, answer in answers.items() if len(answer) >= 2)
    answer = answers[number]
    (_, first, score), (_, second, lower), *rest = answer
    answers[number] = {
        "missing": answer[:-1],
        "extra": [*answer, (len(answer) + 1, "gen-99999", 0.0)],
        "score": [(1, first, score + 2**-20), *answer[1:]],
        "id": [(1, "gen-99999", score), *answer[1:]],
        "order": [(1, second, lower), (2, first, score), *rest],
        "double": [*answer, answer[-1]],
        "all missing": [],
    }[flaw]
    assert [difference.event for difference in differences(decoded(), events, answers.__getitem__, 5)] == [number]


VALUES: st.SearchStrategy[Value] = st.sampled_from([True, False, 0, 1, 1.0, 2.5, "1", "a", "b", float("nan")])
NAMES = st.sampled_from(["p", "q", "r"])
LISTS = st.lists(VALUES, min_size=1, max_size=3).map(tuple)
LEAVES = st.one_of(
    st.builds(In, NAMES, LISTS),
    st.builds(NotIn, NAMES, LISTS, st.booleans()),
    st.builds(lambda name, bound: Range(name, ge=bound), NAMES, st.sampled_from([0, 1, 2.0, "a"])),
    st.builds(Exists, NAMES),
    st.builds(NotExists, NAMES),
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=8,
)
EVENT_LISTS = st.lists(st.dictionaries(NAMES, LISTS, max_size=3).map(Event), min_size=1, max_size=5)


@given(st.lists(EXPRESSIONS, max_size=6), EVENT_LISTS)
def test_a_subscription_that_matches_is_always_a_candidate(expressions: list[Expression], events: list[Event]) -> None:
    subscriptions = [Subscription(str(i), expression) for i, expression in enumerate(expressions)]
    candidates = Candidates(subscriptions, events)
    for event in events:
        offered = candidates.of(event)
        assert len({s.id for s in offered}) == len(offered)
        assert best_matches(offered, event) == best_matches(subscriptions, event)


def test_candidates_are_few() -> None:
    subscriptions, events = decoded(), build_events(200)
    candidates = Candidates(subscriptions, [event for _, event in events])
    offered = sum(len(candidates.of(event)) for _, event in events)
    assert offered < len(subscriptions) * len(events) / 10


# what is shown


def notification(id_: str, score: float) -> Notification:
    return Notification(id_, score, 1, EventRef("t", 0, 0, "k", ""), {"why": "w"})


def test_the_rarest_subscriptions_come_first_each_with_its_best_alert() -> None:
    answers = {
        2: [notification("often", 9.0), notification("other", 99.0)],
        0: [notification("often", 1.0), notification("rare", 3.0)],
        1: [notification("often", 9.0)],
    }
    found = interesting(answers, ["often", "rare", "never"])
    assert [(alert.notification.subscription, alert.times, alert.event) for alert in found] == [
        ("rare", 1, 0),
        ("often", 3, 1),
    ]
    assert [alert.notification.subscription for alert in interesting(answers, ["often", "rare"], 1)] == ["rare"]


def test_steps_are_plain_lines_where_there_is_no_terminal() -> None:
    display = Display()
    shown = io.StringIO()
    display.console = Console(file=shown, width=100)
    with display.step("matching", total=10) as step:
        step.update(3, "half [way]")
    text = shown.getvalue()
    assert "\x1b" not in text
    assert "\r" not in text
    assert text.startswith("done matching: 0.0 s, half [way]\n")


def test_a_step_that_fails_is_not_said_to_be_done() -> None:
    display = Display()
    shown = io.StringIO()
    display.console = Console(file=shown, width=100)
    with pytest.raises(ValueError, match="no"), display.step("matching"):
        raise ValueError("no")
    assert "done" not in shown.getvalue()


# the way out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_work_where_it_looks_and_after_it_cleaned_up(number: signal.Signals) -> None:
    cleaned, said = [], []

    def work(stop: Stop) -> int:
        try:
            os.kill(os.getpid(), number)
            while True:
                stop.wait(0.01)
        finally:
            time.sleep(0.2)
            os.kill(os.getpid(), number)  # once more, in the middle of cleaning up
            cleaned.append(True)

    earlier = signal.getsignal(number)
    assert supervise(work, lambda: said.append("stopping")) == INTERRUPTED
    assert (cleaned, said) == ([True], ["stopping"])
    assert signal.getsignal(number) is earlier


def test_the_works_exit_code_and_errors_come_through() -> None:
    def fails(stop: Stop) -> int:
        raise TocsinError("the broker has ended")

    assert supervise(lambda stop: 7, lambda: None) == 7
    with pytest.raises(TocsinError, match="the broker has ended"):
        supervise(fails, lambda: None)


def test_the_workload_is_decided_by_the_seed_alone() -> None:
    again = build_workload(300, 20, 5, lambda: None)
    assert build_workload(300, 20, 5, lambda: None) == again
