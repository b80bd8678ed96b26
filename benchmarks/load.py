"""A steady load on the events topic, and a read_committed consumer that takes the time of every answer."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec
import numpy as np
from confluent_kafka import Consumer, Producer


class Answer(msgspec.Struct):
    """The part of a notification that the clock needs."""

    class Event(msgspec.Struct):
        """When the event was handed to the producer, to the millisecond: the record's timestamp."""

        time: datetime

    rank: int
    event: Event


class Clock:
    """Takes the time from an event's publication to the arrival of its first notification."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._latencies: list[tuple[float, float]] = []
        self._stop = threading.Event()
        self.notifications = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"bench-{uuid.uuid4().hex}",
                "auto.offset.reset": "latest",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
            }
        )
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def latencies(self, since: float, until: float) -> np.ndarray:
        """Return, in milliseconds, the latencies of the events published between two moments of the wall clock."""
        return np.array([1e3 * seconds for at, seconds in self._latencies if since <= at < until])

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join()
        self._consumer.close()

    def _read(self) -> None:
        decode = msgspec.json.Decoder(Answer).decode
        while not self._stop.is_set():
            for message in self._consumer.consume(5_000, 0.05):
                if message.error() is not None:
                    continue
                now = time.time()
                self.notifications += 1
                answer = decode(message.value())
                if answer.rank == 1:
                    at = answer.event.time.timestamp()
                    self._latencies.append((at, now - at))


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

    def burst(self, count: int) -> None:
        """Publish ``count`` events as fast as the broker takes them."""
        for _ in range(count):
            self._publish()
        self._producer.flush(120)

    def _publish(self) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value=next(self._events))
            except BufferError:
                self._producer.poll(0.1)
            else:
                return
