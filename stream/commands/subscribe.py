"""``tocsin subscribe`` and ``tocsin unsubscribe``: one subscription, checked before it is sent, acknowledged after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from schemas.errors import TocsinError
from stream.commands.shared import (
    ConfigOption,
    ModeOption,
    SetOption,
    ThresholdOption,
    load,
    need_utf8,
    pointing_at,
    say,
    text_of,
    tree_of,
)
from stream.commands.values import time_text

if TYPE_CHECKING:
    from stream.settings import Settings

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the subscription.", show_default=False)]
FilterArgument = Annotated[
    str | None, typer.Argument(metavar="FILTER", help="Filter text; @FILE takes it from a file, @- from stdin.")
]
ExpressionOption = Annotated[
    str | None, typer.Option(metavar="JSON", help="Expression tree in place of a filter; @FILE, @- as above.")
]
PriorityOption = Annotated[float | None, typer.Option(help="Constant score, added to the weights'.")]
LabelOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Returned in notifications; may be repeated.")
]
NotBeforeOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Earliest event time, such as 2026-05-01T08:00:00Z, or 2026-05-01, which is its midnight in UTC.",
    ),
]
NotAfterOption = Annotated[str | None, typer.Option(metavar="TIME", help="Latest event time, written in the same way.")]


def subscribe(
    context: typer.Context,
    id_: IdArgument,
    filter_: FilterArgument = None,
    expression: ExpressionOption = None,
    priority: PriorityOption = None,
    mode: ModeOption = None,
    threshold: ThresholdOption = None,
    label: LabelOption = None,
    not_before: NotBeforeOption = None,
    not_after: NotAfterOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Add a subscription, or replace the one with the same id.

    The filter is checked first; nothing is sent when it is refused. The command returns when the brokers have
    acknowledged the record: every event produced from then on meets the subscription.
    """
    settings = load(context, config, overrides)
    need_json(settings.subscriptions.format)
    key = _key(id_)
    for text in (*(label or ()), not_before, not_after):
        need_utf8(text or "", f"the option's value {text!r:.60}")
    members: dict[str, Any] = {
        **_what(filter_, expression),
        "priority": priority,
        "mode": mode,
        "threshold": threshold,
        "not_before": None if not_before is None else time_text(not_before, "--not-before"),
        "not_after": None if not_after is None else time_text(not_after, "--not-after"),
        "labels": _labels(label) if label else None,
    }
    partition, offset = _send(settings, key, _checked(settings, key, members))
    say(f"subscribed {id_}: {settings.topics.subscriptions}, partition {partition}, offset {offset}")


def unsubscribe(
    context: typer.Context, id_: IdArgument, config: ConfigOption = None, overrides: SetOption = None
) -> None:
    """Remove a subscription; no event produced from then on meets it. An id that is not subscribed does no harm."""
    from schemas.json_codec import decode_id

    settings = load(context, config, overrides)
    key = _key(id_)
    decode_id(key, settings.limits)
    partition, offset = _send(settings, key, None)
    say(f"unsubscribed {id_}: {settings.topics.subscriptions}, partition {partition}, offset {offset}")


def _key(id_: str) -> bytes:
    need_utf8(id_, f"the id {id_!r:.60}")
    return id_.encode()


def _what(filter_: str | None, expression: str | None) -> dict[str, Any]:
    """Return the one of the two members ``filter`` and ``expression`` that was given."""
    if (filter_ is None) == (expression is None):
        raise typer.BadParameter("give a filter or --expression, one of the two", param_hint="FILTER")
    if filter_ is not None:
        return {"filter": text_of(filter_).strip()}
    assert expression is not None
    text = text_of(expression)
    if not text.lstrip().startswith("{"):
        raise TocsinError(
            f"{text!r:.60} is no tree as JSON, which --expression takes; a filter stands without --expression"
        )
    return {"expression": tree_of(text)}


def _checked(settings: Settings, key: bytes, members: dict[str, Any]) -> bytes:
    """Return the record of the members that are given, which the codec has accepted and `warn` has looked at."""
    import msgspec

    from schemas.json_codec import decode_id, decode_subscription
    from stream.commands.check import warn

    value = msgspec.json.encode({name: member for name, member in members.items() if member is not None})
    with pointing_at(members.get("filter")):
        subscription = decode_subscription(decode_id(key, settings.limits), value, settings.limits)
    warn(subscription)
    return value


def _labels(texts: list[str]) -> dict[str, str]:
    """Return the labels by name."""
    labels: dict[str, str] = {}
    for name, value in map(_label, texts):
        if name in labels:
            raise typer.BadParameter(f"'{name}' is given twice; a label has one value", param_hint="--label")
        labels[name] = value
    return labels


def _label(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise typer.BadParameter(f"'{text}' is not NAME=VALUE", param_hint="--label")
    return name, value


def need_json(format_: str) -> None:
    """Refuse to write JSON to a topic that holds another format."""
    if format_ != "json":
        raise TocsinError(
            f"this command writes JSON, but subscriptions.format is {format_}; use a producer of that format instead"
        )


def _send(settings: Settings, key: bytes, value: bytes | None) -> tuple[int | None, int | None]:
    """Send one record and return its partition and offset once it is acknowledged."""
    from stream.commands.kafka import Sender

    with Sender(settings, settings.topics.subscriptions) as sender:
        sender.send(key, value)
    assert sender.last is not None
    return sender.last.partition(), sender.last.offset()
