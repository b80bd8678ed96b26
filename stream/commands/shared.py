"""What the commands share: the settings options, text arguments, and output.

Every command starts this module, so it imports nothing that takes time.
"""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.errors import Refused, TocsinError
from stream.commands.streams import drop

if TYPE_CHECKING:
    import msgspec

    from stream.settings import Settings

LOWEST_PRIORITY = 19

SHOWN, SHOWN_BEFORE = 100, 60
"""Characters of a refused line that are shown, and how many of them at most stand before the refused place."""

SETTINGS_PANEL = "Settings"

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        readable=False,  # the settings say with a cure what can't be read
        envvar="TOCSIN_CONFIG",
        help="Settings file (TOML); 'tocsin settings' prints one.",
        rich_help_panel=SETTINGS_PANEL,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="One setting, over the file and the environment; may be repeated.",
        rich_help_panel=SETTINGS_PANEL,
    ),
]
ModeOption = Annotated[
    str | None, typer.Option(metavar="MODE", help="all, which is the default, relaxed or threshold: see the guide.")
]
ThresholdOption = Annotated[
    float | None, typer.Option(help="Share of the weights to reach in mode threshold, over 0, at most 1.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
JsonLinesOption = Annotated[
    bool, typer.Option("--json", help="JSON lines, also in a terminal; elsewhere they are the default.")
]


class WrongUsage(TocsinError):
    """A setting, from the command line, the environment or a file, that can't be."""


def load(
    context: typer.Context,
    config: Path | None,
    overrides: list[str] | None,
    named: Mapping[str, tuple[str, object]] = MappingProxyType({}),
) -> Settings:
    """Return the settings, whose analyser is from now on the process's; options after the command's name win.

    Those that have an option of their own come as ``named``: to the option the setting and the value, None for none.
    """
    from schemas.texts import set_analyser
    from stream.settings import load_settings

    config_before, overrides_before = context.obj or (None, [])
    given = [f"{setting}={value}" for setting, value in named.values() if value is not None]
    try:
        settings = load_settings(config or config_before, [*overrides_before, *(overrides or []), *given])
    except TocsinError as error:
        said = str(error)
        for option, (setting, value) in named.items():
            said = said if value is None else said.replace(f"(--set {setting})", f"({option})")
        raise WrongUsage(said) from error
    set_analyser(settings.matching.analyser)
    return settings


def say(sentence: str) -> None:
    """Print chatter: it goes to stderr, so that stdout holds data only."""
    try:
        print(sentence, file=sys.stderr, flush=True)
    except OSError:  # nobody can be told, and what the command is for goes on
        drop(sys.stderr)


def write_line(line: bytes) -> None:
    """Print one line of data at once, so that the next program of a pipe sees it."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def check_reader() -> None:
    """Raise BrokenPipeError when nobody reads stdout any more; found without writing."""
    if not hasattr(select, "poll"):
        return
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    if any(events & (select.POLLERR | select.POLLNVAL) for _, events in poll.poll(0)):
        raise BrokenPipeError


def give_way() -> None:
    """Let every other process go first: what takes long may run beside the job."""
    os.nice(LOWEST_PRIORITY)


def tree_of(text: str) -> msgspec.Raw:
    """Return an expression tree, as a member of a record, of a text that is JSON; the codec says whether it is a tree.

    Its nesting may be deeper than plain objects are encoded.
    """
    import msgspec

    from schemas.json_syntax import parse

    value = text.encode()
    parse(value, "subscription", len(value))
    return msgspec.Raw(value)


def text_of(argument: str) -> str:
    """Return the argument, or for ``@FILE`` the file's text, for ``@-`` that of stdin."""
    if not argument.startswith("@"):
        need_utf8(argument, f"the argument {argument!r:.60}")
        return argument
    if argument == "@":
        raise TocsinError("@ names no file; write @FILE, or @- for stdin")
    return read_text(argument[1:], "@-")


def unreadable(name: str, error: OSError, stdin: str = "-") -> TocsinError:
    """Return the error of a file that can't be read; stdin is written as ``stdin`` where the file was named."""
    named = name or "a file without a name"
    return TocsinError(f"{named} can't be read: {error.strerror}; give the path of a file, or {stdin} for stdin")


def read_text(name: str, stdin: str = "-") -> str:
    """Return a file's text, ``-`` meaning stdin, which the argument that named it writes as ``stdin``."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(name, error, stdin) from error
    except UnicodeDecodeError as error:
        raise TocsinError(f"{name} is not UTF-8 text: {error}") from error
    need_utf8(text, name)
    return text


def need_utf8(text: str, name: str) -> None:
    """Refuse text that was made of other bytes than UTF-8's, as arguments and, in some locales, stdin may be."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = f"{text[error.start]!r} at character {error.start + 1}"
        raise TocsinError(f"{name} is not UTF-8 text: it has {found}; give it in UTF-8") from None


@contextmanager
def pointing_at(text: str | None) -> Iterator[None]:
    """Add what a refusal points at in a filter text, with a mark under the column, to the sentence that refuses it."""
    try:
        yield
    except Refused as refused:
        place = re.search(r"line (\d+), column (\d+)$", refused.path)
        if text is None or place is None:
            raise
        raise TocsinError(f"{refused}\n{_marked(text, int(place[1]), int(place[2]))}") from refused


def _marked(text: str, line: int, column: int) -> str:
    """Return what stands around a place in a text, as much as one line of a terminal shows, and a mark under it."""
    shown = text.split("\n")[line - 1]
    start = max(0, column - 1 - SHOWN_BEFORE)
    end = start + SHOWN
    before = ("…" if start else "") + printable(shown[start : column - 1].expandtabs(1))
    after = printable(shown[column - 1 : end].expandtabs(1)) + ("…" if end < len(shown) else "")
    return f"  {before}{after}\n  {' ' * len(before)}^"


def printable(text: str) -> str:
    """Return the text with control characters spelled out, so that a record can't steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
