"""Consoles that print text as it is: neither ``[red]`` nor ``:id:`` in a record means anything to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 100_000
"""Columns where there is no terminal: no line is ever wrapped there."""


def console(stderr: bool = False, plain_width: int = PLAIN_WIDTH) -> Console:
    """Return a console; without a terminal it has no colours.

    Parameters
    ----------
    stderr
        Whether it prints there rather than to stdout.
    plain_width
        Its columns where there is no terminal.
    """
    from rich.console import Console  # takes time, and most commands print data only

    def made(width: int | None) -> Console:
        return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)

    found = made(None)
    return found if found.is_terminal else made(plain_width)
