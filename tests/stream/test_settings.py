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
        (["job.name="], {}, "job.name can't be '' (--set job.name): text, not empty is wanted"),
        (["job.metrics_file="], {}, "job.metrics_file can't be '' (--set job.metrics_file): text, not empty is"),
        (["job.name=\udcff"], {}, r"job.name is not UTF-8 text: it has '\udcff' (--set job.name); give it in UTF-8"),
        (["kafka.client.sasl.password=\udcff"], {}, "kafka.client.sasl.password is not UTF-8 text"),
        (["topics.events=two words"], {}, "letters, digits, dots"),
        (["topics.events=."], {}, 'not "." or ".."'),
        (["topics.events=.."], {}, 'not "." or ".."'),
        (["topics.events=a\n"], {}, "letters, digits, dots"),
        ([f"topics.events={'a' * 250}"], {}, "at most 249"),
        (["topics.replication_factor=0"], {}, "topics.replication_factor can't be 0"),
        (["job.checkpoint_dir=s3://bucket/prefix"], {}, "(--set job.checkpoint_dir): a folder's path is wanted"),
        (["job.index_dir=s3://"], {}, "a folder's path or an address like s3://bucket/prefix is wanted"),
        (["job.index_dir=s3://a bucket/prefix"], {}, "a folder's path or an address like s3://bucket/prefix is wanted"),
        (["job.index_dir=s3://bucket/prefix?versionId=3"], {}, "or an address like s3://bucket/prefix is wanted"),
        (["job.index_dir="], {}, "a folder's path or an address like s3://bucket/prefix is wanted"),
        (["job.master=lokal[2]"], {}, "job.master can't be 'lokal[2]' (--set job.master): local, local[N], local[*]"),
        (["metrics.listen=9404"], {}, 'host and port, like 127.0.0.1:9404, or "" for none is wanted'),
        (["job.index_dir=a/b", "job.checkpoint_dir=a//b"], {}, "(--set job.index_dir) are the same folder, a/b; give"),
        (
            ["job.log_file=tocsin-data/index"],
            {},
            "job.log_file (--set job.log_file) can't be 'tocsin-data/index', where job.index_dir (its default) needs a",
        ),
        (
            ["job.metrics_file=a", "job.checkpoint_dir=a/b"],
            {},
            "where job.checkpoint_dir (--set job.checkpoint_dir) needs a folder; name a file beside it",
        ),
        (["job.top"], {}, "write it as table.name=value"),
        (["spark=fast"], {}, 'written as text it is JSON, like {"name": "value"}'),
        (["spark.=4g"], {}, '[spark] has no setting "" (--set spark.): words with dots between them are wanted'),
        (["spark.driver..memory=4g"], {}, '[spark] has no setting "driver..memory"'),
        (['kafka.client={"sasl username": "me"}'], {}, '[kafka.client] has no setting "sasl username"'),
        (['spark={"a":' + "[" * 10_000], {}, "written as text it is JSON"),
        (["topics.events=tocsin.dead-letters"], {}, "the four topics must have four names"),
        (["events.format=avro_registry"], {}, "set registry.url"),
        (
            ["events.format=avro_registry", "registry.url="],
            {},
            "registry.url can't be '' (--set registry.url): the add",
        ),
        (["events.format=avro_registry"], {"TOCSIN_REGISTRY__URL": "localhost:8081"}, "TOCSIN_REGISTRY__URL): the add"),
        (["events.format=avro_registry", "registry.url=http://a,b"], {}, "registry.url can't be 'http://a,b'"),
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
        ('[job]\nindex_dir = "a\\u0000"\n', "job.index_dir can't hold the character U+0000 (file "),
        ('[kafka.client]\n"sasl.username" = "a\\u0000"\n', "kafka.client.sasl.username can't hold the character"),
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


def accepts(*overrides: str) -> bool:
    try:
        load_settings(None, overrides, {})
    except TocsinError:
        return False
    return True


def test_a_master_is_what_spark_knows() -> None:
    here = ["local", "local[2]", "local[02]", "local[*]", "local[2,4]", "local[*, 4]", "local[2 , 4]"]
    clusters = [
        "local-cluster[2,1,1024]",
        "local-cluster[ 2, 1, 1024 ]",
        "yarn",
        "k8s://https://host:443",
        "k8s://host",
    ]
    alone = ["spark://a:7077", "spark://a:7077,b-2.c:7078", "spark://[::1]:7077"]
    assert [name for name in here + clusters + alone if not accepts(f"job.master={name}")] == []
    wrong = ["Local", "local[]", "local[0]", "local[-1]", "local[x]", "local[²]", "local[2", "local [2]", "local[2]\n"]
    elsewhere = ["local-cluster[2,1]", "local-cluster[2,1,3,4]", "spark://a", "spark://a:7077/", "spark://", "k8s://"]
    assert [name for name in wrong + elsewhere if accepts(f"job.master={name}")] == []


def test_metrics_are_served_at_a_host_and_a_port() -> None:
    right = ["", ":9404", "localhost:0", "[::1]:65535", "0.0.0.0:00080"]
    assert [listen for listen in right if not accepts(f"metrics.listen={listen}")] == []
    wrong = ["localhost", "localhost:", "localhost:x", "localhost:65536", "localhost:99999", ":²", "[::1]"]
    assert [listen for listen in wrong if accepts(f"metrics.listen={listen}")] == []


def test_a_registry_has_addresses_or_a_reference_to_one_where_a_format_needs_it() -> None:
    right = ["http://a:8081", "https://me:word@a/path/, http://b", "mock://a", "${file:/run/a,b}"]
    assert [url for url in right if not accepts("events.format=avro_registry", f"registry.url={url}")] == []
    assert accepts("registry.url=nowhere")
