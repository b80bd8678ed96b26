"""``tocsin dead-letters``: the records that could not be understood, each with its reason."""

from __future__ import annotations

import base64
import sys
from collections import deque
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream.commands.shared import (
    ConfigOption,
    JsonLinesOption,
    SetOption,
    check_reader,
    load,
    printable,
    say,
    write_line,
)
from stream.console import console
from stream.wording import counted

if TYPE_CHECKING:
    from confluent_kafka import Message

WAIT_SECONDS = 0.25
PREVIEW = 200
"""How many characters of a value the table shows."""


def dead_letters(
    context: typer.Context,
    last: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the latest N.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with those to come, until Ctrl-C.")] = False,
    json: JsonLinesOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Show the records that were refused, with the reason, the place they came from and their value.

    In a terminal they are a table, elsewhere JSON lines with the members reason, message, topic, partition, offset,
    time, key and value; a key or value that is not UTF-8 text comes as key_base64 or value_base64.
    """
    settings = load(context, config, overrides)
    from stream.commands.kafka import TopicReader

    show = _print_lines if json or not sys.stdout.isatty() else _print_table
    with TopicReader(settings, settings.topics.dead_letters, from_beginning=True) as reader:
        there: deque[tuple[int, dict[str, Any]]] = deque(maxlen=last)
        foreign = 0
        while not reader.at_end:
            for record in reader.read(WAIT_SECONDS):
                if (letter := _letter(record)) is None:
                    foreign += 1
                else:
                    there.append((record.timestamp()[1], letter))
        show([letter for _, letter in sorted(there, key=lambda pair: pair[0])])
        _tell_foreign(foreign, settings.topics.dead_letters)
        if not there:
            say(f"no dead letters on {settings.topics.dead_letters}")
        while follow:
            letters = [_letter(record) for record in reader.read(WAIT_SECONDS)]
            show([letter for letter in letters if letter is not None])
            _tell_foreign(letters.count(None), settings.topics.dead_letters)
            check_reader()


def _tell_foreign(count: int, topic: str) -> None:
    if count:
        say(f"{counted(count, 'other record')} on {topic}, not written by Tocsin, left out")


def _letter(record: Message) -> dict[str, Any] | None:
    """Return the dead letter that a record of the topic is, or None for a record of somebody else."""
    import msgspec

    from schemas.notification_codec import instant
    from stream.dead_letter_record import Origin

    headers = {name: _header(value) for name, value in dict(record.headers() or {}).items()}
    try:
        origin = msgspec.convert(headers, Origin, strict=False)
    except msgspec.ValidationError:
        return None
    return {
        **msgspec.structs.asdict(origin),
        "time": instant(record.timestamp()[1]),
        **_text("key", record.key()),
        **_text("value", record.value()),
    }


def _header(value: str | bytes | None) -> str:
    return value if isinstance(value, str) else (value or b"").decode(errors="replace")


def _text(name: str, content: str | bytes | None) -> dict[str, str | None]:
    if content is None or isinstance(content, str):
        return {name: content}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(content).decode()}


def _print_lines(letters: list[dict[str, Any]]) -> None:
    import msgspec

    for letter in letters:
        write_line(msgspec.json.encode(letter))


def _print_table(letters: list[dict[str, Any]]) -> None:
    """Print letters as rows; the columns' shares of the width are fixed, so later rows stand under earlier ones."""
    if not letters:
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(expand=True, show_lines=True)
    for title, ratio in (("reason", 3), ("message", 6), ("from", 4), ("key", 2), ("value", 6)):
        table.add_column(title, ratio=ratio, overflow="fold")
    for letter in letters:
        place = f"{letter['topic']} {letter['partition']}/{letter['offset']}"
        shown = [letter["reason"], letter["message"], place, _preview(letter, "key"), _preview(letter, "value")]
        table.add_row(*(Text(printable(text)) for text in shown))
    console().print(table)


def _preview(letter: dict[str, Any], name: str) -> str:
    text = letter.get(name) if name in letter else f"base64 {letter[f'{name}_base64']}"
    if text is None:
        return "(none)"
    return text if len(text) <= PREVIEW else f"{text[:PREVIEW]}… ({len(text):,} characters)"
