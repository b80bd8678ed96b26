"""Settings: where values come from, which one wins, and what is said about a wrong one."""

from __future__ import annotations

import pickle
from pathlib import Path

import msgspec
import pytest

from schemas.errors import TocsinError
from stream import settings_reference
from stream.settings import Settings, describe_settings, load_settings


def _file(folder: Path, text: str) -> Path:
    file = folder / "tocsin.toml"
    file.write_text(text)
    return file


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = _file(tmp_path, '[job]\nname = "file"\ntop = 1\nemit = "event"\n')
    environ = {"TOCSIN_JOB__NAME": "environment", "TOCSIN_JOB__TOP": "2"}
    job = load_settings(file, ["job.name=command line"], environ).job
    assert (job.name, job.top, job.emit) == ("command line", 2, "event")


def test_text_from_the_environment_and_the_command_line_becomes_the_settings_type() -> None:
    environ = {"TOCSIN_JOB__INCLUDE_EVENT": "true", "TOCSIN_JOB__METRICS_INTERVAL_SECONDS": "2"}
    job = load_settings(None, ["job.top=10", "job.name=10", "limits.depth=5"], environ)
    assert job.job.include_event is True
    assert job.job.metrics_interval_seconds == 2.0
    assert (job.job.top, job.job.name, job.limits.depth) == (10, "10", 5)


def test_open_tables_take_names_of_others_from_all_sources_and_merge_them(tmp_path: Path) -> None:
    file = _file(
        tmp_path,
        '[spark]\nspark.driver.memory = "2g"\n"spark.ui.enabled" = true\n[kafka.client]\n"sasl.username" = "me"\n',
    )
    environ = {"TOCSIN_KAFKA__CLIENT__SASL_PASSWORD": "secret", "TOCSIN_SPARK": '{"spark.cores.max": 4}'}
    settings = load_settings(file, ["spark.spark.driver.memory=3g", "registry.url=http://registry:8081"], environ)
    assert settings.spark == {"spark.driver.memory": "3g", "spark.ui.enabled": "true", "spark.cores.max": "4"}
    assert settings.kafka.client == {"sasl.username": "me", "sasl.password": "secret"}
    assert settings.registry == {"url": "http://registry:8081"}


@pytest.mark.parametrize(
    "text",
    [
        '"spark.driver.memory" = "4g"',
        'spark.driver.memory = "4g"',
        'driver.memory = "4g"',
        '"driver.memory" = "4g"',
        '[spark.driver]\nmemory = "4g"',
    ],
)
def test_a_spark_setting_has_its_own_name_however_a_file_writes_it(tmp_path: Path, text: str) -> None:
    assert load_settings(_file(tmp_path, f"[spark]\n{text}\n"), [], {}).spark == {"spark.driver.memory": "4g"}


@pytest.mark.parametrize(
    ("overrides", "environ"),
    [
        (["spark.driver.memory=4g"], {}),
        (["spark.spark.driver.memory=4g"], {}),
        (['spark={"driver.memory": "4g"}'], {}),
        ([], {"TOCSIN_SPARK__DRIVER_MEMORY": "4g"}),
        ([], {"TOCSIN_SPARK__SPARK_DRIVER_MEMORY": "4g"}),
        ([], {"TOCSIN_SPARK": '{"spark.driver.memory": "4g"}'}),
        (["spark.driver.memory=4g"], {"TOCSIN_SPARK": '{"spark.driver.memory": "1g"}'}),
    ],
)
def test_a_spark_setting_has_its_own_name_whoever_gives_it(overrides: list[str], environ: dict[str, str]) -> None:
    assert load_settings(None, overrides, environ).spark == {"spark.driver.memory": "4g"}


def test_other_variables_of_tocsin_are_no_settings() -> None:
    environ = {"TOCSIN_CACHE_DIR": "/somewhere", "TOCSIN_TEST_BROKER": "testcontainers", "PATH": "/bin"}
    assert load_settings(None, [], environ) == Settings()


@pytest.mark.parametrize(
    ("overrides", "environ", "said"),
    [
        (["job.tpo=1"], {}, 'there is no setting "job.tpo" (--set job.tpo); did you mean "job.top"?'),
        ([], {"TOCSIN_JOBS__TOP": "1"}, 'environment variable TOCSIN_JOBS__TOP); did you mean "job.top"?'),
        (["qqq.zzz=1"], {}, "the tables are kafka, topics, events"),
        (["job.qqqqq=1"], {}, "[job] has name, index_dir"),
        (["job.top=many"], {}, "job.top can't be 'many' (--set job.top): a whole number, at least 0, at most 2,"),
        (["job.top=-1"], {}, "at least 0, at most 2,147,483,647 is wanted"),
        ([f"job.top={2**31}"], {}, "(--set job.top): a whole number, at least 0, at most 2,147,483,647 is wanted"),
        ([f"job.top={2**63}"], {}, "at most 2,147,483,647 is wanted"),
        ([f"job.max_matches_at_once={2**63}"], {}, "at most 1,000,000,000,000 is wanted"),
        ([f"job.transaction_timeout_ms={2**31}"], {}, "at most 2,147,483,647 is wanted"),
        (["limits.leaves=32769"], {}, "at least 1, at most 32,768 is wanted"),
        (["job.heartbeat_seconds=inf"], {}, "at most 1,000,000,000"),
        (["job.metrics_interval_seconds=nan"], {}, "job.metrics_interval_seconds can't be 'nan' (--set"),
        (["job.metrics_interval_seconds=inf"], {}, "job.metrics_interval_seconds can't be 'inf' (--set"),
        (["job.emit=both"], {}, '"match" or "event" is wanted'),
        (["job.include_event=perhaps"], {}, "true or false is wanted"),
        (["job.name="], {}, "job.name can't be ''"),
        (["topics.events=two words"], {}, "letters, digits, dots"),
        (["topics.events=."], {}, 'not "." or ".."'),
        (["topics.events=.."], {}, 'not "." or ".."'),
        (["topics.events=a\n"], {}, "letters, digits, dots"),
        ([f"topics.events={'a' * 250}"], {}, "at most 249"),
        (["topics.replication_factor=0"], {}, "topics.replication_factor can't be 0"),
        (["job.checkpoint_dir=s3://bucket/prefix"], {}, "job.checkpoint_dir can't be 's3://bucket/prefix'"),
        (["job.top"], {}, "write it as table.name=value"),
        (["spark=fast"], {}, 'written as text it is JSON, like {"name": "value"}'),
        (["spark.=4g"], {}, '[spark] has no setting "" (--set spark.): words with dots between them are wanted'),
        (["spark.driver..memory=4g"], {}, '[spark] has no setting "driver..memory"'),
        (['kafka.client={"sasl username": "me"}'], {}, '[kafka.client] has no setting "sasl username"'),
        (['spark={"a":' + "[" * 10_000], {}, "written as text it is JSON"),
        (["topics.events=tocsin.dead-letters"], {}, "the four topics must have four names"),
        (["events.format=avro_registry"], {}, "set registry.url"),
        (["events.schema_file=x.avsc"], {}, 'with events.format "avro" only'),
        (["kafka.client.isolation.level=read_uncommitted"], {}, "kafka.client can't set isolation.level"),
        (["kafka.client.bootstrap.servers=x:1"], {}, "set kafka.bootstrap_servers"),
    ],
)
def test_a_wrong_setting_is_refused_in_a_sentence(overrides: list[str], environ: dict[str, str], said: str) -> None:
    with pytest.raises(TocsinError) as caught:
        load_settings(None, overrides, environ)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[job]\ntop = "5"\n', "a whole number"),
        ("[job]\nname = 5\n", "job.name can't be 5 (file "),
        ("job = 5\n", 'there is no setting "job"'),
        ("[job.top]\nx = 1\n", 'there is no setting "job.top.x"'),
        ("spark = 5\n", "it is a table"),
        ("[spark]\nx = [1]\n", "text, a number or a truth value is wanted"),
        ("[job\n", "is not TOML"),
        ("[jobs]\n", 'there is no setting "jobs"'),
        ("[job.top]\n", "job.top can't be {}"),
        ("[kafka.clients]\n", 'there is no setting "kafka.clients"'),
        (f"x = {'[' * 10_000}{']' * 10_000}\n", "is nested too deeply"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TocsinError) as caught:
        load_settings(_file(tmp_path, text), [], {})
    assert said in str(caught.value)


def test_a_byte_order_mark_which_some_editors_write_is_no_setting(tmp_path: Path) -> None:
    assert load_settings(_file(tmp_path, '\ufeff[job]\nname = "n"\n'), [], {}).job.name == "n"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TocsinError, match=r"no\.toml can't be read"):
        load_settings(tmp_path / "no.toml", [], {})


def test_the_default_settings_file_is_what_the_descriptions_say() -> None:
    shipped = Path(settings_reference.__file__).with_name("tocsin.toml")
    assert shipped.read_text() == settings_reference.settings_toml()
    assert load_settings(shipped, [], {}) == Settings()


def test_every_setting_says_what_it_means() -> None:
    assert [leaf.name for leaf in describe_settings() if not leaf.doc] == []
    page = settings_reference.settings_markdown()
    assert [leaf.name for leaf in describe_settings() if f"| `{leaf.name}` |" not in page] == []


def test_settings_travel_to_workers() -> None:
    settings = load_settings(None, ["spark.spark.cores.max=2", "job.top=3"], {})
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert msgspec.convert(msgspec.to_builtins(settings), Settings) == settings


def test_a_table_without_settings_says_nothing(tmp_path: Path) -> None:
    assert load_settings(_file(tmp_path, "[job]\n[spark]\n[kafka.client]\n"), [], {}) == load_settings(None, [], {})
