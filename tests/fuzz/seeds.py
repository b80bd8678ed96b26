"""What both fuzzers do: try seed after seed until the time is up, tell of it now and then, and be a command."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from itertools import count

from benchmarks.command import amount_or_none, count_or_none, parser

REPORT_SECONDS = 30.0


def first_wrong(
    goes_wrong: Callable[[int], bool],
    seconds: float,
    seed: int,
    summary: Callable[[float], str],
    most: int | None = None,
) -> int | None:
    """Try seeds until the time is up or there were ``most``; return the first that goes wrong.

    The time begins after the first, which may compile kernels for a minute.
    """
    if goes_wrong(seed):
        return seed
    started = reported = time.monotonic()
    for later in count(seed + 1) if most is None else range(seed + 1, seed + most):
        now = time.monotonic()
        if now - started >= seconds:
            return None
        if now - reported >= REPORT_SECONDS:
            reported = now
            print(summary(now - started), flush=True)
        if goes_wrong(later):
            return later
    return None


def command(
    arguments: Sequence[str] | None,
    module: str,
    tried: str,
    fuzz: Callable[[float, int], int | None],
    summary: Callable[[float], str],
) -> int | None:
    """Run a fuzzer as a command says, print what was done, and return the seed that goes wrong.

    Parameters
    ----------
    arguments
        Of the command line.
    module, tried
        The fuzzer, and what it calls that which a seed makes.
    fuzz
        Takes the seconds and the first seed.
    summary
        Says what has been done in so many seconds.
    """
    wanted = parser(module, sys.modules[fuzz.__module__].__doc__)
    wanted.add_argument(
        "--minutes", type=amount_or_none, default=0.0, metavar="MINUTES", help=f"how long; 0: one {tried} (0)"
    )
    wanted.add_argument(
        "--seed", type=count_or_none, default=1, metavar="N", help=f"of the first {tried}; each has the next (1)"
    )
    options = wanted.parse_args(arguments)
    started = time.monotonic()
    wrong = fuzz(options.minutes * 60, options.seed)
    print(summary(time.monotonic() - started), flush=True)
    return wrong
