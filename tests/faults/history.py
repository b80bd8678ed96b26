"""What was subscribed and published in which order, and the verdict over the notifications that came."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

from tests.e2e.harness import Coordinates
from tests.e2e.oracle import answer, as_subscriptions

Notifications = Mapping[Coordinates, list[dict[str, Any]]]


@dataclass(frozen=True)
class Version:
    """A body of a subscription, or its removal, and when Kafka had acknowledged it."""

    since: int
    filter: str | None


@dataclass(frozen=True)
class Published:
    """An event, where it went, how many changes were acknowledged when it was produced, and during which fault."""

    place: Coordinates
    event: dict[str, Any]
    at: int
    during: str


@dataclass
class Verdict:
    """Counts of notifications; all but ``right`` must be 0."""

    right: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)

    def note(self, kind: str, example: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.examples) < 10:
            self.examples.append(f"{kind}: {example}")

    def add(self, other: Verdict) -> None:
        """Add the counts of other events to these."""
        for kind in ("right", "lost", "doubled", "wrong"):
            setattr(self, kind, getattr(self, kind) + getattr(other, kind))
        self.examples += other.examples

    @property
    def good(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)


class History:
    """Written by one writer that waits for each acknowledgement of a change, so that there is one order of changes.

    An event must meet each subscription as it was when the event was produced, or as it became later: what was
    acknowledged before is applied, what came after may be.
    """

    def __init__(self) -> None:
        self._now = 0
        self._versions: dict[str, list[Version]] = {}
        self._events: list[Published] = []
        self._settled: dict[Coordinates, str] = {}

    @property
    def now(self) -> int:
        """How many changes were acknowledged."""
        return self._now

    @property
    def events(self) -> int:
        return len(self._events) + len(self._settled)

    @property
    def unsettled(self) -> bool:
        """Whether there are events that were not judged yet."""
        return bool(self._events)

    def changed(self, id_: str, filter_: str | None) -> None:
        """Note a change that was acknowledged just now."""
        self._now += 1
        self._versions.setdefault(id_, []).append(Version(self._now, filter_))

    def published(self, place: Coordinates, event: dict[str, Any], produced_at: int, during: str = "") -> None:
        """Note an event, how many changes were acknowledged when it was produced, and what was going on then."""
        self._events.append(Published(place, event, produced_at, during))

    def judge(self, found: Notifications) -> Verdict:
        """Compare everything that came with everything that must have."""
        verdict = Verdict()
        for one in self.judge_each(found).values():
            verdict.add(one)
        return verdict

    def judge_each(self, found: Notifications) -> dict[str, Verdict]:
        """Return the verdict over the events of each fault; over those that nobody published under an empty name."""
        verdicts = {"": Verdict()}
        for one in self._events:
            verdict = verdicts.setdefault(one.during, Verdict())
            self._judge_event(verdict, one.event, one.at, found.get(one.place, []))
        for place in found.keys() - {one.place for one in self._events}:
            if (during := self._settled.get(place)) is None:
                verdicts[""].note("wrong", f"notifications of {place}, which nobody published")
            else:
                late = f"notifications of {place}, all of which had come"
                verdicts.setdefault(during, Verdict()).note("doubled", late)
        return verdicts

    def settle(self) -> None:
        """Forget the events so far, which were judged: everything of them has come, what comes now comes again."""
        self._settled.update((one.place, one.during) for one in self._events)
        self._events.clear()
        self._versions = {id_: versions[-1:] for id_, versions in self._versions.items()}

    def _judge_event(self, verdict: Verdict, event: dict[str, Any], at: int, got: list[dict[str, Any]]) -> None:
        text = json.dumps(event)
        scores = {n["subscription"]: n["score"] for n in got}
        for id_, times in Counter(n["subscription"] for n in got).items():
            for _ in range(times - 1):
                verdict.note("doubled", f"{id_} of {event}")
        for id_, versions in self._versions.items():
            score = scores.pop(id_, None)
            if any(_score(version.filter, text) == score for version in _in_force(versions, at)):
                verdict.right += 1
                continue
            allowed = {_score(version.filter, text) for version in _in_force(versions, at)}
            if score is None:
                verdict.note("lost", f"{id_} of {event}: one of {allowed}")
            else:
                verdict.note("wrong", f"{id_} of {event}: {score} is not one of {allowed}")
        for id_ in scores:
            verdict.note("wrong", f"{id_} of {event}, which nobody subscribed")


def _in_force(versions: list[Version], at: int) -> Iterator[Version]:
    """Yield the version in force at a time, and the later ones."""
    later = bisect_right(versions, at, key=lambda version: version.since)
    yield versions[later - 1] if later else Version(0, None)
    yield from islice(versions, later, None)


class Order:
    """Looks, through all notifications, whether those of a subscription follow the events of each partition."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int], int] = {}

    def late(self, found: Iterable[dict[str, Any]]) -> list[str]:
        """Return the notifications of a subscription that came after those of a later event of the same partition.

        Parameters
        ----------
        found
            What came since the last call, in the order of its partition, to which the subscription is the key.
        """
        late = []
        for n in found:
            partition, offset = n["event"]["partition"], n["event"]["offset"]
            before = self._last.get((n["subscription"], partition), offset)
            if offset < before:
                late.append(f"{n['subscription']} was told of event {partition}:{offset} after {partition}:{before}")
            self._last[n["subscription"], partition] = offset
        return late


@cache
def _score(filter_: str | None, event: str) -> float | None:
    """Return the oracle's score of an event, None where it does not match."""
    if filter_ is None:
        return None
    found = answer(as_subscriptions({"s": filter_}), json.loads(event), top=None)
    return found[0][1] if found else None
