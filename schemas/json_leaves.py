"""Leaves of JSON subscriptions by their text: each is decoded and checked once, and equal texts give one object.

Most leaves of a large population repeat, so a bulk load spends its time on what differs. Whatever is out of the
ordinary is left to the codec, which says what is wrong with it.
"""

from __future__ import annotations

from functools import cache

import msgspec

from schemas.check_leaf import check_leaf
from schemas.errors import Refused
from schemas.expression import And, Expression, Leaf, Or
from schemas.limits import Limits

KEPT = 2**16
"""So many texts are remembered; then remembering begins anew."""

DEPTH = 4
"""Trees of more levels are left to the codec: each level is scanned once more for every level above it."""


class Known(msgspec.Struct, frozen=True, gc=False):
    """A tree that is allowed in mode all.

    Attributes
    ----------
    node
        The tree.
    leaves
        How many leaves it has.
    magnitude
        The sum of its weights' magnitudes, as `schemas.check` counts it.
    """

    node: Expression
    leaves: int
    magnitude: float


class _And(msgspec.Struct, tag_field="op", tag="and", forbid_unknown_fields=True):
    args: list[msgspec.Raw]


class _Or(msgspec.Struct, tag_field="op", tag="or", forbid_unknown_fields=True):
    args: list[msgspec.Raw]


_decode_connective = msgspec.json.Decoder(_And | _Or).decode
_decode_leaf = msgspec.json.Decoder(Leaf).decode


class JsonLeaves:
    """The leaves met so far, checked by one set of limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known: dict[bytes, Known] = {}
        self._depth = DEPTH if limits.depth > DEPTH else 0

    def tree(self, text: bytes, depth: int = 1) -> Known | None:
        """Return the tree of a JSON text; None when it is deep, has a NOT, or is not allowed."""
        found = self._known.get(text)
        if found is not None:
            return found
        if text.count(b"{") == 1:
            return self._leaf(text)
        if depth > self._depth:
            return None
        try:
            connective = _decode_connective(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._leaf(text)  # over a derived attribute, or a mistake that the codec will find again
        known_leaf = self._known.get
        nodes: list[Expression] = []
        leaves, magnitude = 0, 0.0
        for arg in map(bytes, connective.args):
            known = known_leaf(arg) or self.tree(arg, depth + 1)
            if known is None:
                return None
            nodes.append(known.node)
            leaves += known.leaves
            magnitude += known.magnitude
        args = tuple(nodes)
        return Known(And(args) if type(connective) is _And else Or(args), leaves, magnitude)

    def _leaf(self, text: bytes) -> Known | None:
        try:
            leaf = _decode_leaf(text)
            known = Known(leaf, 1, check_leaf(leaf, self._limits, "all"))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, Refused):
            return None
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[text] = known
        return known


@cache
def json_leaves(limits: Limits, analyser: str) -> JsonLeaves:
    """Return this process's leaves for these limits, and for this analyser, which says what a word is."""
    return JsonLeaves(limits)
