"""Families: the derived attributes that a segment names, grouped by the attribute and function that they come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakValueDictionary

from index.attribute_names import Derivation, derivation
from index.exact_numbers import ExactNumbers
from schemas.values import Value


@dataclass(frozen=True, eq=False)
class Family:
    """Attributes that differ in the last function's arguments alone.

    Attributes
    ----------
    source
        The attribute that they are derived from: its name, or its family, in which it is alone.
    function
        The function that derives them.
    names, args
        One a member: its name, and the function's arguments.
    """

    source: str | Family
    function: str
    names: tuple[str, ...]
    args: tuple[tuple[Value, ...], ...]

    @cached_property
    def operands(self) -> ExactNumbers:
        """One a member: its argument, if numbers are what the function takes; 0 where there is none."""
        return ExactNumbers.of([args[0] if args else 0 for args in self.args])  # type: ignore[misc]


_FAMILIES: WeakValueDictionary[tuple[str, ...], Family] = WeakValueDictionary()
"""Those in use, by their members' names."""


def families(names: Iterable[str]) -> tuple[Family, ...]:
    """Return the families of distinct derived attributes, in an order that the names alone decide.

    Segments that name the same members are given one object, so that a block can keep what it derived under it.
    """
    members: dict[tuple[str, str], list[tuple[str, Derivation]]] = {}
    for name in sorted(names):
        made = derivation(name)
        if made is None:
            raise ValueError(f"{name!r:.80} is no derived attribute")
        of = Derivation(made.base, made.steps[:-1]).name
        members.setdefault((of, made.steps[-1].function), []).append((name, made))
    return tuple(map(_family, members.values()))


def _family(members: list[tuple[str, Derivation]]) -> Family:
    names = tuple(name for name, _ in members)
    known = _FAMILIES.get(names)
    if known is None:
        base, steps = members[0][1]
        inner = Derivation(base, steps[:-1])
        source = _family([(inner.name, inner)]) if inner.steps else base
        args = tuple(made.steps[-1].args for _, made in members)
        known = _FAMILIES[names] = Family(source, steps[-1].function, names, args)
    return known
