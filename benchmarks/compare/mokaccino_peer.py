"""mokaccino (a percolator in Rust with a Python binding, version 0.9) as a contender: ``pip install mokaccino``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

from benchmarks.compare.contender import Outcome, Pairs, Unable
from benchmarks.compare.plain import Makers, attribute_of, bounds_of, branches, translate
from benchmarks.timing import fastest
from schemas.expression import And, In, NotIn, Or, Range
from schemas.records import Event, Subscription

REPETITIONS = 2
SECONDS = 20.0


class Mokaccino:
    """Its documents hold texts, so numbers become texts; it matches one document at a time and does not rank."""

    name = "mokaccino"

    def __init__(self) -> None:
        try:
            import mokaccino  # type: ignore[import-not-found]
        except ImportError:
            raise Unable("is not installed (pip install mokaccino)") from None
        self._library: Any = mokaccino
        self._index: Any = None
        self._owners: list[int] = []

    def build(self, subscriptions: Sequence[Subscription]) -> None:
        """See `benchmarks.compare.contender.Contender`."""
        index, makers = self._library.Percolator(), self._makers()
        self._owners = []
        for number, (ordinal, branch) in enumerate(branches(subscriptions)):
            index.add_query_id(translate(branch, makers), number)
            self._owners.append(ordinal)
        self._index = index.optimized()

    def match(self, events: Sequence[Event]) -> Outcome:
        """See `benchmarks.compare.contender.Contender`; making the documents is not timed."""
        documents = [self._document(event) for event in events]
        found = [{self._owners[n] for n in self._index.percolate_list(document)} for document in documents]
        makers = [lambda document=document: document for document in documents]
        span = fastest(self._index.percolate_list, makers, REPETITIONS, SECONDS)
        return Outcome(span.over(len(events)), None, Pairs.of_lists(found))

    def _document(self, event: Event) -> Any:
        document = self._library.Document()
        for attribute, values in event.attributes.items():
            for value in values:
                document.add_value(attribute, str(value))
        return document

    def _makers(self) -> Makers[Any]:
        query = self._library.Query

        def listed(leaf: In | NotIn) -> Any:
            return reduce(or_, [query.from_kv(attribute_of(leaf), str(value)) for value in leaf.values])

        def between(leaf: Range) -> Any:
            low, high = bounds_of(leaf)
            return query.from_kge(attribute_of(leaf), low) & query.from_kle(attribute_of(leaf), high)

        return {
            And: lambda args: reduce(and_, args),
            Or: lambda args: reduce(or_, args),
            In: listed,
            NotIn: lambda leaf: ~listed(leaf),
            Range: between,
        }
