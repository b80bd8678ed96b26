"""Whoever runs the job sees how it is: metrics, health, `tocsin status`, the groups' lag, and lines for programs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient

from benchmarks import processes
from index.manifest import latest
from stream.settings_reference import settings_toml
from tests.e2e.harness import PATIENCE, Client, JobUnderTest, running_job
from tests.stream.scrape import get, samples
from tests.waiting import wait_for

TOCSIN = str(Path(sys.executable).with_name("tocsin"))
EVENTS = 50
LIVE = 2


@pytest.fixture(scope="module")
def live(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JobUnderTest, Client]]:
    """A job that has matched some events and refused some records."""
    folder = tmp_path_factory.mktemp("operations")
    with running_job(broker.bootstrap_servers, folder, log_format="json", metrics_interval_seconds=0.5) as (
        job,
        client,
    ):
        client.subscribe({"one": {"filter": "a = 1"}, "all": {"filter": "a exists"}, "bad": {"filter": "a ="}})
        client.await_committed(job.subscriptions_group, job.topics.subscriptions)
        client.send_all(job.topics.events, [(str(n), f'{{"a": {n % 2}}}') for n in range(EVENTS)] + [("x", "[]")])
        client.await_committed(job.events_group, job.topics.events)
        yield job, client


def status(job: JobUnderTest, *arguments: str) -> subprocess.CompletedProcess[str]:
    file = job.folder / "status.toml"
    file.write_text(settings_toml(job.settings))
    command = [TOCSIN, "--config", str(file), "status", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)


def eventually(check: Callable[[], bool]) -> None:
    """Gauges are set at each line of metrics."""
    wait_for(check, PATIENCE)


def endpoint(job: JobUnderTest) -> str:
    found = re.search(r"metrics are at (http://127\.0\.0\.1:\d+)/metrics", job.process.log.read_text())
    assert found is not None
    return found[1]


def test_a_scrape_of_the_running_job_counts_what_it_did(live: tuple[JobUnderTest, Client]) -> None:
    job, _ = live

    def value(name: str, **labels: str) -> float:
        with urllib.request.urlopen(f"{endpoint(job)}/metrics", timeout=10) as answer:
            return samples(answer.read().decode()).get((name, frozenset(labels.items())), -1.0)

    topics = job.topics
    eventually(lambda: value("tocsin_subscriptions") == LIVE)
    assert value("tocsin_records_total", query="events") == EVENTS + 1
    assert value("tocsin_records_total", query="subscriptions") == 3
    assert value("tocsin_matches_total") == EVENTS + EVENTS / 2
    assert value("tocsin_dead_letters_total", topic=topics.events, reason="event.not_object") == 1
    assert value("tocsin_dead_letters_total", topic=topics.subscriptions, reason="filter.syntax") == 1
    assert value("tocsin_latency_seconds_count") == EVENTS + 1
    assert value("tocsin_batches_total", query="events") >= 1
    assert value("tocsin_batch_phase_seconds_sum", query="events", phase="match") > 0
    assert value("tocsin_transaction_seconds_count", query="events") >= 1
    assert value("tocsin_worker_seconds_total", phase="match") > 0
    assert value("tocsin_index_version") >= 1
    assert value("tocsin_index_bytes") > 0
    assert value("tocsin_ready") == 1
    for topic in (topics.events, topics.subscriptions):
        eventually(lambda topic=topic: value("tocsin_lag_records", topic=topic, partition="0") == 0)  # type: ignore[misc]


def test_a_running_job_is_alive_and_ready(live: tuple[JobUnderTest, Client]) -> None:
    job, _ = live
    for path in ("healthz", "readyz"):
        code, body = get(f"{endpoint(job)}/{path}")
        told = json.loads(body)
        assert (code, told["job"], told["pid"], told["state"]) == (200, job.name, job.process.pid, "matching")


def test_kafkas_tools_see_the_groups_and_their_lag(live: tuple[JobUnderTest, Client], broker: Any) -> None:
    job, _ = live
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    known = {group.group_id for group in admin.list_consumer_groups().result(30).valid}
    assert {job.events_group, job.subscriptions_group} <= known
    for group, topic, count in (
        (job.events_group, job.topics.events, EVENTS + 1),
        (job.subscriptions_group, job.topics.subscriptions, 3),
    ):
        answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(30)
        committed = {place.partition: place.offset for place in answer.topic_partitions if place.topic == topic}
        assert sum(committed.values()) == count


def test_status_tells_programs_and_people_how_the_job_is(live: tuple[JobUnderTest, Client]) -> None:
    job, _ = live
    done = status(job, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["job"], told["alive"], told["ready"], told["state"]) == (job.name, True, True, "matching")
    assert (told["holder"]["pid"], told["endpoint"]) == (job.process.pid, endpoint(job))
    assert [(group["group"], group["lag"]) for group in told["groups"]] == [
        (job.events_group, 0),
        (job.subscriptions_group, 0),
    ]
    assert sum(told["groups"][0]["committed"].values()) == EVENTS + 1
    assert told["index"]["subscriptions"] == LIVE
    assert told["rates"]["dead_letters"] == {"event.not_object": 1, "filter.syntax": 1}
    assert told["rates"]["latency_p50_seconds"] > 0
    plain = status(job)
    assert plain.returncode == 0
    for words in ("matching", f"lag 0 of {EVENTS + 1} offsets", f"{LIVE} subscriptions in", "event.not_object 1"):
        assert words in plain.stdout
    by_address = status(job, "--json", "--endpoint", endpoint(job), "--set", "job.index_dir=/none")
    assert json.loads(by_address.stdout)["state"] == "matching"
    assert by_address.returncode == 0


def test_lines_are_json_and_the_metrics_are_in_them(live: tuple[JobUnderTest, Client]) -> None:
    job, _ = live
    lines = [json.loads(line) for line in job.process.log.read_text().splitlines()]
    assert all(line.keys() >= {"time", "level", "logger", "message"} for line in lines)
    assert "ready: " in " ".join(line["message"] for line in lines)
    counted = [line["metrics"]["metrics"]["counts"]["records"] for line in lines if "metrics" in line]
    assert sum(counted) == EVENTS + 1


def test_a_dead_letter_that_a_record_can_not_hold_is_cut_and_says_so(
    live: tuple[JobUnderTest, Client], broker: Any
) -> None:
    job, client = live
    wide = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.max.bytes": 1_048_588})
    value = b"x" * 1_048_400
    wide.produce(job.topics.events, value, b"key")
    assert wide.flush(30) == 0
    client.await_committed(job.events_group, job.topics.events)
    (letter,) = [letter for letter in client.letters if "tocsin.truncated" in letter]
    assert (letter["tocsin.reason"], letter["key"]) == ("event.json", b"key")
    assert value.startswith(letter["value"])
    kept = len(letter["value"])
    assert 900_000 < kept < len(value)
    assert letter["tocsin.truncated"] == f"key 3 of 3, value {kept} of {len(value)} bytes"


def test_the_line_tells_the_latest_version_also_while_no_event_comes(live: tuple[JobUnderTest, Client]) -> None:
    job, client = live
    client.subscribe({"later": {"filter": "b = 1"}})
    client.await_committed(job.subscriptions_group, job.topics.subscriptions)

    def told() -> int:
        line = [line for line in job.process.log.read_text().splitlines() if '"metrics"' in line][-1]
        return int(json.loads(line)["metrics"]["metrics"]["version"])

    eventually(lambda: told() == latest(job.folder / "index").version)
    client.unsubscribe(["later"])
    client.await_committed(job.subscriptions_group, job.topics.subscriptions)


def test_a_signal_to_all_processes_of_the_job_ends_it_in_order(live: tuple[JobUnderTest, Client]) -> None:
    """As `timeout` and managers of services send it, here to the workers too, which are in a group of their own."""
    job, _ = live
    processes.send(signal.SIGTERM, job.members())
    assert job.process.wait(60) == 0, job.process.tail()
    job.await_gone()
    lines = [json.loads(line)["message"] for line in job.process.log.read_text().splitlines()]
    assert not [line for line in lines if "the compaction ended" in line]


def test_status_of_a_job_that_has_stopped_ends_with_3_and_shows_what_is_left(live: tuple[JobUnderTest, Client]) -> None:
    job, client = live
    if job.members():
        assert job.stop() == 0
    client.publish([{"a": 1}, {"a": 2}])
    done = status(job, "--json")
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert (told["alive"], told["ready"], told["state"], told["holder"]) == (False, False, "not running", None)
    assert [group["lag"] for group in told["groups"]] == [2, 0]
    assert told["index"]["subscriptions"] == LIVE
    nobody = status(job, "--set", "kafka.bootstrap_servers=127.0.0.1:1")
    assert nobody.returncode == 3
    assert "Kafka does not answer at 127.0.0.1:1" in " ".join(nobody.stdout.split())
