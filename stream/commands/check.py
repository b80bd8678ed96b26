"""``tocsin check``: does a filter match an event, offline, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.errors import TocsinError
from stream.commands.shared import ConfigOption, SetOption, fail, load, pointing_at, read_text, text_of, tree_of

if TYPE_CHECKING:
    from schemas.expression import Expression, Leaf
    from schemas.records import Event
    from stream.settings import Settings

NO_MATCH = 1
ERROR = 2


def check(
    context: typer.Context,
    filter_: Annotated[
        str, typer.Argument(metavar="FILTER", help="Filter text, or a tree as JSON; @FILE takes it from a file.")
    ],
    event_file: Annotated[str, typer.Argument(metavar="EVENT.json", help="File with one event; - for stdin.")],
    explain: Annotated[bool, typer.Option("--explain", help="Say of each predicate whether it holds.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Say whether a filter matches an event, and with which score; no broker is asked.

    The exit code is 0 for a match, 1 for none and 2 for an error.
    """
    try:
        settings = load(context, config, overrides)
        expression = _expression(text_of(filter_).strip(), settings)
        event = _event(read_text(event_file), settings)
    except TocsinError as error:
        fail(error, ERROR)
    from index.oracle import as_score, matches, score

    matched = matches(expression, event)
    typer.echo(f"match, score {as_score(score(expression, event)):g}" if matched else "no match")
    if explain:
        for line in _explanation(expression, event):
            typer.echo(line)
    if not matched:
        raise typer.Exit(NO_MATCH)


def _expression(text: str, settings: Settings) -> Expression:
    """Return the checked tree, by the way that a subscription takes."""
    import msgspec

    from schemas.json_codec import decode_subscription

    member = {"expression": tree_of(text)} if text.startswith("{") else {"filter": text}
    with pointing_at(text):
        return decode_subscription("check", msgspec.json.encode(member), settings.limits).expression


def _event(text: str, settings: Settings) -> Event:
    from schemas.json_codec import decode_event

    return decode_event(text.encode(), None, settings.limits)


def _explanation(expression: Expression, event: Event) -> Iterator[str]:
    """Yield one line a predicate: whether it holds by itself, the predicate, and the event's values."""
    from index.oracle import matches
    from schemas.filter_text import format_filter

    for leaf in _leaves(expression):
        values = event.attributes.get(leaf.attribute)
        found = "absent" if values is None else " ".join(repr(value) for value in values)
        yield f"  {'true ' if matches(leaf, event) else 'false'}  {format_filter(leaf)}  ({leaf.attribute}: {found})"


def _leaves(expression: Expression) -> Iterator[Leaf]:
    from schemas.expression import And, Not, Or

    match expression:
        case And(args) | Or(args):
            for arg in args:
                yield from _leaves(arg)
        case Not(arg):
            yield from _leaves(arg)
        case _:
            yield expression
