"""The normal form: the same truth and the same scores, with negation at the leaves and nothing to simplify.

What comes out is an expression again, so the oracle can be asked whether it means what went in:

* leaves are ``in``, weak ``not_in``, ``range``, ``not range``, ``exists`` and ``not_exists``; a strong ``not_in`` is
  written out as ``exists and not_in``;
* an ``in`` that stood under a ``not`` has weights of zero, since nothing under a ``not`` scores;
* an AND holds no AND, an OR no OR, and neither has a single argument;
* AND() and OR(), true and false, stand alone, but for an AND() among an OR's scoring branches: such an OR is true and
  scores at least 0;
* no branch of an OR stands twice, and no argument of an AND that cannot score.

Nothing is multiplied out, so the result is at most a little longer than the expression. Nothing recurses: the nesting
may be as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.values import value_key

TRUE = And(())
FALSE = Or(())

Connective: TypeAlias = type[And] | type[Or]

_PLAIN_LEAVES = frozenset({In, Range, Exists, NotExists})


def normalise(expression: Expression) -> Expression:
    """Return the normal form of an expression."""
    return expression if _is_plain(expression) else _Normaliser().run(expression)


def can_score(leaf: Expression) -> bool:
    """Return whether a leaf in normal form may score other than 0."""
    return type(leaf) is In and (leaf.weights is None or any(leaf.weights))


def _is_plain(expression: Expression) -> bool:
    """Return whether this is one leaf or an AND of leaves without doubles, as nearly all subscriptions are.

    Python takes 1 and True for one value, so two leaves may seem to be doubles that are none; the long way finds out.
    """
    if type(expression) in _PLAIN_LEAVES:
        return True
    if type(expression) is not And or len(expression.args) < 2:
        return False
    for leaf in expression.args:
        if type(leaf) not in _PLAIN_LEAVES and (type(leaf) is not NotIn or leaf.strong):
            return False
    return len(set(expression.args)) == len(expression.args)


class _Part(NamedTuple):
    """A subtree in normal form; equal ``key`` means equal subtree, ``parts`` are the arguments of a connective."""

    node: Expression
    key: int
    scores: bool
    parts: tuple[_Part, ...] = ()


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
    """One run over one expression; ``_keys`` numbers the distinct subtrees met."""

    def __init__(self) -> None:
        self._keys: dict[object, int] = {}

    def run(self, expression: Expression) -> Expression:
        """Walk the tree with a stack: a connective leaves a `_Join` below its arguments, which come first."""
        results: list[_Part] = []
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
            else:
                results.append(self._leaf(node, negated, silent))
        return results.pop().node

    def _joined(self, connective: Connective, children: Iterable[_Part]) -> _Part:
        parts: list[_Part] = []
        for child in children:
            parts += child.parts if isinstance(child.node, connective) else (child,)
        parts = _distinct_and(parts) if connective is And else _distinct_or(parts)
        if len(parts) == 1:
            return parts[0]
        return _Part(
            connective(tuple(part.node for part in parts)),
            self._key((connective, *(part.key for part in parts))),
            any(part.scores for part in parts),
            tuple(parts),
        )

    def _leaf(self, leaf: Expression, negated: bool, silent: bool) -> _Part:
        match leaf:
            case In(attribute, values):
                if negated:
                    return self._part(NotIn(attribute, values))
                return self._part(In(attribute, values, (0.0,) * len(values)) if silent else leaf)
            case NotIn(attribute, values, strong):
                # Only a weak form under a NOT comes back as an IN, and then nothing under it scores.
                if not strong:
                    return self._part(In(attribute, values, (0.0,) * len(values)) if negated else leaf)
                presence = self._leaf(Exists(attribute), negated, silent)
                return self._joined(
                    Or if negated else And, [presence, self._leaf(NotIn(attribute, values), negated, silent)]
                )
            case Exists(attribute):
                return self._part(NotExists(attribute) if negated else leaf)
            case NotExists(attribute):
                return self._part(Exists(attribute) if negated else leaf)
        return self._part(Not(leaf) if negated else leaf)

    def _part(self, leaf: Expression) -> _Part:
        return _Part(leaf, self._key(_identity(leaf)), can_score(leaf))

    def _key(self, identity: object) -> int:
        return self._keys.setdefault(identity, len(self._keys))


def _distinct_and(parts: Sequence[_Part]) -> list[_Part]:
    """Drop doubles that cannot score; beside a false argument nothing else counts."""
    kept: list[_Part] = []
    seen: set[int] = set()
    for part in parts:
        if _is_empty(part, Or):
            return [part]
        if part.scores or part.key not in seen:
            kept.append(part)
        seen.add(part.key)
    return kept


def _distinct_or(parts: Sequence[_Part]) -> list[_Part]:
    """Drop doubles; beside a true branch, which scores 0, only branches that may score more count."""
    first: dict[int, _Part] = {}
    for part in parts:
        first.setdefault(part.key, part)
    distinct = list(first.values())
    true = [part for part in distinct if _is_empty(part, And)]
    return true + [part for part in distinct if part.scores] if true else distinct


def _is_empty(part: _Part, connective: Connective) -> bool:
    return isinstance(part.node, connective) and not part.parts


def _identity(leaf: Expression) -> object:
    """Return what distinguishes a leaf, without Python's equality of 1 and True."""
    match leaf:
        case In(attribute, values, weights):
            return (In, attribute, tuple(map(value_key, values)), weights)
        case NotIn(attribute, values):
            return (NotIn, attribute, tuple(map(value_key, values)))
    return leaf
