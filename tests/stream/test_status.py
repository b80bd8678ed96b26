"""`stream.status`: what is told of an address where no job answers, and of groups that have not committed yet."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stream import status
from stream.commands.status import _group as in_words
from stream.lock import FolderLock
from stream.settings import Settings, load_settings

Serve = Callable[[bytes], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return what gives every request the same bytes, and the address where it does."""
    listening: list[socket.socket] = []

    def of(answer: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listening.append(listener)

        def run() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with closing(connection):
                    connection.recv(65536)
                    connection.sendall(answer)

        threading.Thread(target=run, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield of
    for listener in listening:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def settings_in(folder: Path) -> Settings:
    return load_settings(None, [f"job.index_dir={folder / 'index'}", f"job.checkpoint_dir={folder / 'checkpoint'}"], {})


def http(status: str, content: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
        status.encode(),
        len(content),
        content,
    )


@pytest.mark.parametrize(
    "answer",
    [
        http("404 Not Found", b"<html>no such page</html>"),
        http("503 Service Unavailable", b"busy"),
        http("200 OK", b"<html>welcome</html>"),
        http("200 OK", b'{"status": "UP"}'),
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
        b"",
    ],
)
def test_where_another_server_answers_there_is_no_job(
    answer: bytes, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "_groups", lambda _: [])
    url = serve(answer)
    found = status.status_of(settings_in(tmp_path), url)
    assert (found.alive, found.ready, found.state) == (False, False, f"no job answers at {url}")


def test_what_is_no_address_of_a_server_is_answered_by_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_groups", lambda _: [])
    assert status.status_of(settings_in(tmp_path), "localhost").state == "no job answers at localhost"


def test_who_holds_the_index_for_a_while_is_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_groups", lambda _: [])
    with FolderLock(tmp_path / "index", "job.index_dir", "", "tocsin index gc --now"):
        found = status.status_of(settings_in(tmp_path))
    assert (found.alive, found.holder) == (False, None)
    assert found.state.startswith("not running; tocsin index gc --now, process ")
    assert found.state.endswith(" holds the index")


class Ends:
    """A topic of three partitions, of which the first offsets are gone."""

    def partitions(self, _: str) -> int:
        return 3

    def beginnings(self, _: str) -> dict[int, int]:
        return {0: 900, 1: 5_000, 2: 60}

    def of(self, _: str) -> dict[int, int]:
        return {0: 1_000, 1: 5_003, 2: 61}


def test_lag_counts_from_the_first_offset_that_is_still_there() -> None:
    ends: Any = Ends()
    group = status._group(ends, "tocsin-events", "events", {0: 1_000, 2: 50})
    assert (group.committed, group.beginning) == ({0: 1_000, 2: 50}, {0: 900, 1: 5_000, 2: 60})
    assert (group.lag, group.behind()) == (4, {1: 3, 2: 1})
    assert in_words(group) == "lag 4 of 104 offsets (partition 1: 3, 2: 1), group tocsin-events"
