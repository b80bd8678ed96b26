"""The containers' files: they parse, images are pinned, and they name only commands, settings and files that exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from index.cache_folder import CACHE_VARIABLE
from stream.command_table import app
from stream.settings import load_settings

ROOT = Path(__file__).parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
SERVICES = sorted(COMPOSE["services"])
OWN = sorted(name for name, service in COMPOSE["services"].items() if "build" in service)
PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+[\w.-]*")


def parse(arguments: list[str]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Parse a command line without running it: the command's name, its group's options and its own."""
    group: Any = typer.main.get_command(app)
    context = group.make_context("tocsin", list(arguments))
    name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
    return name, context.params, command.make_context(name, rest, parent=context).params


def test_the_compose_file_has_a_broker_a_one_shot_for_the_topics_and_the_job() -> None:
    assert SERVICES == ["broker", "job", "topics"]
    assert OWN == ["job", "topics"]


@pytest.mark.parametrize("service", SERVICES)
def test_each_image_is_pinned_by_a_full_version(service: str) -> None:
    assert PINNED.fullmatch(COMPOSE["services"][service]["image"])


def test_the_image_is_built_on_a_pinned_one() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert bases
    assert all(PINNED.fullmatch(base) for base in bases)


@pytest.mark.parametrize("service", OWN)
def test_each_service_runs_a_command_that_exists_with_the_mounted_settings(service: str) -> None:
    definition = COMPOSE["services"][service]
    name, options, _ = parse(definition["command"])
    assert name == {"topics": "topics", "job": "run"}[service]
    mounts = dict(volume.split(":")[:2][::-1] for volume in definition["volumes"])
    assert (ROOT / mounts[str(options["config"])]).resolve() == ROOT / "deploy" / "tocsin.toml"


@pytest.mark.parametrize("service", OWN)
def test_each_service_is_built_from_files_that_exist(service: str) -> None:
    build = COMPOSE["services"][service]["build"]
    assert (ROOT / build["context"] / build["dockerfile"]).is_file()


def test_services_wait_for_services_that_exist_and_in_the_right_order() -> None:
    waits = {name: service.get("depends_on", {}) for name, service in COMPOSE["services"].items()}
    assert waits["topics"]["broker"]["condition"] == "service_healthy"
    assert waits["job"]["topics"]["condition"] == "service_completed_successfully"
    assert "healthcheck" in COMPOSE["services"]["broker"]


def test_named_volumes_are_declared() -> None:
    mounted = {volume.split(":")[0] for service in COMPOSE["services"].values() for volume in service["volumes"]}
    assert {name for name in mounted if not name.startswith(".")} == set(COMPOSE["volumes"])


def test_every_setting_is_known_and_points_into_the_compose_network_and_volume() -> None:
    settings = load_settings(ROOT / "deploy" / "tocsin.toml", environ={})
    host, _, port = settings.kafka.bootstrap_servers.partition(":")
    listeners = COMPOSE["services"]["broker"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert f"INSIDE://{host}:{port}" in listeners.split(",")
    data = next(v.split(":")[1] for v in COMPOSE["services"]["job"]["volumes"] if v.startswith("job:"))
    for folder in (settings.job.index_dir, settings.job.checkpoint_dir, settings.job.log_file):
        assert Path(folder).is_relative_to(data)


def test_the_embedded_broker_and_the_container_are_the_same_kafka() -> None:
    from stream.jars import BROKER_ROOTS

    version = COMPOSE["services"]["broker"]["image"].partition(":")[2]
    assert any(root.startswith("org.apache.kafka:kafka_") and root.endswith(f":{version}") for root in BROKER_ROOTS)


def test_the_image_copies_files_that_exist_and_that_the_ignore_file_lets_through() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [name for line in re.findall(r"^COPY (.+)", DOCKERFILE, re.MULTILINE) for name in line.split()[:-1]]
    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert name in allowed, name


def test_the_image_s_entry_point_is_the_command_line_and_its_default_command_the_job() -> None:
    assert 'ENTRYPOINT ["tocsin"]' in DOCKERFILE
    assert parse(["run"])[0] == "run"
    assert 'CMD ["run"]' in DOCKERFILE


def test_the_image_has_compiled_kernels_where_the_job_s_user_keeps_them() -> None:
    """As the user that may write there, away from the copied sources, and before the folder becomes a volume."""
    order = ("USER tocsin", "WORKDIR /data", "ENV NUMBA_CACHE_DIR=", "RUN python -m stream.warm_up", "VOLUME /data")
    places = [DOCKERFILE.index(f"\n{line}") for line in order]
    assert places == sorted(places)
    assert Path(re.findall(r"^ENV NUMBA_CACHE_DIR=(\S+)", DOCKERFILE, re.MULTILINE)[0]).is_relative_to("/data")
    assert find_spec("stream.warm_up") is not None


def test_the_job_s_user_may_write_to_the_image_s_cache() -> None:
    (folder,) = re.findall(rf"^ENV {CACHE_VARIABLE}=(\S+)", DOCKERFILE, re.MULTILINE)
    (owned,) = re.findall(r"chown -R tocsin (.+)", DOCKERFILE)
    assert folder in owned.split()


def test_kernels_are_kept_where_the_image_says_so(tmp_path: Path) -> None:
    """And the next process finds them."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    program = "import numpy as np; from index.byte_rows import ByteRows; ByteRows.of([b'a']).take(np.array([0]))"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=ROOT)
    kept = {path.name for path in (tmp_path / "numba").rglob("byte_rows._gather*")}
    assert len(kept) == 2, "an index and one compiled form, not compiled again"


def test_the_published_port_is_where_the_settings_serve_metrics_and_the_health_check_asks() -> None:
    job = COMPOSE["services"]["job"]
    settings = load_settings(ROOT / "deploy" / "tocsin.toml", environ={})
    host, _, port = settings.metrics.listen.rpartition(":")
    assert host == "0.0.0.0", "the host reaches a container by its network address"
    assert job["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"http://localhost:{port}/healthz" in " ".join(job["healthcheck"]["test"])


def test_every_listener_of_the_broker_has_a_protocol_and_those_that_are_advertised_are_listened_at() -> None:
    broker = COMPOSE["services"]["broker"]
    environment = broker["environment"]

    def places(name: str) -> dict[str, str]:
        found = (one.split("://") for one in environment[name].split(","))
        return {listener: place.rpartition(":")[2] for listener, place in found}

    listened, advertised = places("KAFKA_LISTENERS"), places("KAFKA_ADVERTISED_LISTENERS")
    protocols = dict(one.split(":") for one in environment["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(","))
    assert protocols.keys() == listened.keys()
    assert advertised.items() <= listened.items()
    assert environment["KAFKA_CONTROLLER_QUORUM_VOTERS"].endswith(":" + listened["CONTROLLER"])
    assert broker["ports"] == [f"127.0.0.1:{listened['OUTSIDE']}:{listened['OUTSIDE']}"]
    assert f"localhost:{listened['INSIDE']}" in broker["healthcheck"]["test"]


def test_an_interpreter_in_a_folder_with_a_space_makes_the_environment(tmp_path: Path) -> None:
    python = tmp_path / "a folder" / "python3"
    python.parent.mkdir()
    python.symlink_to("/bin/false")
    environment = os.environ | {"PYTHON": str(python)}
    made = [str(ROOT / "deploy" / "environment.sh"), str(tmp_path / "venv"), "demo"]
    refused = subprocess.run(["sh", *made], env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert f"PYTHON={python} is not that" in refused.stderr
    python.unlink()
    # It answers as Python does, but for venv, which it can't.
    python.write_text(f'#!/bin/sh\n[ "$2" != venv ] || exit 1\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    refused = subprocess.run(["sh", *made], env=environment, capture_output=True, text=True, check=False)
    assert f"({python})" in refused.stderr
    assert f"{python} can't make a virtual environment" in refused.stderr


@pytest.mark.parametrize(("version", "told"), [("1.8.0_402", "8"), ("11.0.2", "11")])
def test_an_old_java_is_called_by_its_name(version: str, told: str, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    environment = os.environ | {"JAVA_HOME": str(tmp_path)}
    refused = subprocess.run(
        ["sh", str(ROOT / "deploy" / "java.sh")], env=environment, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert f"{java} is Java {told}, but Kafka and Spark need 17" in refused.stderr
