"""The demo's generated subscriptions: each grows from a flight drawn at random, so they follow the flights' mix."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Node = dict[str, Any]
"""An expression node as it travels in JSON."""

Flight = Mapping[str, Any]
"""A flight as `stream.demo.flights.flight_events` makes it: nested."""

LISTED = {
    "dest": 5, "carrier": 4, "origin": 3, "weekday": 2, "hour": 1, "tags": 2, "airline.name": 1,
    "destination.zone": 1, "plane.manufacturer": 2, "plane.model": 2, "plane.seats": 1, "plane.tail": 1, "flight": 1,
}  # fmt: skip
"""Attributes that are compared with listed values, and how often relative to each other."""

MEASURED = {
    "dep_delay": 5, "arr_delay": 3, "distance": 3, "air_time": 2, "hour": 1, "plane.year": 1, "plane.seats": 1,
    "destination.lat": 1, "weather.temp": 1, "weather.wind_speed": 2, "weather.visib": 2, "weather.humid": 1,
}  # fmt: skip
"""Attributes that are compared with bounds."""

EXCLUDED = {"carrier": 4, "dest": 3, "weekday": 2, "tags": 2, "origin": 1, "plane.manufacturer": 1}
"""Attributes of which some values are ruled out."""

SELECTIVE = ("dest", "flight", "plane.tail", "plane.model")
"""Attributes one of which every subscription names, as people do: nobody asks for all flights of a weekday."""

OPTIONAL = {"weather.wind_gust": 1, "plane.year": 1, "arr_delay": 1, "tags": 1}
"""Attributes whose presence or absence may be asked for."""


def generated_subscriptions(flights: Sequence[Flight], count: int, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield ``count`` subscriptions with their ids, ``gen-00001`` and so on, each as the body its record carries.

    Parameters
    ----------
    flights
        Flights to draw from.
    count
        How many.
    seed
        Equal seeds and flights give equal subscriptions.
    """
    grower = _Grower(flights, random.Random(seed))
    for number in range(1, count + 1):
        yield f"gen-{number:05}", grower.subscription()


class _Grower:
    """Grows expressions from flights; all chance comes from one generator."""

    def __init__(self, flights: Sequence[Flight], chance: random.Random) -> None:
        self._flights = flights
        self._chance = chance

    def subscription(self) -> dict[str, Any]:
        return {
            "expression": self._expression(),
            "priority": round(self._chance.random() / 2, 2),
            "labels": {"who": "generated"},
        }

    def _expression(self) -> Node:
        """Return a conjunction of two to five predicates, the last of them sometimes inside an alternative."""
        flight = self._flight()
        predicates = [self._listed(flight, self._chance.choice([name for name in SELECTIVE if _values(flight, name)]))]
        wanted = self._chance.choices((2, 3, 4, 5), weights=(3, 4, 2, 1))[0]
        while len(predicates) < wanted:
            predicate = self._predicate(flight)
            if _attribute(predicate) not in map(_attribute, predicates):
                predicates.append(predicate)
        if wanted > 2 and self._chance.random() < 0.25:
            predicates[-2:] = [{"op": "or", "args": [predicates[-2], self._branch(predicates[-1])]}]
        return {"op": "and", "args": predicates}

    def _branch(self, predicate: Node) -> Node:
        """Return the predicate, or it together with one that another flight fulfils."""
        if self._chance.random() < 0.5:
            return predicate
        return {"op": "and", "args": [predicate, self._predicate(self._flight())]}

    def _predicate(self, flight: Flight) -> Node:
        """Return a predicate that holds for the flight."""
        kind = self._chance.choices(("listed", "measured", "excluded", "present"), weights=(45, 35, 15, 5))[0]
        if kind == "listed":
            return self._listed(flight, self._name(LISTED, flight))
        if kind == "measured":
            return self._measured(flight, self._name(MEASURED, flight))
        if kind == "excluded":
            return self._excluded(flight, self._name(EXCLUDED))
        return _present(flight, self._name(OPTIONAL))

    def _listed(self, flight: Flight, name: str) -> Node:
        """One of the flight's values and up to three of other flights, most of the time with weights."""
        own = self._chance.choice(_values(flight, name))
        values = list(dict.fromkeys([own, *self._others(name, self._chance.choice((0, 0, 1, 2, 3)))]))
        node: Node = {"op": "in", "attribute": name, "values": values}
        if self._chance.random() < 0.8:
            node["weights"] = [round(self._chance.random(), 2) for _ in values]
        return node

    def _measured(self, flight: Flight, name: str) -> Node:
        """A bound, or two, that include the flight's value and reach as far as another flight's."""
        low, *_, high = sorted([_values(flight, name)[0]] * 2 + self._others(name, 1))
        return {"op": "range", "attribute": name} | self._chance.choice(
            ({"ge": low}, {"le": high}, {"ge": low, "le": high})
        )

    def _excluded(self, flight: Flight, name: str) -> Node:
        """Values of other flights that this one does not have, in one of the three ways to rule them out."""
        own = _values(flight, name)
        values = list(dict.fromkeys(value for value in self._others(name, 3) if value not in own))
        if not values:
            return _present(flight, name)
        form = self._chance.choices(("weak", "strong", "not"), weights=(6, 2, 2))[0]
        if form == "not":
            return {"op": "not", "arg": {"op": "in", "attribute": name, "values": values}}
        strong = {"strong": True} if form == "strong" and own else {}
        return {"op": "not_in", "attribute": name, "values": values} | strong

    def _name(self, shares: Mapping[str, int], flight: Flight | None = None) -> str:
        """Draw an attribute; with a flight, one that it has."""
        names = [name for name in shares if flight is None or _values(flight, name)]
        return self._chance.choices(names, weights=[shares[name] for name in names])[0]

    def _flight(self) -> Flight:
        return self._chance.choice(self._flights)

    def _others(self, name: str, count: int) -> list[Any]:
        """Return one value each of flights drawn at random; fewer than ``count`` where a flight lacks the attribute."""
        drawn = [_values(self._flight(), name) for _ in range(count)]
        return [self._chance.choice(values) for values in drawn if values]


def _attribute(predicate: Node) -> str:
    name: str = predicate.get("arg", predicate)["attribute"]
    return name


def _present(flight: Flight, name: str) -> Node:
    return {"op": "exists" if _values(flight, name) else "not_exists", "attribute": name}


def _values(flight: Flight, name: str) -> list[Any]:
    """Return the values of a dotted attribute, none when the flight lacks it."""
    value: Any = flight
    for member in name.split("."):
        value = value.get(member)
        if value is None:
            return []
    return value if isinstance(value, list) else [value]
