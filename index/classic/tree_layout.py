"""The arrays that all tree engines share: annotations of conjunctions, and operator trees as programs.

An *annotation* is one place of one conjunction in one tree. Annotations are numbered in the trees' document order, tree
by tree, so ascending numbers are ascending labels, Dewey as well as Interval.

A *program* is a tree in document order: a word >= 0 is an annotation; `OPEN_AND` and `OPEN_OR` begin a node and are
followed by the place of the first word behind it, counted from the program's begin; `CLOSE` ends it.
"""

from __future__ import annotations

from typing import NamedTuple

from index.arrays import Int32s, Int64s, UInt8s

OPEN_AND = -1
OPEN_OR = -2
CLOSE = -3


class AnnotationArrays(NamedTuple):
    """The annotations database, from annotations to trees and conjunctions.

    Attributes
    ----------
    annotation_tree
        int32 [annotations], ascending.
    annotation_conjunction
        int32 [annotations].
    """

    annotation_tree: Int32s
    annotation_conjunction: Int32s


class PlaceArrays(NamedTuple):
    """The annotations database, from conjunctions to annotations.

    Attributes
    ----------
    place_start, place
        int64 [conjunctions + 1], int32 [annotations]: the annotations of a conjunction, ascending.
    """

    place_start: Int64s
    place: Int32s


class ProgramArrays(NamedTuple):
    """The operator trees: all of them for the scans, else those whose score is more than a constant.

    Attributes
    ----------
    tree_start, tree_program
        int64 [trees + 1], int32: the programs.
    tree_points
        int64 [trees], the priority, part of every score.
    tree_scores
        uint8 [trees], whether a leaf of the tree can score.
    scoring_start, scoring_leaf
        int64 [annotations + 1], int32: the leaves that score with an annotation.
    """

    tree_start: Int64s
    tree_program: Int32s
    tree_points: Int64s
    tree_scores: UInt8s
    scoring_start: Int64s
    scoring_leaf: Int32s
