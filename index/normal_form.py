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
* no leaf is known to be false, or to say no more than ``exists``, by what its function results in
  (`index.derived_results`);
* `index.simplify` has left nothing that other arguments of the same connective make superfluous, and
  `index.propagation` nothing inside an argument.

Nothing is multiplied out, so the result is at most a few times longer than the expression. Nothing recurses: the
nesting may be as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias, TypeGuard

from index.attribute_names import attribute_name, base_attribute
from index.derived_results import Verdict, verdict
from index.parts import FALSE, FALSE_PART, TRUE, TRUE_PART, Connective, Part
from index.propagation import narrowed, settled
from index.reduction import reduced, silent_in
from index.simplify import simplified
from schemas.expression import (
    And,
    Attribute,
    Contains,
    Derive,
    Exists,
    Expression,
    In,
    Matches,
    Not,
    NotExists,
    NotIn,
    Or,
    Range,
    Within,
)
from schemas.values import Value, value_key

__all__ = ["FALSE", "TRUE", "can_score", "normalise", "silenced"]

ROUNDS = 8
"""How often at most the arguments of a connective are narrowed, each time by what the last time brought out."""

PlainLeaf: TypeAlias = In | Range | Exists | NotExists | NotIn


def normalise(expression: Expression, decides: bool = True) -> Expression:
    """Return the normal form of an expression.

    Parameters
    ----------
    expression
        The expression.
    decides
        Whether leaves that are known to be false become so. Those that are weighed stay as they are, because each has
        its part in the sum of the weights.
    """
    return expression if _is_plain(expression) else _Normaliser(decides).run(expression)


def silenced(expression: Expression) -> Expression:
    """Return the normal form of an expression's truth alone: nothing scores, so branches of an OR may go."""
    return normalise(Not(Not(expression)))


def can_score(leaf: Expression) -> bool:
    """Return whether a leaf in normal form may score other than 0."""
    return type(leaf) is In and (leaf.weights is None or any(leaf.weights))


def _is_plain(expression: Expression) -> bool:
    """Return whether this is one leaf or an AND of leaves over different attributes, as nearly all subscriptions are.

    What is derived from an attribute may contradict what is said of the attribute itself; the long way finds out.
    """
    if type(expression) is And:
        leaves = expression.args
        if len(leaves) < 2:
            return False
    else:
        leaves = (expression,)
    seen: set[str] = set()
    for leaf in leaves:
        if not is_plain_leaf(leaf):
            return False
        attribute = leaf.attribute
        base = attribute if type(attribute) is str else base_attribute(attribute)
        if base in seen:
            return False
        seen.add(base)
    return True


def is_plain_leaf(leaf: Expression) -> TypeGuard[PlainLeaf]:
    """Return whether a leaf is in normal form by itself, and stays so beside plain leaves over other attributes."""
    kind = type(leaf)
    if kind is Range:
        plain = leaf.type is None and leaf.weight is None and not _is_empty(leaf)  # type: ignore[union-attr, arg-type]
        plain = plain and (type(leaf.attribute) is str or reduced(leaf) is leaf)  # type: ignore[union-attr]
    elif kind is NotIn:
        plain = not leaf.strong  # type: ignore[union-attr]
    else:
        plain = kind is In or kind is NotExists or (kind is Exists and leaf.weight is None)  # type: ignore[union-attr]
    return plain and (type(leaf.attribute) is str or verdict(leaf) is None)  # type: ignore[union-attr]


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
    """One run over one expression.

    ``_numbers`` numbers what is met: truths are even, their negations odd. ``_opposed`` tells whether leaves over one
    attribute, or over what is derived from it, were met that may contradict each other, one negated and one not: it is
    seldom so, and nothing else needs propagation.

    Parameters
    ----------
    decides
        As in `normalise`.
    """

    def __init__(self, decides: bool = True) -> None:
        self._decides = decides
        self._numbers: dict[object, int] = {}
        self._wanting: set[str] = set()
        self._forbidding: set[str] = set()
        self._opposed = False

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
        parts = simplified(connective, _flat(connective, children))
        if self._opposed:
            parts = self._propagated(connective, parts)
        return self._connected(connective, parts)

    def _propagated(self, connective: Connective, parts: list[Part]) -> list[Part]:
        """Return what is left of simplified parts that refute one another, or something inside one another."""
        for _ in range(ROUNDS):
            parts = settled(connective, parts)
            left = narrowed(connective, parts)
            if not left:
                break
            inner: Connective = Or if connective is And else And
            parts = [self._put_together(inner, left[i]) if i in left else part for i, part in enumerate(parts)]
            parts = simplified(connective, _flat(connective, parts))
        return parts

    def _put_together(self, connective: Connective, parts: Sequence[Part]) -> Part:
        """Return some arguments of a connective as one part; these have been narrowed by one another before."""
        return self._connected(connective, simplified(connective, parts))

    def _connected(self, connective: Connective, parts: Sequence[Part]) -> Part:
        """Return simplified parts as one; where none scores, an OR is the negation of an AND of negations."""
        if not parts:
            return TRUE_PART if connective is And else FALSE_PART
        if len(parts) == 1:
            return parts[0]
        node = connective(tuple([part.node for part in parts]))
        if any([part.scores for part in parts]):  # noqa: C419 - a list is faster, and this is called very often
            number = self._number((connective, *[part.key for part in parts]))
            return Part(node, number, number, scores=True, parts=tuple(parts))
        negated = connective is Or
        number = self._number((And, frozenset([part.truth ^ negated for part in parts]))) ^ negated
        return Part(node, number, number, scores=False, parts=tuple(parts))

    def _leaf(self, leaf: Expression, negated: bool, silent: bool) -> Part:
        self._meet(leaf, negated)
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

    def _meet(self, leaf: Expression, negated: bool) -> None:
        """Take note of whether a leaf wants values of its attribute or forbids some; two kinds of leaves do both."""
        attribute: Attribute = leaf.attribute  # type: ignore[union-attr]
        base = attribute if type(attribute) is str else base_attribute(attribute)
        kind = type(leaf)
        if kind is Within or (kind is NotIn and leaf.strong):  # type: ignore[union-attr]
            self._opposed |= base in self._wanting or base in self._forbidding
            self._wanting.add(base)
            self._forbidding.add(base)
            return
        if kind is NotIn or kind is NotExists:
            negated = not negated
        if base in (self._wanting if negated else self._forbidding):
            self._opposed = True
        (self._forbidding if negated else self._wanting).add(base)

    def _listed(self, leaf: In, attribute: Attribute, values: tuple[Value, ...], negated: bool, silent: bool) -> Part:
        """Return an ``in`` or, negated, a ``not_in``."""
        if type(attribute) is Derive and (decided := self._decided(leaf, attribute, negated, silent)) is not None:
            return decided
        name = attribute_name(attribute)
        keys = tuple(map(value_key, values))
        truth = self._number((In, name, frozenset(keys)))
        presence = self._number((Exists, name))
        base = presence if type(attribute) is str else self._base(attribute)
        if negated:
            return Part(NotIn(attribute, values), truth ^ 1, truth ^ 1, False, presence, base=base)
        if silent or not can_score(leaf):
            return Part(silent_in(attribute, values), truth, truth, False, presence, base=base)
        key = self._number((In, name, keys, leaf.weights))
        return Part(leaf, key, truth, True, presence, base=base)

    def _presence(self, attribute: Attribute, negated: bool) -> Part:
        if self._decides and type(attribute) is Derive and verdict(Exists(attribute)) is not None:
            return TRUE_PART if negated else FALSE_PART
        number = self._number((Exists, attribute_name(attribute)))
        node, truth = NotExists(attribute) if negated else Exists(attribute), number ^ negated
        return Part(node, truth, truth, scores=False, base=number if type(attribute) is str else self._base(attribute))

    def _test(self, leaf: Expression, attribute: Attribute, content: object, negated: bool) -> Part:
        """Return a leaf whose negation stays a NOT."""
        if type(attribute) is Derive and (decided := self._decided(leaf, attribute, negated, True)) is not None:
            return decided
        name = attribute_name(attribute)
        truth = self._number((type(leaf), name, content)) ^ negated
        presence = self._number((Exists, name))
        node = Not(leaf) if negated else leaf
        base = presence if type(attribute) is str else self._base(attribute)
        return Part(node, truth, truth, False, presence, base=base)

    def _decided(self, leaf: Expression, attribute: Derive, negated: bool, silent: bool) -> Part | None:
        """Return what a leaf says whatever the event, or as soon as there is a result; None when it says more."""
        known = verdict(leaf) if self._decides else None
        if known is Verdict.NEVER:
            return TRUE_PART if negated else FALSE_PART
        if known is Verdict.WHEN_PRESENT and (negated or silent or not can_score(leaf)):
            return self._presence(attribute, negated)
        return None

    def _base(self, attribute: Attribute) -> int:
        """Return the truth of ``exists`` over what an attribute is derived from."""
        return self._number((Exists, base_attribute(attribute)))

    def _number(self, identity: object) -> int:
        """Return the even number of an identity; 0 is TRUE's, so that FALSE has 1."""
        return self._numbers.setdefault(identity, 2 * len(self._numbers) + 2)


def _flat(connective: Connective, parts: Iterable[Part]) -> list[Part]:
    """Return parts, those that are joined by the connective replaced by their arguments."""
    found: list[Part] = []
    for part in parts:
        found += part.parts if isinstance(part.node, connective) else (part,)
    return found


def _keys(values: Iterable[Value]) -> frozenset[object]:
    """Return what tells lists of values apart, without Python's equality of 1 and True."""
    return frozenset(map(value_key, values))
