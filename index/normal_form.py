"""The normal form: the same truth and the same scores, with few kinds of leaves, and negation at the leaves.

What comes out is an expression again, so the oracle can be asked whether it means what went in:

* leaves are ``in``, weak ``not_in``, ``range`` over numbers or strings as they stand, ``exists``, ``not_exists``,
  ``matches``, ``contains``, ``within``, and under a ``not`` one of ``range``, ``matches``, ``contains``, ``within``;
  `index.reduction` writes all others out, and a strong ``not_in`` becomes ``exists and not_in``;
* beside a ``within`` stands an ``in`` over its list, and under an OR with a ``not within`` a ``not_in``, so that an
  engine may take ``within`` for "no value outside the list", which an absent attribute satisfies;
* an ``in`` that stood under a ``not`` has weights of zero, since nothing under a ``not`` scores;
* an AND holds no AND, an OR no OR, and neither has a single argument;
* AND() and OR(), true and false, stand alone, but for an AND() among an OR's scoring branches: such an OR is true and
  scores at least 0;
* `index.simplify` has left nothing that other arguments of the same connective make superfluous.

Nothing is multiplied out, so the result is at most a few times longer than the expression. Nothing recurses: the
nesting may be as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, TypeGuard

from index.attribute_names import attribute_name
from index.reduction import reduced, silent_in
from index.simplify import FALSE, FALSE_PART, TRUE, TRUE_PART, Connective, Part, simplified
from schemas.expression import (
    And,
    Attribute,
    Contains,
    Exists,
    Expression,
    In,
    Keywords,
    Matches,
    Not,
    NotExists,
    NotIn,
    Or,
    Range,
    Within,
)
from schemas.records import Subscription
from schemas.values import Value, ValueKey, score_term, value_key

__all__ = ["FALSE", "TRUE", "WeightedLeaf", "can_score", "normalise", "truth", "weighted_leaves"]

PlainLeaf: TypeAlias = In | Range | Exists | NotExists | NotIn


class WeightedLeaf(NamedTuple):
    """A leaf of a subscription in mode relaxed or threshold.

    Attributes
    ----------
    node
        Its normal form: a leaf or, as from ``contains_all``, a small tree.
    points
        Its weight in units of 1 / SCORE_SCALE; None where the weights of the ``in`` that ``node`` is say it, or
        those of an AND of such, from ``keywords`` that must all be there.
    """

    node: Expression
    points: int | None


def normalise(expression: Expression) -> Expression:
    """Return the normal form of an expression."""
    return expression if _is_plain(expression) else _Normaliser().run(expression)


def can_score(leaf: Expression) -> bool:
    """Return whether a leaf in normal form may score other than 0."""
    return type(leaf) is In and (leaf.weights is None or any(leaf.weights))


def weighted_leaves(subscription: Subscription) -> list[WeightedLeaf]:
    """Return the leaves that have a say in a subscription of mode relaxed or threshold; those of weight 0 have none."""
    expression = subscription.expression
    leaves = expression.args if isinstance(expression, And | Or) else (expression,)
    return [found for leaf in leaves if (found := _weighted(leaf)) is not None]


def truth(subscription: Subscription) -> Expression:
    """Return the normal form of what must hold for the subscription to match; validity is left out.

    In the modes all and relaxed it says just when the subscription matches, in mode threshold more often. In the modes
    relaxed and threshold it is an OR of the weighted leaves, and no score is to be read from it.
    """
    if subscription.mode == "all":
        return normalise(subscription.expression)
    return normalise(Not(Not(Or(tuple(leaf.node for leaf in weighted_leaves(subscription))))))


def _weighted(leaf: Expression) -> WeightedLeaf | None:
    """Return a leaf with its weight; an ``in`` keeps the values that have one, by the first that each is given."""
    plainer = reduced(leaf)
    if isinstance(plainer, In) and isinstance(leaf, In | Keywords):
        weights = plainer.weights or (1.0,) * len(plainer.values)
        first: dict[ValueKey, tuple[Value, float]] = {}
        for value, points in zip(plainer.values, weights, strict=True):
            first.setdefault(value_key(value), (value, points))
        kept = [(value, points) for value, points in first.values() if points]
        if not kept:
            return None
        values, given = zip(*kept, strict=True)
        return WeightedLeaf(In(plainer.attribute, values, given), None)
    if isinstance(leaf, Keywords):
        node = normalise(plainer)
        args = node.args if isinstance(node, And | Or) else (node,)
        return WeightedLeaf(node, None) if any(map(can_score, args)) else None
    weight = getattr(leaf, "weight", None)
    if weight == 0:
        return None
    return WeightedLeaf(normalise(leaf), score_term(1.0, 1.0 if weight is None else weight))


def _is_plain(expression: Expression) -> bool:
    """Return whether this is one leaf or an AND of leaves over different attributes, as nearly all subscriptions are.

    Python takes 1 and True for one value, so two attributes may seem to be one; the long way finds out.
    """
    if type(expression) is And:
        leaves = expression.args
        if len(leaves) < 2:
            return False
    else:
        leaves = (expression,)
    seen: set[Attribute] = set()
    for leaf in leaves:
        if not is_plain_leaf(leaf) or leaf.attribute in seen:
            return False
        seen.add(leaf.attribute)
    return True


def is_plain_leaf(leaf: Expression) -> TypeGuard[PlainLeaf]:
    """Return whether a leaf is in normal form by itself, and stays so beside plain leaves over other attributes."""
    if type(leaf) is Range:
        stays = isinstance(leaf.attribute, str) or reduced(leaf) is leaf
        return stays and leaf.type is None and leaf.weight is None and not _is_empty(leaf)
    if type(leaf) is NotIn:
        return not leaf.strong
    return type(leaf) in (In, NotExists) or (type(leaf) is Exists and leaf.weight is None)


class LeafKeys:
    """Numbers plain leaves: those with one number have the same truth and the same score."""

    def __init__(self) -> None:
        self._normaliser = _Normaliser()

    def of(self, leaf: PlainLeaf) -> int:
        """Return a leaf's number."""
        return self._normaliser.key(leaf)


def _is_empty(leaf: Range) -> bool:
    """Return whether no value can lie inside the bounds; those of two kinds, which are refused, are left alone."""
    low = leaf.ge if leaf.gt is None else leaf.gt
    high = leaf.le if leaf.lt is None else leaf.lt
    if low is None or high is None or isinstance(low, str) != isinstance(high, str):
        return False
    return bool(low > high or (low == high and (leaf.gt is not None or leaf.lt is not None)))  # type: ignore[operator]


class _Join(NamedTuple):
    """Work for later: join the last ``arity`` results."""

    connective: Connective
    arity: int


_Work: TypeAlias = tuple[Expression | _Join, bool, bool]
"""What to do, whether it is negated, and whether a NOT stands above it."""


def _arguments(connective: Connective, node: Expression, negated: bool, silent: bool) -> list[_Work]:
    """Return the arguments of a connective, with those of the same connectives among them, so that chains are cheap."""
    found: list[_Work] = []
    pending = [(node, negated, silent)]
    while pending:
        node, negated, silent = pending.pop()
        if isinstance(node, Not):
            pending.append((node.arg, not negated, True))
        elif isinstance(node, And | Or) and (And if isinstance(node, And) != negated else Or) is connective:
            pending += [(arg, negated, silent) for arg in reversed(node.args)]
        else:
            found.append((node, negated, silent))
    return found


class _Normaliser:
    """One run over one expression; ``_numbers`` numbers what is met: truths are even, their negations odd."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def run(self, expression: Expression) -> Expression:
        """Walk the tree with a stack: a connective leaves a `_Join` below its arguments, which come first."""
        results: list[Part] = []
        work: list[_Work] = [(expression, False, False)]
        while work:
            node, negated, silent = work.pop()
            if isinstance(node, _Join):
                cut = len(results) - node.arity
                results[cut:] = [self._joined(node.connective, results[cut:])]
            elif isinstance(node, Not):
                work.append((node.arg, not negated, True))
            elif isinstance(node, And | Or):
                connective = And if isinstance(node, And) != negated else Or
                args = _arguments(connective, node, negated, silent)
                work.append((_Join(connective, len(args)), False, False))
                work += reversed(args)
            elif (plainer := reduced(node)) is not node:
                work.append((plainer, negated, silent))
            else:
                results.append(self._leaf(node, negated, silent))
        return results.pop().node

    def key(self, leaf: PlainLeaf) -> int:
        """Return the key of a plain leaf."""
        return self._leaf(leaf, negated=False, silent=False).key

    def _joined(self, connective: Connective, children: Iterable[Part]) -> Part:
        parts: list[Part] = []
        for child in children:
            parts += child.parts if isinstance(child.node, connective) else (child,)
        parts = simplified(connective, parts)
        if not parts:
            return TRUE_PART if connective is And else FALSE_PART
        if len(parts) == 1:
            return parts[0]
        number = self._number((connective, *(part.key for part in parts)))
        node = connective(tuple(part.node for part in parts))
        return Part(node, number, number, any(part.scores for part in parts), parts=tuple(parts))

    def _leaf(self, leaf: Expression, negated: bool, silent: bool) -> Part:
        match leaf:
            case In(attribute, values):
                return self._listed(leaf, attribute, values, negated, silent)
            case NotIn(attribute, values, strong):
                # Only a weak form under a NOT comes back as an IN, and then nothing under it scores.
                part = self._listed(In(attribute, values), attribute, values, not negated, silent=True)
                if not strong:
                    return part
                return self._joined(Or if negated else And, [self._presence(attribute, negated), part])
            case Exists(attribute):
                return self._presence(attribute, negated)
            case NotExists(attribute):
                return self._presence(attribute, not negated)
            case Within(attribute, values):
                listed = self._listed(In(attribute, values), attribute, values, negated, silent=True)
                part = self._test(Within(attribute, values), attribute, _keys(values), negated)
                return self._joined(Or if negated else And, [listed, part])
            case Matches(attribute, pattern):
                return self._test(Matches(attribute, pattern), attribute, pattern, negated)
            case Contains(attribute, text):
                return self._test(Contains(attribute, text), attribute, text, negated)
            case Range(attribute, gt, ge, lt, le):
                if _is_empty(leaf):
                    return TRUE_PART if negated else FALSE_PART
                return self._test(Range(attribute, gt, ge, lt, le), attribute, (gt, ge, lt, le), negated)
        raise TypeError(f"{type(leaf).__name__} is no leaf that can be reduced")

    def _listed(self, leaf: In, attribute: Attribute, values: tuple[Value, ...], negated: bool, silent: bool) -> Part:
        """Return an ``in`` or, negated, a ``not_in``."""
        name = attribute_name(attribute)
        truth = self._number((In, name, _keys(values)))
        presence = self._number((Exists, name))
        if negated:
            return Part(NotIn(attribute, values), truth ^ 1, truth ^ 1, scores=False, presence=presence)
        if silent or not can_score(leaf):
            return Part(silent_in(attribute, values), truth, truth, scores=False, presence=presence)
        key = self._number((In, name, tuple(map(value_key, values)), leaf.weights))
        return Part(leaf, key, truth, scores=True, presence=presence)

    def _presence(self, attribute: Attribute, negated: bool) -> Part:
        truth = self._number((Exists, attribute_name(attribute))) ^ negated
        return Part(NotExists(attribute) if negated else Exists(attribute), truth, truth, scores=False)

    def _test(self, leaf: Expression, attribute: Attribute, content: object, negated: bool) -> Part:
        """Return a leaf whose negation stays a NOT."""
        name = attribute_name(attribute)
        truth = self._number((type(leaf), name, content)) ^ negated
        return Part(Not(leaf) if negated else leaf, truth, truth, scores=False, presence=self._number((Exists, name)))

    def _number(self, identity: object) -> int:
        """Return the even number of an identity; 0 is TRUE's, so that FALSE has 1."""
        return self._numbers.setdefault(identity, 2 * len(self._numbers) + 2)


def _keys(values: Iterable[Value]) -> frozenset[object]:
    """Return what tells lists of values apart, without Python's equality of 1 and True."""
    return frozenset(map(value_key, values))
