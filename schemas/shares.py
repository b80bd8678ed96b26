"""Shares: in mode threshold weights and the threshold are the decimals that were written, and are compared exactly.

Seven tenths of the weights reach the threshold 0.7 whether the weights are 7 and 3 or 0.7 and 0.3. As doubles they
would not: the double nearest to 0.8 is over four fifths, the one nearest to 0.6 under three fifths.
"""

from __future__ import annotations

from fractions import Fraction

SHARE_SCALE = 10**6
"""Weights count in units of 1 / SHARE_SCALE, so that weights of up to six digits behind the point are exact.

With `schemas.values.WEIGHT_SUM_LIMIT` all weights of a subscription are less than 2**42 units, and what is met of them
can be scaled to a score within 64 bits.
"""


def share_units(weight: float) -> int:
    """Return a weight in units of 1 / SHARE_SCALE, rounded half to even."""
    return round(_written(weight) * SHARE_SCALE)


def share_wanted(threshold: float) -> Fraction:
    """Return the share of the weights that a threshold asks for."""
    return _written(threshold)


def _written(number: float) -> Fraction:
    """Return the shortest decimal that is read as this double: what was written, if that had up to 15 digits."""
    return Fraction(repr(float(number)))
