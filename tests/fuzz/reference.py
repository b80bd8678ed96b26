"""What a population means for many events, fast: the oracle says what each leaf says of each event, once.

Only the connectives, validity and the modes are worked out here, for all events at a time. `tests.fuzz.trial` holds a
sample of the answers to the oracle's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.oracle import leaf_holds, leaf_score, relaxed_score, threshold_shares
from schemas.expression import And, Expression, In, Keywords, Leaf, Not, Or
from schemas.records import Event, Subscription
from schemas.shares import share_wanted
from schemas.values import SCORE_SCALE, score_term

_LOWEST = np.iinfo(np.int64).min


class Answer(NamedTuple):
    """For each event whether something is true, and its score, 0 where it is false."""

    holds: npt.NDArray[np.bool_]
    points: npt.NDArray[np.int64]


class Reference:
    """Answers for a block of events."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._time = np.array([0 if event.time is None else event.time for event in events], np.int64)
        self._timed = np.array([event.time is not None for event in events], np.bool_)
        # By identity, since Python's equality takes the lists (1,) and (True,) for one; the leaf stays to keep its id.
        self._known: dict[tuple[str, int], tuple[Leaf, Answer]] = {}

    def answer(self, subscription: Subscription) -> Answer:
        """Return for each event whether the subscription matches, and with which score."""
        if subscription.mode == "all":
            holds, points = self._tree(subscription.expression)
        elif subscription.mode == "relaxed":
            holds, points = self._relaxed(_arguments(subscription.expression))
        else:
            holds, points = self._threshold(_arguments(subscription.expression), subscription.threshold or 0.0)
        if subscription.not_before is not None:
            holds = holds & self._timed & (self._time >= subscription.not_before)
        if subscription.not_after is not None:
            holds = holds & self._timed & (self._time <= subscription.not_after)
        return Answer(holds, np.where(holds, points + score_term(1.0, subscription.priority), 0))

    def _tree(self, expression: Expression) -> Answer:
        nodes, pending = [], [expression]
        while pending:
            node = pending.pop()
            nodes.append(node)
            pending += [node.arg] if isinstance(node, Not) else node.args if isinstance(node, And | Or) else ()
        done: list[Answer] = []
        for node in reversed(nodes):
            if isinstance(node, And | Or):
                cut = len(done) - len(node.args)
                arguments, done = done[cut:], done[:cut]
                done.append(self._and(arguments) if isinstance(node, And) else self._or(arguments))
            elif isinstance(node, Not):
                done.append(Answer(~done.pop().holds, np.zeros(len(self._events), np.int64)))
            else:
                done.append(self._leaf("all", node))
        return done.pop()

    def _and(self, arguments: Sequence[Answer]) -> Answer:
        holds = np.ones(len(self._events), np.bool_)
        points = np.zeros(len(self._events), np.int64)
        for argument in arguments:
            holds &= argument.holds
            points += argument.points
        return Answer(holds, np.where(holds, points, 0))

    def _or(self, arguments: Sequence[Answer]) -> Answer:
        holds = np.zeros(len(self._events), np.bool_)
        points = np.full(len(self._events), _LOWEST)
        for argument in arguments:
            holds |= argument.holds
            points = np.maximum(points, np.where(argument.holds, argument.points, _LOWEST))
        return Answer(holds, np.where(holds, points, 0))

    def _relaxed(self, leaves: Iterable[Leaf]) -> Answer:
        answers = [self._leaf("relaxed", leaf) for leaf in leaves]
        holds: npt.NDArray[np.bool_] = np.logical_or.reduce([answer.holds for answer in answers])
        return Answer(holds, np.add.reduce([answer.points for answer in answers]))

    def _threshold(self, leaves: Sequence[Leaf], threshold: float) -> Answer:
        met = np.add.reduce([self._leaf("threshold", leaf).points for leaf in leaves])
        possible = sum(threshold_shares(leaf, self._events[0])[1] for leaf in leaves)
        distinct, place = np.unique(met, return_inverse=True)
        shares = [Fraction(units, possible) for units in distinct.tolist()]
        holds = np.array([share >= share_wanted(threshold) for share in shares], np.bool_)
        points = np.array([round(share * SCORE_SCALE) for share in shares], np.int64)
        return Answer(holds[place], points[place])

    def _leaf(self, mode: str, leaf: Leaf) -> Answer:
        """Return what the oracle says of a leaf; in mode threshold the points are the weight that is met."""
        key = (mode, id(leaf))
        if key not in self._known:
            points = [_points(mode, leaf, event) for event in self._events]
            holds = np.array([p is not None for p in points], np.bool_)
            self._known[key] = leaf, Answer(holds, np.array([p or 0 for p in points], np.int64))
        return self._known[key][1]


def _arguments(expression: Expression) -> tuple[Leaf, ...]:
    """Return the leaves of a subscription in mode relaxed or threshold."""
    return expression.args if isinstance(expression, And | Or) else (expression,)  # type: ignore[return-value]


def _points(mode: str, leaf: Leaf, event: Event) -> int | None:
    if mode == "relaxed":
        return relaxed_score(leaf, event)
    if mode == "threshold":
        return threshold_shares(leaf, event)[0]
    if not leaf_holds(leaf, event):
        return None
    return leaf_score(leaf, event) if isinstance(leaf, In | Keywords) else 0
