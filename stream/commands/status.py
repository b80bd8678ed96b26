"""``tocsin status``: whether the job runs, how far it is, and what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stream.commands.shared import ConfigOption, JsonOption, SetOption, load, printable, write_line
from stream.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.status import GroupStatus, Rates, Status

NOT_RUNNING = 3
"""Exit code when no job runs, as service managers have it."""


def status(
    context: typer.Context,
    endpoint: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where the job answers; as a rule its index directory says so."),
    ] = None,
    json: JsonOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Show whether the job runs, the lag of its groups, its index and its rates.

    The exit code is 0 when the job is alive, 3 when it is not. What can be had is shown either way: the index directory
    and the groups' committed offsets are there without the job.
    """
    if endpoint is not None and not endpoint.startswith(("http://", "https://")):
        raise typer.BadParameter(
            f"{endpoint!r:.60} is no URL; write it like http://127.0.0.1:9404", param_hint="--endpoint"
        )
    settings = load(context, config, overrides)
    import msgspec

    from stream.status import status_of

    found = status_of(settings, None if endpoint is None else endpoint.rstrip("/"))
    if json:
        write_line(msgspec.json.encode(found))
    else:
        _print(found)
    raise typer.Exit(0 if found.alive else NOT_RUNNING)


def _print(found: Status) -> None:
    from rich.table import Table
    from rich.text import Text

    from stream.commands.looking import show_table
    from stream.console import console

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    colour = "green" if found.ready else "yellow" if found.alive else "red"
    for place, (name, text) in enumerate(_lines(found)):
        table.add_row(name, Text(printable(text), style=colour if place == 1 else ""))
    show_table(console(), table)


def _lines(found: Status) -> Iterator[tuple[str, str]]:
    held = found.holder
    yield "job", found.job + (f", process {held.pid} on {held.host} since {held.since}" if held is not None else "")
    yield "state", found.state
    if found.endpoint is not None:
        yield "endpoint", found.endpoint
    for group in found.groups or ():
        yield group.topic, _group(group)
    if found.kafka is not None:
        yield "kafka", found.kafka
    if (index := found.index) is None:
        yield "index", found.index_error or "none in job.index_dir"
    else:
        small = f"({index.tail_segments:,} of them small), {index.bytes / 1e6:,.1f} MB"
        held_there = f"{counted(index.subscriptions, 'subscription')} in {counted(index.segments, 'segment')}"
        yield "index", f"v{index.version}, {held_there} {small}"
    if found.rates is not None:
        yield from _rates(found.rates)


def _group(group: GroupStatus) -> str:
    if not group.end:
        return "there is no such topic"
    behind = ", ".join(f"{partition}: {lag:,}" for partition, lag in group.behind().items())
    partitions = f" (partition {behind})" if behind else ""
    there = sum(group.end.values()) - sum(group.beginning.values())
    return f"lag {group.lag:,} of {counted(there, 'offset')}{partitions}, group {group.group}"


def _rates(rates: Rates) -> Iterator[tuple[str, str]]:
    yield (
        "rates",
        f"{rates.events_per_second:,.0f} events/s, {rates.matches_per_second:,.0f} matches/s, "
        f"{rates.subscriptions_per_second:,.0f} subscription updates/s",
    )
    if rates.latency_p50_seconds is not None and rates.latency_p99_seconds is not None:
        half, most = rates.latency_p50_seconds * 1000, rates.latency_p99_seconds * 1000
        yield "latency", f"about {half:,.0f} ms for half of the events since the start, {most:,.0f} ms for 99 in 100"
    letters = ", ".join(f"{reason} {count:,}" for reason, count in rates.dead_letters.items())
    yield "dead letters", f"{sum(rates.dead_letters.values()):,}" + (f" ({letters})" if letters else " since the start")
