"""Which of a segment's subscriptions are dead in the version that is matched, a byte each, as kernels read it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from index.arrays import UInt8s


class DeadMarks:
    """Marks the dead of one call after the other.

    Parameters
    ----------
    is_dead
        uint8 [subscriptions], zeros; it is written to.
    """

    def __init__(self, is_dead: UInt8s) -> None:
        self._is_dead = is_dead
        self._dead: npt.NDArray[np.uint32] | None = None

    @property
    def some(self) -> bool:
        """Whether anybody is dead."""
        return self._dead is not None and len(self._dead) > 0

    def bury(self, dead: npt.NDArray[np.uint32] | None) -> None:
        """Mark these and nobody else; a reader gives one array while its version lasts, so this is seldom work."""
        if dead is not self._dead:
            self._is_dead[:] = 0
            if dead is not None:
                self._is_dead[dead] = 1
            self._dead = dead
