"""What the functions of derived attributes can result in at all, and which leaves over them that decides.

``length(x) < 0`` never holds, ``month(x) <= 12`` holds as soon as there is a month. What a function results in is
known by itself: a range of numbers, whether they are integers, of which letters a text may consist and how long it may
be. Results of inner functions count where the outer one passes them on, as ``substring`` does with letters.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias, TypeGuard

from index.intervals import AFTER_ALL, BEFORE_ALL, TEXTS, Interval, interval, point, prefix_of
from schemas.derived import FUNCTIONS, Args
from schemas.expression import (
    Attribute,
    Contains,
    Derive,
    Exists,
    Expression,
    In,
    Matches,
    NotExists,
    NotIn,
    Range,
    Within,
)
from schemas.texts import fold
from schemas.values import Value


class Verdict(Enum):
    """What is known of a leaf before any event is seen: that it never holds, or does whenever there is a result."""

    NEVER = "never"
    WHEN_PRESENT = "when present"


class Numbers(NamedTuple):
    """Results that are numbers.

    Attributes
    ----------
    inside
        Where they lie.
    integral
        Whether none of them has a fraction; infinities have none.
    nan
        Whether NaN may be among them.
    """

    inside: Interval
    integral: bool = False
    nan: bool = True


class Texts(NamedTuple):
    """Results that are texts.

    Attributes
    ----------
    fixed_by
        Functions that change no letter of them.
    longest
        How many code points they have at most, None where nothing is known.
    """

    fixed_by: tuple[Callable[[str], str], ...] = ()
    longest: int | None = None


Results: TypeAlias = Numbers | Texts | None
"""None stands for no results at all, as of the length of a number."""

ANY_NUMBER = Interval(float, BEFORE_ALL, AFTER_ALL)


def verdict(leaf: Expression) -> Verdict | None:
    """Return what is known of a leaf in normal form; None where it depends on the event.

    Of a ``not_in`` or ``not_exists`` this is what is known of the leaf that it negates.
    """
    if not isinstance(leaf, _LEAVES) or not isinstance(leaf.attribute, Derive):
        return None
    results = _results(leaf.attribute)
    if results is None or not _may_hold(leaf, results):
        return Verdict.NEVER
    return Verdict.WHEN_PRESENT if _must_hold(leaf, results) else None


_LEAVES = (In, NotIn, Range, Contains, Matches, Within, Exists, NotExists)


def _may_hold(leaf: Expression, results: Numbers | Texts) -> bool:
    match leaf:
        case In(_, values) | NotIn(_, values) | Within(_, values):
            return any(_possible(value, results) for value in values)
        case Range():
            taken = interval(leaf)
            return taken is None or _possible_inside(leaf, taken, results)
        case Contains(_, text):
            return _possible(text, results)
        case Matches():
            return isinstance(results, Texts)
    return True


def _must_hold(leaf: Expression, results: Numbers | Texts) -> bool:
    """Return whether no result keeps a leaf from holding."""
    match leaf:
        case Range():
            taken = interval(leaf)
            if isinstance(results, Texts):
                return taken == TEXTS
            return taken is not None and not results.nan and taken.covers(results.inside)
        case In(_, values) | NotIn(_, values) | Within(_, values) if _few(results):
            inside = {value for value in values if _possible(value, results)}
            return bool(len(inside) == results.inside.high[1] - results.inside.low[1] + 1)
    return False


def _few(results: Numbers | Texts) -> TypeGuard[Numbers]:
    """Return whether all results can be told: the integers from one to another."""
    if isinstance(results, Texts) or results.nan or not results.integral:
        return False
    return results.inside.low[0] == results.inside.high[0] == 0


def _possible(value: Value, results: Numbers | Texts) -> bool:
    """Return whether a value may be among the results."""
    if isinstance(results, Texts):
        return isinstance(value, str) and _possible_text(value, results)
    place = point(value)
    return place is not None and results.inside.covers(place) and (not results.integral or place.integral)


def _possible_text(text: str, results: Texts) -> bool:
    short = results.longest is None or len(text) <= results.longest
    return short and all(function(letter) == letter for function in results.fixed_by for letter in text)


def _possible_inside(leaf: Range, taken: Interval, results: Numbers | Texts) -> bool:
    """Return whether a result may lie in a range."""
    if isinstance(results, Texts):
        prefix = prefix_of(leaf)
        return taken.kind is str and (prefix is None or _possible_text(prefix, results))
    return taken.meets(results.inside) and (not results.integral or taken.integral)


@lru_cache(1024)
def _results(attribute: Derive) -> Results:
    """Return what a derived attribute may hold, from the inside out."""
    chain: list[Derive] = []
    inner: Attribute = attribute
    while isinstance(inner, Derive):
        chain.append(inner)
        inner = inner.of
    results: Results = None
    for place, step in enumerate(reversed(chain)):
        wanted = Texts if FUNCTIONS[step.function].takes is str else Numbers
        if place and not isinstance(results, wanted):
            return None
        results = _RESULTS[step.function](step.args, results if isinstance(results, Texts) else Texts())
    return results


def _integers(low: int, high: int) -> Callable[[Args, Texts], Results]:
    results = Numbers(Interval(float, (0, low, 0), (0, high, 1)), integral=True, nan=False)
    return lambda args, source: results


def _remainder(args: Args, source: Texts) -> Results:
    divisor = args[0]
    assert not isinstance(divisor, str)
    return Numbers(Interval(float, (0, -abs(divisor), 1), (0, abs(divisor), 0)))


def _length(args: Args, source: Texts) -> Results:
    high = AFTER_ALL if source.longest is None else (0, source.longest, 1)
    return Numbers(Interval(float, (0, 0, 0), high), integral=True, nan=False)


def _substring(args: Args, source: Texts) -> Results:
    given = [int(args[1])] if len(args) == 2 else []
    known = [] if source.longest is None else [source.longest]
    return Texts(source.fixed_by, min(given + known, default=None))


_RESULTS: Final[dict[str, Callable[[Args, Texts], Results]]] = {
    "mod": _remainder,
    **dict.fromkeys(("add", "subtract", "multiply", "divide"), lambda args, source: Numbers(ANY_NUMBER)),
    "abs": lambda args, source: Numbers(Interval(float, (0, 0, 0), AFTER_ALL)),
    **dict.fromkeys(("round", "floor", "ceil"), lambda args, source: Numbers(ANY_NUMBER, integral=True)),
    "lower": lambda args, source: Texts((str.lower,)),
    "upper": lambda args, source: Texts((str.upper,)),
    "substring": _substring,
    "length": _length,
    "year": _integers(1, 9999),
    "month": _integers(1, 12),
    "day": _integers(1, 31),
    "hour": _integers(0, 23),
    **dict.fromkeys(("minute", "second"), _integers(0, 59)),
    "~fold": lambda args, source: Texts((fold,)),
    "~reverse": lambda args, source: source,
    "~instant": lambda args, source: Numbers(ANY_NUMBER, integral=True, nan=False),
    **dict.fromkeys(("~version", "~address", "~tokens"), lambda args, source: Texts()),
}
"""What each function results in, by its arguments and by what it is applied to where that is a text."""
