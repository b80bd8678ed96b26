"""The embedded broker: Kafka itself, started, restarted, killed and watched."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from schemas.errors import TocsinError
from stream.broker import Broker
from stream.lock import holder
from tests.stream import console
from tests.waiting import wait_for


def test_a_broker_outlives_its_starting_thread_and_keeps_address_and_data_over_stop_kill_and_restart(
    tmp_path: Path,
) -> None:
    with pytest.raises(TocsinError, match="no address before it was started"):
        _ = Broker(tmp_path).bootstrap_servers
    broker = Broker(tmp_path)
    starter = threading.Thread(target=broker.start)
    starter.start()
    starter.join()
    try:
        address = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": address})
        admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result()
        producer = Producer({"bootstrap.servers": address})
        producer.produce("kept", b"a record")
        assert producer.flush(30) == 0
        assert broker.running

        broker.stop()
        assert not broker.running
        broker.start()
        broker.kill()
        broker.start()

        assert broker.bootstrap_servers == address
        consumer = Consumer({"bootstrap.servers": address, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["kept"])
        message = consumer.poll(30)
        assert message is not None
        assert message.value() == b"a record"
        consumer.close()
    finally:
        broker.close()
    assert (tmp_path / "kafka" / "kept-0").is_dir()


def test_a_broker_that_dies_is_reported_with_the_end_of_its_log_and_leaves_nothing() -> None:
    broker = Broker()

    def use() -> None:
        with broker:
            assert broker.pid is not None
            os.kill(broker.pid, signal.SIGKILL)
            wait_for(lambda: not broker.running, 30, "the broker outlived SIGKILL")

    with pytest.raises(TocsinError) as caught:
        use()
    assert "ended by itself with exit code -9" in str(caught.value)
    assert "Kafka Server started" in str(caught.value)
    assert not broker.log_file.parent.exists()


def test_a_broker_that_died_and_was_started_again_has_one_watchdog() -> None:
    def watchdogs(pid: int) -> int:
        """How many one process has, by its id: theirs begin anew at some time, and do not tell which is the last."""
        processes = psutil.process_iter(["cmdline"])
        return sum((process.info["cmdline"] or [])[-3:-1] == ["watchdog", str(pid)] for process in processes)

    with Broker() as broker:
        died = broker.pid
        assert died is not None
        os.kill(died, signal.SIGKILL)
        wait_for(lambda: not broker.running, 30, "the broker outlived SIGKILL")
        assert watchdogs(died) == 1
        broker.start()
        assert broker.pid is not None
        assert watchdogs(died) == 0
        assert watchdogs(broker.pid) == 1
        assert broker.log_file.exists()
        assert broker.running


def test_a_broker_that_can_not_start_is_reported_with_the_end_of_its_log() -> None:
    broker = Broker(heap="1k")
    with pytest.raises(TocsinError, match="Too small maximum heap"), broker:
        pass
    assert not broker.log_file.parent.exists()


def test_a_cluster_id_that_begins_with_a_dash_is_no_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One random id in 64 does; the broker must start with it all the same."""
    monkeypatch.setattr("stream.broker.uuid.uuid4", lambda: uuid.UUID(bytes=b"\xfb" * 16))
    with Broker(tmp_path) as broker:
        cluster = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10)
        assert str(cluster.cluster_id)[0] == "-"


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        broker = Broker(port=taken.getsockname()[1])
        with pytest.raises(TocsinError, match="Address already in use"), broker:
            pass


def test_a_folder_in_use_is_refused_before_anything_in_it_is_touched(tmp_path: Path) -> None:
    """A second broker would overwrite the properties and write to the metadata log of the first, which then dies."""
    with Broker(tmp_path) as first:
        before = (tmp_path / "server.properties").read_bytes()
        admin = AdminClient({"bootstrap.servers": first.bootstrap_servers})
        words = rf"{tmp_path} is in use by a broker, process {os.getpid()} on .*; stop that one, .* \(--data\)"
        with pytest.raises(TocsinError, match=words):
            Broker(tmp_path).start()
        assert (tmp_path / "server.properties").read_bytes() == before
        admin.create_topics([NewTopic("after", 1, 1)])["after"].result()
        assert first.running
    with Broker(tmp_path):
        pass


def test_kafka_keeps_the_folder_while_it_lives_though_its_owner_is_dead(tmp_path: Path) -> None:
    """The watchdog takes a moment to kill it, and must have come before the next broker writes."""
    broker = Broker(tmp_path)
    broker.start()
    try:
        assert broker._lock is not None
        broker._lock.__exit__(None, None, None)  # what the death of this process does
        with pytest.raises(TocsinError, match="is in use by a broker"):
            Broker(tmp_path).start()
    finally:
        broker.close()
    assert holder(tmp_path) is None


def test_what_is_no_folder_or_can_not_be_written_is_refused_with_the_cure(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(TocsinError, match=rf"{file} is a file; name a folder .* \(--data\)"):
        Broker(file).start()
    (tmp_path / "data" / "server.properties").mkdir(parents=True)
    with pytest.raises(TocsinError, match=r"server\.properties can't be written: .* \(--data\)"):
        Broker(tmp_path / "data").start()


OWNER = """
import time
from stream.broker import Broker
with Broker() as broker:
    print(broker.pid, broker.log_file.parent, flush=True)
    time.sleep(600)
"""


def test_a_broker_dies_with_its_owner_and_its_temporary_folder_goes_too() -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().split()
        assert psutil.pid_exists(int(pid))
    finally:
        owner.kill()
        owner.communicate()
    wait_for(lambda: not _lives(int(pid)), 30, "the broker outlived its owner")
    wait_for(lambda: not Path(folder).exists(), 30, "the temporary folder was left behind")


def _lives(pid: int) -> bool:
    """A process nobody has waited for yet is dead all the same."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("brokers", [{}, None])
def test_a_broker_that_names_no_brokers_or_does_not_answer_is_given_up_at_the_deadline(
    brokers: dict[int, object] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer without brokers is none either: the broker has not registered with its controller."""

    class Client:
        def __init__(self, _: object) -> None: ...

        def list_topics(self, timeout: float) -> SimpleNamespace:
            if brokers is None:
                raise KafkaException(KafkaError(KafkaError._TRANSPORT))
            return SimpleNamespace(brokers=brokers)

    monkeypatch.setattr("stream.broker.AdminClient", Client)
    monkeypatch.setattr("stream.broker.READY_SECONDS", 0.2)
    broker = Broker(tmp_path)
    broker._port = 1
    with pytest.raises(TocsinError, match=r"the broker did not answer within 0\.2 s; its log"):
        broker._await_ready()


def test_the_status_of_a_job_that_never_ran_is_told_where_brokers_never_had_a_group() -> None:
    """By a process of its own: the client library may end the one that asks."""
    with Broker() as broker:
        settings = {"TOCSIN_KAFKA__BOOTSTRAP_SERVERS": broker.bootstrap_servers}
        assert console.tocsin("topics", seconds=60, **settings).returncode == 0
        said = console.tocsin("status", "--json", seconds=60, **settings)
        assert (said.returncode, said.stderr) == (3, "")
        assert [group["lag"] for group in json.loads(said.stdout)["groups"]] == [0, 0]
