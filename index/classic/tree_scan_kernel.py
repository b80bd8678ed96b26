"""Evaluates operator trees node by node: the Scan of Fontoura et al. (SIGMOD 2010), section 5.2."""

from __future__ import annotations

from typing import NamedTuple

from index.arrays import Int32s, Int64s
from index.classic.tree_layout import CLOSE, OPEN_AND
from index.kernel import kernel


class LiteralArrays(NamedTuple):
    """What conjunctions and predicates consist of.

    Attributes
    ----------
    conjunction_start, conjunction_literal
        int64 [conjunctions + 1], int32: predicate << 1 | negated.
    predicate_start, predicate_key
        int64 [predicates + 1], int32: the keys one of which an event must have; predicate 0 holds always.
    """

    conjunction_start: Int64s
    conjunction_literal: Int32s
    predicate_start: Int64s
    predicate_key: Int32s


@kernel
def conjunction_holds(conjunction, literals, held, epoch):  # type: ignore[no-untyped-def]
    """Return whether all literals hold; ``held[key] == epoch`` says that the event has the key."""
    for i in range(literals.conjunction_start[conjunction], literals.conjunction_start[conjunction + 1]):
        literal = literals.conjunction_literal[i]
        predicate = literal >> 1
        found = predicate == 0
        for k in range(literals.predicate_start[predicate], literals.predicate_start[predicate + 1]):
            if held[literals.predicate_key[k]] == epoch:
                found = True
                break
        if found == (literal & 1 != 0):
            return False
    return True


@kernel
def tree_holds(tree, trees, annotations, literals, held, epoch, frames, ends):  # type: ignore[no-untyped-def]
    """Return whether a tree is true; what cannot change a node's truth any more is skipped."""
    first = trees.tree_start[tree]
    program = trees.tree_program
    k, depth = first, -1
    while True:
        word = program[k]
        k += 1
        if word >= 0:
            truth = conjunction_holds(annotations.annotation_conjunction[word], literals, held, epoch)
        elif word == CLOSE:
            truth = frames.truth[depth] != 0
            depth -= 1
            if depth < 0:
                return truth
        else:
            depth += 1
            frames.conjunction[depth] = frames.truth[depth] = word == OPEN_AND
            ends[depth] = first + program[k] - 1
            k += 1
            continue
        frames.truth[depth] = truth
        if truth != (frames.conjunction[depth] != 0):
            k = ends[depth]


@kernel
def scan(candidates, is_dead, trees, annotations, literals, held, epoch, frames, ends, found):  # type: ignore[no-untyped-def]
    """Write the living true trees among the candidates, in their order; return their number."""
    count = 0
    for tree in candidates:
        if is_dead[tree] == 0 and tree_holds(tree, trees, annotations, literals, held, epoch, frames, ends):
            found[count] = tree
            count += 1
    return count


@kernel
def mark_true(found, scores, first, annotations, literals, held, epoch, true_at):  # type: ignore[no-untyped-def]
    """Stamp the true annotations of the trees found that score; tree t's begin at ``first[t]``."""
    for tree in found:
        if scores[tree] != 0:
            for annotation in range(first[tree], first[tree + 1]):
                if conjunction_holds(annotations.annotation_conjunction[annotation], literals, held, epoch):
                    true_at[annotation] = epoch


@kernel
def hold(event, start, key, held, epoch):  # type: ignore[no-untyped-def]
    """Stamp the keys of an event."""
    for i in range(start[event], start[event + 1]):
        held[key[i]] = epoch


@kernel
def distinct_trees(annotations, annotation_tree, found):  # type: ignore[no-untyped-def]
    """Write the trees of annotations, ascending, each once; return their number."""
    count = 0
    for annotation in annotations:
        tree = annotation_tree[annotation]
        if count == 0 or found[count - 1] != tree:
            found[count] = tree
            count += 1
    return count
