"""Derived attributes: the functions that may stand before a leaf, what they take, and what they make of a value.

A function meets the values of an attribute one by one; a value of a kind that it does not take gives no result.
Functions whose names begin with ``~`` are the engines' own and can't be written in a subscription.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final, NamedTuple

from schemas import arithmetic, texts
from schemas.addresses import address_key
from schemas.errors import Refused
from schemas.instants import instant, utc
from schemas.values import INT64_MAX, INT64_MIN, Number, Value
from schemas.versions import version_key

Args = tuple[Value, ...]


class Function(NamedTuple):
    """A function of one value and constant arguments.

    Attributes
    ----------
    takes
        The kind of values that it takes.
    usage
        How it is written, for messages and help.
    check
        Returns what is wrong with the arguments, None when nothing is.
    apply
        Returns the results, none or one or, for ``~tokens``, several.
    """

    takes: type[str] | type[float]
    usage: str
    check: Callable[[Args], str | None]
    apply: Callable[[Value, Args], tuple[Value, ...]]


def derived_values(function: str, args: Args, value: Value) -> tuple[Value, ...]:
    """Return the results of a function for one value: none, one or several.

    Parameters
    ----------
    function
        A name among `FUNCTIONS`; anything else is a KeyError, as checked expressions hold no other.
    args
        Its arguments, as `check_function` allows them.
    value
        Any value.
    """
    known = FUNCTIONS[function]
    if isinstance(value, str) != (known.takes is str) or isinstance(value, bool):
        return ()
    return known.apply(value, args)


def check_function(function: str, args: Args, path: str = "") -> None:
    """Check that a subscription may call a function with these arguments.

    Raises
    ------
    Refused
        ``derive.function`` at ``path``, or ``derive.args`` at the arguments of ``path``.
    """
    if function not in PUBLIC_FUNCTIONS:
        near = get_close_matches(function.lower(), PUBLIC_FUNCTIONS, 1)
        cure = f"did you mean {near[0]}?" if near else f"known are {', '.join(PUBLIC_FUNCTIONS)}"
        raise Refused("derive.function", f"there is no function {function!r:.40}; {cure}", f"{path}.derive")
    known = PUBLIC_FUNCTIONS[function]
    wrong = known.check(args)
    if wrong is not None:
        raise Refused("derive.args", f"{wrong}; the function is written {known.usage}", f"{path}.args")


def _arguments(args: Args) -> str:
    """Return how many arguments were found, as the beginning of a sentence."""
    return "there is 1 argument" if len(args) == 1 else f"there are {len(args)} arguments"


def _no_args(args: Args) -> str | None:
    return f"{_arguments(args)} where none is wanted" if args else None


def _one_number(args: Args) -> str | None:
    if len(args) != 1:
        return f"{_arguments(args)} where one number is wanted"
    return None if _is_number(args[0]) else f"the argument {args[0]!r:.40} is not a finite number of at most 64 bits"


def _divisor(args: Args) -> str | None:
    return _one_number(args) or ("nothing can be divided by zero" if args[0] == 0 else None)


def _part(args: Args) -> str | None:
    if not 1 <= len(args) <= 2:
        return f"{_arguments(args)} where a start and perhaps a length are wanted"
    if not all(_is_number(arg) and arg == int(arg) for arg in args):
        return "start and length are not integers"
    if int(args[0]) < 1:
        return f"the start {args[0]} is less than 1, the place of the first character"
    return f"the length {args[1]} is negative" if len(args) == 2 and int(args[1]) < 0 else None


def _is_number(arg: Value) -> bool:
    if isinstance(arg, float):
        return math.isfinite(arg)
    return isinstance(arg, int) and not isinstance(arg, bool) and INT64_MIN <= arg <= INT64_MAX


def _numeric(usage: str, function: Callable[[Number], Number]) -> Function:
    def apply(value: Value, args: Args) -> tuple[Value, ...]:
        assert not isinstance(value, str)
        return (function(value),)

    return Function(float, usage, _no_args, apply)


def _binary(
    usage: str, function: Callable[[Number, Number], Number | None], check: Callable[[Args], str | None] = _one_number
) -> Function:
    def apply(value: Value, args: Args) -> tuple[Value, ...]:
        operand = args[0]
        assert not isinstance(value, str)
        assert not isinstance(operand, str)
        return _present(function(value, operand))

    return Function(float, usage, check, apply)


def _textual(usage: str, function: Callable[[str], Value | None]) -> Function:
    def apply(value: Value, args: Args) -> tuple[Value, ...]:
        assert isinstance(value, str)
        return _present(function(value))

    return Function(str, usage, _no_args, apply)


def _present(result: Value | None) -> tuple[Value, ...]:
    return () if result is None else (result,)


def _calendar(part: str) -> Function:
    def read(text: str) -> int | None:
        microseconds = instant(text)
        time = None if microseconds is None else utc(microseconds)
        return None if time is None else int(getattr(time, part))

    return _textual(f"{part}(attribute)", read)


def _substring(value: Value, args: Args) -> tuple[Value, ...]:
    assert isinstance(value, str)
    start = int(args[0]) - 1
    return (value[start:] if len(args) == 1 else value[start : start + int(args[1])],)


def _tokens(value: Value, args: Args) -> tuple[Value, ...]:
    assert isinstance(value, str)
    assert isinstance(args[0], str)
    return texts.tokens(value, args[0])


PUBLIC_FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "mod": _binary("attribute % number or mod(attribute, number)", arithmetic.mod, _divisor),
        "add": _binary("attribute + number", arithmetic.add),
        "subtract": _binary("attribute - number", arithmetic.subtract),
        "multiply": _binary("attribute * number", arithmetic.multiply),
        "divide": _binary("attribute / number", arithmetic.divide, _divisor),
        "abs": _numeric("abs(attribute)", arithmetic.absolute),
        "round": _numeric("round(attribute)", arithmetic.round_half_away),
        "floor": _numeric("floor(attribute)", arithmetic.floor),
        "ceil": _numeric("ceil(attribute)", arithmetic.ceil),
        "lower": _textual("lower(attribute)", str.lower),
        "upper": _textual("upper(attribute)", str.upper),
        "substring": Function(str, "substring(attribute, start, length), the length optional", _part, _substring),
        "length": _textual("length(attribute)", len),
        **{part: _calendar(part) for part in ("year", "month", "day", "hour", "minute", "second")},
    }
)
"""The functions that a subscription may name."""

FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        **PUBLIC_FUNCTIONS,
        "~fold": _textual("~fold", texts.fold),
        "~reverse": _textual("~reverse", lambda text: text[::-1]),
        "~instant": _textual("~instant", instant),
        "~version": _textual("~version", version_key),
        "~address": _textual("~address", address_key),
        "~tokens": Function(str, "~tokens", lambda args: None, _tokens),
    }
)
"""All functions, with those of the engines: folded text, reversed text, sort keys, and tokens by an analyser's name."""
