"""The chunks of a block that are matched together, and how wide their masks are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

Words = Literal[1, 2, 4, 8, 32]
"""W: how many 64-bit words a mask has."""

CHOSEN: tuple[Words, ...] = (1, 8, 32)
"""Those that are chosen without being told: eight words are one instruction on many machines, so fewer save little."""


class Span(NamedTuple):
    """The block's ``chunk``-th chunk: events ``first`` to ``stop``, matched together with masks of ``words`` words.

    Events are numbered as in `index.block.translate.View`.
    """

    chunk: int
    first: int
    stop: int
    words: Words


def spans(cuts: Sequence[int], words: Words | None = None) -> list[Span]:
    """Return the chunks between cuts, with masks of ``words`` words (None: as the number of events suggests)."""
    return [Span(i, first, stop, words or fitting(stop - first)) for i, (first, stop) in enumerate(pairwise(cuts))]


def fitting(events: int) -> Words:
    """Return the words of the narrowest masks that hold so many events, or else of the widest."""
    return next((words for words in CHOSEN if 64 * words >= events), CHOSEN[-1])
