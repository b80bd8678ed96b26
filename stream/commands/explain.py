"""``tocsin explain``: why a subscription of the live index matches an event or not, or which came nearest to it."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schemas.errors import TocsinError
from stream.commands.looking import (
    IndexOption,
    VersionOption,
    event_of,
    look_into,
    scanned,
)
from stream.commands.shared import ConfigOption, JsonOption, SetOption, printable, read_text, write_line
from stream.console import console
from stream.wording import counted

if TYPE_CHECKING:
    from index.explain.explanation import Explanation
    from index.explain.nearest import Nearest
    from index.reader import Snapshot
    from schemas.records import Event

SHOWN_MATCHES = 10
MOST_COMPARED = 20_000
"""Subscriptions whose ids are looked at for one that is like a misspelt one."""


def explain(
    context: typer.Context,
    first: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            show_default=False,
            help="A subscription. Left out: which subscriptions match the event, and which came nearest.",
        ),
    ],
    second: Annotated[
        str | None,
        typer.Argument(metavar="EVENT.json", show_default=False, help="File with one event; - for stdin."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many of the nearest are explained.")] = 3,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="The event's time, for validity: RFC 3339, or a date, which is its midnight in UTC; absent: now.",
        ),
    ] = None,
    json: JsonOption = False,
    index: IndexOption = None,
    version: VersionOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Say why a subscription of the live index matches an event or what kept it away; no broker is asked.

    Each predicate is shown with its truth, the values that met it and what it adds to the score.

    For a subscription that does not match, the fewest predicates that kept it away are marked.
    """
    settings, snapshot = look_into(context, index, version, config, overrides)
    event = event_of(_event_text(first, second), settings, time)
    if second is None:
        _explain_nearest(snapshot, event, limit, json)
    else:
        _explain_one(snapshot, first, event, json)


def _event_text(first: str, second: str | None) -> str:
    """Return the event's text; a single argument names its file, and may be an id whose event was forgotten."""
    if second is None and first != "-" and not Path(first).exists():
        raise TocsinError(
            f"there is no file {first}; give the path of an event, or - for stdin; a subscription's id is followed by "
            f"one: tocsin explain {first} EVENT.json"
        )
    return read_text(first if second is None else second)


def _nearest_id(snapshot: Snapshot, id_: str) -> str:
    """Return the id that a misspelt one may mean, as a clause; nothing where there are too many to compare."""
    from index.live import alive, read

    places = alive(snapshot)
    if snapshot.get(id_) is not None or len(places) > MOST_COMPARED:
        return ""
    near = get_close_matches(id_, [subscription.id for subscription in read(snapshot, places)], 1)
    return f"; did you mean {printable(near[0])}?" if near else ""


def _explain_one(snapshot: Snapshot, id_: str, event: Event, json: bool) -> None:
    from index.explain.explanation import explain as explained
    from index.live import need

    try:
        explanation = explained(need(snapshot, id_), event)
    except TocsinError as error:
        raise TocsinError(f"{error}{_nearest_id(snapshot, id_)}") from error
    if json:
        _print_json({"version": snapshot.version} | _plain(explanation))
    else:
        from stream.commands.drawing import draw

        draw(console(), explanation)


def _explain_nearest(snapshot: Snapshot, event: Event, limit: int, json: bool) -> None:
    from index.explain.explanation import explain as explained
    from index.explain.nearest import nearest
    from index.live import alive, read

    places = alive(snapshot)
    found = nearest(scanned(read(snapshot, places), len(places), "looking for the nearest"), event, limit)
    explanations = [explained(subscription, event) for subscription in found.near]
    if json:
        near = [_plain(explanation) for explanation in explanations]
        head = {"version": snapshot.version, "scanned": found.scanned}
        _print_json(head | {"matching": found.matching, "nearest": near})
    else:
        _draw_nearest(found, explanations)


def _draw_nearest(found: Nearest, explanations: list[Explanation]) -> None:
    from stream.commands.drawing import draw

    shown = console()
    ids = ", ".join(printable(id_) for id_ in found.matching[:SHOWN_MATCHES])
    more = len(found.matching) - SHOWN_MATCHES
    matching = f": {ids}{f' and {more:,} more' if more > 0 else ''}" if ids else ""
    scan = counted(found.scanned, "subscription")
    shown.print(f"{len(found.matching):,} of {scan} match{matching}", soft_wrap=True)
    if explanations:
        shown.print("nearest of the others:")
    for explanation in explanations:
        shown.print()
        draw(shown, explanation)


def _plain(explanation: Explanation) -> dict[str, Any]:
    from index.explain.plain import as_plain

    return as_plain(explanation)


def _print_json(content: dict[str, Any]) -> None:
    import msgspec

    write_line(msgspec.json.encode(content))
