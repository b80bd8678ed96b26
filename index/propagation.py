"""What the arguments of one AND or OR say of one another, and of the arguments inside one another.

An AND holds only where all its arguments do, so one that others refute makes it false, and inside an OR among them the
arguments that others refute have no say, whether they score or not. This is unit propagation. An OR is looked at as the
AND of the opposites that its negation is: only where it is false do all these hold. There nothing scores, so whatever
may score is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from index.parts import FALSE_PART, TRUE_PART, Connective, Part
from index.refutation import Refuter, literal
from schemas.expression import Or, Within


def settled(connective: Connective, parts: list[Part]) -> list[Part]:
    """Return the arguments, or what is left of them when leaves among them make an AND false or an OR true.

    Parameters
    ----------
    connective
        What joins the parts.
    parts
        No part is itself joined by that connective. Beside a true branch, those that may score are left of an OR.
    """
    flipped = connective is Or
    if not _contradictory([part for part in parts if part.base >= 0 and not (flipped and part.scores)], flipped):
        return parts
    return [TRUE_PART, *(part for part in parts if part.scores)] if flipped else [FALSE_PART]


def _contradictory(leaves: Sequence[Part], flipped: bool) -> bool:
    """Return whether leaves, or their opposites, can't all hold."""
    negated = {part.base for part in leaves if part.negated or _is_within(part)}
    shared = negated & {part.base for part in leaves if not part.negated or _is_within(part)}
    literals = [literal(part.node, flipped) for part in leaves if part.base in shared]
    refuter = Refuter(literals)
    return any(refuter.refutes(each) for each in literals if each.wants_value)


def narrowed(connective: Connective, parts: Sequence[Part]) -> dict[int, list[Part]]:
    """Return by place what is left of those arguments inside which something has no say.

    All of them may be put into place together: each is narrowed by what the others hold as they stand.
    """
    flipped = connective is Or
    usable = [(place, part) for place, part in enumerate(parts) if not (flipped and part.scores)]
    groups = [(place, part) for place, part in usable if part.parts]
    if not groups:
        return {}
    asked = _Propagation([part for _, part in usable], flipped)
    left = {place: [inner for inner in part.parts if not asked.rules_out(inner)] for place, part in groups}
    return {place: kept for place, kept in left.items() if len(kept) < len(parts[place].parts)}


class _Propagation:
    """The arguments of a connective, in order to ask which arguments inside them they leave without a say."""

    def __init__(self, parts: Sequence[Part], flipped: bool) -> None:
        self._flipped = flipped
        self._refuted = {part.truth ^ 1 for part in parts}
        self._leaves = [part for part in parts if part.base >= 0]
        self._bases = {part.base for part in self._leaves}
        self._refuter: Refuter | None = None

    def rules_out(self, part: Part) -> bool:
        """Return whether an argument two levels down has no say, by itself or by one of its own arguments."""
        return self._rules_out(part) or any(map(self._rules_out, part.parts))

    def _rules_out(self, part: Part) -> bool:
        return part.truth in self._refuted or (part.base in self._bases and self._ask(part))

    def _ask(self, part: Part) -> bool:
        if self._refuter is None:
            self._refuter = Refuter([literal(leaf.node, self._flipped) for leaf in self._leaves])
        return self._refuter.refutes(literal(part.node, self._flipped))


def _is_within(part: Part) -> bool:
    node = part.node
    return type(getattr(node, "arg", node)) is Within
