"""From expressions to conjunction trees: alternating AND and OR nodes over leaves that are conjunctions of literals.

That is the form of "Efficiently Evaluating Complex Boolean Expressions" (Fontoura et al., SIGMOD 2010), section 2.
The root is an AND. Negation stands at the literals alone, where the weak ``not_in`` is the paper's exclusion, so all
that a NOT may stand for is expressed. The literals of an AND make up one leaf, in front of its OR children; a literal
of an OR is a leaf of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from index.classic.literals import LiteralReader, Posted
from index.classic.postings import SLOTS
from index.classic.refusals import unsupported
from index.normal_form import normalise
from schemas.expression import And, Expression, Or
from schemas.records import Subscription


class Conjunction(NamedTuple):
    """A leaf of a tree: distinct literals, ascending, and those that score when it is true."""

    literals: tuple[int, ...]
    scoring: tuple[Posted, ...]


@dataclass(slots=True)
class Node:
    """An AND or OR of a tree; a node with children of its own kind does not occur."""

    conjunction: bool
    children: list[Node | Conjunction] = field(default_factory=list)


class Visit(NamedTuple):
    """A step of a walk in document order: a leaf, or the begin (``closes`` false) or end of a node."""

    item: Node | Conjunction
    closes: bool


class TreeReader:
    """Reads the trees of subscriptions.

    Parameters
    ----------
    engine
        The engine's name, for refusals.
    as_written
        Whether expressions are taken as they are, which must be alternating trees of positive leaves and weak
        ``not_in``: so the papers' trees keep conjunctions below an AND that the normal form would join.

    Attributes
    ----------
    literals
        The literals that have been read.
    """

    def __init__(self, engine: str, as_written: bool = False) -> None:
        self.literals = LiteralReader(engine)
        self._engine = engine
        self._as_written = as_written

    def read(self, subscription: Subscription) -> Node:
        """Return the tree of a subscription: its expression, and its validity as a literal of the root."""
        if subscription.mode != "all":
            raise unsupported(self._engine, subscription, f"the mode {subscription.mode!r}")
        expression = subscription.expression if self._as_written else normalise(subscription.expression)
        args = expression.args if isinstance(expression, And) else (expression,)
        if isinstance(expression, Or) and not expression.args:
            return Node(True, [Node(False)])  # never true: a tree without leaves, beside which a validity has no say
        with self.literals.refusing(subscription):
            tree = self._tree(args, self.literals.validity(subscription))
        if any(len(item.literals) > SLOTS for item, _ in walk(tree) if isinstance(item, Conjunction)):
            raise unsupported(self._engine, subscription, f"an AND of more than {SLOTS:,} predicates")
        if self._as_written and not _alternates(tree):
            raise unsupported(self._engine, subscription, "a connective below its like, as written")
        return tree

    def _tree(self, args: Sequence[Expression], validity: Sequence[Posted]) -> Node:
        """Translate with a stack of nodes that still wait for their children."""
        root = Node(True)
        work: list[tuple[Node, Sequence[Expression], Sequence[Posted]]] = [(root, args, validity)]
        while work:
            node, args, first = work.pop()
            if node.conjunction:
                literals = [arg for arg in args if not isinstance(arg, And | Or)]
                if literals or first or not args:
                    node.children.append(self._leaf(literals, first))
            for arg in args:
                if isinstance(arg, Or) or (isinstance(arg, And) and any(isinstance(a, And | Or) for a in arg.args)):
                    child = Node(isinstance(arg, And))
                    node.children.append(child)
                    work.append((child, arg.args, ()))
                elif isinstance(arg, And):
                    node.children.append(self._leaf(arg.args))
                elif not node.conjunction:
                    node.children.append(self._leaf((arg,)))
        return root

    def _leaf(self, args: Sequence[Expression], first: Sequence[Posted] = ()) -> Conjunction:
        posted = [*first, *(self.literals.read(arg) for arg in args)]
        return Conjunction(
            tuple(sorted({p.literal for p in posted})), tuple(p for p in posted if p.weights is not None)
        )


def _alternates(root: Node) -> bool:
    nodes = [item for item, _ in walk(root) if isinstance(item, Node)]
    return all(
        child.conjunction != node.conjunction for node in nodes for child in node.children if isinstance(child, Node)
    )


def walk(root: Node) -> list[Visit]:
    """Return the steps of a walk in document order; nothing recurses."""
    steps: list[Visit] = []
    pending = [Visit(root, False)]
    while pending:
        visit = pending.pop()
        steps.append(visit)
        if isinstance(visit.item, Node) and not visit.closes:
            pending.append(Visit(visit.item, True))
            pending += [Visit(child, False) for child in reversed(visit.item.children)]
    return steps
