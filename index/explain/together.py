"""The fewest predicates that turn a tree's truth, where a predicate that stands in several places turns in all of them.

A leaf and its exact negation are one predicate: ``a = 1`` and ``a != 1``, ``a exists`` and ``a not exists``. Where none
stands twice, `Outline.smallest_set` is exact. Else sets are tried, the smallest first, until one turns the tree or a
bound on the work is met; what is known then is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import msgspec

from index.explain.outline import NEVER, Outline
from schemas.expression import And, Exists, In, Leaf, Not, NotExists, NotIn, Or
from schemas.values import value_key

TRIED = 400_000
"""So many nodes are judged anew at most, in all sets that are tried: less than a second."""


class Turning(NamedTuple):
    """Predicates that kept an event away, or hold it.

    Attributes
    ----------
    places
        Every place where one of them stands, ascending; none when nothing turns the tree.
    fewest
        How many predicates they are; `NEVER` when nothing turns the tree.
    turns
        Whether to change them, and nothing else, does turn it. Only where the work was bounded it may not.
    predicates
        How many predicates the tree has.
    """

    places: tuple[int, ...]
    fewest: float
    turns: bool
    predicates: int


def turning(tree: Outline, tried: int = TRIED) -> Turning:
    """Return the fewest predicates that turn a tree, or what is known of them when ``tried`` nodes have been judged."""
    groups = _predicates(tree)
    first = tree.smallest_set()
    if len(groups) == sum(map(len, groups)):
        return Turning(tuple(first), tree.flips[0], bool(first), len(groups))
    member = {place: number for number, group in enumerate(groups) for place in group}
    some = sorted({member[place] for place in first})
    known = bool(some) and _turns(tree, groups, some)
    limit = len(some) if known else len(groups) + 1
    budget = tried // len(tree.nodes)
    for chosen in _sets(len(groups), limit):
        if budget == 0:
            return _of(groups, some, known)
        budget -= 1
        if _turns(tree, groups, chosen):
            return _of(groups, chosen, True)
    return _of(groups, some, True) if known else Turning((), NEVER, False, len(groups))


def _of(groups: list[list[int]], chosen: Iterable[int], turns: bool) -> Turning:
    chosen = tuple(chosen)
    places = sorted(place for number in chosen for place in groups[number])
    return Turning(tuple(places), len(chosen) if chosen else NEVER, turns, len(groups))


def _sets(size: int, limit: int) -> Iterator[tuple[int, ...]]:
    """Yield the sets of fewer than ``limit`` numbers below ``size``, the smallest first."""
    for count in range(1, min(limit, size + 1)):
        yield from combinations(range(size), count)


def _predicates(tree: Outline) -> list[list[int]]:
    """Return the places of each predicate, in the order of the first."""
    found: dict[object, list[int]] = {}
    for place, node in enumerate(tree.nodes):
        if not isinstance(node, And | Or | Not):
            found.setdefault(_identity(node), []).append(place)
    return list(found.values())


def _identity(leaf: Leaf) -> object:
    """Return a key that a leaf, whatever its weights, has in common with its equals and its exact negations."""
    match leaf:
        case In(attribute, values) | NotIn(attribute, values):
            return attribute, frozenset(map(value_key, values))
        case Exists(attribute) | NotExists(attribute):
            return attribute
    parts = {name: None for name in ("weight", "weights") if getattr(leaf, name, None) is not None}
    return msgspec.msgpack.encode(msgspec.structs.replace(leaf, **parts))


def _turns(tree: Outline, groups: list[list[int]], chosen: Iterable[int]) -> bool:
    """Return whether the tree's truth is another when the chosen predicates change."""
    changed = {place for number in chosen for place in groups[number]}
    holds = list(tree.holds)
    decided = [False] * len(holds)
    for place in range(len(holds) - 1, -1, -1):
        node = tree.nodes[place]
        if isinstance(node, And | Or):
            holds[place] = decided[place] is isinstance(node, Or)
        elif not isinstance(node, Not):
            holds[place] = holds[place] != (place in changed)
        parent = tree.parents[place]
        if parent < 0:
            continue
        above = tree.nodes[parent]
        if isinstance(above, Not):
            holds[parent] = not holds[place]
        elif holds[place] is isinstance(above, Or):
            decided[parent] = True
    return holds[0] is not tree.holds[0]
