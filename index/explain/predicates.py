"""The predicates of a tree, each of which may stand in several places, and what it takes of them to turn an answer.

A leaf and its exact negation are one predicate: ``a = 1`` and ``a != 1``, ``a exists`` and ``a not exists``. The strong
form of ``a != 1`` is another one: it is not what ``a = 1`` denies, since both are false for an event without ``a``.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from index.explain.outline import NEVER, Outline
from index.flat_tree import is_leaf
from schemas.expression import Exists, In, Leaf, NotExists, NotIn
from schemas.values import value_key


class Turning(NamedTuple):
    """Predicates that kept an event away, or hold it.

    Attributes
    ----------
    places
        Every place where one of them stands, ascending; none when nothing turns the answer.
    fewest
        How many predicates they are; `NEVER` when nothing turns the answer.
    turns
        Whether to change them, and nothing else, does turn it. Only where the work was bounded it may not.
    is_least
        Whether no fewer would do; not known where the work was bounded.
    predicates
        How many predicates the tree has.
    """

    places: tuple[int, ...]
    fewest: float
    turns: bool
    is_least: bool
    predicates: int

    @classmethod
    def least(cls, chosen: list[list[int]], predicates: int) -> Turning:
        """Return that the predicates at these places turn the answer, and no fewer; none of them that nothing does."""
        places = tuple(sorted(place for group in chosen for place in group))
        return cls(places, len(chosen) or NEVER, bool(chosen), True, predicates)


def predicates_of(tree: Outline) -> list[list[int]]:
    """Return the places of each predicate, in the order of the first."""
    found: dict[object, list[int]] = {}
    for place, node in enumerate(tree.nodes):
        if is_leaf(node):
            found.setdefault(_identity(node), []).append(place)
    return list(found.values())


def _identity(leaf: Leaf) -> object:
    """Return a key that a leaf, whatever its weights, has in common with its equals and its exact negations."""
    match leaf:
        case In(attribute, values) | NotIn(attribute, values, False):
            return attribute, frozenset(map(value_key, values))
        case NotIn(attribute, values):
            return attribute, frozenset(map(value_key, values)), "strong"
        case Exists(attribute) | NotExists(attribute):
            return attribute
    parts = {name: None for name in ("weight", "weights") if getattr(leaf, name, None) is not None}
    return msgspec.msgpack.encode(msgspec.structs.replace(leaf, **parts))
