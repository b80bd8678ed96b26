"""What the commands of the benchmarks, and those of tests that run for long, have in common: numbers, and endings."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import TypeVar

from schemas.errors import TocsinError
from stream.exit_codes import FAILURE, INTERRUPTED

Number = TypeVar("Number", int, float)


def parser(module: str, doc: str | None) -> argparse.ArgumentParser:
    """Return the parser of a command, which the first line of its module describes."""
    return argparse.ArgumentParser(prog=f"python -m {module}", description=(doc or "").partition("\n")[0])


def count(text: str) -> int:
    """Return the whole number of an option, which must be at least 1."""
    number = _whole(text)
    return _enough(number, number >= 1, "a whole number, at least 1")


def count_or_none(text: str) -> int:
    """Return the whole number of an option, where 0 says that something is not to be done."""
    number = _whole(text)
    return _enough(number, number >= 0, "a whole number, at least 0")


def amount(text: str) -> float:
    """Return the number of an option, which must be above 0."""
    number = _finite(text)
    return _enough(number, number > 0, "a number above 0")


def amount_or_none(text: str) -> float:
    """Return the number of an option that may be 0."""
    number = _finite(text)
    return _enough(number, number >= 0, "a number, at least 0")


def run(main: Callable[[], int | None], name: str = "benchmark") -> None:
    """Run a command, which may return its exit code; what went wrong, and Ctrl-C, are told in a sentence and by it."""
    try:
        code = main()
    except KeyboardInterrupt:
        _say(name, "interrupted; what was written before stays")
        sys.exit(INTERRUPTED)
    except (TocsinError, TimeoutError) as error:
        _say(name, str(error))
        sys.exit(FAILURE)
    if code:
        sys.exit(code)


def _whole(text: str) -> int:
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return number


def _enough(number: Number, is_enough: bool, wanted: str) -> Number:
    if not is_enough:
        raise argparse.ArgumentTypeError(f"{number} is too small; give {wanted}")
    return number


def _say(name: str, sentence: str) -> None:
    print(f"{name}: {sentence}", file=sys.stderr, flush=True)
