"""Dewey labels of a tree's leaves: "Efficiently Evaluating Complex Boolean Expressions", section 3.1.

A label is the path from the root: for each edge the number of the child, from 1, and whether it is the last one of an
AND. Here an edge is one integer, ``number << 1 | last``. The root is an AND, so the children of nodes with labels of
even length stand below an AND.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from index.arrays import Arrays
from index.classic.tree_forms import Node, walk


def dewey_labels(trees: Sequence[Node]) -> Arrays:
    """Return the labels of all leaves in document order.

    Returns
    -------
    Arrays
        ``label_start`` int64 [leaves + 1], ``label_edge`` int32 and ``label_depth`` int32 [1], the longest label.
    """
    edges: list[int] = []
    starts = [0]
    for tree in trees:
        path: list[int] = []
        counts: list[tuple[int, int]] = []  # children met, and the last one of an AND
        for item, closes in walk(tree):
            if closes:
                counts.pop()
                if path:
                    path.pop()
                continue
            if counts:
                number, last = counts[-1]
                counts[-1] = (number + 1, last)
                path.append((number + 1) << 1 | (number + 1 == last))
            if isinstance(item, Node):
                counts.append((0, len(item.children) if item.conjunction else 0))
            else:
                edges += path
                starts.append(len(edges))
                path.pop()
    depth = max(np.diff(starts).tolist(), default=0)
    return {
        "label_start": np.array(starts, np.int64),
        "label_edge": np.array(edges, np.int32),
        "label_depth": np.array([depth], np.int32),
    }
