"""Where the subscriptions topic ends for a batch of events: all that was acknowledged before lies below."""

from __future__ import annotations

import time
from collections.abc import Callable

from schemas.errors import TocsinError
from stream.clients import TopicEnds
from stream.offsets import Offsets
from stream.sources import Source
from stream.wording import Say

PAUSE_SECONDS = 0.005
"""From one look to the next while a transaction is open: a commit is marked some milliseconds after its answer."""


class AcknowledgedEnd:
    """Asks where the topic ends, and waits for the transactions that are open on it then.

    Who reads committed records sees none behind the first record of an open transaction, be it of another producer and
    long acknowledged; and a transaction counts as open until its partitions are marked, which Kafka does after it has
    answered the commit. So an event that comes after such an acknowledgement waits until the transactions have ended.

    One that stays open for longer than ``patience`` is passed over, and so is what lies behind it. Events wait for it
    once: until the place where it begins has been passed, they do not wait there again.

    Parameters
    ----------
    ends
        Asks the brokers.
    subscriptions
        The topic as the job began with it.
    patience
        The most seconds that a batch waits; 0: it does not.
    sleep
        Lets seconds pass, or raises what ends the batch.
    say
        Told of a transaction that is passed over.
    """

    def __init__(
        self, ends: TopicEnds, subscriptions: Source, patience: float, sleep: Callable[[float], None], say: Say
    ) -> None:
        self._ends = ends
        self._before = subscriptions
        self._topic = subscriptions.topic
        self._patience = patience
        self._sleep = sleep
        self._say = say
        self._passed_over: Offsets = {}

    def __call__(self) -> Offsets:
        """Return the next offset of each partition for who reads what is committed.

        Raises
        ------
        TocsinError
            Partitions were added, without which no event must be matched.
        """
        now = self._ends.partitions_now(self._topic)
        if now != self._before.partitions:
            raise TocsinError(
                f"the job began with {self._before}, and now there are {now}; start the job again, it says why"
            )
        wanted, deadline = self._ends.of_all_records(self._topic), time.monotonic() + self._patience
        while True:
            committed = self._ends.of(self._topic)
            held = {p: offset for p, offset in committed.items() if offset < wanted.get(p, 0)}
            if all(self._passed_over.get(p) == offset for p, offset in held.items()):
                return committed
            if time.monotonic() >= deadline:
                self._pass_over(held)
                return committed
            self._sleep(PAUSE_SECONDS)

    def _pass_over(self, held: Offsets) -> None:
        self._passed_over |= held
        places = ", ".join(f"partition {p} at offset {offset:,}" for p, offset in sorted(held.items()))
        self._say(
            f"a transaction on {self._topic} has been open for longer than subscriptions.open_transaction_seconds, "
            f"{self._patience:g} s ({places}): until it ends, events are matched without the subscriptions behind there"
        )
