"""The demo's proof: notifications of events drawn at random against the oracle over all subscriptions.

Twenty thousand subscriptions times a thousand events are too many for the oracle, which is slow by intent. A
subscription is therefore only put to it when the event has one of the subscription's *required values*; the oracle says
everything else: whether it matches, with what score, and in which order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from index.oracle import as_score, best_matches
from schemas.expression import And, Expression, In, Or
from schemas.records import Event, Subscription
from schemas.values import ValueKey, value_key

Required = frozenset[tuple[str, ValueKey]]
"""Pairs of attribute and value, one of which an event must have to meet an expression."""

Answer = list[tuple[int, str, float]]
"""Rank, subscription and score of an event's notifications, best first."""


@dataclass(frozen=True)
class Difference:
    """An event for which the notifications are not what the oracle says."""

    event: int
    expected: Answer
    found: Answer


def differences(
    subscriptions: Sequence[Subscription],
    events: Sequence[tuple[int, Event]],
    found: Callable[[int], Answer],
    top: int,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Difference]:
    """Return where notifications and oracle differ.

    Parameters
    ----------
    subscriptions
        All that were in force when the events came.
    events
        The events to check with their numbers.
    found
        Returns the notifications of an event, by number, in order of rank.
    top
        How many matches an event was to have at most.
    progress
        Told how many events are done.
    """
    candidates = Candidates(subscriptions, [event for _, event in events])
    different = []
    for done, (number, event) in enumerate(events, 1):
        best = best_matches(candidates.of(event), event, top)
        expected = [(rank, id_, as_score(points)) for rank, (id_, points) in enumerate(best, 1)]
        if found(number) != expected:
            different.append(Difference(number, expected, found(number)))
        progress(done)
    return different


class Candidates:
    """The subscriptions that an event can match at all, by their required values.

    Parameters
    ----------
    subscriptions
        All of them; one without required values is a candidate for every event.
    sample
        Events that tell which values are rare; this changes the speed, never the answer.
    """

    def __init__(self, subscriptions: Iterable[Subscription], sample: Iterable[Event]) -> None:
        self._common = Counter(pair for event in sample for pair in _pairs(event))
        self._by_pair: dict[tuple[str, ValueKey], list[Subscription]] = defaultdict(list)
        self._always: list[Subscription] = []
        for subscription in subscriptions:
            required = self.required(subscription.expression)
            if required is None:
                self._always.append(subscription)
            for pair in required or ():
                self._by_pair[pair].append(subscription)

    def of(self, event: Event) -> list[Subscription]:
        """Return every subscription that may match the event, each once."""
        met = {s.id: s for pair in _pairs(event) for s in self._by_pair.get(pair, ())}
        return [*met.values(), *self._always]

    def required(self, expression: Expression) -> Required | None:
        """Return pairs one of which an event must have for the expression to be true; None where there are none.

        ``in`` is false for an event without any of its values. AND is false when one argument is, so any argument's
        pairs will do, and those met by the fewest events are taken. OR is true only when some argument is, so it needs
        all arguments' pairs together. Everything else may be true for an event without any given value.
        """
        match expression:
            case In(str() as attribute, values):
                return frozenset((attribute, value_key(value)) for value in values)
            case And(args):
                known = [pairs for arg in args if (pairs := self.required(arg)) is not None]
                return min(known, key=lambda pairs: sum(self._common[pair] for pair in pairs), default=None)
            case Or(args):
                alternatives = [self.required(arg) for arg in args]
                if None in alternatives:
                    return None
                return frozenset().union(*(pairs for pairs in alternatives if pairs is not None))
            case _:
                return None


def _pairs(event: Event) -> Iterable[tuple[str, ValueKey]]:
    return ((name, value_key(value)) for name, values in event.attributes.items() for value in values)
