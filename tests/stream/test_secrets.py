"""Secrets: they come from files and the environment, and are shown nowhere."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from schemas.errors import TocsinError
from stream.clients import common
from stream.log_format import formatter, json_line
from stream.secrets import MASK, SPARK_REDACTION, hide, is_secret, resolved
from stream.settings import load_settings
from stream.settings_reference import settings_toml


def test_references_lead_to_the_environment_and_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "from the environment")
    (tmp_path / "password").write_text("from a file\n")
    (tmp_path / "all.properties").write_text("a = 1\nkafka.password = from a line\n")
    assert resolved("x", "${env:KAFKA_PASSWORD}") == "from the environment"
    assert resolved("x", f"${{file:{tmp_path}/password}}") == "from a file"
    assert resolved("x", f"${{file:{tmp_path}/all.properties:kafka.password}}") == "from a line"
    assert resolved("x", f"${{directory:{tmp_path}:password}}") == "from a file"
    assert resolved("x", "me:${env:KAFKA_PASSWORD}!") == "me:from the environment!"
    assert resolved("x", "${spark.home} ${other:thing} $5") == "${spark.home} ${other:thing} $5"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("${env:TOCSIN_NOT_SET}", "refers to the environment variable TOCSIN_NOT_SET, which is not set"),
        ("${file:/none/at/all}", "refers to the file /none/at/all, which can't be read: No such file"),
        ("${file:/dev/null:key}", "which has no line key=…"),
        ("${directory:/none:file}", "refers to the file /none/file, which can't be read"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused_where_it_is_used(value: str, said: str) -> None:
    settings = load_settings(None, [f"kafka.client.sasl.password={value}"], {})
    assert value in settings_toml(settings), "and a dump needs no secret"
    with pytest.raises(TocsinError, match=r"^kafka\.client\.sasl\.password refers to") as caught:
        common(settings)
    assert said in str(caught.value)


def test_any_setting_may_be_a_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_BROKERS", "a:1,b:2")
    monkeypatch.setenv("TEST_TOP", "7")
    settings = load_settings(None, ["kafka.bootstrap_servers=${env:TEST_BROKERS}", "job.top=${env:TEST_TOP}"], {})
    assert (settings.kafka.bootstrap_servers, settings.job.top) == ("a:1,b:2", 7)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "sasl.password",
            "ssl.key.password",
            "ssl.keystore.password",
            "sasl.oauthbearer.client.secret",
            "ssl.key.pem",
        ),
        *("kafka.sasl.jaas.config", "ssl.keystore.key", "basic.auth.user.info", "bearer.auth.token"),
        *("spark.hadoop.fs.s3a.access.key", "spark.hadoop.fs.s3a.secret.key", "fs.azure.account.key.x"),
    ],
)
def test_names_that_hold_secrets_are_known(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("ssl.key.location", "ssl.keystore.location", "sasl.username", "sasl.mechanism", "ssl.ca.location", "url"),
        *("spark.driver.memory", "sasl.oauthbearer.token.endpoint.url", "spark.redaction.regex"),
    ],
)
def test_names_that_hold_none_are_shown(name: str) -> None:
    assert not is_secret(name)


def test_a_dump_shows_references_and_masks_what_was_written_out(tmp_path: Path) -> None:
    given = [
        "kafka.client.sasl.password=hunter22",
        "kafka.client.sasl.username=me",
        "kafka.client.ssl.key.password=${file:/run/secrets/key}",
        "registry.url=https://user:pass9@registry:8081",
        "spark.spark.hadoop.fs.s3a.secret.key=abcdefgh",
    ]
    settings = load_settings(None, given, {})
    dump = settings_toml(settings)
    assert not any(secret in dump for secret in ("hunter22", "pass9", "abcdefgh"))
    assert f'# "sasl.password" = "{MASK}"' in dump
    assert '"sasl.username" = "me"' in dump
    assert '"ssl.key.password" = "${file:/run/secrets/key}"' in dump
    assert f'"url" = "https://{MASK}@registry:8081"' in dump
    (tmp_path / "again.toml").write_text(settings_toml(settings, secrets=True))
    assert load_settings(tmp_path / "again.toml", [], {}) == settings


def test_a_wrong_table_of_secrets_is_not_repeated() -> None:
    with pytest.raises(TocsinError, match="it is a table of names and values") as caught:
        load_settings(None, [], {"TOCSIN_KAFKA__CLIENT": '{"sasl.password": "hunter23"'})
    assert "hunter23" not in str(caught.value)


def test_secrets_that_were_used_are_masked_in_lines_of_either_format() -> None:
    common(load_settings(None, ["kafka.client.sasl.password=hunter24"], {}))
    record = logging.LogRecord("tocsin.kafka", logging.WARNING, "", 0, "password %s", ("hunter24",), None)
    for line in (
        formatter("text").format(record),
        formatter("json").format(record),
        json_line("info", "tocsin", "hunter24"),
        hide("hunter24 at https://user:word@host"),
    ):
        assert MASK in line
        assert "hunter24" not in line
        assert "word@" not in line


def test_spark_masks_the_same_names() -> None:
    from stream.session import spark_settings

    values = spark_settings(load_settings(None, [], {}), [])
    assert values["spark.redaction.regex"] == SPARK_REDACTION
    assert SPARK_REDACTION in values["spark.sql.redaction.options.regex"]
