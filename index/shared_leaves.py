"""Expressions from MessagePack with one object for equal leaves, so that a merge's build need not compare them."""

from __future__ import annotations

import msgspec

from index.kept_tree import Kept, restored
from schemas.expression import And, Expression, Or

KEPT = 2**18
"""So many leaves are remembered; then remembering begins anew."""


class _Connective(msgspec.Struct):
    op: str
    args: list[msgspec.Raw]


_decode_connective = msgspec.msgpack.Decoder(_Connective).decode
_decode = msgspec.msgpack.Decoder(Kept).decode
_BEGINNINGS = tuple(msgspec.msgpack.encode(node)[:-1] for node in (And(()), Or(())))
"""How a connective begins, up to the number of its arguments."""


class SharedLeaves:
    """Decodes expressions as `index.segment` writes them; leaves with equal bytes are one object."""

    def __init__(self) -> None:
        self._known: dict[bytes, Expression] = {}

    def expression(self, data: bytes) -> Expression:
        """Return an expression; below the second level it is decoded at once, without sharing, as is a deep one."""
        return self._joined(data, 2) if data.startswith(_BEGINNINGS) else self._leaf(data)

    def _joined(self, data: bytes, levels: int) -> Expression:
        connective = _decode_connective(data)
        known = self._known.get
        args = []
        for arg in map(bytes, connective.args):
            node = known(arg)
            if node is None:
                node = self._joined(arg, levels - 1) if levels > 1 and arg.startswith(_BEGINNINGS) else self._leaf(arg)
            args.append(node)
        return And(tuple(args)) if connective.op == "and" else Or(tuple(args))

    def _leaf(self, data: bytes) -> Expression:
        found = self._known.get(data)
        if found is not None:
            return found
        decoded = restored(_decode(data))
        if not data.startswith(_BEGINNINGS):
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[data] = decoded
        return decoded
