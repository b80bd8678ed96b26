"""Interval labels of a tree's leaves: "Efficiently Evaluating Complex Boolean Expressions", section 4.2, algorithm 4.

The children of an OR inherit its interval, those of an AND partition it. All children of an AND but the first begin at
the number of leaves before them plus 1, so no two of them begin alike (invariant 3). M is the tree's own number of
leaves, where the paper has one for all trees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from index.arrays import Arrays
from index.classic.tree_forms import Conjunction, Node, walk


def interval_labels(trees: Sequence[Node]) -> Arrays:
    """Return the intervals of all leaves in document order.

    Returns
    -------
    Arrays
        ``begin`` and ``end`` int32 [leaves]; ``tree_leaves`` int32 [trees], M of each tree.
    """
    begins: list[int] = []
    ends: list[int] = []
    sizes: list[int] = []
    for tree in trees:
        size = _sizes(tree)
        sizes.append(size[id(tree)])
        _label(tree, size, begins, ends)
    return {
        "begin": np.array(begins, np.int32),
        "end": np.array(ends, np.int32),
        "tree_leaves": np.array(sizes, np.int32),
    }


def _sizes(tree: Node) -> dict[int, int]:
    """Return the number of leaves below each node, by its identity."""
    size: dict[int, int] = {}
    for item, closes in walk(tree):
        if closes and isinstance(item, Node):
            size[id(item)] = sum(_size(child, size) for child in item.children)
    return size


def _size(item: Node | Conjunction, size: dict[int, int]) -> int:
    return size[id(item)] if isinstance(item, Node) else 1


def _label(tree: Node, size: dict[int, int], begins: list[int], ends: list[int]) -> None:
    """Label the leaves in document order; each item waits with its interval and the number of leaves before it."""
    pending: list[tuple[Node | Conjunction, int, int, int]] = [(tree, 1, size[id(tree)], 0)]
    while pending:
        item, begin, end, before = pending.pop()
        if isinstance(item, Conjunction):
            begins.append(begin)
            ends.append(end)
            continue
        children: list[tuple[Node | Conjunction, int, int, int]] = []
        for place, child in enumerate(item.children):
            after = before + _size(child, size)
            is_last = place == len(item.children) - 1
            children.append((child, begin, end if is_last or not item.conjunction else after, before))
            begin = after + 1 if item.conjunction else begin
            before = after
        pending += reversed(children)
