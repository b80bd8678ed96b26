"""Scores of matched trees, shared by all tree engines: AND adds, OR takes the best of its true branches.

The papers' trees have no scores. Which annotations are true is known when a tree has matched, so one pass over its
program is enough; trees of which no leaf can score skip it.
"""

from __future__ import annotations

import numpy as np

from index.classic.tree_layout import CLOSE, OPEN_AND
from index.kernel import kernel
from index.lower_bound import lower_bound
from schemas.values import SCORE_SCALE


@kernel
def score_trees(event, found, n, trees, leaves, entries, true_at, epoch, frames, points):  # type: ignore[no-untyped-def]
    """Write the scores of the first ``n`` trees found for the event.

    Parameters
    ----------
    event, found, n
        The event's row; int32 [>= n], matched trees.
    trees
        `index.classic.tree_layout.ProgramArrays`.
    leaves
        `index.classic.tree_leaves.LeafArrays`.
    entries
        `index.classic.keys.EventKeys` of the block.
    true_at, epoch
        ``true_at[annotation] == epoch`` says that the annotation is true.
    frames
        Memory.
    points
        int64 [>= n], output.
    """
    for i in range(n):
        tree = found[i]
        points[i] = trees.tree_points[tree]
        if trees.tree_scores[tree] != 0:
            points[i] += _tree_points(event, tree, trees, leaves, entries, true_at, epoch, frames)


@kernel
def _tree_points(event, tree, trees, leaves, entries, true_at, epoch, frames):  # type: ignore[no-untyped-def]
    k, depth = trees.tree_start[tree], -1
    while True:
        word = trees.tree_program[k]
        k += 1
        if word >= 0:
            truth, total = true_at[word] == epoch, np.int64(0)
            if truth:
                for s in range(trees.scoring_start[word], trees.scoring_start[word + 1]):
                    total += leaf_points(event, trees.scoring_leaf[s], leaves, entries)
        elif word == CLOSE:
            truth, total = frames.truth[depth] != 0, frames.total[depth]
            depth -= 1
            if depth < 0:
                return total
        else:
            depth += 1
            frames.conjunction[depth] = frames.truth[depth] = word == OPEN_AND
            frames.total[depth] = 0
            k += 1
            continue
        _give(frames, depth, truth, total)


@kernel
def _give(frames, depth, truth, total):  # type: ignore[no-untyped-def]
    """Tell a node the truth and score of a child."""
    if frames.conjunction[depth]:
        frames.truth[depth] &= truth
        frames.total[depth] += total
    elif truth:
        frames.total[depth] = max(frames.total[depth], total) if frames.truth[depth] else total
        frames.truth[depth] = 1


@kernel
def leaf_points(event, leaf, leaves, entries):  # type: ignore[no-untyped-def]
    """Return the sum over the event's values that the leaf lists; ``np.rint`` rounds as `schemas.values.score_term`."""
    total = np.int64(0)
    first, stop = entries.start[event], entries.start[event + 1]
    for k in range(leaves.leaf_start[leaf], leaves.leaf_start[leaf + 1]):
        first = lower_bound(entries.key, first, stop, leaves.leaf_key[k])
        if first < stop and entries.key[first] == leaves.leaf_key[k]:
            total += np.int64(np.rint(entries.weight[first] * leaves.leaf_weight[k] * SCORE_SCALE))
    return total
