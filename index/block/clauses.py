"""From subscriptions to clauses: trees of literals, a subscription being the OR of its clauses."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from index.block.layout import NO_LEAF, Int32s, Int64s
from index.block.leaves import Leaves
from index.block.nodes import Branch, Node, Test
from index.block.plain import PlainReader
from index.block.vocabulary import ALWAYS, Vocabulary
from index.block.weighing import Weighing, weighing
from index.event_block import TIME_ATTRIBUTE
from index.normal_form import FALSE, can_score
from index.slices import starts_of
from index.weighted_leaves import truth
from schemas.expression import And, Expression, In, Or, Range
from schemas.records import Subscription


class Clause(NamedTuple):
    """The AND of its arguments; ``weighing`` says how it scores where they do not."""

    args: list[Node]
    weighing: Weighing | None = None


class Clauses(NamedTuple):
    """Clauses in columns.

    Attributes
    ----------
    owner
        int32 [clauses], the subscriptions, ascending.
    start, literal, leaf
        int64 [clauses + 1], int32, int32: the literals of *plain* clauses, which are conjunctions of nothing else and
        score where they stand, each with its leaf or NO_LEAF.
    trees
        The other clauses by number; they have no literals in the columns.
    """

    owner: Int32s
    start: Int64s
    literal: Int32s
    leaf: Int32s
    trees: dict[int, Clause]


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
        self._plain = PlainReader(self._test)

    def read(self, subscriptions: Sequence[Subscription]) -> Clauses:
        """Return the clauses of all subscriptions; ordinal i is the i-th."""
        owners, lengths, forms = array("i"), array("i"), array("i")
        trees: dict[int, Clause] = {}
        plain = self._plain
        for ordinal, subscription in enumerate(subscriptions):
            found = plain.read(subscription.expression) if subscription.mode == "all" else None
            if found is None:
                for clause in self.clauses(subscription):
                    tests = [arg for arg in clause.args if isinstance(arg, Test)]
                    if clause.weighing is not None or len(tests) < len(clause.args):
                        trees[len(owners)] = clause
                        tests = []
                    owners.append(ordinal)
                    lengths.append(len(tests))
                    forms.extend(map(plain.form, tests))
                continue
            validity = [plain.form(test) for test in self._validity(subscription)]
            plain.take(found)
            for conjunction in found:
                owners.append(ordinal)
                lengths.append(len(conjunction) + len(validity))
                forms.extend(conjunction + validity)
        form = np.array(forms, np.int32)
        return Clauses(
            np.array(owners, np.int32),
            starts_of(lengths, len(lengths)),
            np.array(plain.literal, np.int32)[form],
            np.array(plain.leaf, np.int32)[form],
            trees,
        )

    def clauses(self, subscription: Subscription) -> Iterator[Clause]:
        """Return the subscription's clauses; there is none when it is never true."""
        expression = truth(subscription)
        validity = self._validity(subscription)
        if expression == FALSE:
            return
        if subscription.mode != "all" or not isinstance(expression, Or):
            yield Clause([*self._conjuncts(expression), *validity], weighing(subscription, self.node))
            return
        for branch in expression.args:
            yield Clause([*self._conjuncts(branch), *validity])

    def node(self, expression: Expression) -> Node:
        """Return an expression in normal form as a tree."""
        return self._tree(expression) if isinstance(expression, And | Or) else self._test(expression)

    def _conjuncts(self, expression: Expression) -> list[Node]:
        args = expression.args if isinstance(expression, And) else (expression,)
        return [self.node(arg) for arg in args]

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
            branch.scores = any(
                arg.scores if isinstance(arg, Branch) else isinstance(arg, Test) and arg.leaf >= 0
                for arg in branch.args
            )
        return root

    def _validity(self, subscription: Subscription) -> list[Test]:
        if subscription.not_before is None and subscription.not_after is None:
            return []
        bounds = Range(TIME_ATTRIBUTE, ge=subscription.not_before, le=subscription.not_after)
        return [Test(self.vocabulary.range(bounds), NO_LEAF)]
