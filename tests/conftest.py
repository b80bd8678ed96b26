"""What many tests share: one broker and one Spark session a test run, each started when first asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of a whole job come first and, where tests run side by side, in one process.

    They mostly wait, and share a broker; the other process computes meanwhile.
    """
    items.sort(key=lambda item: not _is_of_a_job(item))
    for item in items:
        if _is_of_a_job(item):
            item.add_marker(pytest.mark.xdist_group("job"))


def _is_of_a_job(item: pytest.Item) -> bool:
    return item.path.parent.name in {"e2e", "faults"}


@dataclass(frozen=True)
class BrokerAddress:
    """The broker of the test run."""

    bootstrap_servers: str


@pytest.fixture(scope="session")
def broker() -> Iterator[BrokerAddress]:
    """A Kafka broker: the embedded one, or, with TOCSIN_TEST_BROKER=testcontainers, one in a container."""
    if os.environ.get("TOCSIN_TEST_BROKER") == "testcontainers":
        from testcontainers.community.kafka import KafkaContainer

        with KafkaContainer("confluentinc/cp-kafka:8.1.1").with_kraft() as container:
            yield BrokerAddress(container.get_bootstrap_server())
    else:
        from stream.broker import Broker

        with Broker() as embedded:
            yield BrokerAddress(embedded.bootstrap_servers)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark as the job starts it, on two cores."""
    from stream.session import spark_session
    from stream.settings import load_settings

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    settings = load_settings(None, ["job.master=local[2]", f"job.log_file={log}", "job.name=tests"], {})
    session = spark_session(settings)
    yield session
    session.stop()
