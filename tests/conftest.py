"""What many tests share: one broker and one Spark session a test run, each started when first asked for."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# a test must not fail because the machine is busy, or because kernels are compiled meanwhile
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

JOBS = ("tests/e2e/", "tests/faults/")
"""Where the tests of a whole job are: they mostly wait, and share a broker."""


def pytest_configure() -> None:
    """Let Ctrl-C reach the tests and what they start: shells have background commands, and all below, ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of a whole job come first, since they take longest."""
    items.sort(key=lambda item: not item.nodeid.startswith(JOBS))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests run in several processes, one begins with those of a job, the others with the rest, file by file.

    Whoever is through helps with what is left, from its end. Two jobs at the same time would mostly take each other's
    processor, and the rest never waits.
    """
    from xdist.scheduler import LoadScopeScheduling

    class JobsFirst(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return nodeid.split("::")[0]

        def _assign_work_unit(self, node: Any) -> None:
            self.workqueue.move_to_end(self._next(node is self.nodes[0]), last=False)
            super()._assign_work_unit(node)

        def _next(self, first: bool) -> str:
            jobs: list[str] = [scope for scope in self.workqueue if scope.startswith(JOBS)]
            rest: list[str] = [scope for scope in self.workqueue if not scope.startswith(JOBS)]
            return [*jobs, *rest][0] if first else [*rest, *reversed(jobs)][0]

    return JobsFirst(config, log)


@pytest.fixture(autouse=True)
def process_as_before() -> Iterator[None]:
    """No test leaves its process, in which others follow, with another priority, folder, collector or signals."""
    before = _process()
    yield
    assert _process() == before, "what this test called in its own process changed it"


def _process() -> dict[str, Any]:
    return {
        # lowered it stays lowered: all that follows, Spark and brokers too, would wait for everybody else
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "folder": Path.cwd(),
        "collects garbage": gc.isenabled(),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)],
    }


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
