"""What settings and files alone tell: a job that could not run with them ends before it takes over from another one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from schemas.errors import TocsinError
from stream.clients import spark_options
from stream.decoding import Decoding, Format, event_decoder, read_schema, subscription_decoder
from stream.jars import connector_jars
from stream.java import java_home
from stream.secrets import resolved_table
from stream.settings import Settings

SERVERS: Final = re.compile(r".*?\[?([0-9a-zA-Z%._:-]*)\]?:[0-9]+|", re.ASCII)
"""What Spark's Java client takes between the commas of ``kafka.bootstrap_servers``; librdkafka needs no port."""


def check_settings(settings: Settings) -> None:
    """See that the job's files can be read and that its clients take their properties; nothing is left behind.

    Raises
    ------
    TocsinError
        Something of it is not so; the sentence names the setting.
    """
    event_decoder(event_decoding(settings))
    subscription_decoder(subscription_decoding(settings))
    options = spark_options(settings)
    for name, value in options.items():
        if name.startswith("kafka.ssl.") and name.endswith(".location"):
            _check_readable(name.replace("kafka.", "kafka.java.", 1), Path(value))
    resolved_table("spark", settings.spark)
    for server in settings.kafka.bootstrap_servers.split(","):
        if not SERVERS.fullmatch(server.strip()):
            raise TocsinError(
                f"kafka.bootstrap_servers has {server.strip()!r}, which Spark's Kafka source can't use: it wants host "
                f"and port of each broker, like localhost:9092"
            )


def check_machine(settings: Settings) -> None:
    """See that the job's files can be written, that Java is there, and Spark's connector, which may be fetched.

    Raises
    ------
    TocsinError
        Something of it is not so; the sentence names the setting.
    """
    for name, file in (("job.log_file", settings.job.log_file), ("job.metrics_file", settings.job.metrics_file)):
        if file is not None:
            _check_writable(name, Path(file))
    java_home()
    connector_jars()


def event_decoding(settings: Settings) -> Decoding:
    """Return how events are decoded.

    Raises
    ------
    TocsinError
        The schema file can't be read or is none, or a secret of the registry can't be had.
    """
    return _decoding(settings, settings.events.format, settings.events.schema_file)


def subscription_decoding(settings: Settings) -> Decoding:
    """Return how subscriptions are decoded; errors as `event_decoding`."""
    return _decoding(settings, settings.subscriptions.format, None)


def _decoding(settings: Settings, format_: Format, schema_file: str | None) -> Decoding:
    schema = read_schema(None if schema_file is None else Path(schema_file))
    # Resolved here: the files and variables that secrets are in need not be on the hosts of the workers.
    registry = tuple(sorted(resolved_table("registry", settings.registry).items()))
    return Decoding(format_, schema, registry, settings.limits, settings.job.registry_failure)


def _check_readable(name: str, file: Path) -> None:
    try:
        file.open("rb").close()
    except OSError as error:
        raise TocsinError(f"the file {file} can't be read ({error.strerror}); correct {name}") from error


def _check_writable(name: str, file: Path) -> None:
    try:
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
        file.open("ab").close()
    except OSError as error:
        raise TocsinError(
            f"the file {file} can't be written ({error.strerror}); let {name} name one in a folder that this user may "
            f"write to"
        ) from error
