"""Subscriptions as operator trees in one array, and the kernel that evaluates them for one event.

::

    program_start  int64 [subscriptions + 1]
    program        int32: a subscription's words
    leaf_start     int64 [leaves + 1]
    leaf_key       int32: the keys of a leaf, one of which must be there, or none where it is negated
    leaf_weight    float64: the weights of these keys
    leaf_negated   uint8 [leaves]
    program_depth  int32 [1]: the deepest nesting

A word >= 0 is a leaf. `OPEN_AND` and `OPEN_OR` begin a connective and are followed by the place of its `CLOSE`, counted
from the program's first word. The words of one program are the arguments of an AND.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from index.arrays import Arrays, Float64s, Int32s, Int64s, UInt8s
from index.block.vocabulary import ALWAYS, NEVER
from index.classic.keys import KeyTable
from index.classic.literals import LiteralReader, Posted
from index.classic.refusals import unsupported
from index.kernel import inlined, kernel
from index.normal_form import normalise
from index.slices import starts_of
from schemas.expression import And, Expression, Or
from schemas.records import Subscription
from schemas.values import SCORE_SCALE

OPEN_AND, OPEN_OR, CLOSE = -1, -2, -3


class Programs(NamedTuple):
    """The arrays drawn above, but for the depth."""

    program_start: Int64s
    program: Int32s
    leaf_start: Int64s
    leaf_key: Int32s
    leaf_weight: Float64s
    leaf_negated: UInt8s


class Frames(NamedTuple):
    """Memory of an evaluation: the connectives at work, by depth; and which keys the event has.

    Attributes
    ----------
    conjunction, truth
        uint8 [depth + 1]: whether it is an AND, and its truth so far.
    close
        int64 [depth + 1]: the word that ends it.
    total
        int64 [depth + 1]: its score so far.
    stamp, weight
        int64, float64 [keys]: the event that last had the key, counted from 1, and its weight of it.
    """

    conjunction: UInt8s
    truth: UInt8s
    close: Int64s
    total: Int64s
    stamp: Int64s
    weight: Float64s

    @classmethod
    def of(cls, depth: int, keys: int) -> Frames:
        """Return memory for programs of this depth."""
        conjunction, truth = np.zeros((2, depth + 1), np.uint8)
        close, total = np.zeros((2, depth + 1), np.int64)
        return cls(conjunction, truth, close, total, np.zeros(keys, np.int64), np.zeros(keys))


class ProgramBuilder:
    """Compiles subscriptions.

    Attributes
    ----------
    reader
        What has been named so far.
    leaves
        Distinct literals to their numbers.
    """

    def __init__(self, engine: str) -> None:
        self.reader = LiteralReader(engine)
        self.leaves: dict[Posted, int] = {}
        self._engine = engine
        self._words = array("i")
        self._starts = array("q", (0,))
        self._depth = 0

    def add(self, subscription: Subscription) -> list[int]:
        """Compile the next subscription and return its words."""
        if subscription.mode != "all":
            raise unsupported(self._engine, subscription, f"mode {subscription.mode!r}")
        with self.reader.refusing(subscription):
            words = [self._leaf(literal) for literal in self.reader.validity(subscription)]
            self._compile(normalise(subscription.expression), words)
        self._words.extend(words)
        self._starts.append(len(self._words))
        return words

    def _leaf(self, literal: Posted) -> int:
        return self.leaves.setdefault(literal, len(self.leaves))

    def _compile(self, expression: Expression, words: list[int]) -> None:
        """Write the words of an expression with a stack: None ends the connective that was opened last."""
        open_: list[int] = []
        work: list[Expression | None] = [expression]
        while work:
            node = work.pop()
            if node is None:
                words[open_.pop()] = len(words)
                words.append(CLOSE)
            elif isinstance(node, And | Or):
                words += (OPEN_AND if isinstance(node, And) else OPEN_OR, 0)
                open_.append(len(words) - 1)
                self._depth = max(self._depth, len(open_))
                work.append(None)
                work += reversed(node.args)
            else:
                words.append(self._leaf(self.reader.read(node)))

    def arrays(self, table: KeyTable) -> Arrays:
        """Return the parts drawn above."""
        keys = [table.keys(literal.literal >> 1) for literal in self.leaves]
        weights = [literal.weights or (0.0,) * len(own) for literal, own in zip(self.leaves, keys, strict=True)]
        return {
            "program_start": np.array(self._starts, np.int64),
            "program": np.array(self._words, np.int32),
            "leaf_start": starts_of(map(len, keys), len(keys)),
            "leaf_key": np.concatenate([np.zeros(0, np.int32), *keys]),
            "leaf_weight": np.array([w for own in weights for w in own], np.float64),
            # no key is the predicate's that always holds, so as a leaf it is the negation of nothing
            "leaf_negated": np.array([_negated(literal) for literal in self.leaves], np.uint8),
            "program_depth": np.array([self._depth], np.int32),
        }


def _negated(literal: Posted) -> bool:
    return literal.negated != (literal.literal in (ALWAYS, NEVER))


def needs_no_key(words: Sequence[int], negated: Sequence[int]) -> bool:
    """Return whether a program may be true for an event without any key of its leaves that are not negated.

    ``negated`` says of each leaf whether it is, as the part ``leaf_negated`` does.
    """
    frames: list[tuple[bool, bool]] = [(True, True)]
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word in (OPEN_AND, OPEN_OR):
            frames.append((word == OPEN_AND, word == OPEN_AND))
            place += 1
            continue
        truth = frames.pop()[1] if word == CLOSE else bool(negated[word])
        conjunction, so_far = frames[-1]
        frames[-1] = (conjunction, so_far and truth if conjunction else so_far or truth)
    return frames[0][1]


@inlined
def mark(event, view, stamp, frames):  # type: ignore[no-untyped-def]
    """Note which keys the event has, under a stamp that no event before it had."""
    for i in range(view.start[event], view.start[event + 1]):
        frames.stamp[view.key[i]] = stamp
        frames.weight[view.key[i]] = view.weight[i]


@kernel
def holds(subscription, stamp, programs, frames):  # type: ignore[no-untyped-def]
    """Return whether a subscription is true for the marked event; a connective ends as soon as its truth is known."""
    first = programs.program_start[subscription]
    stop = programs.program_start[subscription + 1] - first
    program = programs.program[first : first + stop]
    depth, k = 0, 0
    frames.conjunction[0], frames.truth[0], frames.close[0] = 1, 1, stop
    while k < stop:
        word = program[k]
        k += 1
        if word in (OPEN_AND, OPEN_OR):
            depth += 1
            frames.conjunction[depth] = frames.truth[depth] = word == OPEN_AND
            frames.close[depth] = program[k]
            k += 1
            continue
        if word == CLOSE:
            truth = frames.truth[depth] != 0
            depth -= 1
        else:
            truth = _leaf_holds(word, stamp, programs, frames)
        if truth != (frames.conjunction[depth] != 0):
            frames.truth[depth] = truth
            k = frames.close[depth]
    return frames.truth[0] != 0


@kernel
def score(subscription, stamp, programs, frames):  # type: ignore[no-untyped-def]
    """Return the score of a true subscription: AND adds, OR takes the best of its true arguments."""
    first = programs.program_start[subscription]
    stop = programs.program_start[subscription + 1] - first
    program = programs.program[first : first + stop]
    depth, k = 0, 0
    frames.conjunction[0], frames.truth[0], frames.total[0] = 1, 1, 0
    while k < stop:
        word = program[k]
        k += 1
        if word in (OPEN_AND, OPEN_OR):
            depth += 1
            frames.conjunction[depth] = frames.truth[depth] = word == OPEN_AND
            frames.total[depth] = 0
            k += 1
            continue
        if word == CLOSE:
            truth, total = frames.truth[depth] != 0, frames.total[depth]
            depth -= 1
        else:
            truth, total = _leaf_holds(word, stamp, programs, frames), _leaf_score(word, stamp, programs, frames)
        if frames.conjunction[depth]:
            frames.truth[depth] = frames.truth[depth] and truth
            frames.total[depth] += total
        elif truth:
            frames.total[depth] = max(frames.total[depth], total) if frames.truth[depth] else total
            frames.truth[depth] = 1
    return frames.total[0]


@inlined
def _leaf_holds(leaf, stamp, programs, frames):  # type: ignore[no-untyped-def]
    negated = programs.leaf_negated[leaf] != 0
    for i in range(programs.leaf_start[leaf], programs.leaf_start[leaf + 1]):
        if frames.stamp[programs.leaf_key[i]] == stamp:
            return not negated
    return negated


@inlined
def _leaf_score(leaf, stamp, programs, frames):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for i in range(programs.leaf_start[leaf], programs.leaf_start[leaf + 1]):
        key = programs.leaf_key[i]
        if frames.stamp[key] == stamp:
            total += np.int64(np.rint(frames.weight[key] * programs.leaf_weight[i] * SCORE_SCALE))
    return total
