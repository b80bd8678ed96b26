"""Secrets in settings: where a reference leads, which names hold secrets, and texts without them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from schemas.errors import TocsinError

MASK: Final = "********"
SHORT: Final = 4
"""Secrets of fewer characters are not looked for in texts: they stand in too many words by chance."""

SPARK_REDACTION: Final = (
    r"(?i)secret|passw(or)?d|token|credential|jaas|user\.?info|access[._-]?key|account[._-]?key|private|"
    r"keystore\.key|ssl\.key|key\.pem"
)
"""Names whose values are secrets; also Spark's ``spark.redaction.regex``, so the pattern is one for Java and Python."""

_SECRET_NAME = re.compile(SPARK_REDACTION)
_NO_SECRET = re.compile(r"(?i)location|endpoint|\.url$|token\.timeout|redaction")
"""Names that hold such a word and yet say only where or how."""

_REFERENCE = re.compile(r"\$\{(env|file|directory):([^}]*)\}")
_USER_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")

_seen: set[str] = set()
"""The secrets that this process has used, so that `hide` finds them wherever they turn up."""


def is_secret(name: str) -> bool:
    """Return whether a property of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None and _NO_SECRET.search(name) is None


def resolved(name: str, text: str) -> str:
    """Return a value with its references replaced, which are those of Kafka's configuration providers.

    ``${env:NAME}`` is an environment variable, ``${file:/path}`` a file's text without the line's end,
    ``${file:/path:key}`` the value of ``key=value`` in a file, and ``${directory:/path:name}`` the text of a file in a
    folder. Other text in braces stays as it is.

    Parameters
    ----------
    name
        The setting's, for the sentence that refuses it; a value whose name says so is kept in mind as a secret.
    text
        The value as it is written.

    Raises
    ------
    TocsinError
        The variable is not set, or the file can't be read or lacks the key.
    """

    def value(found: re.Match[str]) -> str:
        return _PROVIDERS[found[1]](name, found[2])

    result = _REFERENCE.sub(value, text)
    if is_secret(name):
        _seen.update(part for part in {result, result.partition(":")[2]} if len(part) >= SHORT)
    return result


def resolved_table(table: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return a table of names and values with the references in its values replaced, as `resolved` does.

    Sentences name the setting as it is given: Spark's names begin with the table's already.
    """
    prefix = f"{table}."
    return {name: resolved(f"{prefix}{name.removeprefix(prefix)}", value) for name, value in values.items()}


def hide(text: str) -> str:
    """Return a text with every secret that this process has used, and users in addresses, replaced by a mask."""
    for secret in sorted(_seen, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _USER_IN_URL.sub(MASK, text) if "://" in text else text


def shown(name: str, value: str) -> str | None:
    """Return a value as it may be shown; None when it is a secret that was written out rather than referred to."""
    if _REFERENCE.search(value):
        return value
    return None if is_secret(name) else _USER_IN_URL.sub(MASK, value)


def _variable(name: str, variable: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        raise TocsinError(f"{name} refers to the environment variable {variable}, which is not set; set it")
    return value


def _file(name: str, place: str) -> str:
    path, separator, key = place.rpartition(":")
    if not separator or Path(place).exists():
        return _read(name, Path(place)).rstrip("\r\n")
    for line in _read(name, Path(path)).splitlines():
        found, equals, value = line.partition("=")
        if equals and found.strip() == key:
            return value.strip()
    raise TocsinError(f"{name} refers to {key} in the file {path}, which has no line {key}=…; add it")


def _in_directory(name: str, place: str) -> str:
    path, _, file = place.rpartition(":")
    return _read(name, Path(path) / file).rstrip("\r\n")


def _read(name: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TocsinError(f"{name} refers to the file {path}, which can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TocsinError(f"{name} refers to the file {path}, which is not UTF-8 text") from error


_PROVIDERS: Final[dict[str, Callable[[str, str], str]]] = {
    "env": _variable,
    "file": _file,
    "directory": _in_directory,
}
