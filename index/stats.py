"""What an index consists of: segments, bytes by part, the commonest predicates, the always-list; what events have."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

import msgspec

from index.always import Member, always_member
from index.flat_tree import flat_tree, is_leaf
from index.merge_policy import LEVEL_ZERO
from index.observed.statistics import DERIVED, DIGEST, EventStatistics
from index.reader import LiveSegment, Snapshot
from index.terms import bytes_value
from index.weighted_leaves import truth
from schemas.expression import Exists, Expression, In, Leaf
from schemas.records import Subscription

COUNTED_PREDICATES = 1_000_000
"""How many distinct predicates are counted at a time; when there are more, those met once so far are forgotten."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Leaf).decode


class Sizes(msgspec.Struct, frozen=True):
    """Sizes of a version.

    Attributes
    ----------
    version
        Its number.
    subscriptions, dead
        How many subscriptions can match, and how many replaced or removed ones wait for a merge.
    segments, bytes
        How many segments there are, and their files' length together.
    shards
        How many shards the segments are of.
    tail_segments, tail_subscriptions
        Those among them that are so small that the next merge takes them first.
    """

    version: int
    subscriptions: int
    dead: int
    segments: int
    bytes: int
    shards: int
    tail_segments: int
    tail_subscriptions: int


class Part(NamedTuple):
    """One kind of array of all segments."""

    name: str
    bytes: int


class Common(NamedTuple):
    """A predicate as it is written, but for its weights, and how many subscriptions have it."""

    leaf: Leaf
    subscriptions: int


class Frequent(NamedTuple):
    """A predicate and the share of the observed events in which it held."""

    leaf: Leaf
    share: float


class Contents(NamedTuple):
    """What a scan of subscriptions found.

    Attributes
    ----------
    scanned
        How many subscriptions were looked at.
    common
        The predicates that most of them have.
    always
        How many are on the always-list.
    offenders
        Those of them with the most predicates.
    """

    scanned: int
    common: list[Common]
    always: int
    offenders: list[Member]


def sizes(snapshot: Snapshot) -> Sizes:
    """Return the sizes of a version."""
    known = snapshot.stats
    tail = [live.entry.alive for live in snapshot.segments if _in_tail(live)]
    counts = known.version, known.subscriptions, known.dead, known.segments, known.bytes
    return Sizes(*counts, snapshot.shards, len(tail), sum(tail))


def parts(snapshot: Snapshot) -> list[Part]:
    """Return the bytes of each part of the segments, the largest first; an engine's arrays are parts of their own."""
    total: Counter[str] = Counter()
    for live in snapshot.segments:
        for name, array in live.segment.file.arrays.items():
            total[name if name.startswith("engine/") else name.partition("/")[0]] += array.nbytes
    return [Part(name, size) for name, size in sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))]


def contents(subscriptions: Iterable[Subscription], limit: int) -> Contents:
    """Scan subscriptions; ``limit``, at least 1, bounds both lists."""
    scanned, always = 0, 0
    counts: Counter[bytes] = Counter()
    offenders: list[Member] = []
    for subscription in subscriptions:
        scanned += 1
        counts.update(_predicates(subscription.expression))
        if len(counts) > COUNTED_PREDICATES:
            counts = Counter({key: count for key, count in counts.items() if count > 1})
        member = always_member(subscription, truth(subscription))
        if member is not None:
            always += 1
            offenders = heapq.nlargest(limit, [*offenders, member], key=attrgetter("leaves"))
    common = heapq.nsmallest(limit, counts.items(), key=lambda item: (-item[1], item[0]))
    return Contents(scanned, [Common(_decode(key), count) for key, count in common], always, offenders)


def frequent(statistics: EventStatistics, limit: int) -> list[Frequent]:
    """Return the values and attributes that most of the observed events had, of those that have names of their own."""
    found = []
    for name, counted in statistics.attributes.items():
        if name.startswith((DERIVED, DIGEST)):
            continue
        attribute = name.decode("utf-8", "surrogatepass")
        found.append((counted.events, attribute, b""))
        found += [(n, attribute, key) for key, n in counted.values.items() if not key.startswith(DIGEST)]
    most = heapq.nsmallest(limit, found, key=lambda entry: (-entry[0], *entry[1:]))
    return [
        Frequent(In(attribute, (bytes_value(key),)) if key else Exists(attribute), count / statistics.events)
        for count, attribute, key in most
    ]


def _in_tail(live: LiveSegment) -> bool:
    return live.entry.alive < LEVEL_ZERO


def _predicates(expression: Expression) -> set[bytes]:
    """Return the distinct leaves of a tree, without weights."""
    return {_encode(_weightless(node)) for node in flat_tree(expression).nodes if is_leaf(node)}


def _weightless(leaf: Leaf) -> Leaf:
    weighted = {name: None for name in ("weight", "weights") if getattr(leaf, name, None) is not None}
    return msgspec.structs.replace(leaf, **weighted) if weighted else leaf
