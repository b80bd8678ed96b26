"""The always-list: subscriptions that no predicate can keep away from an event, and what would cure each.

A subscription is normally looked at only when an event satisfies one of a few of its predicates, its access set. One
without such a set is looked at for every event. Whether there is one can be read off the normal form: a predicate that
wants a value gives one, a negated one gives none; an AND has one when some argument has, an OR when all have.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from index.attribute_names import base_attribute
from index.flat_tree import FlatTree, flat_tree, is_leaf
from schemas.expression import And, Expression, NotExists, NotIn, Or
from schemas.records import Subscription

NAMED_ATTRIBUTES = 3
"""How many attributes an advice names at most."""


class Kind(Enum):
    """Why a subscription has no access set."""

    TRUE = "always true"
    EXCLUSIONS = "only exclusions"
    BRANCH = "a branch of exclusions"


class Member(NamedTuple):
    """A subscription of the always-list.

    Attributes
    ----------
    subscription
        As it was written.
    kind
        Why it is there.
    advice
        A sentence with the cure.
    leaves
        How many predicates its normal form has; each is looked at for every block of events, so the more the worse.
    """

    subscription: Subscription
    kind: Kind
    advice: str
    leaves: int


def always_member(subscription: Subscription, normal: Expression) -> Member | None:
    """Return why a subscription, of which the normal form is given, is on the always-list; None when it is not."""
    tree = flat_tree(normal)
    posted = _posted(tree)
    if posted[0]:
        return None
    culprit = _culprit(tree, posted)
    inside = _below(tree, culprit)
    if len(inside) == 1 and isinstance(tree.nodes[culprit], And):
        kind = Kind.TRUE
    else:
        kind = Kind.BRANCH if culprit else Kind.EXCLUSIONS
    leaves = sum(map(is_leaf, tree.nodes))
    return Member(subscription, kind, _ADVICE[kind].format(_names(tree, inside)), leaves)


_ADVICE = {
    Kind.TRUE: "it is true for every event; say what it is meant to select",
    Kind.EXCLUSIONS: "it only excludes{}; add one positive predicate, such as an attribute that must have a value",
    Kind.BRANCH: "one branch of an OR only excludes{}; add a positive predicate to that branch, or one beside the OR",
}


def _posted(tree: FlatTree) -> list[bool]:
    """Return of each node whether it has an access set."""
    nodes, parents = tree
    posted = [isinstance(node, Or) or (is_leaf(node) and not isinstance(node, NotIn | NotExists)) for node in nodes]
    for place in range(len(nodes) - 1, 0, -1):
        above = nodes[parents[place]]
        if isinstance(above, And):
            posted[parents[place]] |= posted[place]
        elif isinstance(above, Or):
            posted[parents[place]] &= posted[place]
        else:
            posted[place] = False  # in normal form a NOT stands over a leaf, which then wants no value
    return posted


def _culprit(tree: FlatTree, posted: list[bool]) -> int:
    """Return the first branch without any positive predicate that leaves the root without an access set.

    It is the root itself when that has no positive predicate. Otherwise some OR has one argument with positive
    predicates and one without an access set; going down by the latter, the branch is found.
    """
    nodes, parents = tree
    positive = [posted[place] and is_leaf(node) for place, node in enumerate(nodes)]
    for place in range(len(nodes) - 1, 0, -1):
        positive[parents[place]] |= positive[place]
    guilty = [not posted[0]] * len(nodes)
    for place in range(1, len(nodes)):
        guilty[place] = guilty[parents[place]] and not posted[place]
    return next(
        place
        for place, parent in enumerate(parents)
        if guilty[place] and not positive[place] and (place == 0 or isinstance(nodes[parent], Or))
    )


def _below(tree: FlatTree, root: int) -> list[int]:
    """Return the places of a node and of all below it."""
    inside = {root}
    for place in range(root + 1, len(tree.nodes)):
        if tree.parents[place] in inside:
            inside.add(place)
    return sorted(inside)


def _names(tree: FlatTree, places: Iterable[int]) -> str:
    """Return the attributes of the leaves among some nodes in words."""
    leaves = [node for place in places if is_leaf(node := tree.nodes[place])]
    names = list(dict.fromkeys(base_attribute(leaf.attribute) for leaf in leaves))
    more = ", …" if len(names) > NAMED_ATTRIBUTES else ""
    return f" values of {', '.join(names[:NAMED_ATTRIBUTES])}{more}" if names else ""
