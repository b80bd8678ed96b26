"""From subscriptions to clauses: trees of literals, a subscription being the OR of its clauses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from index.block.layout import NO_LEAF
from index.block.vocabulary import ALWAYS, Listed, Literal, Vocabulary
from index.event_block import TIME_ATTRIBUTE
from index.normal_form import can_score, normalise
from schemas.expression import And, Expression, In, Or, Range
from schemas.records import Subscription


class Test(NamedTuple):
    """A literal in a tree, and the leaf by which it scores, or NO_LEAF."""

    literal: Literal
    leaf: int


@dataclass(slots=True)
class Branch:
    """An AND or OR in a tree; the arguments of one are literals and the other."""

    conjunction: bool
    args: list[Node]
    scores: bool


Node: TypeAlias = Test | Branch


@dataclass(slots=True)
class Leaves:
    """Leaves that score, in columns: leaf i has entries ``starts[i]`` to ``starts[i + 1]``.

    An unweighted list is one leaf wherever it stands.
    """

    starts: list[int] = field(default_factory=lambda: [0])
    terms: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    _unweighted: dict[int, int] = field(default_factory=dict)

    def add(self, listed: Listed, weights: tuple[float, ...] | None) -> int:
        """Return the number of a leaf; a value that is listed twice counts by its first weight."""
        if weights is not None:
            return self._append(listed.terms, [weights[place] for place in listed.places])
        found = self._unweighted.get(listed.predicate)
        if found is None:
            found = self._unweighted[listed.predicate] = self._append(listed.terms, [1.0] * len(listed.terms))
        return found

    def _append(self, terms: tuple[int, ...], weights: list[float]) -> int:
        self.terms += terms
        self.weights += weights
        self.starts.append(len(self.terms))
        return len(self.starts) - 2


class ClauseReader:
    """Turns subscriptions into clauses, interning what they name.

    Attributes
    ----------
    vocabulary, leaves
        What has been named so far.
    """

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.leaves = Leaves()

    def clauses(self, subscription: Subscription) -> Iterator[list[Node]]:
        """Return the subscription's clauses, each the arguments of an AND; there is none when it is never true."""
        expression = normalise(subscription.expression)
        validity = self._validity(subscription)
        if not isinstance(expression, Or):
            yield self._conjuncts(expression) + validity
            return
        for branch in expression.args:
            yield self._conjuncts(branch) + validity

    def _conjuncts(self, expression: Expression) -> list[Node]:
        args = expression.args if isinstance(expression, And) else (expression,)
        return [self._tree(arg) if isinstance(arg, (And, Or)) else self._test(arg) for arg in args]

    def _test(self, leaf: Expression) -> Test:
        if isinstance(leaf, In):
            listed = self.vocabulary.listed(leaf.attribute, leaf.values)
            return Test(listed.predicate << 1, self.leaves.add(listed, leaf.weights) if can_score(leaf) else NO_LEAF)
        return Test(self.vocabulary.literal(leaf), NO_LEAF)

    def _tree(self, expression: And | Or) -> Node:
        """Translate a subtree with a stack; a branch scores when something below it does."""
        root = Branch(isinstance(expression, And), [], False)
        order = [root]
        work: list[tuple[Branch, And | Or]] = [(root, expression)]
        while work:
            branch, node = work.pop()
            for arg in node.args:
                if not isinstance(arg, And | Or):
                    branch.args.append(self._test(arg))
                elif not arg.args:
                    branch.args.append(
                        Test(ALWAYS, NO_LEAF)
                    )  # in normal form the only empty one is an OR's true branch
                else:
                    child = Branch(isinstance(arg, And), [], False)
                    branch.args.append(child)
                    order.append(child)
                    work.append((child, arg))
        for branch in reversed(order):
            branch.scores = any(arg.scores if isinstance(arg, Branch) else arg.leaf >= 0 for arg in branch.args)
        return root

    def _validity(self, subscription: Subscription) -> list[Node]:
        if subscription.not_before is None and subscription.not_after is None:
            return []
        bounds = Range(TIME_ATTRIBUTE, ge=subscription.not_before, le=subscription.not_after)
        return [Test(self.vocabulary.range(bounds), NO_LEAF)]


def postorder(root: Branch) -> list[Branch]:
    """Return the branches of a tree, each after those below it."""
    found = [root]
    for branch in found:
        found += [arg for arg in branch.args if isinstance(arg, Branch)]
    return found[::-1]
