"""Binary search in compiled code."""

from index.kernel import inlined


@inlined
def lower_bound(ascending, low, high, wanted):  # type: ignore[no-untyped-def]
    """Return the first place in ``ascending[low:high]`` whose entry is not less than ``wanted``, or ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
