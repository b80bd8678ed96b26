"""``tocsin check``: does a filter match an event, offline, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from stream.commands.shared import (
    ConfigOption,
    ModeOption,
    SetOption,
    ThresholdOption,
    load,
    pointing_at,
    printable,
    read_text,
    say,
    text_of,
    tree_of,
)
from stream.wording import spell_score

if TYPE_CHECKING:
    from index.constant_core import Core
    from schemas.expression import Expression, Leaf
    from schemas.records import Event, Subscription
    from stream.settings import Settings

NO_MATCH = 1

MOST_NAMED = 6
"""How many predicates a warning names at most."""


def check(
    context: typer.Context,
    filter_: Annotated[
        str, typer.Argument(metavar="FILTER", help="Filter text, or a tree as JSON; @FILE takes it from a file.")
    ],
    event_file: Annotated[str, typer.Argument(metavar="EVENT.json", help="File with one event; - for stdin.")],
    mode: ModeOption = None,
    threshold: ThresholdOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say of each predicate whether it holds.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Say whether a filter matches an event, and with which score; no broker is asked.

    The exit code is 0 for a match, 1 for none and 2 for an error.
    """
    settings = load(context, config, overrides)
    subscription = _subscription(text_of(filter_), settings, mode, threshold)
    event = _event(read_text(event_file), settings)
    from index.oracle import as_score, match_subscription

    warn(subscription)
    points = match_subscription(subscription, event)
    typer.echo("no match" if points is None else f"match, score {spell_score(as_score(points))}")
    if explain:
        for line in _explanation(subscription.expression, event):
            typer.echo(line)
    if points is None:
        raise typer.Exit(NO_MATCH)


def expression_of(text: str, settings: Settings) -> Expression:
    """Return the checked tree, by the way that a subscription takes."""
    return _subscription(text, settings, None, None).expression


def _subscription(text: str, settings: Settings, mode: str | None, threshold: float | None) -> Subscription:
    import msgspec

    from schemas.json_codec import decode_subscription

    member = {"expression": tree_of(text)} if text.lstrip().startswith("{") else {"filter": text}
    value = msgspec.json.encode({**member, "mode": mode, "threshold": threshold})
    with pointing_at(text):
        return decode_subscription("check", value, settings.limits)


def _event(text: str, settings: Settings) -> Event:
    from schemas.json_codec import decode_event

    return decode_event(text.encode(), None, settings.limits)


def warn(subscription: Subscription) -> None:
    """Say on stderr when no event has a say in the answer, and why, unless the filter is plainly true or false.

    In the modes that match in part a filter is not what decides.
    """
    from index.constant_core import constant_core
    from index.normal_form import FALSE, TRUE

    expression = subscription.expression
    is_open = subscription.mode == "all" and expression not in (TRUE, FALSE)
    core = constant_core(expression) if is_open else None
    if core is not None:
        says = "every event matches this filter" if core.truth else "no event can match this filter"
        say(f"tocsin: warning: {says}{_because(core)}")


def _because(core: Core) -> str:
    """Return the predicates that decide as the end of a sentence, which is empty where they are none or too many."""
    from schemas.filter_printer import format_filter

    if not 1 <= len(core.leaves) <= MOST_NAMED:
        return ""
    *others, last = (f'"{format_filter(leaf)}"' for leaf in core.leaves)
    if not others:
        return f" because {last} {'always' if core.truth else 'never'} holds"
    return f" because of {', '.join(others)} and {last}"


def _explanation(expression: Expression, event: Event) -> Iterator[str]:
    """Yield one line a predicate: whether it holds by itself, the predicate, and the values that it sees."""
    from index.oracle import leaf_values, matches
    from schemas.filter_leaf_printer import format_attribute, format_leaf, format_value

    for leaf in _leaves(expression):
        values = [printable(format_value(value)) for value, _ in leaf_values(event, leaf.attribute)]
        found = f"{format_attribute(leaf.attribute)}: {' '.join(values) or 'absent'}"
        yield f"  {'true ' if matches(leaf, event) else 'false'}  {format_leaf(leaf)}  ({found})"


def _leaves(expression: Expression) -> Iterator[Leaf]:
    """Yield the predicates as written; the nesting may be deep, so nothing recurses."""
    from schemas.expression import And, Not, Or

    stack = [expression]
    while stack:
        match stack.pop():
            case And(args) | Or(args):
                stack.extend(reversed(args))
            case Not(arg):
                stack.append(arg)
            case leaf:
                yield leaf
