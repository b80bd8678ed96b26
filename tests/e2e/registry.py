"""A schema registry over HTTP, as far as producers and consumers of Avro use it; it can go down and come back."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class RegistryHandler(BaseHTTPRequestHandler):
    """Answers as a schema registry does, without a log; a subclass knows what."""

    def found(self, path: str) -> tuple[int, Any]:
        """Return status and body for a path."""
        raise NotImplementedError

    def do_GET(self) -> None:
        status, body = self.found(self.path)
        payload = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *args: Any) -> None:
        """Keep the test's output clean."""


class SchemaRegistry:
    """A context manager; what is registered survives `stop`, and so does the port."""

    def __init__(self) -> None:
        self._schemas: dict[int, str] = {}
        self._port = 0
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def register(self, schema: dict[str, Any]) -> int:
        """Add a schema and return its id."""
        id_ = 100 + len(self._schemas)
        self._schemas[id_] = json.dumps(schema)
        return id_

    def start(self) -> None:
        registry = self

        class Handler(RegistryHandler):
            def found(self, path: str) -> tuple[int, Any]:
                registry.asked.append(path)
                path = path.partition("?")[0]
                id_ = path.rpartition("/")[2]
                schema = registry._schemas.get(int(id_)) if path.startswith("/schemas/ids/") else None
                if schema is None:
                    return 404, {"error_code": 40403, "message": "Schema not found"}
                return 200, {"schema": schema}

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
