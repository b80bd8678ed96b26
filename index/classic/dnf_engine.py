"""The frame of the engines over distinct conjunctions: what they take, and how a segment begins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from index.arrays import Arrays, Int32s
from index.block.vocabulary import Vocabulary
from index.classic.clauses import Clause
from index.classic.conjunctions import disjunction, read_conjunctions
from index.classic.keys import KeyTable, number_keys
from index.classic.literals import LiteralReader
from index.classic.ranges import Method
from index.engine import Matcher, Parts
from schemas.records import Subscription


class DnfEngine(ABC):
    """An engine over conjunctions.

    Parameters
    ----------
    ranges
        How range predicates become keys: `index.classic.ranges`.
    """

    name: ClassVar[str]

    def __init__(self, ranges: Method = "hierarchy") -> None:
        self._ranges: Method = ranges

    def check(self, subscription: Subscription) -> None:
        """See `index.engine.SelectiveEngine.check`."""
        disjunction(self.name, LiteralReader(self.name), subscription)

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        """Build a segment's arrays; see `index.engine.Engine.build`."""
        reader = LiteralReader(self.name)
        conjunctions = read_conjunctions(self.name, reader, subscriptions)
        table = number_keys(reader.vocabulary, self._ranges)
        arrays, number = self.arrays(reader.vocabulary, table, list(conjunctions.distinct))
        owners = conjunctions.arrays(number)
        return table.arrays | arrays | owners | self.bounds(arrays, owners)

    @abstractmethod
    def arrays(self, vocabulary: Vocabulary, table: KeyTable, conjunctions: Sequence[Clause]) -> tuple[Arrays, Int32s]:
        """Return the engine's own parts, and the number that each of the conjunctions has in them."""

    def bounds(self, arrays: Arrays, owners: Arrays) -> Arrays:
        """Return parts that need to know whose a conjunction is."""
        return {}

    @abstractmethod
    def open(self, parts: Parts) -> Matcher:
        """Wrap a segment's arrays; nothing is copied."""
