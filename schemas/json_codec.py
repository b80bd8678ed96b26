"""The JSON form of events and subscriptions, as the public contract has it; events are in `schemas.json_event`."""

from __future__ import annotations

import msgspec

from schemas.errors import Refused
from schemas.expression import Expression
from schemas.json_event import decode_event, encode_event
from schemas.json_leaves import json_leaves
from schemas.json_syntax import parse, refusal
from schemas.limits import DEFAULT_LIMITS, Limits
from schemas.records import Subscription
from schemas.texts import analyser
from schemas.values import WEIGHT_SUM_LIMIT
from schemas.wire_expression import encode_expression, expression_of
from schemas.wire_refusal import members_refusal
from schemas.wire_subscription import Members, as_time, text_depth, to_subscription

__all__ = ["decode_event", "decode_id", "decode_subscription", "encode_event", "encode_subscription"]


class _Subscription(Members, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    expression: Expression | None = None


class _Split(Members, kw_only=True, forbid_unknown_fields=True):
    expression: msgspec.Raw


class _Encoded(Members, kw_only=True, omit_defaults=True):
    expression: msgspec.Raw


_decoder = msgspec.json.Decoder(_Subscription)
_splitter = msgspec.json.Decoder(_Split)
_encoder = msgspec.json.Encoder()


def decode_id(key: bytes | None, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return a subscription's id: its record's key as text.

    Raises
    ------
    Refused
        ``key.null``, ``key.empty``, ``key.utf8`` or ``key.too_long``.
    """
    if key is None:
        raise Refused("key.null", "the record has no key; the key is the subscription's id, so give one")
    if not key:
        raise Refused("key.empty", "the record's key is empty; the key is the subscription's id, so give one")
    if len(key) > limits.key_bytes:
        raise Refused(
            "key.too_long",
            f"the record's key has {len(key):,} bytes; at most {limits.key_bytes:,} are allowed "
            "(setting limits.key_bytes)",
        )
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise Refused(
            "key.utf8", f"the record's key is not UTF-8 ({error.reason} at byte {error.start}); encode the id as UTF-8"
        ) from None


def decode_subscription(id: str, value: bytes, limits: Limits = DEFAULT_LIMITS) -> Subscription:
    """Return the subscription that a JSON object stands for, checked.

    Of two members with one name in one object the last one counts, as in most JSON readers; two operators in one node
    are refused. A member that is null counts as left out.

    Parameters
    ----------
    id
        The record's key, from `decode_id`.
    value
        The record's value.
    limits
        What the subscription may hold.

    Raises
    ------
    Refused
        With a code of `schemas.json_syntax`, `schemas.wire_refusal`, `schemas.wire_subscription`, `schemas.check` or
        the filter text, or ``subscription.record_too_large``.
    """
    check_size(value, limits)
    quick = _decode_quick(id, value, limits)
    if quick is not None:
        return quick
    try:
        members = _decoder.decode(value)
    except msgspec.ValidationError as error:
        raise members_refusal(error, parse(value, "subscription", text_depth(limits))) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise refusal(error, value, "subscription") from None
    except RecursionError:
        return _decode_deep(id, value, limits)
    return to_subscription(id, members, members.expression, limits)


def _decode_quick(id_: str, value: bytes, limits: Limits) -> Subscription | None:
    """Decode a subscription in mode all whose leaves are known or need no more than a look; None for others."""
    try:
        members = _splitter.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if members.mode not in (None, "all"):
        return None
    known = json_leaves(limits, analyser()).tree(bytes(members.expression))
    if known is None or known.leaves > limits.leaves:
        return None
    if members == _Split(expression=members.expression) and known.magnitude <= WEIGHT_SUM_LIMIT:
        return Subscription(id_, known.node)  # there is nothing else to be checked
    return to_subscription(id_, members, known.node, limits, known.magnitude)


def _decode_deep(id_: str, value: bytes, limits: Limits) -> Subscription:
    """Decode a subscription whose tree is too deep for the quick decoder."""
    record = parse(value, "subscription", text_depth(limits))
    tree = record.pop("expression", None) if isinstance(record, dict) else None
    try:
        members = msgspec.convert(record, Members)
    except msgspec.ValidationError as error:
        raise members_refusal(error, record) from None
    return to_subscription(id_, members, None if tree is None else expression_of(tree, "$.expression"), limits)


def check_size(value: bytes, limits: Limits) -> None:
    """Refuse a subscription whose record is larger than the limit."""
    if len(value) > limits.record_bytes:
        raise Refused(
            "subscription.record_too_large",
            f"the subscription has {len(value):,} bytes; at most {limits.record_bytes:,} are allowed "
            "(setting limits.record_bytes)",
        )


def encode_subscription(subscription: Subscription) -> bytes:
    """Return a subscription's record value, with its tree as ``expression``; `decode_subscription` gives it back."""
    return _encoder.encode(
        _Encoded(
            expression=msgspec.Raw(encode_expression(subscription.expression)),
            priority=subscription.priority or None,
            mode=None if subscription.mode == "all" else subscription.mode,
            threshold=subscription.threshold,
            not_before=as_time(subscription.not_before),
            not_after=as_time(subscription.not_after),
            labels=subscription.labels or None,
        )
    )
