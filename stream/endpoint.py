"""The job's HTTP endpoint: ``/metrics`` for Prometheus, ``/healthz`` and ``/readyz`` for whoever watches over it."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
from prometheus_client.exposition import choose_encoder

from schemas.errors import TocsinError
from stream.instruments import Instruments

STUCK_SECONDS = 120.0
"""A job that was ready and whose main loop has stood still for that long does not count as alive: it waits for brokers
for 60 s at most."""


class Health(msgspec.Struct, frozen=True):
    """What ``/healthz`` and ``/readyz`` answer with, as JSON.

    Attributes
    ----------
    job, pid, version
        Which process answers.
    state
        What it is doing, in words.
    alive, ready
        Whether its main loop runs; whether events are being matched.
    """

    job: str
    pid: int
    version: str
    state: str
    alive: bool
    ready: bool


class JobState:
    """What the job is doing; told by its main loop, read by the endpoint's threads."""

    def __init__(self, job: str, version: str, instruments: Instruments) -> None:
        self._job = job
        self._version = version
        self._instruments = instruments
        self._state = "starting"
        self._ready = False
        self._looked = time.monotonic()

    def enter(self, state: str, ready: bool = False) -> None:
        """Say what the job does from now on."""
        self._state, self._ready = state, ready
        self._instruments.ready(ready)
        self.look()

    def look(self) -> None:
        """Say that the main loop runs."""
        self._looked = time.monotonic()

    def health(self) -> Health:
        """Return what is to be told."""
        idle = time.monotonic() - self._looked
        alive = not self._ready or idle < STUCK_SECONDS
        state = self._state if alive else f"{self._state}; stands still for {idle:.0f} s"
        return Health(self._job, os.getpid(), self._version, state, alive, alive and self._ready)


class Answer(NamedTuple):
    """A response: status, type of its content, content."""

    status: HTTPStatus
    kind: str
    content: bytes


class Endpoint:
    """Serves until it is closed; a context manager.

    Parameters
    ----------
    listen
        Host and port, as in ``metrics.listen``; port 0 takes a free one. Empty: nothing is served.
    instruments, state
        What is shown.

    Raises
    ------
    TocsinError
        The address can't be had.
    """

    def __init__(self, listen: str, instruments: Instruments, state: JobState) -> None:
        self._instruments = instruments
        self._state = state
        self._server = _bind(listen, self._answer) if listen else None

    @property
    def url(self) -> str | None:
        """Where it is served; None when it is not."""
        if self._server is None:
            return None
        host, port = self._server.server_address[:2]
        name = host.decode() if isinstance(host, bytes) else host
        return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"

    def __enter__(self) -> Self:
        if self._server is not None:
            threading.Thread(target=self._server.serve_forever, name="endpoint", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _answer(self, path: str, accept: str) -> Answer:
        if path == "/metrics":
            encode, kind = choose_encoder(accept)
            return Answer(HTTPStatus.OK, kind, encode(self._instruments.registry))
        if path in ("/healthz", "/readyz"):
            health = self._state.health()
            good = health.alive if path == "/healthz" else health.ready
            status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
            return Answer(status, "application/json", msgspec.json.encode(health) + b"\n")
        return Answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"/metrics, /healthz and /readyz are here\n")


def parse_listen(listen: str) -> tuple[str, int]:
    """Return host and port of ``metrics.listen``; an IPv6 host stands in brackets, an empty one means all."""
    host, _, port = listen.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _bind(listen: str, answer: Callable[[str, str], Answer]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10  # of an idle connection: each holds a thread

        def do_GET(self) -> None:
            """Answer one request."""
            said = answer(self.path.partition("?")[0], self.headers.get("Accept", ""))
            self.send_response(said.status)
            self.send_header("Content-Type", said.kind)
            self.send_header("Content-Length", str(len(said.content)))
            self.end_headers()
            self.wfile.write(said.content)

        def log_message(self, *args: Any) -> None:
            """Say nothing: a scrape every few seconds is no news."""

    try:
        host, port = parse_listen(listen)
        return _server(host)((host, port), Handler)
    except TypeError as error:  # of a host that can't be encoded as a name
        raise TocsinError(
            f'metrics.listen can\'t be {listen!r}, whose host is no name; give one, like 127.0.0.1:9404, or "" for none'
        ) from error
    except OSError as error:
        raise TocsinError(
            f"the metrics can't be served at {listen}: {error.strerror}; name another address in metrics.listen, with "
            f'port 0 any free one, or "" for none'
        ) from error


def _server(host: str) -> type[ThreadingHTTPServer]:
    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True

    return Server
