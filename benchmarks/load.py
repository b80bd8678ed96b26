"""A steady load on the events topic, and a read_committed consumer that takes the time of every answer."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

import msgspec
import numpy as np
from confluent_kafka import Consumer, Producer

from stream import clients


class Answer(msgspec.Struct):
    """The part of a notification that the clock needs."""

    class Event(msgspec.Struct):
        """Where it is, and when it was handed to the producer, to the millisecond: the record's timestamp."""

        time: datetime
        partition: int
        offset: int

    rank: int
    event: Event


class Arrival(NamedTuple):
    """The first notification of an event; moments are seconds of the wall clock."""

    published: float
    arrived: float
    partition: int
    offset: int


def consumer(bootstrap: str) -> Consumer:
    """Return a consumer of what is committed, as soon as it is."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"bench-{uuid.uuid4().hex}",
            "auto.offset.reset": "latest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 20,
        }
    )


class Clock:
    """Takes the time from an event's publication to the arrival of its first notification, of each event."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.arrivals: list[Arrival] = []
        self._stop = threading.Event()
        self.notifications = 0
        self._consumer = consumer(bootstrap)
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def latencies(self, since: float, until: float) -> np.ndarray:
        """Return, in milliseconds, the latencies of the events published between two moments of the wall clock."""
        return np.array(
            [1e3 * (one.arrived - one.published) for one in self.arrivals if since <= one.published < until]
        )

    def await_next(self, known: int, seconds: float) -> Arrival | None:
        """Return the arrival after the first ``known``; None when it does not come in that time."""
        deadline = time.monotonic() + seconds
        while len(self.arrivals) <= known and time.monotonic() < deadline:
            time.sleep(0.005)
        return self.arrivals[known] if len(self.arrivals) > known else None

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join()
        self._consumer.close()

    def _read(self) -> None:
        decode = msgspec.json.Decoder(Answer).decode
        while not self._stop.is_set():
            for message in clients.records_at_hand(self._consumer, 0.05):
                if message.error() is not None:
                    continue
                now = time.time()
                self.notifications += 1
                answer = decode(message.value() or b"")
                if answer.rank == 1:
                    event = answer.event
                    self.arrivals.append(Arrival(event.time.timestamp(), now, event.partition, event.offset))


class Load:
    """Publishes prepared events, round and round."""

    SLICE = 0.01
    """Seconds between two handfuls of a steady load."""

    def __init__(self, bootstrap: str, topic: str, events: Sequence[bytes]) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 2,
                "enable.idempotence": True,
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        self._topic = topic
        self._events: Iterator[bytes] = itertools.cycle(events)

    def steady(self, rate: float, seconds: float) -> tuple[float, float]:
        """Publish ``rate`` events a second for ``seconds``; return when it began and ended (wall clock)."""
        began, started = time.time(), time.monotonic()
        sent = 0
        while (elapsed := time.monotonic() - started) < seconds:
            for _ in range(int(elapsed * rate) - sent):
                self._publish()
                sent += 1
            self._producer.poll(0)
            time.sleep(self.SLICE)
        self._producer.flush(60)
        return began, time.time()

    def one(self, event: bytes) -> None:
        """Publish this event now."""
        self._producer.produce(self._topic, value=event)
        self._producer.flush(60)

    @contextmanager
    def meanwhile(self, rate: float) -> Iterator[None]:
        """Publish ``rate`` events a second until the end of the block."""
        over = threading.Event()

        def steadily() -> None:
            while not over.is_set():
                self.steady(rate, 0.5)

        thread = threading.Thread(target=steadily)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def burst(self, count: int) -> None:
        """Publish ``count`` events as fast as the broker takes them."""
        for _ in range(count):
            self._publish()
        self._producer.flush(120)

    def close(self) -> None:
        """Forget the producer, before its brokers go."""
        self._producer.flush(60)
        del self._producer

    def _publish(self) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value=next(self._events))
            except BufferError:
                self._producer.poll(0.1)
            else:
                return
