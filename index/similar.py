"""Subscriptions that say the same, or nearly the same, by their normal forms.

Two normal forms are the same when they differ in nothing but the order of arguments and of listed values. How near two
others are is the weighted Jaccard similarity of their distinct leaves: what both have over what either has. A leaf
weighs 1: one half is its attribute with the kind of test, the other half is shared by what it lists or bounds, so
``origin in ('JFK', 'LGA')`` and ``origin = 'JFK'`` have three quarters of a leaf in common. Of a bound count the side,
the value, and whether the value itself is inside: ``price > 100`` is nearer to ``price >= 100`` than to
``price > 101``, and to this than to ``price < 100``.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from hashlib import blake2b
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from index.attribute_names import attribute_name
from index.flat_tree import FlatTree, flat_tree
from index.weighted_leaves import truth, weighted_leaves
from schemas.expression import And, Expression, Not, NotIn, Or
from schemas.records import Subscription
from schemas.values import INT64_MAX, INT64_MIN, Value

REMEMBERED_LEAVES = 200_000
"""How many distinct leaves are remembered in a scan; the subscriptions of an index share most of theirs."""

LEAST = 0.25
"""What is less similar is not told: some attribute in common is not nearly the same."""

_SIDES = {"gt": "lower", "ge": "lower", "lt": "upper", "le": "upper"}

_INNER = (And, Or, Not)

_encode = msgspec.msgpack.Encoder().encode


class Relation(Enum):
    """How two subscriptions compare, closest first."""

    SAME = "same"
    WEIGHTS = "same but for weights"
    LEAVES = "same predicates, joined otherwise"
    NEAR = "near"


class Similar(NamedTuple):
    """A subscription that resembles the wanted one; ``similarity`` goes from 0 to 1."""

    subscription: Subscription
    relation: Relation
    similarity: float


class LeafForm(NamedTuple):
    """A leaf of a normal form, canonically.

    Attributes
    ----------
    scored, silent
        Equal for leaves that say the same, with and without regard to weights.
    features
        Its parts with their weights, which sum to 1.
    """

    scored: bytes
    silent: bytes
    features: Mapping[bytes, float]


class Digests(NamedTuple):
    """Equal for normal forms that say the same, with and without regard to weights."""

    scored: bytes
    silent: bytes


def similar(subscriptions: Iterable[Subscription], wanted: Subscription, limit: int) -> list[Similar]:
    """Return the ``limit``, at least 1, that resemble a subscription most, in the order of `Relation`.

    Of two that are as near, the one of the lower id comes first; those under `LEAST` never come.
    """
    forms = Forms()
    tree = flat_tree(truth(wanted))
    leaves, digests = forms.leaves(tree), forms.digests(wanted, tree)
    features = _features(leaves)

    def found() -> Iterator[tuple[int, float, str, Similar]]:
        for subscription in subscriptions:
            tree = flat_tree(truth(subscription))
            others = forms.leaves(tree)
            if others.keys() == leaves.keys():
                relation, similarity = _relation(digests, forms.digests(subscription, tree)), 1.0
            else:
                relation, similarity = Relation.NEAR, _jaccard(leaves, features, others)
            if similarity >= LEAST:
                entry = Similar(subscription, relation, similarity)
                yield _ORDER[relation], -similarity, subscription.id, entry

    return [entry[3] for entry in heapq.nsmallest(limit, found(), key=itemgetter(0, 1, 2))]


_ORDER = {relation: place for place, relation in enumerate(Relation)}


def _relation(a: Digests, b: Digests) -> Relation:
    """Compare two normal forms of the same leaves."""
    if a.silent != b.silent:
        return Relation.LEAVES
    return Relation.SAME if a.scored == b.scored else Relation.WEIGHTS


class Forms:
    """Brings normal forms, laid out flat, into a canonical form, and remembers that of leaves."""

    def __init__(self) -> None:
        self._known: dict[bytes, LeafForm] = {}

    def leaves(self, tree: FlatTree) -> dict[bytes, LeafForm]:
        """Return the distinct leaves, weights aside."""
        found = (self._leaf(tree, place) for place, node in enumerate(tree.nodes) if not isinstance(node, _INNER))
        return {leaf.silent: leaf for leaf in found}

    def digests(self, subscription: Subscription, tree: FlatTree) -> Digests:
        """Return the digests of a subscription; mode and threshold are part of it, validity and priority are not."""
        digests = self._of_tree(tree)
        if subscription.mode == "all":
            return digests
        mode = _encode((subscription.mode, subscription.threshold))
        weighed = [
            _digest(self._of_tree(flat_tree(leaf.node)).scored, _encode(leaf.weight))
            for leaf in weighted_leaves(subscription)
        ]
        return Digests(_digest(mode, *sorted(weighed)), _digest(mode, digests.silent))

    def _of_tree(self, tree: FlatTree) -> Digests:
        scored: list[list[bytes]] = [[] for _ in tree.nodes]
        silent: list[set[bytes]] = [set() for _ in tree.nodes]
        found = Digests(b"", b"")
        for place in range(len(tree.nodes) - 1, -1, -1):
            node, parent = tree.nodes[place], tree.parents[place]
            if isinstance(node, Not):
                found = Digests(scored[place][0], silent[place].pop())  # its leaf has been told of it
            elif isinstance(node, And | Or):
                kind = type(node).__name__.encode()
                found = Digests(_digest(kind, *sorted(scored[place])), _digest(kind, *sorted(silent[place])))
            else:
                leaf = self._leaf(tree, place)
                found = Digests(leaf.scored, leaf.silent)
            if parent >= 0:
                scored[parent].append(found.scored)
                silent[parent].add(found.silent)
        return found

    def _leaf(self, tree: FlatTree, place: int) -> LeafForm:
        """Return a leaf's form; in normal form a NOT stands over a leaf, and the form is that of both."""
        node, parent = tree.nodes[place], tree.parents[place]
        key = _encode((node, parent >= 0 and isinstance(tree.nodes[parent], Not)))
        known = self._known.get(key)
        if known is None:
            known = _leaf_form(node, negated=parent >= 0 and isinstance(tree.nodes[parent], Not))
            if len(self._known) < REMEMBERED_LEAVES:
                self._known[key] = known
        return known


def _leaf_form(leaf: Expression, negated: bool) -> LeafForm:
    members = msgspec.structs.asdict(leaf)
    negated ^= isinstance(leaf, NotIn)
    kind = "In" if isinstance(leaf, NotIn) else type(leaf).__name__
    head = _encode((kind, negated, attribute_name(members.pop("attribute"))))
    weights = members.pop("weights", None)
    members.pop("weight", None)
    listed = members.pop("values", ())
    items = {_encode(("value", _plain(value))) for value in listed}
    for name, content in members.items():
        if content is not None and content is not False:  # a bound of 0 equals False, and is one
            side = _SIDES.get(name)
            items |= {_encode((side,)), _encode((side, _plain(content)))} if side else set()
            items.add(_encode((name, _plain(content))))
    pairs = zip(listed, (1.0,) * len(listed) if weights is None else weights, strict=True)
    weighted = sorted({_encode((_plain(value), float(weight))) for value, weight in pairs})
    silent = _digest(head, *sorted(items))
    share = 0.5 / len(items) if items else 0.0
    features = {head: 0.5 if items else 1.0} | {head + item: share for item in items}
    return LeafForm(_digest(silent, *weighted), silent, features)


def _features(leaves: Mapping[bytes, LeafForm]) -> dict[bytes, float]:
    total: dict[bytes, float] = {}
    for leaf in leaves.values():
        for feature, weight in leaf.features.items():
            total[feature] = total.get(feature, 0.0) + weight
    return total


def _jaccard(
    leaves: Mapping[bytes, LeafForm], features: Mapping[bytes, float], others: Mapping[bytes, LeafForm]
) -> float:
    """Each leaf weighs 1, so the sum of the larger weights is that of all weights less that of the smaller ones."""
    common: dict[bytes, float] = {}
    for leaf in others.values():
        for feature, weight in leaf.features.items():
            if feature in features:
                common[feature] = common.get(feature, 0.0) + weight
    shared = sum(min(weight, features[feature]) for feature, weight in common.items())
    # rounded, so that parts of thirds do not decide between two that are as near
    return round(shared / (len(leaves) + len(others) - shared), 9) if shared else 0.0


def _plain(value: Any) -> Value:
    """Return one form for equal numbers: 35.0 and -0.0 become integers."""
    if isinstance(value, float) and value.is_integer() and INT64_MIN <= value <= INT64_MAX:
        return int(value)
    return value  # type: ignore[no-any-return]


def _digest(*parts: bytes) -> bytes:
    hashed = blake2b(digest_size=16)
    for part in parts:
        hashed.update(len(part).to_bytes(4, "big"))
        hashed.update(part)
    return hashed.digest()
