"""A subscription's members as they travel, in JSON or Avro, and the way from there to a checked `Subscription`."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, Final, get_args

import msgspec

from schemas.check import check_subscription
from schemas.errors import Refused
from schemas.expression import Expression
from schemas.instants import EPOCH, instant, utc
from schemas.limits import Limits, shown
from schemas.records import Mode, Subscription

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
MICROSECOND = timedelta(microseconds=1)

_TREE = "$.expression"


class Members(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The members but ``expression``; null is the same as left out.

    Times are texts in JSON and have a type of their own in Avro; either is looked into later.
    """

    filter: str | None = None
    priority: float | None = None
    mode: str | None = None
    threshold: float | None = None
    not_before: Any = None
    not_after: Any = None
    labels: dict[str, str] | None = None


def to_subscription(
    id_: str, members: Members, expression: Expression | None, limits: Limits, magnitude: float | None = None
) -> Subscription:
    """Return the subscription, with everything in it checked.

    Parameters
    ----------
    id_
        The record key as text.
    members
        What the record says.
    expression
        Its tree, None when it has a filter text instead.
    limits
        What it may hold.
    magnitude
        The sum of the magnitudes of the tree's weights when the tree has been checked, None when it has not.

    Raises
    ------
    Refused
        ``subscription.filter_or_expression``, ``subscription.type``, ``mode.unknown``, ``validity.range``, a code of
        the filter text, or one of `schemas.check`.
    """
    mode = _mode(members)
    if (members.filter is None) == (expression is None):
        raise Refused(
            "subscription.filter_or_expression",
            f"the subscription has {'neither' if expression is None else 'both a'} filter "
            f"{'nor' if expression is None else 'and an'} expression; give exactly one of the two",
            "$",
        )
    if members.filter is not None:
        expression = _parse(members.filter, limits.filter_tokens)
    assert expression is not None
    subscription = Subscription(
        id=id_,
        expression=expression,
        priority=members.priority or 0.0,
        mode=mode,
        threshold=members.threshold,
        not_before=_microseconds(members.not_before, "$.not_before"),
        not_after=_microseconds(members.not_after, "$.not_after"),
        labels=members.labels or {},
    )
    try:
        check_subscription(subscription, limits, _TREE, magnitude)
    except Refused as refused:
        raise _placed(refused, members.filter) from None
    return subscription


def text_depth(limits: Limits) -> int:
    """Return how deep the objects and arrays of a subscription's JSON text may be nested.

    A level of the tree is an object and an array; around and inside the tree there are a few more.
    """
    return 2 * limits.depth + 20


def as_time(microseconds: int | None) -> datetime | None:
    """Return a validity bound as the codecs write it."""
    return None if microseconds is None else EPOCH + microseconds * MICROSECOND


def _mode(members: Members) -> Mode:
    for mode in MODES:
        if members.mode in (None, mode):
            return mode
    raise Refused(
        "mode.unknown",
        f"there is no mode {members.mode!r:.40}; known are {', '.join(MODES)}, the first by default",
        "$.mode",
    )


def _parse(text: str, tokens: int) -> Expression:
    # the grammar is loaded by the first filter text only: trees are the form for bulk loads
    from schemas.filter_quick import quick_filter
    from schemas.filter_text import parse_filter

    quick = quick_filter(text) if len(text) <= tokens else None
    if quick is not None:
        return quick
    try:
        return parse_filter(text, tokens)
    except Refused as refused:
        raise _in_filter(refused) from None


def _placed(refused: Refused, text: str | None) -> Refused:
    """Return a refusal of the tree that a filter text stands for, if there is one, with its place in the text."""
    if text is None or not refused.path.startswith(_TREE):
        return refused
    from schemas.filter_places import shown_in_text

    return _in_filter(shown_in_text(refused, text, _TREE))


def _in_filter(refused: Refused) -> Refused:
    return Refused(refused.code, refused.message, f"$.filter, {refused.path}")


def _microseconds(time: Any, path: str) -> int | None:
    """Return a validity bound, given as text or, from Avro, a time or date; digits beyond microseconds are cut off."""
    if time is None:
        return None
    written = time.isoformat() if isinstance(time, date) else time  # of Avro; a datetime is one too
    found = _since_epoch(time) if isinstance(time, datetime) else instant(written) if isinstance(written, str) else None
    if found is None:
        raise Refused(
            "subscription.type",
            f"{shown(written)} is no RFC 3339 time with a zone, and no date; write it like 2026-05-01T08:00:00Z or "
            "2026-05-01",
            path,
        )
    if utc(found) is None:
        raise Refused("validity.range", f"the time {time!s:.60} lies outside the years 1 to 9999 in UTC", path)
    return found


def _since_epoch(time: datetime) -> int | None:
    return None if time.tzinfo is None else (time - EPOCH) // MICROSECOND
