"""A sample of recorded events: from a file of JSON lines by chance, from the events topic the latest."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from schemas.errors import Refused, TocsinError
from schemas.json_codec import decode_event
from schemas.records import Event
from stream import clients
from stream.clients import reach
from stream.commands.shared import unreadable
from stream.decoding import event_decoder
from stream.readiness import event_decoding

if TYPE_CHECKING:
    from stream.settings import Settings

PATIENCE = 15.0
"""Seconds without a record after which what was read is all there is."""


class Sample(NamedTuple):
    """Events with the bodies that they were decoded from, and what to call them; and how many records were none."""

    events: list[Event]
    bodies: list[bytes]
    names: list[str]
    refused: int


def sample_of_file(name: str, settings: Settings, size: int, seed: int) -> Sample:
    """Choose events of a file of JSON lines, ``-`` meaning stdin, each as likely as any other; their time is now."""
    chance = random.Random(seed)
    now = time.time_ns() // 1000
    chosen: list[tuple[int, bytes, Event]] = []
    seen = refused = 0
    for number, line in _lines(name):
        try:
            event = decode_event(line, now, settings.limits)
        except Refused:
            refused += 1
            continue
        seen += 1
        if len(chosen) < size:
            chosen.append((number, line, event))
        elif (place := chance.randrange(seen)) < size:
            chosen[place] = (number, line, event)
    chosen.sort(key=lambda entry: entry[0])
    names = [f"line {number}" for number, _, _ in chosen]
    return Sample([event for _, _, event in chosen], [line for _, line, _ in chosen], names, refused)


def sample_of_topic(settings: Settings, size: int) -> Sample:
    """Read the latest events of the topic, as many from each partition, decoded as the job decodes them."""
    topic = settings.topics.events
    if topic not in reach(settings):
        raise TocsinError(f"there is no topic {topic} at {settings.kafka.bootstrap_servers}; name a file of events")
    decode = event_decoder(event_decoding(settings))
    sample = Sample([], [], [], 0)
    refused = 0
    for record in _latest(settings, topic, size):
        body = record.value() or b""
        try:
            event = decode(body, record.timestamp()[1] * 1000)
        except Refused:
            refused += 1
            continue
        sample.events.append(event)
        sample.bodies.append(body)
        sample.names.append(f"{topic}/{record.partition()}/{record.offset()}")
    return sample._replace(refused=refused)


def _lines(name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    try:
        if name == "-":
            yield from _filled(sys.stdin.buffer)
        else:
            with Path(name).open("rb") as file:
                yield from _filled(file)
    except OSError as error:
        raise unreadable(name, error) from error


def _filled(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    return ((number, line.strip()) for number, line in enumerate(file, 1) if line.strip())


def _latest(settings: Settings, topic: str, size: int) -> list[Message]:
    """Return the topic's latest committed records, at most ``size``."""
    with clients.TopicEnds(settings, {topic: "Read"}) as known:
        ends = known.of(topic)
    share = -(-size // max(len(ends), 1))
    starts = {partition: max(end - share, 0) for partition, end in ends.items()}
    behind: set[int | None] = {partition for partition, end in ends.items() if end > starts[partition]}
    found: list[Message] = []
    consumer = Consumer(clients.reader(settings, from_beginning=True) | {"fetch.wait.max.ms": 50})
    try:
        consumer.assign([TopicPartition(topic, partition, start) for partition, start in starts.items()])
        while behind and (record := consumer.poll(PATIENCE)) is not None:
            error, partition, offset = record.error(), record.partition(), record.offset()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    behind.discard(partition)
                elif error.fatal() or not error.retriable():
                    raise TocsinError(f"{topic} can't be read: {error.str()}")
                continue
            assert partition is not None
            assert offset is not None
            if offset < ends[partition]:
                found.append(record)
            if offset + 1 >= ends[partition]:
                behind.discard(partition)
    finally:
        consumer.close()
    return found[:size]
