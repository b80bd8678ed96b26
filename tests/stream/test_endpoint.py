"""The endpoint: what Prometheus scrapes is right and parses, and health and readiness follow the job."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open

from index.manifest import EMPTY, SegmentEntry
from index.segment import SegmentInfo
from schemas.errors import TocsinError
from stream.endpoint import Endpoint, JobState, parse_listen
from stream.instruments import LATENCY_SECONDS, Instruments
from stream.metrics import Metrics
from stream.output import Committed
from stream.rows import MOMENTS, Counts, moments
from stream.status import quantile
from stream.weighted_histogram import WeightedHistogram
from tests.stream.scrape import get, samples

DASHBOARD = Path(__file__).parent.parent.parent / "deploy" / "grafana-dashboard.json"


def busy() -> Instruments:
    """The metrics of a job that has done a little of everything."""
    instruments = Instruments("tests")
    metrics = Metrics(instruments)
    now = int(time.time() * 1000)
    counts = Counts(records=5, matches=7, decode_ns=10**9)
    letters = Counter({("events", "event.json"): 2, ("events", "event.top"): 1})
    committed = Committed(0.02, letters)
    metrics.matched(
        counts, {0: 5}, [(now - 200, 4), (now - 9000, 1)], committed, wait_ns=10**6, spark_ns=10**8, commit_ns=10**7
    )
    metrics.absorbed(Counts(records=2), committed, absorb_ns=10**8, publish_ns=10**6, commit_ns=10**7)
    segments = [SegmentInfo("a", 100, 5000, 0), SegmentInfo("b", 20, 10, 0)]
    entries = tuple(SegmentEntry(segment, None, 2) for segment in segments)
    instruments.index(EMPTY.successor(entries))
    instruments.lag("events", {0: 9, 1: 4}, {0: 5})
    instruments.merged(0.3)
    instruments.compaction_restarted()
    return instruments


def state_of(instruments: Instruments) -> JobState:
    return JobState("tests", "1.2.3", instruments)


def test_a_scrape_holds_what_happened() -> None:
    instruments = busy()
    with Endpoint("127.0.0.1:0", instruments, state_of(instruments)) as endpoint:
        status, text = get(f"{endpoint.url}/metrics")
    assert status == 200
    found = samples(text)

    def value(name: str, **labels: str) -> float:
        return found[name, frozenset(labels.items())]

    assert value("tocsin_records_total", query="events") == 5
    assert value("tocsin_records_total", query="subscriptions") == 2
    assert value("tocsin_matches_total") == 7
    assert value("tocsin_dead_letters_total", topic="events", reason="event.json") == 4
    assert value("tocsin_lag_records", topic="events", partition="0") == 4
    assert value("tocsin_lag_records", topic="events", partition="1") == 4
    assert value("tocsin_latency_seconds_count") == 5
    assert value("tocsin_latency_seconds_bucket", le="0.15") == 0
    assert value("tocsin_latency_seconds_bucket", le="5.0") == 4
    assert value("tocsin_latency_seconds_bucket", le="+Inf") == 5
    assert value("tocsin_batch_phase_seconds_sum", query="events", phase="match") == 0.1
    assert value("tocsin_transaction_seconds_count", query="subscriptions") == 1
    assert value("tocsin_worker_seconds_total", phase="decode") == 1
    assert value("tocsin_index_version") == 1
    assert value("tocsin_index_segments") == 2
    assert value("tocsin_index_tail_segments") == 1
    assert value("tocsin_index_bytes") == 120
    assert value("tocsin_subscriptions") == 5006
    assert value("tocsin_subscriptions_dead") == 4
    assert value("tocsin_merge_seconds_count") == 1
    assert value("tocsin_compaction_restarts_total") == 1
    assert value("tocsin_ready") == 0


def test_the_newer_text_format_is_spoken_to_who_asks_for_it() -> None:
    instruments = busy()
    with Endpoint("127.0.0.1:0", instruments, state_of(instruments)) as endpoint:
        _, text = get(f"{endpoint.url}/metrics", "application/openmetrics-text; version=1.0.0")
    assert "tocsin_latency_seconds" in {family.name for family in parse_open(text)}


def test_each_metric_of_the_dashboard_is_in_a_scrape_and_its_labels_too() -> None:
    instruments = busy()
    with Endpoint("127.0.0.1:0", instruments, state_of(instruments)) as endpoint:
        _, text = get(f"{endpoint.url}/metrics")
    labels: dict[str, set[str]] = {}
    for name, pairs in samples(text):
        labels.setdefault(name, {"instance"}).update(label for label, _ in pairs)
    panels = json.loads(DASHBOARD.read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(expressions) > 20
    shown = set()
    for expression in expressions:
        for name, selector in re.findall(r"\b((?:tocsin|process)_\w+)\{([^}]*)\}", expression):
            assert name in labels, expression
            assert set(re.findall(r"(\w+)=", selector)) <= labels[name], expression
            grouped = {label for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(", ")}
            assert grouped <= labels[name], expression
            shown.add(name)
    own = {name for name in labels if name.startswith("tocsin_")}
    bare = {re.sub(r"_(bucket|sum|count)$", "", name) for name in own}
    assert bare == {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown if name.startswith("tocsin_")}, (
        "every metric is on the dashboard"
    )


def test_a_job_is_alive_from_the_start_and_ready_once_it_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    instruments = Instruments("tests")
    state = state_of(instruments)
    with Endpoint("127.0.0.1:0", instruments, state) as endpoint:

        def ask() -> tuple[int, int, str]:
            alive, body = get(f"{endpoint.url}/healthz")
            return alive, get(f"{endpoint.url}/readyz")[0], json.loads(body)["state"]

        assert ask() == (200, 503, "starting")
        state.enter("loading subscriptions, 7 records to go")
        assert ask() == (200, 503, "loading subscriptions, 7 records to go")
        state.enter("matching", ready=True)
        assert ask() == (200, 200, "matching")
        assert ("tocsin_ready", frozenset()) in samples(get(f"{endpoint.url}/metrics")[1])
        later = time.monotonic() + 1000
        monkeypatch.setattr("stream.endpoint.time.monotonic", lambda: later)
        alive, ready, said = ask()
        assert (alive, ready) == (503, 503)
        assert said.startswith("matching; stands still for ")
        state.look()
        assert ask() == (200, 200, "matching")
        state.enter("stopping")
        assert ask() == (200, 503, "stopping")
        assert get(f"{endpoint.url}/other")[0] == 404


def test_nothing_is_served_when_nothing_is_to_be() -> None:
    instruments = Instruments("tests")
    with Endpoint("", instruments, state_of(instruments)) as endpoint:
        assert endpoint.url is None


def test_an_address_is_refused_in_a_sentence() -> None:
    instruments = Instruments("tests")
    state = state_of(instruments)
    with pytest.raises(TocsinError, match=r"metrics.listen can't be 'ä..b:0', whose host is no name; give one"):
        Endpoint("ä..b:0", instruments, state)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(TocsinError, match=r"can.t be served at 127.*in use; name another address"):
            Endpoint(f"127.0.0.1:{taken.getsockname()[1]}", instruments, state)
    assert parse_listen("[::1]:9404") == ("::1", 9404)
    assert parse_listen(":9404") == ("", 9404)


weighted = st.lists(
    st.tuples(st.sampled_from(LATENCY_SECONDS) | st.floats(0, 4000), st.integers(1, 50)), min_size=1, max_size=30
)


@given(weighted)
@settings(max_examples=50, deadline=None)
def test_the_weighted_histogram_counts_as_the_library_s_does(observations: list[tuple[float, int]]) -> None:
    registry = CollectorRegistry()
    own = WeightedHistogram("own", "x", LATENCY_SECONDS, registry)
    other = Histogram("other", "x", buckets=LATENCY_SECONDS, registry=registry)
    own.observe(np.array([v for v, _ in observations]), np.array([n for _, n in observations]))
    for value, weight in observations:
        for _ in range(weight):
            other.observe(value)
    found: dict[str, Any] = {
        f.name: {(s.name[len(f.name) :], str(s.labels)): s.value for s in f.samples} for f in registry.collect()
    }
    sums = [found[name].pop(("_sum", "{}")) for name in ("own", "other")]
    assert sums[0] == pytest.approx(sums[1])
    found["other"] = {key: value for key, value in found["other"].items() if key[0] != "_created"}
    assert found["own"] == found["other"]


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=2000))
@settings(max_examples=50, deadline=None)
def test_moments_count_every_event_at_a_time_near_its_own(milliseconds: list[int]) -> None:
    found = moments(np.array(milliseconds, np.int64))
    assert len(found) <= MOMENTS
    assert sum(count for _, count in found) == len(milliseconds)
    assert {moment for moment, _ in found} <= set(milliseconds)
    if len(set(milliseconds)) <= MOMENTS:
        assert dict(found) == Counter(milliseconds)


def test_quantiles_are_read_off_a_histogram() -> None:
    buckets = [(0.1, 0.0), (0.2, 50.0), (0.4, 100.0), (float("inf"), 100.0)]
    assert quantile(buckets, 0.5) == pytest.approx(0.2)
    assert quantile(buckets, 0.75) == pytest.approx(0.3)
    assert quantile([(0.1, 0.0), (float("inf"), 5.0)], 0.5) == 0.1
    assert quantile([(0.1, 0.0), (float("inf"), 0.0)], 0.5) is None
    assert quantile([], 0.5) is None


def test_a_stop_that_takes_too_long_ends_the_process_and_says_so() -> None:
    program = (
        "import time\n"
        "from stream import stop\n"
        "stop.STOP_SECONDS = 1.0\n"
        "asked = stop.Stop(print)\n"
        "asked.heed_signals()\n"
        "import os, signal\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "assert asked.wait(10) and asked.left_for_batches() <= stop.BATCH_SECONDS\n"
        "time.sleep(60)\n"
    )
    done = subprocess.run([sys.executable, "-uc", program], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "a batch did not end in time and is abandoned; it runs again at the next start\n",
        "",
    )


def test_an_error_is_told_though_what_has_to_stop_for_it_does_not() -> None:
    program = (
        "import time\n"
        "from stream import stop\n"
        "stop.STOP_SECONDS = 1.0\n"
        "stop.Stop(lambda said: None, lambda error: print(error, flush=True)).begin(ValueError('what happened'))\n"
        "time.sleep(60)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (1, "what happened\n", "")


def test_a_stop_begins_while_a_library_keeps_the_main_thread() -> None:
    program = (
        "import os, signal, threading\n"
        "from confluent_kafka import Consumer\n"
        "from stream import stop\n"
        "stop.STOP_SECONDS = 1.0\n"
        "asked = stop.Stop(lambda said: print(said, flush=True))\n"
        "asked.heed_signals()\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()\n"
        "Consumer({'bootstrap.servers': '127.0.0.1:1', 'group.id': 'x', 'log_level': 0}).list_topics(timeout=45)\n"
        "print('the library has given up', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout) == (
        0,
        "a batch did not end in time and is abandoned; it runs again at the next start\n",
    )
