"""What was subscribed and published in which order, and the verdict over the notifications that came."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.e2e.harness import Coordinates
from tests.e2e.oracle import answer, as_subscriptions

Notifications = Mapping[Coordinates, list[dict[str, Any]]]


@dataclass(frozen=True)
class Version:
    """A body of a subscription, or its removal, and when Kafka had acknowledged it."""

    since: int
    filter: str | None


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
        self._events: list[tuple[Coordinates, dict[str, Any], int]] = []

    @property
    def now(self) -> int:
        """How many changes were acknowledged."""
        return self._now

    @property
    def events(self) -> int:
        return len(self._events)

    def changed(self, id_: str, filter_: str | None) -> None:
        """Note a change that was acknowledged just now."""
        self._now += 1
        self._versions.setdefault(id_, []).append(Version(self._now, filter_))

    def published(self, place: Coordinates, event: dict[str, Any], produced_at: int) -> None:
        """Note an event, and how many changes were acknowledged when it was produced."""
        self._events.append((place, event, produced_at))

    def judge(self, found: Notifications) -> Verdict:
        """Compare everything that came with everything that must have."""
        verdict = Verdict()
        known = set()
        for place, event, produced_at in self._events:
            known.add(place)
            self._judge_event(verdict, event, produced_at, found.get(place, []))
        for place in found.keys() - known:
            verdict.note("wrong", f"notifications of {place}, which nobody published")
        return verdict

    def _judge_event(self, verdict: Verdict, event: dict[str, Any], at: int, got: list[dict[str, Any]]) -> None:
        scores = {n["subscription"]: n["score"] for n in got}
        for id_, times in Counter(n["subscription"] for n in got).items():
            for _ in range(times - 1):
                verdict.note("doubled", f"{id_} of {event}")
        for id_, versions in self._versions.items():
            allowed = {_score(version.filter, json.dumps(event)) for version in _in_force(versions, at)}
            if scores.pop(id_, None) in allowed:
                verdict.right += 1
            elif None not in allowed and id_ not in {n["subscription"] for n in got}:
                verdict.note("lost", f"{id_} of {event}: one of {allowed}")
            else:
                verdict.note("wrong", f"{id_} of {event}: not one of {allowed}")
        for id_ in scores:
            verdict.note("wrong", f"{id_} of {event}, which nobody subscribed")


def _in_force(versions: list[Version], at: int) -> Iterator[Version]:
    """Yield the version in force at a time, and the later ones."""
    yield max((v for v in versions if v.since <= at), key=lambda v: v.since, default=Version(0, None))
    yield from (v for v in versions if v.since > at)


@cache
def _score(filter_: str | None, event: str) -> float | None:
    """Return the oracle's score of an event, None where it does not match."""
    if filter_ is None:
        return None
    found = answer(as_subscriptions({"s": filter_}), json.loads(event), top=None)
    return found[0][1] if found else None
