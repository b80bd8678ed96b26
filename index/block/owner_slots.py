"""Where a table of owners, a power of two of slots with steps to the next one, looks first for an owner."""

from __future__ import annotations

import numpy as np

from index.kernel import inlined

_MULTIPLIER = 2654435769
"""An odd number near 2 ** 32 divided by the golden ratio, whose multiples scatter neighbours (Knuth)."""


@inlined
def first_slot(owner, slots):  # type: ignore[no-untyped-def]
    """Return the slot among so many."""
    return (np.int64(owner) * _MULTIPLIER >> 9) & (slots - 1)
