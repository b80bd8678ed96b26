"""``tocsin listen``: notifications as they come, a live table for a person, JSON lines for a program."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from stream.commands.shared import (
    ConfigOption,
    JsonOption,
    SetOption,
    check_reader,
    load,
    printable,
    say,
    write_line,
)
from stream.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from stream.commands.kafka import TopicReader

WAIT_SECONDS = 0.25


def listen(
    context: typer.Context,
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="Also those that are on the topic.")] = False,
    subscription: Annotated[
        str | None, typer.Option(metavar="ID", help="Only the notifications of one subscription.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after so many.")] = None,
    json: JsonOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Show notifications as they come, until Ctrl-C.

    In a terminal they are a table of the latest; elsewhere each is one line of JSON, byte for byte as on the topic.
    """
    settings = load(context, config, overrides)
    from stream.commands.kafka import TopicReader

    topic = settings.topics.notifications
    with TopicReader(settings, topic, from_beginning) as reader:
        say(f"listening to {topic} at {settings.kafka.bootstrap_servers}; Ctrl-C ends it")
        notifications = _wanted(reader, subscription, count)
        if json or not sys.stdout.isatty():
            _print_lines(notifications)
        else:
            _show_table(notifications, subscription)


def _wanted(reader: TopicReader, subscription: str | None, count: int | None) -> Iterator[list[bytes]]:
    """Yield the wanted notifications as they come, an empty list in each while without any."""
    import msgspec

    seen = 0
    while count is None or seen < count:
        values = [value for record in reader.read(WAIT_SECONDS) if (value := record.value()) is not None]
        if subscription is not None:
            values = [
                v for v in values if any(m.subscription == subscription for m in _matches(msgspec.json.decode(v)))
            ]
        values = values if count is None else values[: count - seen]
        seen += len(values)
        yield values


def _print_lines(notifications: Iterator[list[bytes]]) -> None:
    for values in notifications:
        if values:
            write_line(b"\n".join(values))
        else:
            check_reader()


class _Match(NamedTuple):
    """One row of the table."""

    time: str
    subscription: str
    score: float
    rank: int
    event: str
    labels: str


def _matches(notification: dict[str, Any]) -> list[_Match]:
    """Return the matches that a notification tells of: one, or with ``emit = "event"`` all of its event."""
    event = notification["event"]
    name = event.get("key") or f"{event['topic']}/{event['partition']}/{event['offset']}"
    entries = notification.get("matches", [notification])
    return [
        _Match(
            time=event["time"],
            subscription=entry["subscription"],
            score=entry["score"],
            rank=entry.get("rank", place),
            event=name,
            labels=", ".join(f"{label}={value}" for label, value in entry.get("labels", {}).items()),
        )
        for place, entry in enumerate(entries, 1)
    ]


def _show_table(notifications: Iterator[list[bytes]], subscription: str | None) -> None:
    """Keep the latest matches in a table that grows to the terminal's height."""
    import msgspec
    from rich.console import Console
    from rich.live import Live

    console = Console()
    rows: deque[_Match] = deque(maxlen=max(console.height - 7, 5))
    total = 0
    with Live(console=console, refresh_per_second=8) as live:
        for values in notifications:
            matches = [match for value in values for match in _matches(msgspec.json.decode(value))]
            rows.extend(match for match in matches if subscription in (None, match.subscription))
            total += len(values)
            live.update(_table(rows, total, console))


def _table(rows: deque[_Match], total: int, console: Console) -> Table:
    from rich.table import Table

    table = Table(title=counted(total, "notification"), title_justify="left", width=console.width)
    table.add_column("event time", no_wrap=True)
    table.add_column("subscription", no_wrap=True, ratio=3)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("event", no_wrap=True, ratio=3)
    table.add_column("labels", no_wrap=True, ratio=4)
    from rich.text import Text

    for row in rows:
        texts = (row.time, row.subscription, f"{row.score:.6g}", str(row.rank), row.event, row.labels)
        table.add_row(*(Text(printable(text)) for text in texts))
    return table
