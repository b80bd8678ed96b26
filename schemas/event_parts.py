"""What an event says beside its attributes, checked: weights, how many matches it wants, its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from schemas.errors import Refused
from schemas.limits import digits, shown
from schemas.values import INT64_MAX, INT64_MIN, WEIGHT_LIMIT, Value

Values = tuple[Value, ...]
Weights = tuple[float, ...]

TOP_LIMIT = 2**31 - 1
"""The highest ``top``: event blocks hold it in 32 bits."""


def event_weight(weight: Any, path: str) -> float:
    """Return an event's weight as a float, or refuse it."""
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise Refused("event.weights", f"a weight is a number, not {shown(weight)}", path)
    if not abs(weight) <= WEIGHT_LIMIT:  # true for NaN too
        raise Refused(
            "event.weights",
            f"the weight {digits(weight)} is not allowed; weights go from {-WEIGHT_LIMIT:,.0f} to {WEIGHT_LIMIT:,.0f}",
            path,
        )
    return float(weight)


def event_weights(
    members: Mapping[str, Any],
    attributes: Mapping[str, Values],
    path: str,
    by_value: type,
    resolve: Callable[[Any, Values, str], Weights],
) -> dict[str, Weights]:
    """Return an event's weights aligned with its values; those of absent attributes and values fall away.

    Parameters
    ----------
    members
        Attribute to one weight for all of its values, or to weights by value.
    attributes
        The event's.
    path
        Where the members stand.
    by_value
        The type that weights by value have in the record's format.
    resolve
        Aligns weights by value: (what was given, the values, its path) to one weight a value, or none.
    """
    weights: dict[str, Weights] = {}
    for name, given in members.items():
        place = f"{path}.{name}"
        values = attributes.get(name, ())
        if isinstance(given, by_value):
            resolved = resolve(given, values, place)
        else:
            resolved = (event_weight(given, place),) * len(values)
        if resolved:
            weights[name] = resolved
    return weights


def aligned(found: Iterable[float | None]) -> Weights:
    """Return one weight a value, 1 where none was found; nothing when none was found at all."""
    weights = tuple(found)
    if all(weight is None for weight in weights):
        return ()
    return tuple(1.0 if weight is None else weight for weight in weights)


def event_top(top: Any, path: str) -> int | None:
    """Return how many matches an event wants, None when it leaves that to the job."""
    if top is None:
        return None
    if isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= TOP_LIMIT:
        raise Refused(
            "event.top",
            f"top is {shown(top)}, but must be an integer from 1 to {TOP_LIMIT:,}; leave it out for the job's setting",
            path,
        )
    return top


def event_time(time: int | None) -> int | None:
    """Return an event time in microseconds; one that 64 bits can't hold (a producer's wrong unit) is refused."""
    if time is not None and not INT64_MIN < time <= INT64_MAX:
        raise Refused(
            "event.time",
            f"the record's timestamp is {time:,} microseconds after 1970, more than 64 bits hold; the producer must "
            "give milliseconds",
        )
    return time
