"""How a job is: who holds its folders, what it answers, how far its groups are, and what its index holds."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from confluent_kafka import Consumer

from index.manifest import Manifest, latest
from index.merge_policy import LEVEL_ZERO
from schemas.errors import TocsinError
from stream import clients
from stream.endpoint import Health
from stream.index_place import IndexPlace
from stream.lock import JOB, Holder, holder
from stream.offsets import Offsets
from stream.query_names import EVENTS, SUBSCRIPTIONS, group_of
from stream.settings import Settings

ANSWER_SECONDS: Final = 3.0
BETWEEN_SECONDS: Final = 1.0
"""From one look at the counters to the next, whose difference gives the rates."""


class GroupStatus(msgspec.Struct):
    """How far one of the job's consumer groups is, in offsets, and how many lie between.

    Attributes
    ----------
    committed
        Next offset of each partition of which the group has committed anything.
    beginning, end
        The first offset of each partition that is still there, and the one behind the last.
    lag
        Offsets that are there and not committed yet; some are none of a record but end a transaction.
    """

    group: str
    topic: str
    committed: dict[int, int]
    beginning: dict[int, int]
    end: dict[int, int]
    lag: int

    def behind(self) -> dict[int, int]:
        """Return the offsets that each partition lags by, of those that lag."""
        starts = {p: max(self.committed.get(p, 0), self.beginning.get(p, 0)) for p in self.end}
        return {p: end - starts[p] for p, end in sorted(self.end.items()) if end > starts[p]}


class IndexStatus(msgspec.Struct):
    """The latest version of the index."""

    version: int
    subscriptions: int
    segments: int
    tail_segments: int
    bytes: int


class Rates(msgspec.Struct):
    """What the job does at the moment, and the latency of all events since it started."""

    events_per_second: float
    matches_per_second: float
    subscriptions_per_second: float
    latency_p50_seconds: float | None
    latency_p99_seconds: float | None
    dead_letters: dict[str, int]


class Status(msgspec.Struct):
    """All of it; what can't be had is None, and ``kafka`` and ``index_error`` then say why groups or index are."""

    job: str
    alive: bool
    ready: bool
    state: str
    holder: Holder | None = None
    endpoint: str | None = None
    groups: list[GroupStatus] | None = None
    kafka: str | None = None
    index: IndexStatus | None = None
    index_error: str | None = None
    rates: Rates | None = None


def status_of(settings: Settings, endpoint: str | None = None) -> Status:
    """Look at a job from outside.

    Parameters
    ----------
    settings
        The job's.
    endpoint
        Where it answers; None takes what it has written into its lock.
    """
    place = IndexPlace.of(settings.job.index_dir, Path(settings.job.checkpoint_dir).absolute())
    found = holder(place.folder)
    held = found if found is not None and found.kind == JOB else None
    url = endpoint or (held.endpoint if held is not None else None)
    health = None if url is None else _health(url)
    status = Status(settings.job.name, held is not None or health is not None, False, "not running", held, url)
    if health is not None:
        status.job, status.alive, status.ready, status.state = health.job, health.alive, health.ready, health.state
        status.rates = _rates(url) if url is not None else None
    elif endpoint is not None and held is None:
        status.state = f"no job answers at {endpoint}"
    elif held is not None:
        status.state = "runs, and does not answer" if url else "runs; metrics.listen is empty, so it can't be asked"
    elif found is not None:
        status.state = f"not running; {found} holds the index"
    try:
        status.groups = _groups(settings)
    except TocsinError as error:
        status.kafka = str(error)
    try:
        status.index = _index(place.address)
    except TocsinError as error:
        status.index_error = str(error)
    return status


_health_decoder = msgspec.json.Decoder(Health)


NO_ANSWER = (OSError, ValueError, http.client.HTTPException, msgspec.MsgspecError)
"""What is raised for an address where nobody, or somebody else than a job, answers."""


def _health(url: str) -> Health | None:
    try:
        return _health_decoder.decode(_get(f"{url}/healthz"))
    except NO_ANSWER:
        return None


def _get(url: str) -> bytes:
    """Return what is answered, with whatever status: 503 has the same content."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
            content: bytes = answer.read()
    except urllib.error.HTTPError as error:
        with error:
            content = error.read()
    return content


Samples = dict[tuple[str, str], float]
"""Name of a sample and the value of its one telling label, to the sample's value."""


def _rates(url: str) -> Rates | None:
    try:
        before, began = _samples(url), time.monotonic()
        time.sleep(BETWEEN_SECONDS)
        now, seconds = _samples(url), time.monotonic() - began
    except NO_ANSWER:
        return None

    def rate(name: str, label: str = "") -> float:
        return (now.get((name, label), 0.0) - before.get((name, label), 0.0)) / seconds

    buckets = [(float(bound), count) for (name, bound), count in now.items() if name == "tocsin_latency_seconds_bucket"]
    letters = {reason: int(n) for (name, reason), n in now.items() if name == "tocsin_dead_letters_total"}
    return Rates(
        rate("tocsin_records_total", EVENTS),
        rate("tocsin_matches_total"),
        rate("tocsin_records_total", SUBSCRIPTIONS),
        quantile(buckets, 0.5),
        quantile(buckets, 0.99),
        dict(sorted(letters.items())),
    )


def _samples(url: str) -> Samples:
    from prometheus_client.parser import text_string_to_metric_families

    text = _get(f"{url}/metrics").decode()
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            label = next((sample.labels[name] for name in ("le", "query", "reason") if name in sample.labels), "")
            found[sample.name, label] = found.get((sample.name, label), 0.0) + sample.value
    return found


def quantile(buckets: Iterable[tuple[float, float]], share: float) -> float | None:
    """Return the value that a share of a histogram's observations does not exceed, straight lines between bounds.

    Parameters
    ----------
    buckets
        (upper bound, how many observations do not exceed it), the last bound being infinite.
    share
        From 0 to 1.

    Returns
    -------
    float or None
        None without observations; the last finite bound for what lies above it.
    """
    ordered = sorted(buckets)
    wanted = share * ordered[-1][1] if ordered else 0.0
    if not wanted:
        return None
    lower, below = 0.0, 0.0
    for bound, count in ordered[:-1]:
        if count >= wanted:
            return lower + (bound - lower) * (wanted - below) / (count - below)
        lower, below = bound, count
    return lower


def _groups(settings: Settings) -> list[GroupStatus]:
    clients.reach(settings)
    topics = settings.topics
    groups = ((group_of(settings, EVENTS), topics.events), (group_of(settings, SUBSCRIPTIONS), topics.subscriptions))
    with clients.TopicEnds(settings) as ends:
        return [_group(ends, group, topic, _committed(settings, ends, group, topic)) for group, topic in groups]


def _committed(settings: Settings, ends: clients.TopicEnds, group: str, topic: str) -> Offsets:
    """Return the offsets that a group has committed.

    A consumer asks: an admin client's question about a group ends the process where brokers never had a group yet
    (librdkafka issue 4605).
    """
    partitions = range(ends.partitions(topic))
    if not partitions:
        return {}
    consumer = Consumer(clients.group_reader(settings, group))
    try:
        return clients.answered(
            settings, lambda: clients.committed_offsets(consumer, topic, partitions), "Describe", group
        )
    finally:
        consumer.close()


def _group(ends: clients.TopicEnds, group: str, topic: str, committed: Offsets) -> GroupStatus:
    there = bool(ends.partitions(topic))
    beginning, end = (ends.beginnings(topic), ends.of(topic)) if there else ({}, {})
    status = GroupStatus(group, topic, committed, beginning, end, 0)
    status.lag = sum(status.behind().values())
    return status


def _index(address: str) -> IndexStatus | None:
    """Return the sizes of the latest version; None where there is none on this host."""
    manifest: Manifest = latest(address)
    entries = manifest.segments
    if not manifest.version:
        return None
    return IndexStatus(
        manifest.version,
        sum(entry.alive for entry in entries),
        len(entries),
        sum(entry.alive < LEVEL_ZERO for entry in entries),
        sum(entry.segment.bytes for entry in entries),
    )
