"""The pinned jars: the locks, the cache, and what may go wrong; repositories are served from this machine."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from index.cache_folder import cache_folder
from schemas.errors import TocsinError
from stream import jars

JAR = b"the bytes of a jar"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A Maven repository with one jar, named in a jgo settings file, and an empty cache."""
    folder = tmp_path / "repository" / "org" / "example" / "thing" / "1.0"
    folder.mkdir(parents=True)
    (folder / "thing-1.0.jar").write_bytes(JAR)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path / "repository")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = tmp_path / "jgo.conf"
    settings.write_text(f"[repositories]\ncentral = http://127.0.0.1:{server.server_port}\n")
    monkeypatch.setenv("JGO_CONFIG_FILE", str(settings))
    monkeypatch.setenv("TOCSIN_CACHE_DIR", str(tmp_path / "cache"))
    yield server
    server.shutdown()
    server.server_close()


def _thing(content: bytes = JAR, name: str = "thing") -> jars.Jar:
    return jars.Jar(group="org.example", artifact=name, version="1.0", sha256=hashlib.sha256(content).hexdigest())


def test_the_locks_pin_every_root_and_name_no_host() -> None:
    for name, roots in (("broker", jars.BROKER_ROOTS), ("connector", jars.CONNECTOR_ROOTS)):
        locked = {f"{jar.group}:{jar.artifact}:{jar.version}" for jar in jars._locked(name)}
        assert {root.rstrip("!") for root in roots} <= locked
        assert "://" not in jars._lock_file(name).read_text()
    versions = {jar.artifact: jar.version for jar in jars._locked("broker")}
    assert versions["kafka-clients"] == versions["kafka_2.13"]


def test_the_connector_brings_nothing_that_pyspark_has() -> None:
    assert jars._provided_by_pyspark().isdisjoint(jar.artifact for jar in jars._locked("connector"))


def test_the_jars_in_the_cache_are_the_locked_ones() -> None:
    paths = jars.broker_jars() + jars.connector_jars()
    locked = jars._locked("broker") + jars._locked("connector")
    for path, jar in zip(paths, locked, strict=True):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == jar.sha256


def test_a_second_start_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    first = jars.broker_jars(), jars.connector_jars()

    def no_network(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_network)
    assert (jars.broker_jars(), jars.connector_jars()) == first


def test_a_missing_jar_is_downloaded_and_told_of(repository: ThreadingHTTPServer) -> None:
    told: list[tuple[int, int, str]] = []
    [path] = jars._fetch([_thing()], lambda *progress: told.append(progress))
    assert path.read_bytes() == JAR
    assert told == [(1, 1, "thing-1.0.jar")]
    assert [file.name for file in path.parent.iterdir()] == ["thing-1.0.jar"]


def test_another_jar_under_the_same_name_is_not_kept(repository: ThreadingHTTPServer) -> None:
    with pytest.raises(TocsinError, match="is not the locked one"):
        jars._fetch([_thing(b"what was tested")], None)
    assert list((cache_folder() / "jars").iterdir()) == []


def test_a_jar_that_no_repository_has_is_named(repository: ThreadingHTTPServer) -> None:
    with pytest.raises(TocsinError, match=r"no repository has nothing-1\.0\.jar"):
        jars._fetch([_thing(name="nothing")], None)


def test_no_network_is_said_with_the_cure(repository: ThreadingHTTPServer) -> None:
    repository.shutdown()
    repository.server_close()
    with pytest.raises(TocsinError, match="check the network and try again, or copy that folder"):
        jars._fetch([_thing()], None)
