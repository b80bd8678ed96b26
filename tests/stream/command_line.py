"""The console script with settings of its own against a broker, and a client that looks at what it did."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.stream import console
from tests.stream.console import TOCSIN

PATIENCE = 60.0


class CommandLine:
    """The console script with settings of its own, and a client that looks at what it did."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.prefix = f"t{uuid.uuid4().hex[:8]}"
        self.events, self.subscriptions, self.notifications, self.dead_letters = (
            f"{self.prefix}.{name}" for name in ("events", "subscriptions", "notifications", "dead-letters")
        )
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")} | {
            "TOCSIN_KAFKA__BOOTSTRAP_SERVERS": bootstrap,
            "TOCSIN_TOPICS__EVENTS": self.events,
            "TOCSIN_TOPICS__SUBSCRIPTIONS": self.subscriptions,
            "TOCSIN_TOPICS__NOTIFICATIONS": self.notifications,
            "TOCSIN_TOPICS__DEAD_LETTERS": self.dead_letters,
            "TOCSIN_TOPICS__PARTITIONS": "2",
        }

    def __call__(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [TOCSIN, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=self.environment,
        )

    def start(self, *arguments: str, **streams: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen([TOCSIN, *arguments], env=self.environment, **streams)

    def on_a_terminal(self, *arguments: str, columns: int) -> tuple[int, str]:
        """Run it, stdout a terminal; return the code and what came there."""
        terminal = {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "40"}
        return console.on_a_terminal("stdout", *arguments, environment=self.environment | terminal)

    def records(self, topic: str) -> list[tuple[bytes | None, Any]]:
        """Return (key, value as JSON) of everything on the topic, in order within a partition."""
        messages = [(message.key(), message.value()) for message in self.messages(topic)]
        return [(key, None if value is None else json.loads(value)) for key, value in messages]

    def timestamps(self, topic: str) -> list[int]:
        return [message.timestamp()[1] for message in self.messages(topic)]

    def messages(self, topic: str) -> list[Any]:
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "look", "enable.partition.eof": True})
        try:
            partitions = consumer.list_topics(topic, 10).topics[topic].partitions
            consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
            found, ended = [], 0
            deadline = time.monotonic() + PATIENCE
            while ended < len(partitions):
                assert time.monotonic() < deadline
                record = consumer.poll(1)
                if record is None:
                    continue
                if record.error() is None:
                    found.append(record)
                else:
                    ended += 1
            return found
        finally:
            consumer.close()

    def produce(self, topic: str, records: list[dict[str, Any]]) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for record in records:
            producer.produce(topic, **record)
        assert producer.flush(PATIENCE) == 0
