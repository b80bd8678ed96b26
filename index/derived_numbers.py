"""Functions of numbers over columns: every argument with every value, by kernels where they are exact.

What a kernel can't settle it leaves open, and `schemas.derived` is asked instead: integers beyond 2**53 beside doubles,
and results between 2**53 and 2**63 that need not be doubles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.exact_numbers import END, ExactNumbers
from index.kernel import inlined, kernel
from index.numbers import EXACT
from schemas.derived import derived_values
from schemas.values import INT64_MIN

CODES = {
    name: code
    for code, name in enumerate(("mod", "add", "subtract", "multiply", "divide", "abs", "round", "floor", "ceil"))
}
"""The functions as kernels know them; those up to `_LAST_BINARY` take an argument."""

_MOD, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _ABS, _ROUND, _FLOOR, _ = CODES.values()
_LAST_BINARY = _DIVIDE

DOUBLE, WHOLE, NONE, OPEN = range(4)
"""What a result is: a double, a 64-bit integer, none at all, or left to Python."""


class Results(NamedTuple):
    """A function's result for each argument and value.

    Attributes
    ----------
    kind
        uint8 [args, values], `DOUBLE`, `WHOLE` or `NONE`.
    content
        int64 [args, values], as in `index.exact_numbers.ExactNumbers`.
    """

    kind: npt.NDArray[np.uint8]
    content: npt.NDArray[np.int64]


def numeric_results(function: str, operands: ExactNumbers, values: ExactNumbers) -> Results:
    """Apply a function among `CODES`, with each of the arguments, to each of the values.

    Parameters
    ----------
    function
        Its name.
    operands
        The arguments, finite and none of them 0 for a divisor; one of any value for a function without arguments.
    values
        Any numbers.
    """
    kind = np.empty((len(operands.whole), len(values.whole)), np.uint8)
    content = np.empty(kind.shape, np.int64)
    if _fill(CODES[function], *_arrays(operands), *_arrays(values), kind, content, content.view(np.float64)):
        _settle(function, operands, values, kind, content)
    return Results(kind, content)


def _arrays(numbers: ExactNumbers) -> tuple[npt.NDArray[np.generic], ...]:
    return numbers.whole, numbers.content, numbers.double


def _settle(
    function: str,
    operands: ExactNumbers,
    values: ExactNumbers,
    kind: npt.NDArray[np.uint8],
    content: npt.NDArray[np.int64],
) -> None:
    """Ask Python for the results that are open; each of them is a number."""
    place, at = np.nonzero(kind == OPEN)
    asked = values.take(at).to_list()
    given = operands.take(place).to_list()
    found = ExactNumbers.of(
        [derived_values(function, (a,), value)[0] for a, value in zip(given, asked, strict=True)]  # type: ignore[misc]
    )
    kind[place, at], content[place, at] = found.whole, found.content


@kernel
def _fill(  # type: ignore[no-untyped-def]
    function, operand_whole, operand_integer, operand_double, whole, integer, double, kind, as_integer, as_double
):
    """Write kinds and contents, which ``as_integer`` and ``as_double`` both are; return how many results are open."""
    left_open = 0
    for i in range(len(operand_whole)):
        for j in range(len(whole)):
            if function > _LAST_BINARY:
                made, a, b = _rounded(function, whole[j], integer[j], double[j])
            elif whole[j] and operand_whole[i]:
                made, a, b = _of_integers(function, integer[j], operand_integer[i])
            else:
                made, a, b = _of_mixed(
                    function, whole[j], integer[j], double[j], operand_whole[i], operand_integer[i], operand_double[i]
                )
            kind[i, j] = made
            if made == WHOLE:
                as_integer[i, j] = a
            else:
                as_double[i, j] = b
            left_open += made == OPEN
    return left_open


@inlined
def _is_exact(integer):  # type: ignore[no-untyped-def]
    return -EXACT <= integer <= EXACT


@inlined
def _spelled(x):  # type: ignore[no-untyped-def]
    """Return the kind and both contents of a double that is a result."""
    if -END <= x < END and np.floor(x) == x:
        return WHOLE, np.int64(x), 0.0
    return DOUBLE, np.int64(0), (x if x == x else math.nan)


@inlined
def _nearest(x):  # type: ignore[no-untyped-def]
    """Return what IEEE arithmetic made of doubles, if it is the result.

    It is the nearest double. Under 2**53 every integer is a double, and above 2**63 no integer is a result; between
    them the result may be an integer that is no double.
    """
    if EXACT <= abs(x) <= END:
        return OPEN, np.int64(0), 0.0
    return _spelled(x)


@inlined
def _left(x, y):  # type: ignore[no-untyped-def]
    """Return the remainder with the sign of x."""
    if y == -1:  # the machine's division knows no quotient of -2**63 and -1
        return np.int64(0)
    left = x % y
    return left - y if left != 0 and (x < 0) != (y < 0) else left


@inlined
def _of_integers(function, x, y):  # type: ignore[no-untyped-def]
    """Apply a function of two 64-bit integers; sums and differences are computed modulo 2**64."""
    if function == _MOD:
        return WHOLE, _left(x, y), 0.0
    if function == _ADD:
        total = x + y
        return (OPEN if ((x ^ total) & (y ^ total)) < 0 else WHOLE), total, 0.0
    if function == _SUBTRACT:
        total = x - y
        return (OPEN if ((x ^ y) & (x ^ total)) < 0 else WHOLE), total, 0.0
    if function == _MULTIPLY:
        if abs(np.float64(x) * np.float64(y)) < END / 2:
            return WHOLE, x * y, 0.0
    elif y != -1 and _left(x, y) == 0:
        return WHOLE, x // y, 0.0
    if _is_exact(x) and _is_exact(y):
        a, b = np.float64(x), np.float64(y)
        return _nearest(a * b if function == _MULTIPLY else a / b)
    return OPEN, np.int64(0), 0.0


@inlined
def _of_mixed(function, x_whole, x_integer, x_double, y_whole, y_integer, y_double):  # type: ignore[no-untyped-def]
    """Apply a function of two numbers one of which is no 64-bit integer; the second is finite."""
    x = np.float64(x_integer) if x_whole else x_double
    y = np.float64(y_integer) if y_whole else y_double
    finite = -math.inf < x < math.inf
    if (x_whole and not _is_exact(x_integer)) or (finite and y_whole and not _is_exact(y_integer)):
        return OPEN, np.int64(0), 0.0
    if function == _MOD:
        if abs(x) == math.inf:
            return NONE, np.int64(0), 0.0
        return _spelled(np.fmod(x, y))  # which is exact
    if function == _ADD:
        return _nearest(x + y)
    if function == _SUBTRACT:
        return _nearest(x - y)
    return _nearest(x * y if function == _MULTIPLY else x / y)


@inlined
def _rounded(function, whole, integer, double):  # type: ignore[no-untyped-def]
    """Apply a function without an argument; a double beyond 2**52 has no fraction."""
    if whole:
        if function != _ABS or integer >= 0:
            return WHOLE, integer, 0.0
        return (DOUBLE, integer, END) if integer == INT64_MIN else (WHOLE, -integer, 0.0)
    size = abs(double)
    if function == _ABS:
        return _spelled(size)
    if function == _ROUND:
        below = np.floor(size)
        rounded = below + 1.0 if size - below >= 0.5 else below
        return _spelled(-rounded if double < 0 else rounded)
    return _spelled(np.floor(double) if function == _FLOOR else np.ceil(double))
