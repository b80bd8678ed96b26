"""Ranges of instants by a hierarchy of calendar units: parts of a day, days, months, years, groups of years.

Whang et al., "Indexing Boolean Expressions", section 2.3: a long range is cut into few units of different sizes, and an
event's value is expanded into all the units in which it lies. The range 2006-12 to 2009-01 is one month, two years, one
month. Days are cut in halves of a day of 2**37 microseconds, of which the last do not occur, and years are grouped in
twos, fours and so on, so that bounds to the microsecond and open ranges have short covers too.

A node is a level and a number; instants are microseconds since 1970-01-01T00:00:00Z.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]

DAY_LEVEL = 37
"""Levels below are binary parts of a day; the level itself counts days since 1970-01-01."""
MONTH_LEVEL = DAY_LEVEL + 1
"""Months since 1970-01."""
YEAR_LEVEL = MONTH_LEVEL + 1
"""Years since `FIRST_YEAR`; each level above holds groups of twice as many."""
LEVELS = YEAR_LEVEL + 14

FIRST_YEAR = -3
LAST_YEAR = 10_002

_DAY = 86_400_000_000


class Node(NamedTuple):
    """A unit of time; ``number`` counts units of its level."""

    level: int
    number: int


def _begin(year: int) -> int:
    """Return the first instant of a year."""
    return int(np.array([year - 1970]).astype("datetime64[Y]").astype("datetime64[us]").astype(np.int64)[0])


BEGIN = _begin(FIRST_YEAR)
END = _begin(LAST_YEAR)
"""What the nodes hold: the begin of the first year to that of the last, excluded. Open ranges end here."""

EARLIEST = _begin(FIRST_YEAR + 1)
LATEST = _begin(LAST_YEAR - 1)
"""Bounds lie between these, the latter excluded, so that all instants before and after stand on one side of each."""


def cover(low: int, high: int) -> list[Node]:
    """Return disjoint nodes that hold exactly the instants from ``low`` to ``high``, the latter excluded."""
    return list(_instants(_position(low), _position(high)))


def _position(instant: int) -> int:
    day, micro = divmod(instant, _DAY)
    return day << DAY_LEVEL | micro


def _instants(low: int, high: int) -> Iterator[Node]:
    first_day, last_day = -(-low >> DAY_LEVEL), high >> DAY_LEVEL
    if first_day > last_day:
        yield from _halves(0, low, high, DAY_LEVEL)
        return
    yield from _halves(0, low, first_day << DAY_LEVEL, DAY_LEVEL)
    yield from _days(first_day, last_day)
    yield from _halves(0, last_day << DAY_LEVEL, high, DAY_LEVEL)


def _days(low: int, high: int) -> Iterator[Node]:
    months = np.array([low, high], "datetime64[D]").astype("datetime64[M]")
    starts = months.astype("datetime64[D]").astype(np.int64).tolist()
    first, last = months.astype(np.int64).tolist()
    if starts[0] < low:
        first += 1
    if first > last:
        yield from (Node(DAY_LEVEL, day) for day in range(low, high))
        return
    begin = int(np.array([first]).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)[0])
    yield from (Node(DAY_LEVEL, day) for day in range(low, begin))
    yield from _months(first, last)
    yield from (Node(DAY_LEVEL, day) for day in range(starts[1], high))


def _months(low: int, high: int) -> Iterator[Node]:
    first, last = -(-low // 12), high // 12
    if first > last:
        yield from (Node(MONTH_LEVEL, month) for month in range(low, high))
        return
    yield from (Node(MONTH_LEVEL, month) for month in range(low, first * 12))
    yield from _halves(YEAR_LEVEL, first + 1970 - FIRST_YEAR, last + 1970 - FIRST_YEAR, LEVELS - 1)
    yield from (Node(MONTH_LEVEL, month) for month in range(last * 12, high))


def _halves(level: int, low: int, high: int, top: int) -> Iterator[Node]:
    """Yield binary nodes over the numbers from ``low`` to ``high``, none above level ``top``."""
    while low < high and level < top:
        if low & 1:
            yield Node(level, low)
            low += 1
        if high & 1 and low < high:
            high -= 1
            yield Node(level, high)
        low, high, level = low >> 1, high >> 1, level + 1
    yield from (Node(level, number) for number in range(low, high))


def numbers(instants: Int64s, level: int) -> Int64s:
    """Return the number of the level's node in which each instant lies."""
    instants = np.clip(instants, EARLIEST - 1, LATEST)
    if level < MONTH_LEVEL:
        day = instants // _DAY
        found: Int64s = (day << DAY_LEVEL | (instants - day * _DAY)) >> level
    else:
        unit = "datetime64[M]" if level == MONTH_LEVEL else "datetime64[Y]"
        found = instants.astype("datetime64[us]").astype(unit).astype(np.int64)
        if level > MONTH_LEVEL:
            found = (found + (1970 - FIRST_YEAR)) >> (level - YEAR_LEVEL)
    return found


def spell(node: Node) -> bytes:
    """Return a node as a dictionary key; no value's bytes begin with its letter."""
    return b"d" + bytes((node.level,)) + node.number.to_bytes(8, "little", signed=True)


def spell_all(level: int, numbers_: Int64s) -> list[bytes]:
    """Return nodes of one level as dictionary keys."""
    head = b"d" + bytes((level,))
    return [head + number.to_bytes(8, "little", signed=True) for number in numbers_.tolist()]
