"""``tocsin index stats``: what the live index consists of, what was observed of events, and the always-list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream.commands.looking import IndexOption, VersionOption, look_into, scanned, show_table
from stream.commands.shared import ConfigOption, JsonOption, SetOption, printable, write_line
from stream.console import console
from stream.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from index.observed.statistics import EventStatistics
    from index.reader import Snapshot
    from index.stats import Contents, Part, Sizes

SHOWN_LETTERS = 120


def index_stats(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many entries each list has.")] = 10,
    sample: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Look at so many subscriptions, chosen by chance, instead of at all."),
    ] = None,
    json: JsonOption = False,
    index: IndexOption = None,
    version: VersionOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Show segments, dead subscriptions, bytes by part, the commonest predicates, observed events and the always-list.

    A small sample of the events is counted while they are matched; merges put each subscription where the predicate
    that fewest events satisfy finds it.

    The always-list holds the subscriptions that every event has to look at, for want of a predicate to find them by.

    Each is shown with what would take it off the list, those with the most predicates first.
    """
    settings, snapshot = look_into(context, index, version, config, overrides)
    from index.statistics_store import gathered
    from index.stats import contents, parts, sizes

    observed = gathered(settings.job.index_dir)
    known, found = sizes(snapshot), _contents(snapshot, limit, sample, contents)
    if json:
        _print_json(known, parts(snapshot), found, observed, limit)
        return
    shown = console()
    _print_sizes(shown, known)
    _print_parts(shown, parts(snapshot), known, limit)
    _print_observed(shown, observed, limit)
    _print_contents(shown, known, found)


def _contents(snapshot: Snapshot, limit: int, sample: int | None, contents: Any) -> Contents:
    import numpy as np

    from index.live import alive, read

    places = alive(snapshot)
    if sample is not None and sample < len(places):
        places = np.random.default_rng(0).choice(places, sample, replace=False, shuffle=False)
    found: Contents = contents(scanned(read(snapshot, places), len(places), "reading subscriptions"), limit)
    return found


def _print_sizes(shown: Console, known: Sizes) -> None:
    table = _table("", "")
    table.add_row("version", f"{known.version:,}")
    table.add_row("subscriptions", f"{known.subscriptions:,}")
    table.add_row("dead, until a merge", f"{known.dead:,}")
    of = f" of {known.shards:,} shards" if known.shards > 1 else ""
    table.add_row("segments", f"{known.segments:,}{of}")
    tail = f"{counted(known.tail_segments, 'segment')}, {counted(known.tail_subscriptions, 'subscription')}"
    table.add_row("tail, to be merged first", tail)
    each = f", {known.bytes / known.subscriptions:,.0f} a subscription" if known.subscriptions else ""
    table.add_row("bytes", f"{known.bytes:,}{each}")
    table.show_header = False
    show_table(shown, table)


def _print_parts(shown: Console, parts: list[Part], known: Sizes, limit: int) -> None:
    table = _table("part", "bytes", "a subscription")
    rest = sum(part.bytes for part in parts[limit:])
    rows = [(part.name, part.bytes) for part in parts[:limit]] + ([("others", rest)] if rest else [])
    for name, size in rows:
        table.add_row(name, f"{size:,}", f"{size / max(known.subscriptions, 1):,.1f}")
    shown.print()
    show_table(shown, table)


def _print_observed(shown: Console, observed: EventStatistics, limit: int) -> None:
    from rich.text import Text

    from index.stats import frequent
    from schemas.filter_leaf_printer import format_leaf

    shown.print()
    if not observed.events:
        shown.print("no events observed yet")
        return
    table = _table("share", f"most frequent in {observed.events:,.0f} events observed, of {observed.seen:,.0f} ever")
    table.columns[0].justify = "right"
    table.columns[1].justify = "left"
    for entry in frequent(observed, limit):
        table.add_row(f"{entry.share:.2%}", Text(_short(format_leaf(entry.leaf))))
    show_table(shown, table)


def _print_contents(shown: Console, known: Sizes, found: Contents) -> None:
    from rich.text import Text

    from schemas.filter_leaf_printer import format_leaf

    scanned_share = "" if found.scanned == known.subscriptions else f" among {found.scanned:,} looked at"
    table = _table("subscriptions", f"commonest predicates{scanned_share}")
    table.columns[0].justify = "right"
    table.columns[1].justify = "left"
    for common in found.common:
        table.add_row(f"{common.subscriptions:,}", Text(_short(format_leaf(common.leaf))))
    shown.print()
    show_table(shown, table)
    shown.print()
    share = f"{found.always / found.scanned:.2%}" if found.scanned else "none"
    style = "yellow" if found.always else "green"
    shown.print(
        f"always-list: [{style}]{found.always:,}[/] of {counted(found.scanned, 'subscription')} ({share})",
        markup=True,
    )
    if found.offenders:
        _print_offenders(shown, found)


def _print_offenders(shown: Console, found: Contents) -> None:
    from rich.text import Text

    table = _table("subscription", "predicates", "filter", "why, and the cure")
    for place in (0, 2, 3):
        table.columns[place].justify = "left"
        table.columns[place].overflow = "fold"
    for member in found.offenders:
        row = _short(_filter(member.subscription.expression)), f"{member.kind.value}: {member.advice}"
        table.add_row(Text(_short(member.subscription.id)), f"{member.leaves:,}", *map(Text, row))
    show_table(shown, table)


def _print_json(known: Sizes, parts: list[Part], found: Contents, observed: EventStatistics, limit: int) -> None:
    import msgspec

    from index.stats import frequent
    from schemas.filter_leaf_printer import format_leaf

    always = [
        {
            "subscription": member.subscription.id,
            "kind": member.kind.value,
            "advice": member.advice,
            "predicates": member.leaves,
            "filter": _filter(member.subscription.expression),
        }
        for member in found.offenders
    ]
    common = [{"filter": format_leaf(entry.leaf), "subscriptions": entry.subscriptions} for entry in found.common]
    content = msgspec.structs.asdict(known) | {
        "parts": {part.name: part.bytes for part in parts},
        "scanned": found.scanned,
        "common": common,
        "observed": observed.events,
        "observed_ever": observed.seen,
        "frequent": [{"filter": format_leaf(entry.leaf), "share": entry.share} for entry in frequent(observed, limit)],
        "always": found.always,
        "offenders": always,
    }
    write_line(msgspec.json.encode(content))


def _table(*titles: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, title in enumerate(titles):
        table.add_column(title, justify="right" if place else "left")
    return table


def _filter(expression: Any) -> str:
    from schemas.filter_printer import format_filter

    return format_filter(expression)


def _short(text: str) -> str:
    text = printable(text)
    return text if len(text) <= SHOWN_LETTERS else f"{text[:SHOWN_LETTERS]}… ({len(text):,} characters)"
