"""The topics under a running job: which change of which topic ends it, and with which sentence."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.errors import TocsinError
from stream import job_topics
from stream.job_topics import JobTopics
from stream.sources import Source

BEFORE = {name: Source("c", name, f"{name}-1", 2) for name in ("subscriptions", "events", "notifications", "dead")}
TOPICS = JobTopics(BEFORE["subscriptions"], BEFORE["events"], (BEFORE["notifications"], BEFORE["dead"]))


class Ends:
    looked = 0

    def look_again(self) -> None:
        self.looked += 1


def check(monkeypatch: pytest.MonkeyPatch, *now: Source) -> None:
    current = BEFORE | {source.topic: source for source in now}
    monkeypatch.setattr(job_topics, "source_now", lambda _, before: current[before.topic])
    ends: Any = Ends()
    try:
        TOPICS.check(ends)
    finally:
        assert ends.looked == 1


def test_topics_that_are_what_they_were_let_the_job_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch)


@pytest.mark.parametrize("name", ["events", "notifications", "dead"])
def test_partitions_may_be_added_to_any_topic_but_the_subscriptions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, Source("c", name, f"{name}-1", 3))
    with pytest.raises(TocsinError, match=r"began with .* 2 partitions, and now it is .* 3 partitions; start the job"):
        check(monkeypatch, Source("c", "subscriptions", "subscriptions-1", 3))


@pytest.mark.parametrize("name", BEFORE)
def test_a_topic_that_was_created_again_ends_the_job(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "began with" if name in ("subscriptions", "events") else "began to write to"
    with pytest.raises(TocsinError, match=rf"the job {said} topic {name} \(id {name}-1\).* \(id {name}-2\)"):
        check(monkeypatch, Source("c", name, f"{name}-2", 2))
