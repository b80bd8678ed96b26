"""What ``verify`` and ``index verify`` share: answers compared with brute force, for as long as is wanted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from stream.commands.looking import progress_bar
from stream.wording import counted

if TYPE_CHECKING:
    from index.ratify import Report
    from index.reader import Snapshot
    from schemas.records import Event


def compared(snapshot: Snapshot, events: list[Event], seed: int, seconds: float | None) -> Report:
    """Compare the answers to events, behind a progress bar.

    Parameters
    ----------
    snapshot
        The version.
    events
        What is matched.
    seed
        Of the random order of the subscriptions.
    seconds
        After that time no more are compared; None compares all.
    """
    from index.ratify import ratify

    deadline = None if seconds is None else time.monotonic() + seconds
    title = f"comparing {counted(len(events), 'event')} with subscriptions"
    with progress_bar(snapshot.stats.subscriptions, title) as update:

        def go_on(done: int) -> bool:
            update(done)
            # at least one look, so that a short time compares something
            return not done or deadline is None or time.monotonic() < deadline

        return ratify(snapshot, events, seed, go_on)
