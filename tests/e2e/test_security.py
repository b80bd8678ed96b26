"""TLS, logins and access rules: the job works with the rights that the manual lists, and says what is wrong or missing.

No secret shows anywhere: not in logs, not in Spark's page, not in dumps, not in what refuses it.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import trustme
from confluent_kafka import KafkaError
from confluent_kafka.admin import AclOperation, ResourceType

from schemas.errors import TocsinError
from stream import clients, rights
from stream.clients import TopicEnds
from stream.output import TransactionalOutput
from stream.refusals import Contact
from stream.settings import Settings, load_settings
from stream.sources import source_of
from stream.topics import ensure_topics
from tests.e2e.harness import Client, JobUnderTest, Topics
from tests.e2e.secure import CERTIFIED, Rule, SecureBroker, client_files, prefixed, secure_broker, topic

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with secure_broker(tmp_path_factory.mktemp("secure")) as broker:
        broker.add_user("tocsin", PASSWORD)
        yield broker


@pytest.fixture
def topics(secured: SecureBroker) -> Topics:
    """Topics that are there, in which nobody but the administrator has any right."""
    own = Topics()
    ensure_topics(_settings(own, secured.plain))
    return own


def _settings(own: Topics, servers: str, **more: str) -> Settings:
    names = ("events", "subscriptions", "notifications", "dead_letters")
    given = [f"topics.{name}={getattr(own, name)}" for name in names]
    given += [f"kafka.bootstrap_servers={servers}", f"job.name={own.prefix}", "topics.partitions=2"]
    return load_settings(None, [*given, *(f"{name}={value}" for name, value in more.items())], {})


def _login(secured: SecureBroker, password: str = PASSWORD) -> dict[str, str]:
    return {
        "kafka.client.security.protocol": "SASL_SSL",
        "kafka.client.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.client.sasl.username": "tocsin",
        "kafka.client.sasl.password": password,
        "kafka.client.ssl.ca.location": str(secured.authority),
    }


def _certificate(secured: SecureBroker) -> dict[str, str]:
    return {
        "kafka.client.security.protocol": "ssl",
        "kafka.client.ssl.ca.location": str(secured.authority),
        "kafka.client.ssl.certificate.location": str(secured.certificate),
        "kafka.client.ssl.key.location": str(secured.key),
    }


def _needed(own: Topics) -> list[Rule]:
    """The rights that docs/operations.md lists for topics that are there."""
    return [
        *topic(own.events, AclOperation.READ),
        *topic(own.subscriptions, AclOperation.READ, AclOperation.DESCRIBE_CONFIGS),
        *topic(own.notifications, AclOperation.WRITE),
        *topic(own.dead_letters, AclOperation.WRITE),
        prefixed(ResourceType.GROUP, f"{own.prefix}-", AclOperation.READ),
        prefixed(ResourceType.TRANSACTIONAL_ID, f"{own.prefix}-", AclOperation.WRITE),
    ]


def _refusal(settings: Settings) -> str:
    """Go through what the job does before Spark is started, and return why it ends."""
    try:
        ensure_topics(settings)
        with TopicEnds(settings) as ends:
            rights.check_rights(settings, ends)
            TransactionalOutput(settings, "events", settings.topics.events, 2).close()
    except TocsinError as error:
        return str(error)
    raise AssertionError("nothing was refused")


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[KafkaError]:
    """The errors that clients meet when they connect."""
    met: list[KafkaError] = []

    class Counting(Contact):
        def __call__(self, error: KafkaError) -> None:
            met.append(error)
            super().__call__(error)

    monkeypatch.setattr(clients, "Contact", Counting)
    return met


def test_a_wrong_password_is_said_after_one_or_two_attempts(secured: SecureBroker, attempts: list[KafkaError]) -> None:
    wrong = _settings(Topics(), secured.secure, **_login(secured, "wrong password"))
    with pytest.raises(TocsinError) as caught:
        clients.reach(wrong)
    assert re.search(r'refuses the user "tocsin": .*Authentication failed.*see sasl\.username', str(caught.value))
    assert "wrong password" not in str(caught.value)
    refused = [error for error in attempts if error.code() == KafkaError._AUTHENTICATION]
    assert 1 <= len(refused) <= 4


def test_a_run_with_a_wrong_password_ends_in_one_sentence_before_spark_is_started(
    secured: SecureBroker, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("wrong password\n")
    login = _login(secured, f"${{file:{tmp_path / 'password'}}}")
    arguments = [f"--set={name}={value}" for name, value in login.items()]
    arguments += [f"--set=kafka.bootstrap_servers={secured.secure}", "--set=job.log_format=json"]
    command = [str(Path(sys.executable).with_name("tocsin")), "run", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert json.loads(line)["level"] == "error"
    assert 'refuses the user "tocsin"' in json.loads(line)["message"]
    assert "wrong password" not in done.stderr
    assert not (tmp_path / "tocsin-data").exists()


def test_an_unknown_authority_and_a_missing_protocol_are_said(
    secured: SecureBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "REACH_SECONDS", 2.0)
    unknown = _login(secured)
    del unknown["kafka.client.ssl.ca.location"]
    with pytest.raises(TocsinError, match=r"there is no TLS connection to Kafka at .*certificate.*ssl\.ca\.location"):
        clients.reach(_settings(Topics(), secured.secure, **unknown))
    with pytest.raises(TocsinError, match=r"does not answer at .*security\.protocol"):
        clients.reach(_settings(Topics(), secured.secure))


def test_a_missing_and_a_strange_certificate_are_said_after_one_or_two_attempts(
    secured: SecureBroker, tmp_path: Path, attempts: list[KafkaError]
) -> None:
    given = _certificate(secured)
    strange, key = client_files(trustme.CA(), tmp_path)
    strange_given = given | {
        "kafka.client.ssl.certificate.location": str(strange),
        "kafka.client.ssl.key.location": str(key),
    }
    missing_given = {name: value for name, value in given.items() if "certificate" not in name and "key" not in name}
    for more, who in ((missing_given, "an anonymous client"), (strange_given, "the job's certificate")):
        attempts.clear()
        with pytest.raises(TocsinError) as caught:
            clients.reach(_settings(Topics(), secured.mutual, **more))
        wanted = (
            rf"^Kafka at \S+ refuses {who}: .*certificate.*; see .*ssl\.certificate\.location and ssl\.key\.location"
        )
        assert re.search(wanted, str(caught.value))
        assert 1 <= sum("SSL alert" in error.str() for error in attempts) <= 4
    wrong = given | {"kafka.client.ssl.key.location": str(key)}
    with pytest.raises(TocsinError, match=r"^kafka\.client is refused .*: ssl\.key\.location failed: .*mismatch"):
        clients.reach(_settings(Topics(), secured.mutual, **wrong))


def test_each_right_that_is_missing_is_named_with_the_resource(secured: SecureBroker, topics: Topics) -> None:
    settings = _settings(topics, secured.secure, **_login(secured))
    wanted = _needed(topics)
    secured.allow("tocsin", wanted)
    ensure_topics(settings)
    names = {AclOperation.READ: "Read", AclOperation.WRITE: "Write", AclOperation.DESCRIBE_CONFIGS: "DescribeConfigs"}
    for rule in wanted:
        kind, name, _, operation = rule
        secured.take_away("tocsin", rule)
        said = _refusal(settings)
        secured.allow("tocsin", [rule])
        words = kind.name.lower().replace("_", " ")
        if operation == AclOperation.DESCRIBE_CONFIGS or kind != ResourceType.TOPIC:
            exact = name if kind == ResourceType.TOPIC else f"{name}events"
            assert said.startswith(f'Kafka does not let the user "tocsin" use the {words} {exact}: the right '), said
            assert f"the right {names[operation]} is missing; give it with kafka-acls.sh" in said
        else:  # the last right on a topic is taken, so it is not even shown
            assert said.startswith(f"the topic {name} is missing, or not shown to this client"), said
    secured.allow("tocsin", topic(topics.events, AclOperation.DESCRIBE))
    secured.take_away("tocsin", topic(topics.events, AclOperation.READ)[0])
    said = _refusal(settings)
    assert f"use the topic {topics.events}: the right Read is missing; give it with kafka-acls.sh" in said
    assert f"--allow-principal User:tocsin --operation Read --topic {topics.events}" in said


@pytest.mark.parametrize("asked", [source_of, TopicEnds.partitions_now, TopicEnds.of, TopicEnds.beginnings])
def test_who_asks_about_a_topic_that_it_may_not_see_is_told_which_and_which_right_it_needs(
    secured: SecureBroker, topics: Topics, asked: Callable[[TopicEnds, str], object]
) -> None:
    settings = _settings(topics, secured.secure, **_login(secured))
    needed = rights.needed_rights(settings)
    assert needed.keys() == {topics.events, topics.subscriptions, topics.notifications, topics.dead_letters}
    for name, right in needed.items():
        with TopicEnds(settings, needed) as ends, pytest.raises(TocsinError) as caught:
            asked(ends, name)
        assert f'the user "tocsin" use the topic {name}: the right {right} is missing; give it' in str(caught.value)
    with TopicEnds(settings) as ends, pytest.raises(TocsinError) as caught:
        asked(ends, topics.events)
    assert f"use the topic {topics.events}: the right Describe is missing; give it" in str(caught.value)


def _pages(ui: str) -> Iterator[str]:
    """Everything that Spark's page tells of settings, plans and queries."""
    (application,) = json.loads(_get(f"{ui}/api/v1/applications"))
    rest = f"{ui}/api/v1/applications/{application['id']}"
    for path in ("environment/", "SQL/", "StreamingQuery/", "jobs/", "stages/"):
        yield _get(f"{ui}/{path}")
    yield _get(f"{rest}/environment")
    for execution in json.loads(_get(f"{rest}/sql?details=true&length=50")):
        yield json.dumps(execution)
        yield _get(f"{ui}/SQL/execution/?id={execution['id']}")


def _get(url: str, seconds: float = 30) -> str:
    with urllib.request.urlopen(url, timeout=seconds) as answer:
        return str(answer.read().decode())


def test_the_job_works_with_these_rights_and_shows_no_secret_anywhere(
    secured: SecureBroker, topics: Topics, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    secured.allow("tocsin", _needed(topics))
    more: dict[str, Any] = _login(secured, f"${{file:{tmp_path / 'password'}}}")
    more |= {"spark_ui": "true", "spark.spark.ui.port": "0", "spark.spark.test.secret": PASSWORD, "log_format": "json"}
    job = JobUnderTest(secured.secure, topics, tmp_path, **more)
    client = Client(secured.plain, job)
    try:
        job.start()
        client.subscribe({"s": {"filter": "a = 1"}, "bad": {"filter": "a ="}})
        (place, _) = client.publish([{"a": 1}, {"a": 2}])
        client.await_committed(job.events_group, topics.events)
        assert [match["subscription"] for match in client.matches_of(place)] == ["s"]
        assert [letter["tocsin.reason"] for letter in client.letters] == ["filter.syntax"]

        pages = list(_pages(_ui(job)))
        assert any("redacted" in page for page in pages)
        for page in pages:
            assert PASSWORD not in page
            assert "ScramLoginModule" not in page

        # a right is taken away while it runs: the job ends, and says which
        secured.take_away("tocsin", topic(topics.notifications, AclOperation.WRITE)[0])
        client.publish([{"a": 1}])
        assert job.process.wait(90) == 1, job.process.tail()
        job.await_gone()
        last = json.loads(job.process.tail(1))
        assert last["level"] == "error"
        assert f"use the topic {topics.notifications}: the right Write is missing" in last["message"]

        for log in (job.process.log, tmp_path / "spark.log", tmp_path / "spark.log.output", tmp_path / "tocsin.toml"):
            assert PASSWORD not in log.read_text().replace(f'"spark.test.secret" = "{PASSWORD}"', "")
        for line in job.process.log.read_text().splitlines():
            assert json.loads(line).keys() >= {"time", "level", "logger", "message"}
        java = (tmp_path / "spark.log").read_text().splitlines()
        assert java
        assert all(json.loads(line).keys() >= {"time", "level", "logger", "message"} for line in java)
        for folder in ("index", "index/progress", "checkpoint", "checkpoint/events", "spark.log", "spark.log.output"):
            assert (tmp_path / folder).stat().st_mode & 0o077 == 0, folder
    finally:
        client.close()
        job.clean_up()


def _ui(job: JobUnderTest) -> str:
    """Return where Spark's page is, as the job has said."""
    said = [str(json.loads(line)["message"]) for line in job.process.log.read_text().splitlines()]
    (address,) = [words.split()[-1] for words in said if words.startswith("Spark's page is at ")]
    return address


def test_a_stop_while_the_brokers_do_not_answer_abandons_the_batch_which_runs_again(
    secured: SecureBroker, topics: Topics, tmp_path: Path
) -> None:
    """The job's clients show a certificate; where all of them do, rights are given to the one it is for."""
    secured.allow(CERTIFIED, _needed(topics))
    job = JobUnderTest(secured.mutual, topics, tmp_path, **_certificate(secured))
    client = Client(secured.plain, job)
    assert secured.broker.pid is not None
    broker = psutil.Process(secured.broker.pid)
    try:
        job.start()
        client.subscribe({"s": {"filter": "a = 1"}})
        client.publish([{"a": 1}])
        client.await_committed(job.events_group, topics.events)
        client.publish([{"a": 1}])
        broker.suspend()
        time.sleep(1)
        job.process.terminate(0)
        assert job.process.wait(30) == 0
        broker.resume()
        job.await_gone()
        assert "is abandoned; it runs again at the next start" in job.process.tail()
        job.start()
        client.await_committed(job.events_group, topics.events)
        assert len(client.found) == 2
        assert job.stop() == 0
    finally:
        broker.send_signal(signal.SIGCONT)
        client.close()
        job.clean_up()
