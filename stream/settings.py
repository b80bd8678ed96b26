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
from stream.secrets import is_secret, resolved, shown
from stream.settings_reference import type_in_words
from stream.settings_sources import Given, from_environment, from_overrides, from_table, nearest
from stream.settings_tables import Leaf, Settings, describe_settings

__all__ = ["Leaf", "Settings", "describe_settings", "load_settings"]

_table_decoder = msgspec.json.Decoder(dict[str, Any])

RESERVED_PROPERTIES = ("bootstrap.servers", "group.id", "transactional.id", "isolation.level", "enable.auto.commit")
"""Client properties that delivery exactly once rests on; ``kafka.client`` may not change them."""

SPARK_PREFIX = "spark."
"""What the names of all Spark settings begin with; Spark ignores any other."""

_no_text = re.compile("[\0\ud800-\udfff]")
_addresses = re.compile(r"\s*(https?://[^\s,/]|mock://)[^\s,]*\s*(,\s*(https?://[^\s,/]|mock://)[^\s,]*\s*)*")
"""As the schema registry's client has them."""

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
    sources: dict[str, str] = {}
    for value in given:
        _take(value, leaves, chosen)
        sources[value.name] = value.source
    settings = _build(chosen)
    _check_together(settings, sources)
    _check_paths(settings, sources)
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
    except msgspec.ValidationError as error:
        raise TocsinError(
            f"{leaf.name} can't be {given.value!r} ({given.source}): {type_in_words(type_)} is wanted. {leaf.doc}"
        ) from error
    return _need_text(given, value) if isinstance(value, str) else value


def _need_text(given: Given, text: str) -> str:
    """Refuse text that no file's name, client or process on another host could be given as it is."""
    found = _no_text.search(text)
    if found is None:
        return text
    if found[0] == "\0":
        raise TocsinError(f"{given.name} can't hold the character U+0000 ({given.source}); leave it out")
    raise TocsinError(f"{given.name} is not UTF-8 text: it has {found[0]!r} ({given.source}); give it in UTF-8")


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
        return _need_text(given, str(value))
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


def _check_together(settings: Settings, sources: Mapping[str, str]) -> None:
    names = msgspec.structs.astuple(settings.topics)[:4]
    if len(set(names)) < len(names):
        raise TocsinError(f"the four topics must have four names, but they are {', '.join(names)} (table [topics])")
    if "avro_registry" in (settings.events.format, settings.subscriptions.format):
        _check_registry(settings.registry, sources)
    if settings.events.schema_file is not None and settings.events.format != "avro":
        raise TocsinError(
            f'events.schema_file is read with events.format "avro" only, but the format is "{settings.events.format}"; '
            f"change one of the two"
        )
    if settings.topics.replication_factor == 0:
        raise TocsinError(
            f"topics.replication_factor can't be 0 ({sources['topics.replication_factor']}): a topic has one copy of "
            "each partition or more; give the number, or -1 for the brokers' default"
        )
    for name in RESERVED_PROPERTIES:
        if name in settings.kafka.client:
            cure = "set kafka.bootstrap_servers" if name == "bootstrap.servers" else "leave it out"
            raise TocsinError(f"kafka.client can't set {name}, which Tocsin sets itself; {cure}")


def _check_registry(registry: Mapping[str, str], sources: Mapping[str, str]) -> None:
    if "url" not in registry:
        raise TocsinError('format "avro_registry" needs the address of the schema registry; set registry.url')
    if "${" not in registry["url"] and not _addresses.fullmatch(registry["url"]):
        source = sources.get("registry.url", sources.get("registry"))
        raise TocsinError(
            f"registry.url can't be {shown('registry.url', registry['url'])!r} ({source}): the address of the schema "
            f'registry is wanted, like http://localhost:8081, which the format "avro_registry" needs'
        )


def _check_paths(settings: Settings, sources: Mapping[str, str]) -> None:
    """See that no file is where a folder is to be, and that the two folders, which are locked each, are two."""
    job = settings.job
    folders = {"job.checkpoint_dir": Path(job.checkpoint_dir).absolute()}
    if "://" not in job.index_dir:
        folders["job.index_dir"] = Path(job.index_dir).absolute()
    files = {"job.log_file": job.log_file, "job.metrics_file": job.metrics_file}
    if len(set(folders.values())) < len(folders):
        both = " and ".join(_named(name, sources) for name in folders)
        raise TocsinError(f"{both} are the same folder, {job.index_dir}; give each a folder of its own")
    for name, file in files.items():
        for other, folder in folders.items():
            if file is not None and Path(file).absolute() in (folder, *folder.parents):
                raise TocsinError(
                    f"{_named(name, sources)} can't be {file!r}, where {_named(other, sources)} needs a folder; name "
                    f"a file beside it"
                )


def _named(name: str, sources: Mapping[str, str]) -> str:
    return f"{name} ({sources.get(name, 'its default')})"
