"""Builds what all tree engines share: the distinct conjunctions of the trees, their annotations, and operator trees."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from index.arrays import Arrays
from index.classic.tree_forms import Conjunction, Node, walk
from index.classic.tree_layout import CLOSE, OPEN_AND, OPEN_OR
from index.classic.tree_leaves import LeafTable
from index.slices import starts_of
from schemas.records import Subscription
from schemas.values import score_term


class Forest(NamedTuple):
    """Trees, taken apart.

    Attributes
    ----------
    conjunctions
        The literals of each distinct conjunction, which is indexed once, wherever it stands.
    leaves
        The leaves that score.
    arrays
        `index.classic.tree_layout.AnnotationArrays`, `index.classic.tree_layout.ProgramArrays`, and ``tree_depth``
        int32 [1], the deepest program.
    """

    conjunctions: list[tuple[int, ...]]
    leaves: LeafTable
    arrays: Arrays


def take_apart(subscriptions: Sequence[Subscription], trees: Sequence[Node], keep_all: bool) -> Forest:
    """Return the conjunctions and arrays of the trees.

    Parameters
    ----------
    subscriptions, trees
        One tree a subscription.
    keep_all
        Whether programs are kept of all trees, or of those only whose score is more than a constant.
    """
    found = [[item for item, _ in walk(tree) if isinstance(item, Conjunction)] for tree in trees]
    numbers: dict[tuple[int, ...], int] = {}
    conjunction = [numbers.setdefault(leaf.literals, len(numbers)) for tree in found for leaf in tree]
    tree = np.repeat(np.arange(len(trees), dtype=np.int32), [len(tree) for tree in found])
    scores = np.array([any(leaf.scoring for leaf in tree) for tree in found], np.uint8)
    kept = np.ones(len(trees), np.bool_) if keep_all else scores != 0
    leaves = LeafTable()
    scoring = [leaves.numbers(leaf.scoring) for tree in found for leaf in tree]
    return Forest(
        list(numbers),
        leaves,
        _programs(trees, kept.tolist())
        | _scoring(scoring)
        | {"tree_points": np.array([score_term(1.0, s.priority) for s in subscriptions], np.int64)}
        | {
            "tree_scores": scores,
            "annotation_tree": tree,
            "annotation_conjunction": np.array(conjunction, np.int32),
        },
    )


def _programs(trees: Iterable[Node], kept: Sequence[bool]) -> Arrays:
    words = array("i")
    starts = array("q", (0,))
    annotation = deepest = 0
    for tree, keep in zip(trees, kept, strict=True):
        program, leaves, depth = _program(tree, annotation)
        annotation += leaves
        if keep:
            words.extend(program)
            deepest = max(deepest, depth)
        starts.append(len(words))
    return {
        "tree_start": np.array(starts, np.int64),
        "tree_program": np.array(words, np.int32),
        "tree_depth": np.array([deepest], np.int32),
    }


def _program(tree: Node, first: int) -> tuple[list[int], int, int]:
    """Return a tree's program, its leaves and its depth; ends are relative to the program's first word."""
    words: list[int] = []
    open_: list[int] = []
    leaves = depth = 0
    for item, closes in walk(tree):
        if isinstance(item, Conjunction):
            words.append(first + leaves)
            leaves += 1
        elif closes:
            words.append(CLOSE)
            words[open_.pop()] = len(words)
        else:
            words += (OPEN_AND if item.conjunction else OPEN_OR, 0)
            open_.append(len(words) - 1)
            depth = max(depth, len(open_))
    return words, leaves, depth


def _scoring(leaves: Sequence[Sequence[int]]) -> Arrays:
    starts = starts_of(map(len, leaves), len(leaves))
    return {
        "scoring_start": starts,
        "scoring_leaf": np.fromiter((leaf for own in leaves for leaf in own), np.int32, int(starts[-1])),
    }
