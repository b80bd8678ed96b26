"""Clauses as trees while a segment is built: what is tested and what scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from index.block.vocabulary import Literal


class Test(NamedTuple):
    """A literal in a tree, and the leaf by which it scores, or NO_LEAF."""

    literal: Literal
    leaf: int


class Constant(NamedTuple):
    """What a branch scores besides, in units of 1 / SCORE_SCALE; only in trees that are scored, never tested."""

    points: int


@dataclass(slots=True)
class Branch:
    """An AND or OR in a tree; the arguments of one are literals and the other."""

    conjunction: bool
    args: list[Node]
    scores: bool


Node: TypeAlias = Test | Branch | Constant


def postorder(root: Branch) -> list[Branch]:
    """Return the branches of a tree, each after those below it."""
    found = [root]
    for branch in found:
        found += [arg for arg in branch.args if isinstance(arg, Branch)]
    return found[::-1]
