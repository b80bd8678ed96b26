"""The MATCH algorithm: "Efficiently Evaluating Complex Boolean Expressions", section 4.3, algorithm 5."""

from __future__ import annotations

from typing import NamedTuple

from index.arrays import Int32s
from index.kernel import kernel


class IntervalArrays(NamedTuple):
    """Intervals of annotations, and M.

    Attributes
    ----------
    begin, end
        int32 [annotations].
    tree_leaves
        int32 [trees].
    """

    begin: Int32s
    end: Int32s
    tree_leaves: Int32s


@kernel
def evaluate_interval(annotations, first, stop, leaves, intervals, matched, mark):  # type: ignore[no-untyped-def]
    """Return whether the true intervals ``annotations[first:stop]`` cover 1 to ``leaves`` without overlap.

    The paper takes them by their begins; document order does as well, since an interval that ends just before another
    begins belongs to the sibling before it. ``matched[i] == mark`` says that 1 to i is covered; ``mark`` is new for
    each tree, so nothing needs clearing and the time is in proportion to the number of annotations (theorem 5).
    """
    matched[0] = mark
    for i in range(first, stop):
        annotation = annotations[i]
        if matched[intervals.begin[annotation] - 1] == mark:
            matched[intervals.end[annotation]] = mark
    return matched[leaves] == mark


@kernel
def true_trees(annotations, annotation_tree, is_dead, intervals, matched, marks, found):  # type: ignore[no-untyped-def]
    """Write the living trees that true annotations, ascending, make true; return their number.

    ``marks`` [1] counts the trees that have been looked at, since ``matched`` was made.
    """
    n = len(annotations)
    count = first = 0
    while first < n:
        tree = annotation_tree[annotations[first]]
        stop = first + 1
        while stop < n and annotation_tree[annotations[stop]] == tree:
            stop += 1
        if is_dead[tree] == 0:
            marks[0] += 1
            if evaluate_interval(annotations, first, stop, intervals.tree_leaves[tree], intervals, matched, marks[0]):
                found[count] = tree
                count += 1
        first = stop
    return count
