"""perq (a percolator in Python, version 0.2) as a contender: ``pip install perq``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.compare.contender import Outcome, Pairs, Unable
from benchmarks.compare.plain import attribute_of, bounds_of, branches
from benchmarks.timing import fastest
from schemas.expression import And, Expression, In, Or, Range
from schemas.records import Event, Subscription

REPETITIONS = 2
SECONDS = 20.0


class Perq:
    """Its queries are ANDs of ORs of terms, with integer ranges; it has no exclusions and does not rank."""

    name = "perq"

    def __init__(self) -> None:
        try:
            import perq  # type: ignore[import-not-found]
        except ImportError:
            raise Unable("is not installed (pip install perq)") from None
        self._library: Any = perq
        self._store: Any = None
        self._owners: list[int] = []

    def build(self, subscriptions: Sequence[Subscription]) -> None:
        """See `benchmarks.compare.contender.Contender`."""
        self._owners, queries = [], []
        for number, (ordinal, branch) in enumerate(branches(subscriptions)):
            self._owners.append(ordinal)
            queries.append(self._query(number, branch))
        self._store = self._library.MemoryStore()
        self._library.index(queries, self._store)

    def match(self, events: Sequence[Event]) -> Outcome:
        """See `benchmarks.compare.contender.Contender`; making the documents is not timed."""
        matcher = self._library.QueryMatcher(self._store)
        documents = [self._document(event) for event in events]
        found = [{self._owners[n] for n in matcher.matches(document)} for document in documents]
        makers = [lambda document=document: document for document in documents]
        span = fastest(lambda document: list(matcher.matches(document)), makers, REPETITIONS, SECONDS)
        return Outcome(span.over(len(events)), None, Pairs.of_lists(found))

    def _query(self, number: int, expression: Expression) -> Any:
        terms: list[tuple[str, ...]] = []
        filters: list[Any] = []
        for arg in expression.args if isinstance(expression, And) else (expression,):
            if isinstance(arg, Range):
                low, high = bounds_of(arg)
                filters.append(self._library.RangeFilter(attribute_of(arg), gte=low, lte=high))
            else:
                leaves = arg.args if isinstance(arg, Or) else (arg,)
                terms.append(tuple(term for leaf in leaves for term in _terms(leaf)))
        return self._library.Query(number, terms, filters=filters)

    def _document(self, event: Event) -> Any:
        terms = [_term(name, value) for name, values in event.attributes.items() for value in values]
        numbers = {
            name: [value for value in values if isinstance(value, int)] for name, values in event.attributes.items()
        }
        return self._library.Document(terms, values=numbers)


def _terms(leaf: Expression) -> list[str]:
    if not isinstance(leaf, In):
        raise Unable(f"has nothing like {type(leaf).__name__} in a clause")
    return [_term(attribute_of(leaf), value) for value in leaf.values]


def _term(attribute: str, value: object) -> str:
    return f"{attribute}={value!r}"
