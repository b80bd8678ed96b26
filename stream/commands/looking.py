"""What the commands share that look into a live index directory: options, opening it, scans with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from stream.commands.shared import load
from stream.commands.values import moment
from stream.console import console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from index.reader import Snapshot
    from schemas.records import Event
    from stream.settings import Settings

Item = TypeVar("Item")

REPORT_EVERY = 256
"""Items of a scan from one look of the progress bar to the next."""

IndexOption = Annotated[
    str | None,
    typer.Option("--index", metavar="DIR", help="Folder of the index, or its address; as a rule the settings name it."),
]
VersionOption = Annotated[
    int | None,
    typer.Option("--at-version", min=1, metavar="N", help="A version that is still kept; otherwise the latest."),
]


def look_into(
    context: typer.Context, index: str | None, version: int | None, config: Path | None, overrides: list[str] | None
) -> tuple[Settings, Snapshot]:
    """Return the settings and an open version of the index that they, or ``--index``, name.

    Its files are read whole first: no start of a job vouches for them here.
    """
    settings = load(context, config, overrides, {"--index": ("job.index_dir", index)})
    from index.live import open_version

    return settings, open_version(settings.job.index_dir, version, whole=True)


def look_for(
    context: typer.Context, index: str | None, version: int | None, config: Path | None, overrides: list[str] | None
) -> tuple[Settings, int]:
    """Return the settings, which name the index directory, and the version to look at, unopened."""
    settings = load(context, config, overrides, {"--index": ("job.index_dir", index)})
    from index.live import need_version

    return settings, need_version(settings.job.index_dir, version)


def event_of(text: str, settings: Settings, time: str | None) -> Event:
    """Return the event that a JSON text holds, with a time as ``--time`` gives it or else that of now."""
    import time as clock

    import msgspec

    from schemas.json_codec import decode_event

    at = clock.time_ns() // 1000 if time is None else moment(time, "--time")
    return msgspec.structs.replace(decode_event(text.encode(), None, settings.limits), time=at)


def show_table(shown: Console, table: Table) -> None:
    """Print a table; without a terminal one line a row, with tabs between its cells."""
    if shown.is_terminal:
        shown.print(table)
        return
    titles = [tuple(column.header for column in table.columns)] if table.show_header else []
    for row in [*titles, *zip(*(column.cells for column in table.columns), strict=True)]:
        print(*row, sep="\t", file=shown.file)  # the console would turn tabs into blanks


@contextmanager
def progress_bar(total: int, title: str) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr, where that is a terminal, and give the function that says how many are done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown = console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        task = progress.add_task(title, total=total)
        yield lambda done: progress.update(task, completed=done)


def scanned(items: Iterable[Item], total: int, title: str) -> Iterator[Item]:
    """Yield the items behind a `progress_bar`."""
    with progress_bar(total, title) as update:
        for done, item in enumerate(items, 1):
            yield item
            if done % REPORT_EVERY == 0:
                update(done)
