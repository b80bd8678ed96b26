"""The demo's Kafka client: puts subscriptions and events on their topics and takes the notifications in meanwhile."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from schemas.errors import TocsinError
from schemas.records import Notification
from stream import clients
from stream.committed import CommittedReader
from stream.offsets import covers
from stream.refusals import unreachable
from stream.settings import Settings

POLL_SECONDS = 0.005
FLUSH_SECONDS = 60.0

Tick = Callable[[], None]
"""Called many times a second; raises what ends the demo early."""


class Traffic:
    """One demo's traffic.

    Parameters
    ----------
    settings
        Brokers and topics.
    keys, bodies
        The events' record keys, all different, and their values.

    Attributes
    ----------
    answers
        Notifications by event number, as they came.
    latencies, sources
        Of each notification, seconds from the publication of its event to its arrival here, and the event's number.
    dead_letters
        What the job did not understand: key and reason.
    seconds
        From the first publication to the last arrival.
    """

    def __init__(self, settings: Settings, keys: Sequence[str], bodies: Sequence[bytes]) -> None:
        self._settings = settings
        self._keys = keys
        self._bodies = bodies
        self._number = {key: number for number, key in enumerate(keys)}
        self._published = [0.0] * len(keys)
        self._errors: list[KafkaError] = []
        self._producer = Producer(clients.producer(settings) | {"delivery.report.only.error": True, "linger.ms": 2})
        self._decode = msgspec.json.Decoder(Notification).decode
        self.answers: dict[int, list[Notification]] = defaultdict(list)
        self.latencies: list[float] = []
        self.sources: list[int] = []
        self.dead_letters: list[str] = []
        self.seconds = 0.0

    def subscribe(self, bodies: Mapping[str, bytes], tick: Tick) -> None:
        """Put subscriptions on their topic and wait until the broker has acknowledged them."""
        for id_, body in bodies.items():
            self._produce(self._settings.topics.subscriptions, id_, body, tick)
        self._flush(tick)

    def run(self, rate: float, tick: Tick, progress: Callable[[int, int], None]) -> None:
        """Publish all events at a steady rate and take in notifications until every event has been answered.

        Parameters
        ----------
        rate
            Events a second.
        tick
            Called at every turn.
        progress
            Told how many events are published and how many notifications have come.
        """
        topics = self._settings.topics
        output = CommittedReader(self._settings, (topics.notifications, topics.dead_letters), self._take)
        try:
            started = time.monotonic()
            published = 0
            while published < len(self._bodies):
                due = min(len(self._bodies), 1 + int((time.monotonic() - started) * rate))
                for number in range(published, due):
                    self._publish(number, tick)
                published = due
                self._turn(output, tick)
                progress(published, len(self.latencies))
            self._flush(tick)
            self._await_answers(output, tick)
            progress(published, len(self.latencies))
            self.seconds = time.monotonic() - started
        except KafkaException as error:
            raise unreachable(self._settings, error) from error
        finally:
            output.close()

    def answer(self, number: int) -> list[Notification]:
        """Return an event's notifications, best first."""
        return sorted(self.answers.get(number, []), key=lambda notification: notification.rank)

    def _publish(self, number: int, tick: Tick) -> None:
        self._published[number] = time.monotonic()
        self._produce(self._settings.topics.events, self._keys[number], self._bodies[number], tick)

    def _produce(self, topic: str, key: str, value: bytes, tick: Tick) -> None:
        while True:
            try:
                self._producer.produce(topic, value=value, key=key, on_delivery=self._delivered)
            except BufferError:
                tick()
                self._producer.poll(0.1)
            else:
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._errors.append(error)

    def _flush(self, tick: Tick) -> None:
        """Wait for the acknowledgements of all that was produced."""
        deadline = time.monotonic() + FLUSH_SECONDS
        while (left := self._producer.flush(0.1)) and time.monotonic() < deadline:
            tick()
        if left or self._errors:
            reason = self._errors[0].str() if self._errors else f"no answer for {FLUSH_SECONDS:g} s"
            raise TocsinError(f"the broker did not take {left + len(self._errors)} records: {reason}")

    def _turn(self, output: CommittedReader, tick: Tick) -> None:
        tick()
        self._producer.poll(0)
        output.poll(POLL_SECONDS)

    def _await_answers(self, output: CommittedReader, tick: Tick) -> None:
        """Wait until the job has committed the end of the events topic, then read its output to the end."""
        topic = self._settings.topics.events
        with clients.TopicEnds(self._settings) as ends:
            end = ends.of(topic)
        name = f"{self._settings.job.name}-events"
        group = Consumer(clients.group_reader(self._settings, name))

        def is_behind() -> bool:
            committed = clients.answered(
                self._settings, lambda: clients.committed_offsets(group, topic, end), "Read", name
            )
            return not covers(committed, end)

        try:
            while is_behind():
                for _ in range(20):
                    self._turn(output, tick)
        finally:
            group.close()
        goal = output.ends()
        while not output.reached(goal):
            self._turn(output, tick)

    def _take(self, message: Message, arrived: float) -> None:
        """Take in a notification or a dead letter."""
        value = message.value()
        if message.topic() == self._settings.topics.dead_letters:
            headers = dict(cast("list[tuple[str, bytes]]", message.headers() or []))
            key, reason = (text.decode(errors="replace") for text in (message.key() or b"", headers["tocsin.message"]))
            self.dead_letters.append(f"{key}: {reason}")
            return
        notification = self._decode(value or b"")
        number = self._number[notification.event.key or ""]
        self.answers[number].append(notification)
        self.latencies.append(arrived - self._published[number])
        self.sources.append(number)
