"""Which subscriptions match an event, and which came nearest among those that do not."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple

import msgspec

from index.explain.explanation import in_time
from index.explain.outline import NEVER, outline
from index.explain.together import turning
from index.explain.weighing import weigh
from index.oracle import leaf_holds
from schemas.expression import And, Leaf, Not, Or
from schemas.records import Event, Subscription

REMEMBERED_LEAVES = 200_000
"""How many distinct leaves' truth is remembered; the subscriptions of an index share most of theirs."""

TRIED = 4_000
"""Nodes judged for one subscription's distance, where predicates stand in several places; there may be millions."""

_INNER = (And, Or, Not)


class Nearest(NamedTuple):
    """What a scan found.

    Attributes
    ----------
    matching
        Ids of the subscriptions that match, ascending.
    near
        Those that missed by the fewest leaves, nearest first.
    scanned
        How many subscriptions were looked at.
    """

    matching: list[str]
    near: list[Subscription]
    scanned: int


def nearest(subscriptions: Iterable[Subscription], event: Event, limit: int) -> Nearest:
    """Scan subscriptions, in any order, for those that match and the ``limit``, at least 1, that came nearest.

    Of two that miss by as many leaves the nearer is the one of more leaves, then the one of the lower id. One that no
    leaves could make match, such as OR(), is never near.
    """
    judge = LeafMemory(event)
    matching: list[str] = []
    scanned = 0

    def misses() -> Iterator[tuple[float, int, str, Subscription]]:
        nonlocal scanned
        for subscription in subscriptions:
            scanned += 1
            distance, leaves = _distance(subscription, event, judge)
            if distance == 0:
                matching.append(subscription.id)
            elif distance < NEVER:
                yield distance, -leaves, subscription.id, subscription

    near = heapq.nsmallest(limit, misses(), key=itemgetter(0, 1, 2))
    return Nearest(sorted(matching), [subscription for *_, subscription in near], scanned)


class LeafMemory:
    """Whether a leaf holds for one event, remembered by its bytes: to Python a list of 1 and one of true are equal."""

    def __init__(self, event: Event) -> None:
        self._event = event
        self._known: dict[bytes, bool] = {}
        self._encode: Callable[[Leaf], bytes] = msgspec.msgpack.Encoder().encode

    def __call__(self, leaf: Leaf) -> bool:
        """Return whether the leaf holds."""
        key = self._encode(leaf)
        known = self._known.get(key)
        if known is None:
            known = leaf_holds(leaf, self._event)
            if len(self._known) < REMEMBERED_LEAVES:
                self._known[key] = known
        return known


def _distance(subscription: Subscription, event: Event, judge: LeafMemory) -> tuple[float, int]:
    """Return by how many leaves a subscription misses the event, as `Explanation.distance`, and how many it has."""
    tree = outline(subscription.expression, judge)
    late = not in_time(subscription, event)
    leaves = sum(not isinstance(node, _INNER) for node in tree.nodes)
    if subscription.mode == "all":
        return (0 if tree.holds[0] else turning(tree, TRIED).fewest) + late, leaves
    weighing = weigh(subscription, tree, event)
    return (0 if weighing.total is not None else weighing.turning.fewest) + late, leaves
