"""The four topics as the job began with them: one that is deleted or created again under it ends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from schemas.errors import TocsinError
from stream import clients
from stream.settings import Settings
from stream.sources import Source, source_now, source_of


@dataclass(frozen=True)
class JobTopics:
    """What each topic was when the job began.

    Attributes
    ----------
    subscriptions, events
        Those that are read: what is known of their offsets holds for these alone.
    written
        Those of notifications and dead letters.
    """

    subscriptions: Source
    events: Source
    written: tuple[Source, ...]

    @classmethod
    def of(cls, settings: Settings, ends: clients.TopicEnds) -> Self:
        """Ask the brokers what the topics are.

        Raises
        ------
        TocsinError
            They do not answer.
        """
        topics = settings.topics
        subscriptions, events = source_of(ends, topics.subscriptions), source_of(ends, topics.events)
        written = tuple(source_of(ends, topic) for topic in (topics.notifications, topics.dead_letters))
        return cls(subscriptions, events, written)

    def check(self, ends: clients.TopicEnds) -> None:
        """See that no topic was deleted or created again, and that the subscriptions' has no more partitions.

        Producers wait long for topics that are gone, and in silence.

        Raises
        ------
        TocsinError
            One was, or it has.
        """
        ends.look_again()
        for before in (self.subscriptions, self.events):
            now = source_now(ends, before)
            if now.topic_text != before.topic_text or (before is self.subscriptions and now != before):
                raise TocsinError(
                    f"the job began with {before}, and now it is {now}; start the job again, it says what to do"
                )
        for before in self.written:
            if (now := source_now(ends, before)).topic_text != before.topic_text:
                raise TocsinError(
                    f"the job began to write to {before}, and now it is {now}: what was on it and not yet read is "
                    f"lost; start the job again, which writes to the new topic"
                )
