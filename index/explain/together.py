"""The fewest predicates that turn a tree's truth, where a predicate that stands in several places turns in all of them.

Where none does, `Outline.smallest_set` is exact. Else sets are searched for, the smallest first, until one turns the
tree or a bound on the work is met; then the best that a greedy choice gives is told, and that fewer may do.

The search rests on *reasons*: predicates such that the tree stays as it is while all of them do. Whatever turns it
changes one of them at least, so only these are tried; and as many reasons as have none in common need as many changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from index.explain.outline import NEVER, Outline
from index.explain.predicates import Turning, predicates_of
from schemas.expression import And, Not, Or

TRIED = 1_000_000
"""So many nodes are judged anew at most by each way of searching: a second or so in all."""


def turning(tree: Outline, tried: int = TRIED) -> Turning:
    """Return the fewest predicates that turn a tree, or what is known of them when ``tried`` nodes have been judged."""
    groups = predicates_of(tree)
    first = tree.smallest_set()
    if len(groups) == sum(map(len, groups)):
        return Turning(tuple(first), tree.flips[0], bool(first), True, len(groups))
    search = _Search(tree, groups, max(tried // len(tree.nodes), 1))
    some = search.of(first)
    best = min((found for found in (search.greedy(), some) if search.turns(found)), key=int.bit_count, default=None)
    fewest, is_least = search.fewest(best.bit_count() if best is not None else len(groups) + 1)
    chosen = best if fewest is None else fewest
    if chosen is not None:
        return _of(groups, chosen, True, is_least)
    return Turning((), NEVER, False, True, len(groups)) if is_least else _of(groups, some, False, False)


def _of(groups: list[list[int]], chosen: int, turns: bool, is_least: bool) -> Turning:
    places = sorted(place for number, group in enumerate(groups) if chosen >> number & 1 for place in group)
    return Turning(tuple(places), chosen.bit_count() or NEVER, turns, is_least, len(groups))


class _Search:
    """Searches for sets of predicates, which are integers here: the bits of a set's predicates are 1.

    Parameters
    ----------
    tree, groups
        The tree, and the places of each predicate.
    budget
        How often the tree is judged at most, for `fewest` and for `greedy` each.
    """

    def __init__(self, tree: Outline, groups: list[list[int]], budget: int) -> None:
        self._tree, self._budget = tree, budget
        self._bit = {place: 1 << number for number, group in enumerate(groups) for place in group}
        self._top = next(place for place, node in enumerate(tree.nodes) if not isinstance(node, Not))

    def of(self, places: Sequence[int]) -> int:
        """Return the predicates that stand at these places."""
        return _union(self._bit[place] for place in places)

    def turns(self, chosen: int) -> bool:
        """Return whether the tree's truth is another when these change."""
        return self._reasons(chosen, chosen) is None

    def fewest(self, limit: int) -> tuple[int | None, bool]:
        """Return the smallest set of fewer than ``limit`` that turns the tree, or None; and whether that is sure."""
        begun = self._reasons(0, 0)
        assert begun is not None
        budget = self._budget
        for size in range(_apart(begun), limit):
            pending = [(0, 0)]
            while pending:
                if budget == 0:
                    return None, False
                budget -= 1
                chosen, left_out = pending.pop()
                reasons = self._reasons(chosen, chosen | left_out)
                if reasons is None:
                    return chosen, True
                if chosen.bit_count() + _apart(reasons) > size:
                    continue
                ways = []  # none from a reason that nothing is left of
                for bit in _bits(min(reasons, key=int.bit_count)):
                    ways.append((chosen | bit, left_out))
                    left_out |= bit  # what has this one is found on the way just listed
                pending += reversed(ways)
        return None, True

    def greedy(self) -> int:
        """Return predicates each of which was in the most reasons when it was taken; mostly they turn the tree."""
        chosen = 0
        for _ in range(self._budget):
            reasons = self._reasons(chosen, chosen)
            if reasons is None or not all(reasons):
                break
            chosen |= max(_bits(_union(reasons)), key=lambda bit: sum(reason & bit != 0 for reason in reasons))
        for bit in list(_bits(chosen))[: self._budget]:
            if self.turns(chosen & ~bit):
                chosen &= ~bit
        return chosen

    def _reasons(self, changed: int, fixed: int) -> list[int] | None:
        """Return reasons for the tree's truth when some predicates are changed, None if that has turned.

        Each reason is given without the predicates that are ``fixed``; one without any other can't be done away with.
        """
        nodes, parents, holds = self._tree.nodes, self._tree.parents, list(self._tree.holds)
        size = len(nodes)
        # of each connective's arguments: the shortest reason of one that decides it, and those of all that do not
        decided: list[int | None] = [None] * size
        others, reason, found = [0] * size, [0] * size, []
        for place in range(size - 1, -1, -1):
            node = nodes[place]
            if isinstance(node, And | Or):
                short = decided[place]
                holds[place] = (short is not None) is isinstance(node, Or)
                reason[place] = others[place] if short is None else short
            elif not isinstance(node, Not):
                bit = self._bit[place]
                holds[place] = holds[place] != (changed & bit != 0)
                reason[place] = bit & ~fixed
            parent = parents[place]
            if parent < 0:
                continue
            above = nodes[parent]
            if isinstance(above, Not):
                holds[parent], reason[parent] = not holds[place], reason[place]
            elif holds[place] is isinstance(above, Or):
                short = decided[parent]
                decided[parent] = reason[place] if short is None else min(short, reason[place], key=int.bit_count)
                if parent == self._top:
                    found.append(reason[place])
            else:
                others[parent] |= reason[place]
        if holds[0] is not self._tree.holds[0]:
            return None
        return found or [reason[0]]


def _union(sets: Iterator[int] | Sequence[int]) -> int:
    union = 0
    for one in sets:
        union |= one
    return union


def _bits(chosen: int) -> Iterator[int]:
    """Yield the sets of one that a set consists of."""
    while chosen:
        low = chosen & -chosen
        yield low
        chosen ^= low


def _apart(sets: Sequence[int]) -> int:
    """Return how many sets, the smallest first, have nothing in common with those before."""
    union = count = 0
    for one in sorted(sets, key=int.bit_count):
        if not one & union:
            union |= one
            count += 1
    return count
