"""The shared cases, through the topics: broker, Spark job and index as they run for a user."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cases import CASES, bodies, own, rename_event
from tests.e2e.harness import Client, JobUnderTest, running_job


@pytest.fixture(scope="module")
def live(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JobUnderTest, Client]]:
    with running_job(broker.bootstrap_servers, tmp_path_factory.mktemp("cases")) as running:
        yield running


def _ids(client: Client, place: tuple[int, int], prefix: str) -> list[str]:
    return own([n["subscription"] for n in client.matches_of(place)], prefix)


def _in_json(event: dict[str, Any]) -> bool:
    """JSON has no NaN; that case is run on the engine and through Avro."""
    return "$nan" not in json.dumps(event)


def test_every_event_of_the_matching_cases_meets_exactly_its_subscriptions(live: tuple[JobUnderTest, Client]) -> None:
    job, client = live
    expected: dict[tuple[int, int], tuple[str, str, list[str]]] = {}
    refused: set[str] = set()
    for case in CASES["matching"]:
        prefix = f"m-{case['name']}."
        client.subscribe(bodies(case["subscriptions"], prefix))
        refused |= {prefix + id_ for id_ in case.get("refused", [])}
        events = [row for row in case["events"] if _in_json(row["event"])]
        places = client.publish([rename_event(row["event"], prefix) for row in events])
        for place, row in zip(places, events, strict=True):
            expected[place] = (case["name"], prefix, row["matches"])
    client.await_committed(job.events_group, job.topics.events)
    client.await_committed(job.subscriptions_group, job.topics.subscriptions)
    for place, (name, prefix, matches) in expected.items():
        assert sorted(_ids(client, place, prefix)) == sorted(matches), name
    dead = {letter["key"].decode() for letter in client.letters if letter["tocsin.topic"] == job.topics.subscriptions}
    assert {id_ for id_ in dead if id_.startswith("m-")} == refused


def test_the_ranking_cases_come_in_their_order_with_their_scores(live: tuple[JobUnderTest, Client]) -> None:
    job, client = live
    for case in CASES["ranking"]:
        prefix = f"r-{case['name']}."
        client.subscribe(bodies(case["subscriptions"], prefix))
        tops = list(case["top"].items())
        places = client.publish([rename_event(case["event"] | {"$top": int(top)}, prefix) for top, _ in tops])
        client.await_committed(job.events_group, job.topics.events)
        for place, (top, ids) in zip(places, tops, strict=True):
            found = client.matches_of(place)
            assert [n["subscription"] for n in found] == [prefix + id_ for id_ in ids], (case["name"], top)
            assert [n["rank"] for n in found] == list(range(1, len(ids) + 1))
            for n in found:
                wanted = case.get("scores", {}).get(n["subscription"].removeprefix(prefix))
                assert wanted is None or abs(n["score"] - wanted) < 2**-20


class Stream:
    """Plays a stream case: changes and events through the topics, and remembers what each event must meet."""

    def __init__(self, case: dict[str, Any], prefix: str) -> None:
        self.case = case
        self.prefix = prefix
        self.expected: dict[tuple[int, int], list[str]] = {}
        self.dead = 0

    def groups(self) -> list[list[dict[str, Any]]]:
        """Return the steps, cut where a change follows an event: a group may share one micro-batch."""
        groups: list[list[dict[str, Any]]] = [[]]
        after_event = False
        for step in self.case["steps"]:
            is_event = "event" in step or "raw_event" in step
            if "next_batch" in step or (after_event and not is_event):
                groups.append([])
            if "next_batch" not in step:
                groups[-1].append(step)
            after_event = is_event
        return groups

    def play(self, client: Client, step: dict[str, Any]) -> None:
        topics = client.topics
        if "subscribe" in step:
            client.subscribe(bodies(step["subscribe"], self.prefix))
        elif "unsubscribe" in step:
            client.unsubscribe([self.prefix + id_ for id_ in step["unsubscribe"]])
        elif "raw_subscription" in step:
            assert step["raw_subscription"]["key"] is None
            client.send_subscription_without_key(step["raw_subscription"]["value"])
        elif "raw_event" in step:
            raw = step["raw_event"]
            self.expected[client.send(topics.events, f"{self.prefix}raw", raw)] = step["matches"]
        else:
            (place,) = client.publish([rename_event(step["event"], self.prefix)])
            self.expected[place] = step["matches"]
        self.dead += bool(step.get("dead_letter"))

    def check(self, client: Client) -> None:
        for place, matches in self.expected.items():
            assert sorted(_ids(client, place, self.prefix)) == sorted(matches), (self.case["name"], place)


def _settle(job: JobUnderTest, client: Client) -> None:
    client.await_committed(job.subscriptions_group, job.topics.subscriptions)
    client.await_committed(job.events_group, job.topics.events)


@pytest.mark.parametrize("case", CASES["streams"], ids=lambda case: case["name"])
@pytest.mark.parametrize("pace", ["one batch", "a batch between steps"])
def test_a_stream_case_gives_its_matches_at_either_pace(
    live: tuple[JobUnderTest, Client], case: dict[str, Any], pace: str
) -> None:
    job, client = live
    letters = len(client.letters)
    stream = Stream(case, f"s-{case['name']}-{pace}.")
    for group in stream.groups():
        for step in group:
            stream.play(client, step)
            if pace == "a batch between steps":
                _settle(job, client)
        _settle(job, client)
    stream.check(client)
    assert len(client.letters) - letters == stream.dead


def test_the_stream_cases_give_their_matches_across_restarts(broker: Any, tmp_path: Path) -> None:
    """The steps of all cases in rounds, the job stopped before each round and started after it."""
    with running_job(broker.bootstrap_servers, tmp_path) as (job, client):
        streams = [Stream(case, f"x-{case['name']}.") for case in CASES["streams"]]
        rounds = max(len(stream.groups()) for stream in streams)
        for number in range(rounds):
            job.stop()
            for stream in streams:
                for step in stream.groups()[number] if number < len(stream.groups()) else []:
                    stream.play(client, step)
            job.start()
            _settle(job, client)
        for stream in streams:
            stream.check(client)
        assert len(client.letters) == sum(stream.dead for stream in streams)
        assert job.stop() == 0
