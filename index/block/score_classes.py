"""Kernels that score a tree for many plain events at once, as classes: events that get the same, with what they get.

`index.block.score_programs` runs a score program once an event. Here it runs once a record, on masks: a literal is the
mask of the events for which it holds; an OR gives an event to the best of its arguments' classes; an AND meets each
class so far with each class of an argument. Most trees have few classes; one that has more than `CLASSES`, or a leaf
whose values weigh differently, is left to the other way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.lanes import everywhere, load, some, store
from index.block.layout import ADD, CLOSE, OPEN_AND, TREE, Int64s, UInt8s, UInt64s
from index.block.score_programs import two_words
from index.kernel import inlined, kernel
from schemas.values import SCORE_SCALE

CLASSES = 8
"""A frame has room for so many."""

SPLIT = -1
UNABLE = -2
"""What `split` comes to; a number that is not negative is a row that must be derived before."""


class Classes(NamedTuple):
    """Memory for connectives at work, one in each frame; the last frame is for products.

    Attributes
    ----------
    conjunction, size
        uint8, int64 [frames]: whether it is an AND; how many classes it has so far.
    points, mask
        int64 [frames, CLASSES], uint64 [frames, CLASSES, W]: what each gets, and its events; no event is in two.
    """

    conjunction: UInt8s
    size: Int64s
    points: Int64s
    mask: UInt64s

    @classmethod
    def of(cls, depth: int, words: int) -> Classes:
        """Return memory for programs of so many frames within the clause, and masks of so many words."""
        frames = depth + 2
        return cls(
            np.zeros(frames, np.uint8),
            np.zeros(frames, np.int64),
            np.zeros((frames, CLASSES), np.int64),
            np.zeros((frames, CLASSES, words), np.uint64),
        )


@kernel
def split(lanes, clause, start, chunk, scores, classes):  # type: ignore[no-untyped-def]
    """Split the plain events ``start``, which satisfy a clause, into classes: those of frame 0.

    Returns
    -------
    outcome
        `SPLIT`, `UNABLE`, or a row that must be derived before.
    """
    if scores.clause_scoring[clause] != TREE:
        return np.int64(UNABLE)
    program, depth = scores.score_program, 0
    k, stop = scores.score_start[clause], scores.score_start[clause] + scores.score_plain[clause]
    everyone = load(lanes, start, 0)
    _open(classes, 0, True, everyone)
    classes.points[0, 0] = scores.clause_points[clause]
    fits = True
    while k < stop and fits:
        word = program[k]
        k += 1
        if word >= 0:
            row, leaf = np.int64(word >> 1), program[k]
            k += 1
            if row >= chunk.first_in and chunk.stamp[row] != chunk.epoch:
                return row
            if leaf >= 0 and not scores.leaf_even[leaf]:
                return np.int64(UNABLE)
            held = load(lanes, chunk.masks, row) ^ everywhere(lanes, np.int64(0) - np.int64(word & 1))
            fits = _take(lanes, classes, depth, held & everyone, _worth(leaf, scores))
        elif word == ADD:
            fits = _take(lanes, classes, depth, everyone, two_words(program, k))
            k += 2
        elif word == CLOSE:
            depth -= 1
            fits = _close(lanes, classes, depth)
        else:
            depth += 1
            _open(classes, depth, word == OPEN_AND, everyone)
    return np.int64(SPLIT if fits else UNABLE)


@inlined
def _worth(leaf, scores):  # type: ignore[no-untyped-def]
    """Return what a plain event gets from a leaf that it satisfies, all of whose values weigh the same."""
    if leaf < 0 or scores.leaf_start[leaf] == scores.leaf_start[leaf + 1]:
        return np.int64(0)
    return np.int64(np.rint(scores.leaf_weight[scores.leaf_start[leaf]] * SCORE_SCALE))


@inlined
def _open(classes, frame, conjunction, everyone):  # type: ignore[no-untyped-def]
    """Begin a connective: an AND of nothing holds for all, an OR of nothing for none."""
    classes.conjunction[frame], classes.size[frame], classes.points[frame, 0] = conjunction, conjunction, 0
    store(everyone, classes.mask, (frame, 0))


@kernel
def _take(lanes, classes, frame, held, points):  # type: ignore[no-untyped-def]
    """Add an argument that holds for the events ``held`` and then scores so much; return whether there was room."""
    if not classes.conjunction[frame]:
        return _offer(lanes, classes, frame, held, points)
    size = classes.size[frame]
    for c in range(size):
        mask = load(lanes, classes.mask, (frame, c))
        outside = mask & ~held
        if frame == 0 and points != 0 and some(outside):
            # only in mode relaxed: what does not hold adds nothing to those that match all the same
            at = classes.size[0]
            if at == CLASSES:
                return False
            classes.size[0], classes.points[0, at] = at + 1, classes.points[0, c]
            store(outside, classes.mask, (0, at))
        if frame > 0 or points != 0:
            store(mask & held, classes.mask, (frame, c))
        classes.points[frame, c] += points
    return True


@kernel
def _offer(lanes, classes, frame, held, points):  # type: ignore[no-untyped-def]
    """Give the events ``held`` so much, except those that have as much from another argument of the OR."""
    same = -1
    for c in range(classes.size[frame]):
        mask = load(lanes, classes.mask, (frame, c))
        if classes.points[frame, c] >= points:
            same = c if classes.points[frame, c] == points else same
            held = held & ~mask
        else:
            store(mask & ~held, classes.mask, (frame, c))
    return not some(held) or _put(lanes, classes, frame, same, held, points)


@inlined
def _put(lanes, classes, frame, same, held, points):  # type: ignore[no-untyped-def]
    """Add the events ``held`` to class ``same``, or where that is -1 to a new one; return whether there was room."""
    if same >= 0:
        store(load(lanes, classes.mask, (frame, same)) | held, classes.mask, (frame, same))
        return True
    at = classes.size[frame]
    if at == CLASSES:
        return False
    classes.size[frame], classes.points[frame, at] = at + 1, points
    store(held, classes.mask, (frame, at))
    return True


@kernel
def _close(lanes, classes, frame):  # type: ignore[no-untyped-def]
    """End the connective in the frame after ``frame``, an argument of the one there; return whether there was room."""
    child, fits = frame + 1, True
    if not classes.conjunction[frame] or classes.size[child] == 1:
        for c in range(classes.size[child]):
            held = load(lanes, classes.mask, (child, c))
            fits = fits and _take(lanes, classes, frame, held, classes.points[child, c])
        return fits
    return _multiply(lanes, classes, frame, len(classes.size) - 1)


@kernel
def _multiply(lanes, classes, frame, spare):  # type: ignore[no-untyped-def]
    """Meet each class of an AND with each of the argument that has ended, and in the clause itself with the rest."""
    child, fits = frame + 1, True
    classes.size[spare] = 0
    outside = ~_union(lanes, classes, child)
    for c in range(classes.size[frame]):
        mask = load(lanes, classes.mask, (frame, c))
        for d in range(-1 if frame == 0 else 0, classes.size[child]):
            held = mask & (load(lanes, classes.mask, (child, d)) if d >= 0 else outside)
            points = classes.points[frame, c] + (classes.points[child, d] if d >= 0 else 0)
            if some(held):
                fits = fits and _put(lanes, classes, spare, _find(classes, spare, points), held, points)
    classes.size[frame] = classes.size[spare]
    for c in range(classes.size[frame]):
        classes.points[frame, c] = classes.points[spare, c]
        store(load(lanes, classes.mask, (spare, c)), classes.mask, (frame, c))
    return fits


@inlined
def _union(lanes, classes, frame):  # type: ignore[no-untyped-def]
    """Return the events of all classes."""
    union = everywhere(lanes, 0)
    for c in range(classes.size[frame]):
        union = union | load(lanes, classes.mask, (frame, c))
    return union


@inlined
def _find(classes, frame, points):  # type: ignore[no-untyped-def]
    """Return the class that gets so much, or -1."""
    for c in range(classes.size[frame]):
        if classes.points[frame, c] == points:
            return c
    return -1
