"""Many regular expressions over one text: RE2 runs whole groups of them in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import re2

from index.pattern_start import closed
from schemas.patterns import compile_pattern

OPEN_GROUP, CLOSED_GROUP = 64, 1024
"""Patterns in a group: of those that can go on without end from the first character all stay alive to the end of a
text, so that a pass over more of them at once meets new states all the time; of the others nearly all have failed after
some characters."""

GROUP_MEMORY = 4 << 20
"""Bytes that RE2 may use for the states of a group, before it forgets them and begins anew."""

_ALWAYS = b"\\C*"
"""Matches everything: a pass that has not found it has failed for want of memory, which RE2 does not tell."""


class Patterns:
    """Patterns in columns, compiled when first asked.

    Parameters
    ----------
    patterns
        Patterns that `schemas.patterns.compile_pattern` accepts, ascending.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._opened: list[_Group] | None = None

    def matching(self, text: str) -> list[int]:
        """Return the places of the patterns that match the whole of a text."""
        if self._opened is None:
            self._opened = list(_groups(self._patterns))
        return [place for group in self._opened for place in group.matching(text)]


class _Group:
    """Patterns that are run together, and each by itself when RE2 has no room for that; ``places`` are theirs."""

    def __init__(self, places: Sequence[int], patterns: Sequence[str]) -> None:
        self._places = places
        self._patterns = patterns
        self._together = _together(patterns)

    def matching(self, text: str) -> list[int]:
        found = None if self._together is None else self._together.Match(text)
        if found is not None:
            return [self._places[place - 1] for place in found if place]
        alone = zip(self._places, self._alone, strict=True)
        return [place for place, pattern in alone if pattern.fullmatch(text) is not None]

    @cached_property
    def _alone(self) -> list[Any]:
        return [compile_pattern(pattern) for pattern in self._patterns]


def _groups(patterns: Sequence[str]) -> Iterator[_Group]:
    are_closed = closed(patterns)
    for kind, size in ((False, OPEN_GROUP), (True, CLOSED_GROUP)):
        places = [place for place, is_closed in enumerate(are_closed) if is_closed is kind]
        for start in range(0, len(places), size):
            group = places[start : start + size]
            yield _Group(group, [patterns[place] for place in group])


def _together(patterns: Sequence[str]) -> Any:
    """Return a set of RE2 with `_ALWAYS` and then the patterns, or None when it has no room for them."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = GROUP_MEMORY
    together = re2.Set.FullMatchSet(options)
    try:
        for pattern in (_ALWAYS, *patterns):
            together.Add(pattern)
        together.Compile()
    except re2.error:
        return None
    return together
