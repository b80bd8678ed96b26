"""Loading the settings: a TOML file, over it the environment, over it the command line; and a list of them all."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from schemas.errors import TocsinError
from stream.secrets import is_secret, resolved
from stream.settings_reference import type_in_words
from stream.settings_sources import Given, from_environment, from_overrides, from_table, nearest
from stream.settings_tables import Leaf, Settings, describe_settings

__all__ = ["Leaf", "Settings", "describe_settings", "load_settings"]

_table_decoder = msgspec.json.Decoder(dict[str, Any])

RESERVED_PROPERTIES = ("bootstrap.servers", "group.id", "transactional.id", "isolation.level", "enable.auto.commit")
"""Client properties that delivery exactly once rests on; ``kafka.client`` may not change them."""

SPARK_PREFIX = "spark."
"""What the names of all Spark settings begin with; Spark ignores any other."""

_dotted_name = re.compile(r"[^\s.]+(\.[^\s.]+)*")


def load_settings(
    file: Path | None = None, overrides: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read the settings: the file's values, over them the environment's, over them the command line's.

    Parameters
    ----------
    file
        A TOML file; None takes the defaults.
    overrides
        ``table.name=value`` each, as given to ``--set``.
    environ
        Variables named ``TOCSIN_TABLE__NAME`` are read, for example ``TOCSIN_KAFKA__BOOTSTRAP_SERVERS``.

    Raises
    ------
    TocsinError
        The file can't be read, a setting is unknown, or a value does not fit.
    """
    leaves = {leaf.name: leaf for leaf in describe_settings()}
    given = list(from_table(_read(file), f"file {file}")) if file else []
    given += from_environment(environ, tables(), [leaf.name for leaf in leaves.values() if leaf.open])
    given += from_overrides(overrides)
    chosen: dict[str, Any] = {}
    for value in given:
        _take(value, leaves, chosen)
    settings = _build(chosen)
    _check_together(settings)
    return settings


def tables() -> tuple[str, ...]:
    """Return the names of the settings file's tables."""
    return Settings.__struct_fields__


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise TocsinError(f"the settings file {file} can't be read: {error.strerror}; give the path of one") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TocsinError(f"the settings file {file} is not TOML: {error}") from error
    except RecursionError as error:
        raise TocsinError(f"the settings file {file} is nested too deeply; no setting is a list") from error


def _take(given: Given, leaves: Mapping[str, Leaf], chosen: dict[str, Any]) -> None:
    """Add one given value to the chosen ones, or say why it can't be."""
    leaf = leaves.get(given.name)
    if given.value == {} and (given.name in tables() if leaf is None else leaf.open):
        return  # a table without settings
    if leaf is not None and not leaf.open:
        if isinstance(given.value, str):
            given = msgspec.structs.replace(given, value=resolved(given.name, given.value))
        chosen[leaf.name] = _convert(given, leaf.type, leaf)
        return
    for table in (leaf for leaf in leaves.values() if leaf.open):
        if given.name == table.name:
            chosen[table.name] = chosen.get(table.name, {}) | _open_table(given, table)
            return
        if given.name.startswith(f"{table.name}."):
            entry = {given.name.removeprefix(f"{table.name}."): given.value}
            chosen[table.name] = chosen.get(table.name, {}) | _entries(given, table, entry)
            return
    raise TocsinError(f'there is no setting "{given.name}" ({given.source}); {nearest(given.name, leaves)}')


def _convert(given: Given, type_: Any, leaf: Leaf) -> Any:
    try:
        value = msgspec.convert(given.value, type_, strict=not given.spelled)
        if isinstance(value, float) and not math.isfinite(value):  # TOML and text both have words for these
            raise msgspec.ValidationError("not finite")
        return value
    except msgspec.ValidationError as error:
        raise TocsinError(
            f"{leaf.name} can't be {given.value!r} ({given.source}): {type_in_words(type_)} is wanted. {leaf.doc}"
        ) from error


def _open_table(given: Given, table: Leaf) -> dict[str, str]:
    wanted = TocsinError(  # without the value, which may hold secrets
        f"{table.name} can't be what {given.source} says: it is a table of names and values; written as text it is "
        f'JSON, like {{"name": "value"}}'
    )
    if not given.spelled:
        raise wanted
    try:
        entries = _table_decoder.decode(given.value)
    except (msgspec.DecodeError, RecursionError) as error:
        raise wanted from error
    return _entries(given, table, entries)


def _entries(given: Given, table: Leaf, entries: Mapping[str, Any]) -> dict[str, str]:
    return {_own_name(given, table, key): _as_text(given, value) for key, value in entries.items()}


def _own_name(given: Given, table: Leaf, key: str) -> str:
    """Return a name in an open table as its owner knows it: Spark's with its prefix, which may be left out here."""
    if not _dotted_name.fullmatch(key):
        raise TocsinError(
            f'[{table.name}] has no setting "{key}" ({given.source}): words with dots between them are wanted'
        )
    return key if table.name != "spark" or key.startswith(SPARK_PREFIX) else f"{SPARK_PREFIX}{key}"


def _as_text(given: Given, value: Any) -> str:
    """Spell a value of an open table as its owner (Kafka, Spark) does."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    said = "that" if is_secret(given.name) else f"{value!r:.200}"
    raise TocsinError(f"{given.name} can't be {said} ({given.source}): text, a number or a truth value is wanted")


def _build(chosen: Mapping[str, Any]) -> Settings:
    nested: dict[str, Any] = {}
    for name, value in chosen.items():
        table, _, field = name.partition(".")
        if field:
            nested.setdefault(table, {})[field] = value
        else:
            nested[table] = value
    return msgspec.convert(nested, Settings)


def _check_together(settings: Settings) -> None:
    names = msgspec.structs.astuple(settings.topics)[:4]
    if len(set(names)) < len(names):
        raise TocsinError(f"the four topics must have four names, but they are {', '.join(names)} (table [topics])")
    if "avro_registry" in (settings.events.format, settings.subscriptions.format) and "url" not in settings.registry:
        raise TocsinError('format "avro_registry" needs the address of the schema registry; set registry.url')
    if settings.events.schema_file is not None and settings.events.format != "avro":
        raise TocsinError(
            f'events.schema_file is read with events.format "avro" only, but the format is "{settings.events.format}"; '
            f"change one of the two"
        )
    if settings.topics.replication_factor == 0:
        raise TocsinError(
            "topics.replication_factor can't be 0: a topic has one copy of each partition or more; give the number, or "
            "-1 for the brokers' default"
        )
    if "://" in settings.job.checkpoint_dir:
        raise TocsinError(
            f"job.checkpoint_dir can't be {settings.job.checkpoint_dir!r}: it is a folder that the driver sees, also "
            "where the index is in an object store; give a folder's path"
        )
    for name in RESERVED_PROPERTIES:
        if name in settings.kafka.client:
            cure = "set kafka.bootstrap_servers" if name == "bootstrap.servers" else "leave it out"
            raise TocsinError(f"kafka.client can't set {name}, which Tocsin sets itself; {cure}")
