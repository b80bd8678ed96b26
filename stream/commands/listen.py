"""``tocsin listen``: notifications as they come, a live table for a person, JSON lines for a program."""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

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
from stream.wording import counted, spell_score

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from schemas.records import EventMatch, EventNotification, Notification
    from stream.commands.kafka import TopicReader

WAIT_SECONDS = 0.25


def listen(
    context: typer.Context,
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="Also those that are on the topic.")] = False,
    subscription: Annotated[
        str | None, typer.Option(metavar="ID", help="Only the notifications of one subscription.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after so many.")] = None,
    json: JsonLinesOption = False,
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
    seen = 0
    while count is None or seen < count:
        values = [value for record in reader.read(WAIT_SECONDS) if (value := record.value()) is not None]
        if subscription is not None:
            values = [v for v in values if any(m.subscription == subscription for m in _matches(v) or ())]
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


def _matches(value: bytes) -> list[_Match] | None:
    """Return the matches that a notification tells of: one, or with ``emit = "event"`` all of its event.

    None for a record of somebody else.
    """
    from schemas.records import Notification

    notification = _decode(value)
    if notification is None:
        return None
    event = notification.event
    name = event.key or f"{event.topic}/{event.partition}/{event.offset}"
    ranked: Iterable[tuple[int, Notification | EventMatch]]
    if isinstance(notification, Notification):
        ranked = [(notification.rank, notification)]
    else:
        ranked = enumerate(notification.matches, 1)
    return [
        _Match(
            time=event.time,
            subscription=match.subscription,
            score=match.score,
            rank=rank,
            event=name,
            labels=", ".join(f"{label}={value}" for label, value in match.labels.items()),
        )
        for rank, match in ranked
    ]


def _decode(value: bytes) -> Notification | EventNotification | None:
    """Return a notification of either kind; None for what is none."""
    import msgspec

    from schemas.notification_codec import decode_event_notification, decode_notification

    for decode in (decode_notification, decode_event_notification):
        with contextlib.suppress(msgspec.DecodeError, ValueError, RecursionError):
            return decode(value)
    return None


def _show_table(notifications: Iterator[list[bytes]], subscription: str | None) -> None:
    """Keep the latest matches in a table that grows to the terminal's height."""
    from rich.live import Live

    shown = console()
    rows: deque[_Match] = deque(maxlen=max(shown.height - 7, 5))
    total = foreign = 0
    with Live(console=shown, refresh_per_second=8) as live:
        for values in notifications:
            told = [_matches(value) for value in values]
            matches = [match for of_record in told for match in of_record or ()]
            rows.extend(match for match in matches if subscription in (None, match.subscription))
            others = told.count(None)
            total, foreign = total + len(told) - others, foreign + others
            live.update(_table(rows, _title(total, foreign), shown))


def _title(total: int, foreign: int) -> str:
    """Say how many notifications have come, and how many records that are none and are not shown."""
    return counted(total, "notification") + (f" and {counted(foreign, 'other record')}" if foreign else "")


def _table(rows: Iterable[_Match], title: str, shown: Console) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", width=shown.width)
    table.add_column("event time", no_wrap=True)
    table.add_column("subscription", no_wrap=True, ratio=3)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("event", no_wrap=True, ratio=3)
    table.add_column("labels", no_wrap=True, ratio=4)
    from rich.text import Text

    for row in rows:
        texts = (row.time, row.subscription, spell_score(row.score), str(row.rank), row.event, row.labels)
        table.add_row(*(Text(printable(text)) for text in texts))
    return table
