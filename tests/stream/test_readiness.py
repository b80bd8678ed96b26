"""What a job can't run with is told from settings and files alone, with the setting's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.errors import TocsinError
from stream.readiness import check_machine, check_settings
from stream.settings import load_settings

STRINGS = '"string"'
RECORDS = '{"type": "record", "name": "Flight", "fields": [{"name": "origin", "type": "string"}]}'


def check(folder: Path, *overrides: str) -> None:
    usual = [f"job.log_file={folder / 'log' / 'spark.log'}"]
    settings = load_settings(None, [*usual, *(text.replace("@", str(folder)) for text in overrides)], {})
    before = sorted(folder.rglob("*"))
    check_settings(settings)
    assert sorted(folder.rglob("*")) == before, "brokers that are not there, or refuse the user, leave nothing behind"
    check_machine(settings)


def test_settings_that_a_job_can_run_with_pass(tmp_path: Path) -> None:
    (tmp_path / "events.avsc").write_text(RECORDS)
    servers = "kafka.bootstrap_servers=PLAINTEXT://a-1.b:9092, [::1]:1,"
    check(tmp_path, servers, "events.format=avro", "events.schema_file=@/events.avsc")


def test_the_folders_of_the_files_that_the_job_writes_are_made(tmp_path: Path) -> None:
    check(tmp_path, "job.log_file=@/some/where/spark.log", "job.metrics_file=@/else/where/metrics.jsonl")
    assert (tmp_path / "some" / "where").is_dir()
    assert (tmp_path / "else" / "where" / "metrics.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["events.format=avro", "events.schema_file=@/none.avsc"], r"none.avsc can't be read.*events.schema_file"),
        (["events.format=avro", "events.schema_file=@/events.avsc"], r"its schema is 'string', and an event is a"),
        (
            ["subscriptions.format=avro_registry", "registry.url=http://a", "registry.timeout=x"],
            r"the table registry is refused by the",
        ),
        (["registry.basic.auth.user.info=${file:/none}"], r"/none"),
        (["spark.ssl.keyPassword=${env:TOCSIN_NONE}"], r"^spark.ssl.keyPassword refers to the .* TOCSIN_NONE"),
        (["kafka.client.ssl.cipher.suites=x"], r"kafka.client.ssl.cipher.suites.*no translation"),
        (["kafka.client.ssl.ca.location=@/ca.pem"], r"ca.pem"),
        (["kafka.java.ssl.truststore.location=@/store"], r"store can't be read .*kafka.java.ssl.truststore.location"),
        (["kafka.bootstrap_servers=a:1, b"], r"kafka.bootstrap_servers has 'b', .* host and port of each broker"),
        (["job.log_file=@/events.avsc/log"], r"log can't be written .*; let job.log_file name one in a folder"),
        (["job.metrics_file=@"], r"can't be written .*; let job.metrics_file name one in a folder"),
        (["job.metrics_file=@/events.avsc/m"], r"m can't be written .*; let job.metrics_file name one in a folder"),
    ],
)
def test_what_a_job_can_not_run_with_is_told(settings: list[str], words: str, tmp_path: Path) -> None:
    (tmp_path / "events.avsc").write_text(STRINGS)
    with pytest.raises(TocsinError, match=words):
        check(tmp_path, *settings)
