"""The schema registry's client as workers use it: bounded in time, and asked only now and then while it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from schemas.errors import TocsinError

Answer = TypeVar("Answer")

DEFAULTS: dict[str, str] = {
    # The client's own default is to wait for ever; a worker that hangs could not say that the batch has to wait.
    "timeout": "5",
    # A batch that fails is run again anyway, see `job.registry_failure`.
    "max.retries": "1",
    "retries.wait.ms": "100",
}
NUMBERS: dict[str, Callable[[str], float]] = {
    "timeout": float,
    "max.retries": int,
    "retries.wait.ms": int,
    "retries.max.wait.ms": int,
    "cache.capacity": int,
    "cache.latest.ttl.sec": int,
}
"""Properties that the client wants as numbers; the settings hold text."""

QUIET_SECONDS = 0.5
"""After a failure questions fail at once for that long: a batch holds thousands of records, each with a question."""


class RegistryClient:
    """Answers what `schemas.avro_schemas` asks of a schema registry.

    Parameters
    ----------
    properties
        Those of confluent-kafka's ``SchemaRegistryClient``, as text.

    Raises
    ------
    TocsinError
        A property is unknown or has a value that does not fit.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        from confluent_kafka.schema_registry import SchemaRegistryClient  # takes long, and few jobs need it

        given = DEFAULTS | dict(properties)
        try:
            typed = {name: NUMBERS.get(name, str)(value) for name, value in given.items()}
            self._client = SchemaRegistryClient.new_client(typed)
        except (ValueError, TypeError, KeyError, OSError) as error:
            raise TocsinError(f"the table registry is refused by the schema registry's client: {error}") from error
        self._failure: Exception | None = None
        self._failed_at = 0.0

    def get_schema(self, schema_id: int) -> Any:
        """Return the schema registered under an id."""
        return self._ask(lambda: self._client.get_schema(schema_id))

    def get_version(self, subject_name: str, version: int) -> Any:
        """Return one registered version of a subject."""
        return self._ask(lambda: self._client.get_version(subject_name, version))

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        if self._failure is not None and time.monotonic() - self._failed_at < QUIET_SECONDS:
            raise self._failure.with_traceback(None)
        self._failure = None
        try:
            return question()
        except Exception as error:
            if not (isinstance(error, SchemaRegistryError) and error.http_status_code == 404):  # which is an answer
                self._failure, self._failed_at = error, time.monotonic()
            raise
