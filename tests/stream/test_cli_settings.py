"""Settings on the command line: ``tocsin settings``, what goes over what, and those that can't be."""

from __future__ import annotations

from pathlib import Path

from stream.settings import load_settings
from tests.stream.console import tocsin, together


def test_settings_prints_a_file_that_says_the_same_when_read_back(tmp_path: Path) -> None:
    file = tmp_path / "tocsin.toml"
    result = tocsin("settings", "--set", "job.top=7", "--set", "spark.spark.driver.memory=3g")
    assert result.returncode == 0
    file.write_text(result.stdout)
    settings = load_settings(file, environ={})
    assert settings.job.top == 7
    assert settings == load_settings(None, ["job.top=7", "spark.spark.driver.memory=3g"], environ={})


def test_options_after_the_command_go_over_those_before_it_and_over_environment_and_file(tmp_path: Path) -> None:
    file = tmp_path / "tocsin.toml"
    file.write_text("[job]\ntop = 1\nname = 'from-file'\nemit = 'event'\n[topics]\npartitions = 9\n")
    result = tocsin(
        *("--config", str(file), "--set", "job.top=3", "settings", "--set", "job.top=4"),
        TOCSIN_JOB__TOP="2",
        TOCSIN_JOB__NAME="from-environment",
    )
    assert result.returncode == 0
    assert "\ntop = 4\n" in result.stdout
    assert '\nname = "from-environment"\n' in result.stdout
    assert '\nemit = "event"\n' in result.stdout
    assert "\npartitions = 9\n" in result.stdout
    assert tocsin("settings", TOCSIN_CONFIG=str(file)).stdout.count("partitions = 9") == 1


def test_a_setting_that_can_not_be_is_wrong_usage_in_every_command(plain_event: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("[job\n")
    wrong, filter_ = ["--set", "job.topp=5"], "a = 1"
    expected = [
        (["--set", "job.topp=5", "settings"], "job.topp"),
        (["settings", "--set", "job.top"], "table.name=value"),
        (["settings", "--set", "job.top=many"], "job.top"),
        (["settings", "--config", "/no/such.toml"], "/no/such.toml"),
        (["settings", "--config", str(tmp_path / "wrong.toml")], "is not TOML"),
        (["run", "--engine", "nosuch"], "job.engine can't be 'nosuch' (--engine)"),
        (["index", "stats", "--index", ""], "job.index_dir can't be '' (--index)"),
        (["similar", filter_, "--set", "job.index_dir="], "job.index_dir can't be '' (--set job.index_dir)"),
        (["listen", *wrong], "job.topp"),
        (["run", *wrong], "job.topp"),
        (["check", filter_, plain_event, *wrong], "job.topp"),
        (["similar", filter_, *wrong], "job.topp"),
        (["index", "stats", *wrong], "job.topp"),
        (["subscribe", "s", filter_, *wrong], "job.topp"),
    ]
    for (call, result), (_, said) in zip(together(call for call, _ in expected), expected, strict=True):
        assert (result.returncode, result.stdout) == (2, ""), call
        assert result.stderr.startswith("tocsin: "), call
        assert said in result.stderr, call
        assert len(result.stderr.splitlines()) == 1, call


def test_the_page_of_settings_in_docs_is_the_one_that_the_command_prints() -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    assert page.read_text() == tocsin("settings", "--markdown").stdout, "run `make docs`"


def test_a_file_that_the_job_can_not_use_is_told_before_brokers_are_asked() -> None:
    wrong = ["events.format=avro", "events.schema_file=/no/such.avsc", "kafka.bootstrap_servers=localhost:1"]
    result = tocsin("run", *(f"--set={setting}" for setting in wrong))
    assert (result.returncode, result.stdout) == (1, "")
    assert "/no/such.avsc can't be read" in result.stderr
    assert len(result.stderr.splitlines()) == 1
