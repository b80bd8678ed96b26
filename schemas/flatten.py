"""From a nested record to an event's attributes: dotted names, lists as several values, what is empty left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from schemas.errors import Refused
from schemas.limits import Limits, integer_range, name_too_long, reserved_name
from schemas.values import INT64_MAX, INT64_MIN, Value, distinct_values

MAX_EVENT_DEPTH = 300
"""Levels of an event, whatever the setting; the walk recurses."""

Convert = Callable[[Any, str], Value]
"""Turns a scalar that is no `Value` yet into one, or refuses it at the given path."""


def flatten(record: Mapping[str, Any], limits: Limits, convert: Convert | None = None) -> dict[str, tuple[Value, ...]]:
    """Return the attributes of a record, each with its distinct values in the order of their first occurrence.

    A member of a nested object gets its parents' names in front, joined by dots. A list is several values, a list of
    objects several values per dotted name, a list in a list is one list. What two places call by one dotted name is
    one attribute. None, empty lists and empty objects are absent.

    Parameters
    ----------
    record
        Strings, booleans, integers, floats and None, in dicts and lists of any depth.
    limits
        Depth, name length and number of values of an attribute.
    convert
        For scalars of other types; without it there must be none.

    Raises
    ------
    Refused
        ``event.reserved``, ``event.too_deep``, ``attribute.name``, ``attribute.too_long``, ``value.integer_range``,
        ``value.list_too_long``, or what ``convert`` raises.
    """
    walk = _Walk(limits, convert)
    for name in record:
        if name < "%":  # one comparison rules out both reserved first characters, "$" and U+0000
            _check_first_character(name)
    walk.add_members("", record, 1)
    return walk.attributes()


def _check_first_character(name: str) -> None:
    if name.startswith("$"):
        raise Refused(
            "event.reserved",
            f"the member {name[:40]!r} begins with $, and of those only $weights and $top are known; rename it",
            f"$.{name[:40]}",
        )
    if name.startswith("\0"):
        raise reserved_name(name, "$")


class _Walk:
    """Collects values by dotted name: one value as a tuple, what may be several as a list, made distinct at the end.

    Lists grow in place, so that a long list of objects costs linear time.
    """

    def __init__(self, limits: Limits, convert: Convert | None) -> None:
        self._limits = limits
        self._depth = min(limits.depth, MAX_EVENT_DEPTH)
        self._name_limit = limits.attribute_length
        self._convert = convert
        self._found: dict[str, Any] = {}
        self._lists: list[str] = []

    def add_members(self, prefix: str, members: Mapping[str, Any], depth: int) -> None:
        found = self._found
        name_limit = self._name_limit
        for member, value in members.items():
            name = prefix + member
            kind = type(value)
            if kind is str or kind is float or kind is bool or (kind is int and INT64_MIN <= value <= INT64_MAX):
                if name not in found and len(name) <= name_limit:
                    found[name] = (value,)
                else:
                    self._append(name, value)
            elif kind is dict:
                if depth >= self._depth:
                    raise self._too_deep(name)
                self.add_members(name + ".", value, depth + 1)
            elif value is not None:
                self._add_other(name, value, depth)

    def _add_other(self, name: str, value: Any, depth: int) -> None:
        """Add what is neither an object nor a scalar in the range of its type."""
        if isinstance(value, list | tuple):
            if depth >= self._depth:
                raise self._too_deep(name)
            self._add_list(name, value, depth + 1)
        elif isinstance(value, int):
            raise integer_range(value, f"$.{name}")
        else:
            assert self._convert is not None, f"{type(value)} in a record whose format has none"
            self._append(name, self._convert(value, f"$.{name}"))

    def _add_list(self, name: str, values: Iterable[Any], depth: int) -> None:
        for value in values:
            kind = type(value)
            if kind is str or kind is float or kind is bool or (kind is int and INT64_MIN <= value <= INT64_MAX):
                self._append(name, value)
            elif kind is dict:
                if depth >= self._depth:
                    raise self._too_deep(name)
                self.add_members(name + ".", value, depth + 1)
            elif value is not None:
                self._add_other(name, value, depth)

    def _append(self, name: str, value: Value) -> None:
        held = self._found.get(name)
        if held is None:
            if len(name) > self._name_limit:
                raise name_too_long(name, self._limits, f"$.{name[:40]}")
            self._found[name] = [value]
            self._lists.append(name)
        elif isinstance(held, list):
            held.append(value)
        else:
            self._found[name] = [*held, value]
            self._lists.append(name)

    def _too_deep(self, name: str) -> Refused:
        return Refused(
            "event.too_deep",
            f"objects and arrays are nested deeper than {self._depth} levels (setting limits.depth, "
            f"up to {MAX_EVENT_DEPTH} for events); flatten the event",
            f"$.{name[:40]}",
        )

    def attributes(self) -> dict[str, tuple[Value, ...]]:
        for name in self._lists:
            distinct = _distinct(self._found[name])
            if len(distinct) > self._limits.list_length:
                raise Refused(
                    "value.list_too_long",
                    f"the attribute has {len(distinct):,} distinct values; at most {self._limits.list_length:,} are "
                    "allowed (setting limits.list_length)",
                    f"$.{name}",
                )
            self._found[name] = distinct
        return self._found


def _distinct(values: list[Value]) -> tuple[Value, ...]:
    """Return the values without repetitions; among strings, or integers, Python's equality is the rule, and faster."""
    if len(values) == 1:
        return (values[0],)
    kinds = set(map(type, values))
    return tuple(dict.fromkeys(values)) if kinds == {str} or kinds == {int} else distinct_values(values)
