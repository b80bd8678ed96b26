"""``tocsin demo``: a year's flights meet subscriptions, on a broker and a job of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    events: Annotated[int, typer.Option(min=1, metavar="N", help="How many flights, from January on.")] = 50_000,
    subscriptions: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many generated subscriptions, beside the hand-written ones.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(help="Decides the generated subscriptions and which events are checked.")] = 2013,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", readable=False, help="New folder for all files, which then stay.")
    ] = None,
) -> None:
    """Show it at work: real flights, a broker and a job of their own, alerts and how fast they came.

    Ends with exit code 1 when one of 1,000 random events got other notifications than it should. Leaves no process and,
    without --keep, no file behind, also after Ctrl-C. Takes less than three minutes on two cores.
    """
    from stream.demo import run_demo

    raise typer.Exit(run_demo(events, subscriptions, seed, keep))
