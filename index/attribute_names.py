"""Attributes as engines name them: a plain name stands for itself, a derived attribute has a name that no record holds.

The name of a derived attribute is NUL and then JSON: the attribute that records hold and the functions from the inside
out, each with its arguments. So a segment's dictionary knows derived attributes as it knows others, and whoever reads
it there knows how to derive it. The codecs refuse names that begin with NUL.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from schemas.expression import Attribute, Derive
from schemas.values import Value

_MARK = "\0["


class Step(NamedTuple):
    """A function of `schemas.derived` and its arguments."""

    function: str
    args: tuple[Value, ...]


class Derivation(NamedTuple):
    """How an attribute comes about: the one that records hold, and the steps from it on."""

    base: str
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """The name of an attribute that is derived, by one step at least."""
        steps = [[step.function, *step.args] for step in self.steps]
        return "\0" + json.dumps([self.base, *steps], separators=(",", ":"))


def attribute_name(attribute: Attribute) -> str:
    """Return the name of an attribute; equal names are one attribute."""
    return attribute if isinstance(attribute, str) else origin(attribute).name


def base_attribute(attribute: Attribute) -> str:
    """Return the attribute that records hold, which is the attribute itself or what it is derived from."""
    while isinstance(attribute, Derive):
        attribute = attribute.of
    return attribute


def origin(attribute: Attribute) -> Derivation:
    """Return how an attribute comes about, by no steps at all when records hold it."""
    steps: list[Step] = []
    while isinstance(attribute, Derive):
        steps.append(Step(attribute.function, attribute.args))
        attribute = attribute.of
    return Derivation(attribute, tuple(reversed(steps)))


def derivation(name: str) -> Derivation | None:
    """Return how the attribute of this name is derived; None for one that records hold."""
    if not name.startswith(_MARK):
        return None
    base, *steps = json.loads(name[1:])
    return Derivation(base, tuple(Step(function, tuple(args)) for function, *args in steps))
