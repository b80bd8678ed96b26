"""``tocsin similar``: which indexed subscriptions say the same as a filter, or nearly the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stream.commands.looking import IndexOption, VersionOption, look_into, scanned, show_table
from stream.commands.shared import ConfigOption, JsonOption, SetOption, printable, say, text_of, write_line
from stream.console import console

if TYPE_CHECKING:
    from index.similar import Similar

SHOWN_LETTERS = 400


def similar(
    context: typer.Context,
    filter_: Annotated[
        str, typer.Argument(metavar="FILTER", help="Filter text, or a tree as JSON; @FILE takes it from a file.")
    ],
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many are shown.")] = 10,
    json: JsonOption = False,
    index: IndexOption = None,
    version: VersionOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """List the subscriptions of the live index that say the same as a filter, then those that say nearly the same.

    The order of arguments and listed values, nesting and shorthand make no difference. A double negation around
    what scores is a difference in weights: nothing under a NOT scores.
    """
    from schemas.records import Subscription
    from stream.commands.check import expression_of

    settings, snapshot = look_into(context, index, version, config, overrides)
    wanted = Subscription("", expression_of(text_of(filter_), settings))
    from index.live import alive, read
    from index.similar import similar as find_similar

    places = alive(snapshot)
    found = find_similar(scanned(read(snapshot, places), len(places), "comparing"), wanted, limit)
    if json:
        _print_lines(found)
    else:
        _print_table(found)
    if not found:
        say(f"none of {len(places):,} subscriptions is near the filter")


def _print_lines(found: list[Similar]) -> None:
    import msgspec

    for entry in found:
        line = {
            "subscription": entry.subscription.id,
            "relation": entry.relation.value,
            "similarity": entry.similarity,
            "mode": entry.subscription.mode,
            "filter": _text(entry),
        }
        write_line(msgspec.json.encode(line))


def _print_table(found: list[Similar]) -> None:
    if not found:
        return
    from rich.table import Table
    from rich.text import Text

    from index.similar import Relation

    styles = {Relation.SAME: "green", Relation.WEIGHTS: "green", Relation.LEAVES: "cyan", Relation.NEAR: "default"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("similarity", justify="right", no_wrap=True)
    table.add_column("relation", overflow="fold")
    table.add_column("subscription", overflow="fold", style="bold")
    table.add_column("filter", overflow="fold", ratio=1)
    for entry in found:
        mode = entry.subscription.mode
        text = _text(entry) if mode == "all" else f"(mode {mode}) {_text(entry)}"
        text = text if len(text) <= SHOWN_LETTERS else f"{text[:SHOWN_LETTERS]}… ({len(text):,} characters)"
        table.add_row(
            f"{entry.similarity:.2f}",
            Text(entry.relation.value, style=styles[entry.relation]),
            Text(printable(entry.subscription.id)),
            Text(printable(text)),
        )
    show_table(console(), table)


def _text(entry: Similar) -> str:
    from schemas.filter_printer import format_filter

    return format_filter(entry.subscription.expression)
