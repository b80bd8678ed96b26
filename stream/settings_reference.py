"""The settings as text: types in words, the default settings file and the reference page, from one description."""

from __future__ import annotations

import json
import textwrap
import types
from functools import reduce
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Meta

from stream.secrets import MASK, shown
from stream.settings_tables import Leaf, Settings, describe_settings

FILE_HEAD = """\
# Tocsin's settings. Every line may be left out, which gives the default; an unknown name is refused.
#
# Each setting can also be given in the environment, as TOCSIN_TABLE__NAME, or on the command line, as
# --set table.name=value. The command line wins over the environment, and that over this file.
"""
FILE_WIDTH = 110


def type_in_words(type_: Any) -> str:
    """Say what values a setting takes: ``a whole number, at least 1``, ``"match" or "event"``."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Annotated:
        metas = [meta for meta in arguments[1:] if isinstance(meta, Meta)]
        words = [meta.extra["words"] for meta in metas if meta.extra is not None]
        return str(words[0]) if words else type_in_words(arguments[0]) + "".join(_bounds(meta) for meta in metas)
    if origin is Literal:
        return " or ".join(f'"{value}"' for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(type_in_words(part) for part in arguments if part is not type(None))
    if origin is dict:
        return "a table of names and values"
    return {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[type_]


def _bounds(meta: Meta) -> str:
    bounds = (("at least", meta.ge), ("above", meta.gt), ("at most", meta.le), ("below", meta.lt))
    said = "".join(f", {words} {bound:,}" for words, bound in bounds if bound is not None)
    return f"{said}, not empty" if meta.min_length else said


def settings_toml(settings: Settings | None = None, secrets: bool = False) -> str:
    """Return a settings file: each setting with its meaning above it, commented out where it has no value.

    Parameters
    ----------
    settings
        The values; None takes the defaults.
    secrets
        Whether secrets that were written out are shown. Otherwise they are commented out and masked; references to
        secrets are shown as they are.
    """
    chosen = Settings() if settings is None else settings
    lines = [FILE_HEAD]
    table = ""
    for leaf in sorted(describe_settings(), key=_place):
        own_table = leaf.name if leaf.open else leaf.name.partition(".")[0]
        if own_table != table:
            table = own_table
            lines += [f"[{table}]"] if lines[-1] == FILE_HEAD else ["", f"[{table}]"]
        lines += _wrapped(f"{leaf.doc} ({type_in_words(leaf.type)})", "# ")
        name = leaf.name.rpartition(".")[2]
        value = _value(chosen, leaf)
        if value is None:
            lines.append(f'# {name} = ""')
        elif leaf.open:
            lines += [_entry(leaf.name, key, entry, secrets) for key, entry in value.items()]
        else:
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def settings_markdown() -> str:
    """Return the reference page's tables, one a table of the settings file."""
    lines: list[str] = []
    table = ""
    for leaf in describe_settings():
        own_table = leaf.name.partition(".")[0]
        if own_table != table:
            table = own_table
            lines += ["", f"## [{table}]", "", "| setting | values | default | meaning |", "|---|---|---|---|"]
        default = "" if leaf.default in (None, {}) else f"`{json.dumps(leaf.default)}`"
        lines.append(f"| `{leaf.name}` | {type_in_words(leaf.type)} | {default} | {leaf.doc.replace('|', '&#124;')} |")
    return "\n".join(lines).strip() + "\n"


def _value(settings: Settings, leaf: Leaf) -> Any:
    return reduce(getattr, leaf.name.split("."), settings)


def _toml(value: Any) -> str:
    """Spell a value in TOML, whose strings, numbers and truth values are written as in JSON."""
    return json.dumps(value, ensure_ascii=False)


def _entry(table: str, key: str, value: str, secrets: bool) -> str:
    seen = value if secrets else shown(f"{table}.{key}", value)
    return f"# {_toml(key)} = {_toml(MASK)}" if seen is None else f"{_toml(key)} = {_toml(seen)}"


def _place(leaf: Leaf) -> tuple[int, bool]:
    """In TOML a table's own values stand before its sub-tables."""
    return Settings.__struct_fields__.index(leaf.name.partition(".")[0]), leaf.open


def _wrapped(text: str, prefix: str) -> list[str]:
    return textwrap.wrap(text, FILE_WIDTH, initial_indent=prefix, subsequent_indent=prefix, break_on_hyphens=False)
