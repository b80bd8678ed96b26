"""The floor of a transaction and of its delivery: a producer alone, one record a transaction, beside an idle job."""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from benchmarks.load import consumer
from stream import clients
from stream.settings import Settings

TRANSACTIONS = 100
NAME = "tocsin-bench-floor"
VALUE = bytes(200)
"""As long as a notification."""


def transaction_floor(settings: Settings) -> dict[str, float]:
    """Return the median milliseconds of each of `benchmarks.time_line.PHASES` that lies in Kafka alone.

    The producer and the group are configured as the job's; the consumer is the one of the latencies.
    """
    producer = Producer(clients.transactional_producer(settings, NAME))
    producer.init_transactions(60)
    admin = clients.admin(settings)
    admin.create_topics([NewTopic(NAME, 1, 1)])[NAME].result(30)
    group = Consumer(clients.group_reader(settings, NAME))
    answers = consumer(settings.kafka.bootstrap_servers)
    answers.assign([TopicPartition(NAME, 0, 0)])
    metadata = group.consumer_group_metadata()
    rows: list[list[float]] = []
    for number in range(TRANSACTIONS):
        moments = [time.monotonic()]
        producer.begin_transaction()
        producer.produce(NAME, VALUE)
        moments.append(time.monotonic())
        producer.send_offsets_to_transaction([TopicPartition(NAME, 0, number)], metadata, 60)
        moments.append(time.monotonic())
        producer.commit_transaction(60)
        moments.append(time.monotonic())
        while answers.poll(1.0) is None:
            pass
        moments.append(time.monotonic())
        rows.append([1000 * (after - before) for before, after in pairwise(moments)])
    answers.close()
    group.close()
    produced, sent, committed, delivery = (median(column) for column in zip(*rows, strict=True))
    return {"produced": produced, "sent": sent, "committed": committed, "delivery": delivery}
