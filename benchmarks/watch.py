"""A thread that looks at something again and again, while a block runs."""

from __future__ import annotations

import threading
from typing import Self


class Watch:
    """A context manager; what it looks at is in `_look` of a subclass.

    Parameters
    ----------
    pause
        Seconds from one look to the next.
    """

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._pause):
            self._look()

    def _look(self) -> None:
        raise NotImplementedError
