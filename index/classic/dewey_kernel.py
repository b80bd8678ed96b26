"""The Dewey evaluation algorithm: "Efficiently Evaluating Complex Boolean Expressions", section 3.2, algorithms 1 to 3.

The paper's mutual recursion of EVALUATEAND and EVALUATEOR becomes a stack of open nodes: between two labels, the nodes
below their common prefix are closed, innermost first, and those of the new label are opened.
"""

from __future__ import annotations

from typing import NamedTuple

from index.arrays import Int32s, Int64s, UInt8s
from index.kernel import kernel


class LabelArrays(NamedTuple):
    """Labels of annotations.

    Attributes
    ----------
    label_start, label_edge
        int64 [annotations + 1], int32: see `index.classic.dewey_labels`.
    """

    label_start: Int64s
    label_edge: Int32s


class OpenNodes(NamedTuple):
    """The nodes from the root to the leaf at hand, by depth, each [longest label + 1].

    Attributes
    ----------
    result
        uint8, ``result`` of algorithms 2 and 3.
    last_explored
        int32, the number of the child that was entered last.
    last_child
        uint8, whether that child was the last one.
    """

    result: UInt8s
    last_explored: Int32s
    last_child: UInt8s


@kernel
def evaluate_dewey(annotations, first, stop, labels, nodes):  # type: ignore[no-untyped-def]
    """Return whether the tree of the true annotations ``annotations[first:stop]``, ascending and not empty, is true.

    Takes time in proportion to the sum of the labels' lengths (theorem 2).
    """
    start = labels.label_start
    shared = 0
    nodes.result[0], nodes.last_explored[0], nodes.last_child[0] = 1, 0, 0
    for i in range(first, stop):
        label, end = start[annotations[i]], start[annotations[i] + 1]
        if i > first:
            before = annotations[i - 1]
            shared = _common(labels.label_edge, start[before], label)
            _close(nodes, start[before + 1] - start[before] - 1, shared)
        _open(nodes, labels.label_edge, label, shared, end - label)
    last = annotations[stop - 1]
    _close(nodes, start[last + 1] - start[last] - 1, 0)
    return nodes.result[0] & nodes.last_child[0]


@kernel
def _common(edge, one, other):  # type: ignore[no-untyped-def]
    """Return the length of the common prefix of two labels; neither is a prefix of the other, so it ends in time."""
    length = 0
    while edge[one + length] == edge[other + length]:
        length += 1
    return length


@kernel
def _open(nodes, edge, label, depth, length):  # type: ignore[no-untyped-def]
    """Descend from the open node at ``depth`` to the leaf, which is true: its parent is given that."""
    while True:
        if depth & 1 == 0:
            step = edge[label + depth]
            nodes.last_explored[depth] += 1
            if step >> 1 != nodes.last_explored[depth]:
                nodes.result[depth] = 0
            nodes.last_child[depth] = step & 1
        elif depth + 1 == length:
            nodes.result[depth] = 1
        depth += 1
        if depth == length:
            return
        nodes.result[depth], nodes.last_explored[depth], nodes.last_child[depth] = 1 - (depth & 1), 0, 0


@kernel
def _close(nodes, depth, until):  # type: ignore[no-untyped-def]
    """Close the nodes from ``depth`` up to the one below ``until``, each telling its parent what it is."""
    while depth > until:
        value = nodes.result[depth] if depth & 1 else nodes.result[depth] & nodes.last_child[depth]
        depth -= 1
        if depth & 1:
            nodes.result[depth] |= value
        else:
            nodes.result[depth] &= value


@kernel
def true_trees(annotations, annotation_tree, is_dead, labels, nodes, found):  # type: ignore[no-untyped-def]
    """Write the living trees that true annotations, ascending, make true; return their number."""
    n = len(annotations)
    count = first = 0
    while first < n:
        tree = annotation_tree[annotations[first]]
        stop = first + 1
        while stop < n and annotation_tree[annotations[stop]] == tree:
            stop += 1
        if is_dead[tree] == 0 and evaluate_dewey(annotations, first, stop, labels, nodes):
            found[count] = tree
            count += 1
        first = stop
    return count
