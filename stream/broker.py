"""The embedded broker: Apache Kafka itself as a child process, one node that is broker and controller."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from schemas.errors import TocsinError
from stream.jars import broker_jars
from stream.java import java_executable
from stream.lock import FolderLock
from stream.log_files import tail
from stream.watchdog import Watchdog

HOST = "127.0.0.1"
READY_SECONDS = 90.0
STOP_SECONDS = 20.0
PORT_ATTEMPTS = 3
"""How often ports from the system are tried: another process may take one before the broker does."""

JVM_FLAGS = (
    "-XX:TieredStopAtLevel=1",  # measured on 2 cores: ready in 1.9 s, not 2.5; half the CPU; no fewer records/s
    "-XX:+UseSerialGC",  # a small heap; no collector threads beside Spark's
)

SERVER_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=CLIENT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=CLIENT://{host}:{port}
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
controller.listener.names=CONTROLLER
log.dirs={logs}
# A mistyped topic is an error, not a new topic.
auto.create.topics.enable=false
# One node can hold one copy.
default.replication.factor=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# Each partition of these is loaded before its coordinator answers; the defaults are 50.
offsets.topic.num.partitions=4
transaction.state.log.num.partitions=4
share.coordinator.state.topic.num.partitions=1
# Transactions that lasted too long are looked for each second instead of each ten.
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
# A new consumer group starts at once instead of waiting 3 s for members.
group.initial.rebalance.delay.ms=0
# After a kill the restarted broker may register again only when its old session has ended: 3 s instead of 9.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=1000
# The default, 128 MB, is a quarter of the heap; compaction looks for work each second instead of each 15.
log.cleaner.dedupe.buffer.size=16777216
log.cleaner.backoff.ms=1000
num.network.threads=2
num.io.threads=4
"""

KILL_AND_REMOVE = 'kill -KILL "$1" 2>/dev/null; sleep 1; [ -z "$2" ] || rm -rf "$2"'
"""What becomes of the broker and its temporary data when this process dies."""


class Broker:
    """A Kafka broker of its own; a context manager that starts and stops it.

    Parameters
    ----------
    data
        Folder of its data, which is kept; None takes a temporary one, which is removed by `close`.
    port
        Port of its listener; None takes a free one, which a restart keeps.
    heap
        Java heap.
    log
        File that its output is appended to; None puts it beside the data.
    properties
        Further lines of ``server.properties``, which win over those above; ``{host}``, ``{port}`` and
        ``{controller_port}`` stand for what the broker takes.
    """

    def __init__(
        self,
        data: Path | None = None,
        port: int | None = None,
        heap: str = "512m",
        log: Path | None = None,
        properties: str = "",
    ) -> None:
        self._temporary = data is None
        self._data = Path(tempfile.mkdtemp(prefix="tocsin-broker-")) if data is None else data.absolute()
        self._port = port
        self._heap = heap
        self._properties = properties
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None
        self._lock: FolderLock | None = None
        self.log_file = self._data / "broker.log" if log is None else log
        self._log_begin = 0

    @property
    def bootstrap_servers(self) -> str:
        """Address for clients; known from the first start on."""
        if self._port is None:
            raise TocsinError("the broker has no address before it was started")
        return f"{HOST}:{self._port}"

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """Its process id while it was started and not yet stopped."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it and wait until it answers; on data that is there already, with what that data holds.

        Raises
        ------
        TocsinError
            Another process uses its folder, or the folder can't be written; or it ended or did not answer in time, and
            the message ends with the last lines of its log.
        """
        if self.running:
            return
        for attempt in range(1, PORT_ATTEMPTS + 1):
            fixed = self._port is not None
            try:
                self._take_folder()
                self._launch()
                self._await_ready()
                return
            except TocsinError:
                self.kill()
                if fixed or attempt == PORT_ATTEMPTS or "BindException" not in self._log():
                    raise
                self._port = None
            except BaseException:
                self.kill()
                raise

    def stop(self) -> None:
        """Stop it cleanly, or kill it when it does not stop in time; its data stays. Harmless when it does not run."""
        if self._process is not None:
            self._end(signal.SIGTERM)
        self._free_folder()

    def kill(self) -> None:
        """Kill it at once, as a crash would; its data stays."""
        if self._process is not None:
            self._end(signal.SIGKILL)
        self._free_folder()

    def close(self) -> None:
        """Stop it and remove its data if they are temporary."""
        self.stop()
        if self._temporary:
            shutil.rmtree(self._data, ignore_errors=True)

    def wait(self) -> None:
        """Block while it runs.

        Raises
        ------
        TocsinError
            It ended by itself.
        """
        if self._process is not None:
            self._process.wait()
            self.check()

    def check(self) -> None:
        """Raise TocsinError, with the end of its log, if it was started, not stopped, and yet ended."""
        if self._process is not None and self._process.poll() is not None:
            raise self._failure(f"the broker ended by itself with exit code {self._process.returncode}")

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.check()
        finally:
            self.close()

    def _take_folder(self) -> None:
        """Lock the folder before anything in it is touched: a second broker would spoil what the first one writes."""
        if self._lock is None:
            self._lock = FolderLock(self._data, "--data", "", kind="a broker").__enter__()

    def _locked(self) -> tuple[int, ...]:
        """Return the lock for a child, which may outlive this process for a moment and must have the folder alone."""
        return () if self._lock is None else (self._lock.fileno(),)

    def _free_folder(self) -> None:
        if self._lock is not None:
            self._lock.__exit__(None, None, None)
            self._lock = None

    def _launch(self) -> None:
        """Start the process on its data, which is formatted first when it is new."""
        self._end_watchdog()  # of one that ended by itself: it would at last kill whoever has that id then
        if self._port is None:
            self._port = free_port()
        logs = self._data / "kafka"
        properties = self._data / "server.properties"
        text = SERVER_PROPERTIES + self._properties
        try:
            self.log_file.parent.mkdir(parents=True, exist_ok=True)
            self.log_file.touch()
            self._log_begin = self.log_file.stat().st_size
            properties.write_text(text.format(host=HOST, port=self._port, controller_port=free_port(), logs=logs))
        except OSError as error:
            raise TocsinError(
                f"{error.filename or properties} can't be written: {error.strerror}; name a folder that this process "
                "may write to, on a disk with room (--data)"
            ) from error
        if not (logs / "meta.properties").exists():
            self._format(properties)
        with self.log_file.open("ab") as log:
            # A session of its own: Ctrl-C in the terminal reaches this process, which then stops the broker in order.
            self._process = subprocess.Popen(
                [*self._java(), f"-Xmx{self._heap}", "kafka.Kafka", str(properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=self._locked(),
            )
        temporary = str(self._data) if self._temporary else ""
        self._watchdog = Watchdog(KILL_AND_REMOVE, str(self._process.pid), temporary)

    def _java(self) -> list[str]:
        class_path = os.pathsep.join(str(jar) for jar in broker_jars())
        logging = Path(__file__).with_name("broker-log4j2.properties")
        return [str(java_executable()), *JVM_FLAGS, f"-Dlog4j2.configurationFile={logging}", "-cp", class_path]

    def _format(self, properties: Path) -> None:
        # One id in 64 begins with a dash, which as an argument of its own would pass for an option.
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        arguments = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(properties)]
        with self.log_file.open("ab") as log:
            code = subprocess.run(
                [*self._java(), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
                pass_fds=self._locked(),
            ).returncode
        if code:
            raise self._failure(f"the broker's data folder {self._data} could not be formatted (exit code {code})")

    def _await_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        client = AdminClient(
            # the first attempts are refused: expected, so said to nobody
            {"bootstrap.servers": self.bootstrap_servers, "log_level": 0, "reconnect.backoff.max.ms": 100}
        )
        while time.monotonic() <= deadline:
            self.check()
            with contextlib.suppress(KafkaException):
                if client.list_topics(timeout=0.5).brokers:
                    return
            time.sleep(0.02)
        raise self._failure(f"the broker did not answer within {READY_SECONDS:g} s")

    def _end(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._end_watchdog()
        self._process.send_signal(number)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:  # whatever interrupts the wait, a second Ctrl-C for one, no process stays
            self._process.kill()
            self._process.wait()
            self._process = None

    def _end_watchdog(self) -> None:
        """End the watchdog first: afterwards the broker's process id may be another process's."""
        if self._watchdog is not None:
            self._watchdog.end()
            self._watchdog = None

    def _failure(self, what: str) -> TocsinError:
        return TocsinError(f"{what}; its log {self.log_file} ends with:\n{self._log_end()}")

    def _log_end(self) -> str:
        """Return the last lines of this run's log that are not the frames of a stack trace."""
        return tail("\n".join(line for line in self._log().splitlines() if not line.startswith("\t")))

    def _log(self) -> str:
        """Return what was logged since the last launch."""
        try:
            return self.log_file.read_bytes()[self._log_begin :].decode(errors="replace")
        except OSError as error:
            return f"(no log: {error})"


def free_port() -> int:
    """Return a port that nobody listens at just now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
