"""``tocsin publish``: events from JSON lines to the events topic, checked one by one, at a given rate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from schemas.errors import Refused, TocsinError
from stream.commands.json_lines import Progress, open_lines, reading
from stream.commands.shared import ConfigOption, SetOption, load, say
from stream.wording import counted

if TYPE_CHECKING:
    from schemas.records import Event
    from stream.commands.kafka import Sender
    from stream.settings import Settings

CATCH_UP = 0.01
"""Seconds by which a late event may be made up for, so that a clock's coarseness does not lower a high rate; after a
longer delay the rate goes on from there, since a burst would be faster than was asked for."""


def publish(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines, one event each; - for stdin.")],
    rate: Annotated[float | None, typer.Option(min=0.001, metavar="N", help="Events a second, at most.")] = None,
    key_field: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Attribute whose first value becomes the record's key; dots for nested."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Report lines that are not events and go on, instead of stopping.")
    ] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Publish events from a file of JSON lines.

    Every line is checked before it is sent. At the first that is no event the command stops with exit code 1, and
    says which line that is: the lines before it are published, that line and those after it are not.
    Empty lines are passed over.
    """
    settings = load(context, config, overrides)
    if settings.events.format != "json":
        raise TocsinError(
            f"this command writes JSON, but events.format is {settings.events.format}; use another producer"
        )
    from stream.commands.kafka import Sender

    with open_lines(file) as lines:
        sender = Sender(settings, settings.topics.events)
        run = _Run(settings, sender, key_field, skip_bad, rate)
        try:
            with sender, reading(lines, "publishing", "events") as tell:
                run.send_all(lines, tell)
        finally:  # counts what was acknowledged until the sender was closed, also after Ctrl-C
            skipped = f", skipped {counted(run.skipped, 'bad line')}" if run.skipped else ""
            keyless = f"; {run.keyless:,} without {key_field!r}, and so without a key" if run.keyless else ""
            say(f"published {counted(sender.acknowledged, 'event')} to {settings.topics.events}{skipped}{keyless}")


class _Run:
    """One run over the lines."""

    def __init__(
        self, settings: Settings, sender: Sender, key_field: str | None, skip_bad: bool, rate: float | None
    ) -> None:
        self._limits = settings.limits
        self._sender = sender
        self._key_field = key_field
        self._skip_bad = skip_bad
        self._interval = 1 / rate if rate is not None else 0.0
        self._due = 0.0  # on the clock of time.monotonic(), when the next event may go
        self.sent = 0
        self.skipped = 0
        self.keyless = 0

    def send_all(self, lines: BinaryIO, tell: Progress) -> None:
        """Send every line that is an event, no faster than the rate."""
        from schemas.json_codec import decode_event

        position = 0
        for number, line in enumerate(lines, 1):
            position += len(line)
            value = line.strip()
            if not value:
                continue
            try:
                event = decode_event(value, None, self._limits)
            except Refused as refused:
                self._refuse(number, refused)
                continue
            self._wait_until(self._due)
            self._sender.send(self._key(event), value)
            self._due = max(self._due, time.monotonic() - CATCH_UP) + self._interval
            self.sent += 1
            tell(position, self.sent)

    def _refuse(self, number: int, refused: Refused) -> None:
        if not self._skip_bad:
            self._sender.flush()
            raise TocsinError(f"line {number} is not an event, so nothing from it on was published: {refused}")
        say(f"line {number} skipped: {refused}")
        self.skipped += 1

    def _wait_until(self, moment: float) -> None:
        while (left := moment - time.monotonic()) > 0:
            self._sender.serve(left)

    def _key(self, event: Event) -> bytes | None:
        if self._key_field is None:
            return None
        values = event.attributes.get(self._key_field, ())
        if not values:
            self.keyless += 1
            return None
        first = values[0]
        return (str(first).lower() if isinstance(first, bool) else str(first)).encode()
