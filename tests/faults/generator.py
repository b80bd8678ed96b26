"""The load: one writer that changes subscriptions and publishes events, and keeps the history of both."""

from __future__ import annotations

import contextlib
import random
import time
from typing import Any

import msgspec
from confluent_kafka import KafkaException, Producer

from tests.e2e.harness import Client, JobUnderTest, quiet
from tests.faults.history import History

IDS = 30
EVENTS_AT_ONCE = 5
CHANGES, ABORTED = 0.3, 0.1
"""Which share of rounds changes a subscription, and which begins with a transaction that is aborted."""


class Pending:
    """An event on its way to the broker."""

    def __init__(self, client: Client, topic: str, event: dict[str, Any], now: int) -> None:
        self.event = event
        self.produced_at = now
        self.place: tuple[int, int] | None = None
        client.producer.produce(topic, msgspec.json.encode(event), on_delivery=self._delivered)

    def _delivered(self, error: Any, message: Any) -> None:
        assert error is None, error
        self.place = (message.partition(), message.offset())


class Generator:
    """Writes straight to the broker, not through the proxy; waits for the acknowledgement of each change.

    Attributes
    ----------
    during
        Which fault is going on, for the history.
    aborted
        How many transactions it has aborted, each with an event and a subscription that matches everything.
    """

    def __init__(self, bootstrap: str, job: JobUnderTest, rng: random.Random) -> None:
        self.history = History()
        self.client = Client(bootstrap, job)
        self.during = ""
        self.aborted = 0
        self._random = rng
        self._topics = job.topics
        self._bootstrap = bootstrap
        self._transactional: Producer | None = None

    def run(self, seconds: float) -> None:
        """Publish and change for that long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._random.random() < ABORTED:
                self._abort()
            if self._random.random() < CHANGES:
                self._change()
            self.acknowledge(self.produce())
            self.client.poll(0.02)

    def produce(self) -> list[Pending]:
        """Send some events."""
        events = [{"a": self._random.randrange(8), "b": self._random.randrange(10)} for _ in range(EVENTS_AT_ONCE)]
        return [Pending(self.client, self._topics.events, event, self.history.now) for event in events]

    def acknowledge(self, pending: list[Pending]) -> None:
        """Wait until these have arrived, and note them."""
        assert self.client.producer.flush(120) == 0, "the broker takes no events"
        for one in pending:
            assert one.place is not None
            self.history.published(one.place, one.event, one.produced_at, self.during)

    def close(self) -> None:
        self.client.close()

    def _change(self) -> None:
        id_ = f"s{self._random.randrange(IDS)}"
        a, b, weight = self._random.randrange(8), self._random.randrange(10), self._random.randrange(1, 9)
        text = None if self._random.random() < 0.2 else f"a in ({a}^0.{weight}, {(a + 1) % 8}) and not b = {b}"
        if text is None:
            self.client.unsubscribe([id_])
        else:
            self.client.subscribe({id_: {"filter": text}})
        self.history.changed(id_, text)

    def _abort(self) -> None:
        """Write what nobody may see, and leave gaps in the offsets of both topics."""
        if self._transactional is None:
            name = {"transactional.id": f"{self._topics.prefix}-noise", "linger.ms": 0}
            self._transactional = Producer(quiet(self._bootstrap) | name)
            self._transactional.init_transactions(60)
        with contextlib.suppress(KafkaException):  # the broker may have been killed since: then it is aborted as well
            producer = self._transactional
            producer.begin_transaction()
            id_ = f"s{self._random.randrange(IDS)}"
            producer.produce(self._topics.subscriptions, b'{"filter": "a >= 0"}', id_)
            producer.produce(self._topics.events, b'{"a": 1, "b": 1}')
            producer.flush(30)
            producer.abort_transaction(30)
            self.aborted += 1
            return
        self._transactional = None
