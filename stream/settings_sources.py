"""Where values of settings come from: a TOML table, the environment, ``--set`` arguments; all become dotted names."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from schemas.errors import TocsinError

PREFIX = "TOCSIN_"


class Given(msgspec.Struct, frozen=True):
    """A value that somebody gave.

    Attributes
    ----------
    name
        Dotted name of the setting.
    value
        The value; text when ``spelled``, which is then read as whatever the setting's type is.
    source
        Who gave it, for error messages.
    spelled
        Whether the value comes from a place that knows text only.
    """

    name: str
    value: Any
    source: str
    spelled: bool


def from_table(table: Mapping[str, Any], source: str, prefix: str = "") -> Iterator[Given]:
    """Yield the values of a TOML document; ``spark.driver.memory`` is the same name with quotes and without."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            yield from from_table(value, source, f"{name}.")
        else:
            yield Given(name, value, source, spelled=False)


def from_environment(
    environ: Mapping[str, str], tables: Collection[str], open_tables: Collection[str]
) -> Iterator[Given]:
    """Yield the values of variables ``TOCSIN_TABLE__NAME``.

    Inside an open table, whose names have dots, underscores stand for dots; ``TOCSIN_SPARK`` and the like take all of
    an open table as JSON. Other variables that begin with ``TOCSIN_`` are not settings.
    """
    for variable in sorted(environ):
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower().replace("__", ".")
        if "." not in name and name not in tables:
            continue
        if any(name.startswith(f"{table}.") for table in open_tables):
            name = name.replace("_", ".")
        yield Given(name, environ[variable], f"environment variable {variable}", spelled=True)


def from_overrides(overrides: Sequence[str]) -> Iterator[Given]:
    """Yield the values of ``name=value`` arguments."""
    for override in overrides:
        name, separator, value = override.partition("=")
        if not separator:
            raise TocsinError(f'"--set {override}" has no value; write it as table.name=value')
        yield Given(name.strip(), value, f"--set {name.strip()}", spelled=True)


def nearest(name: str, known: Collection[str]) -> str:
    """Return a clause that names the known setting nearest to a wrong name, or those of its table, or the tables."""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    table = name.partition(".")[0]
    siblings = [other for other in known if other.startswith(f"{table}.")]
    if siblings:
        return f"[{table}] has {', '.join(other.partition('.')[2] for other in siblings)}"
    return f"the tables are {', '.join(dict.fromkeys(other.partition('.')[0] for other in known))}"
