"""``job.engine``: engines from the literature run the whole way, topics to topics, as the default one does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from index.engine import SelectiveEngine
from index.engines import engine_named
from schemas.errors import Refused
from schemas.json_codec import decode_subscription
from tests.e2e.cases import CASES, bodies, own, rename_event
from tests.e2e.harness import Client, running_job


def refused_by(engine: SelectiveEngine, subscriptions: dict[str, Any]) -> set[str]:
    """Return the ids of the subscriptions that the engine cannot express."""
    refused = set()
    for id_, body in subscriptions.items():
        try:
            engine.check(decode_subscription(id_, json.dumps(body).encode()))
        except Refused:
            refused.add(id_)
    return refused


def matched(client: Client, place: tuple[int, int]) -> list[str]:
    return [n["subscription"] for n in client.matches_of(place)]


@pytest.mark.parametrize("name", ["kindex-dnf", "interval"])
def test_a_job_with_an_engine_from_the_literature_answers_as_the_cases_say(
    name: str, broker: Any, tmp_path: Path
) -> None:
    """What the engine cannot express is a dead letter that names an engine that does, and an id's old version stays."""
    engine = engine_named(name)
    assert isinstance(engine, SelectiveEngine)
    with running_job(broker.bootstrap_servers, tmp_path, engine=name) as (job, client):
        expected: dict[tuple[int, int], tuple[str, list[str]]] = {}
        dead: set[str] = set()
        for case in CASES["matching"]:
            prefix = f"{case['name']}."
            unsupported = refused_by(engine, case["subscriptions"])
            dead |= {prefix + id_ for id_ in unsupported}
            client.subscribe(bodies(case["subscriptions"], prefix))
            for row in case["events"]:
                if "$nan" not in json.dumps(row["event"]):
                    (place,) = client.publish([rename_event(row["event"], prefix)])
                    expected[place] = (prefix, sorted(set(row["matches"]) - unsupported))
        client.subscribe({"kept": {"filter": "z = 1"}, "gone": {"filter": "z in (1, 2)"}})
        client.subscribe({"kept": {"filter": "z = 1 and y contains 'x'"}})
        client.unsubscribe(["gone"])
        (after,) = client.publish([{"z": 1}])
        client.await_committed(job.events_group, job.topics.events)
        client.await_committed(job.subscriptions_group, job.topics.subscriptions)
        for place, (prefix, wanted) in expected.items():
            assert sorted(own(matched(client, place), prefix)) == wanted
        assert set(matched(client, after)) & {"kept", "gone"} == {"kept"}
        letters = {letter["key"].decode(): letter for letter in client.letters}
        assert set(letters) == dead | {"kept"}
        assert letters["kept"]["tocsin.reason"] == "engine.unsupported"
        assert f"the engine {name!r} cannot express; the engine 'block' does" in letters["kept"]["tocsin.message"]
        assert job.stop() == 0
