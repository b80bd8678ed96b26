"""How long a job that lags behind will need until it has caught up, from how its lag has changed."""

from __future__ import annotations

import math

RECENT = 0.5
"""The share of the latest interval in the rate; the rest is of those before, so that one slow batch says little."""

KEEPING_UP_SECONDS = 2.0
"""A lag that is gone so soon is that of a job that keeps up."""


class CatchUp:
    """Told of the lag from time to time, in events and seconds."""

    def __init__(self) -> None:
        self._before: tuple[int, float] | None = None
        self._closing: float | None = None

    def seconds(self, lag: int, now: float) -> float | None:
        """Return the seconds that are left; infinity while the lag grows, None where nothing can be said of it.

        Events that go on arriving are in it: they are why a lag shrinks more slowly than events are matched.
        """
        before, self._before = self._before, (lag, now)
        if not lag or before is None or now <= before[1]:
            self._closing = None
            return None
        rate = (before[0] - lag) / (now - before[1])
        self._closing = rate if self._closing is None else RECENT * rate + (1 - RECENT) * self._closing
        if self._closing == 0:
            return None
        return lag / self._closing if self._closing > 0 else math.inf


def told(seconds: float | None) -> str:
    """Return the time in words, with a blank before them; nothing for a job that keeps up."""
    if seconds is None or seconds < KEEPING_UP_SECONDS:
        return ""
    if math.isinf(seconds):
        return " (not shrinking)"
    if seconds < 120:
        return f" (caught up in about {seconds:.0f} s)"
    minutes = seconds / 60
    return (
        f" (caught up in about {minutes:.0f} min)" if minutes < 120 else f" (caught up in about {minutes / 60:.0f} h)"
    )
