"""An engine with nothing inside but the oracle, for tests of the index directory: its answers hang on no engine."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from index.engine import Parts
from index.event_block import NO_TIME, EventBlock
from index.matches import Matches, MatchRows
from index.oracle import match_subscription
from schemas.records import Event, Subscription


class OracleMatcher:
    def __init__(self, subscriptions: Sequence[Subscription]) -> None:
        self._subscriptions = subscriptions

    @property
    def count(self) -> int:
        return len(self._subscriptions)

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        gone = set() if dead is None else set(dead.tolist())
        rows: list[tuple[int, int, int]] = []
        for e, event in enumerate(events_of(block)):
            found = []
            for ordinal, subscription in enumerate(self._subscriptions):
                points = match_subscription(subscription, event)
                if points is not None and ordinal not in gone:
                    found.append((-points, ordinal))
            found.sort()
            rows += [(e, ordinal, -negated) for negated, ordinal in found[: int(block.top[e]) or None]]
        columns = np.array(rows, np.int64).reshape(-1, 3)
        answer = MatchRows(columns[:, 0].astype(np.int32), columns[:, 1].astype(np.int32), columns[:, 2].copy())
        return answer.matches(block.size)


class OracleEngine:
    """Keeps the subscriptions as one MessagePack blob."""

    name = "oracle"

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        return {"blob": np.frombuffer(msgspec.msgpack.encode(list(subscriptions)), np.uint8)}

    def open(self, parts: Parts) -> OracleMatcher:
        return OracleMatcher(msgspec.msgpack.decode(parts["blob"].tobytes(), type=list[Subscription]))


def events_of(block: EventBlock) -> list[Event]:
    """Return the block's events as the oracle takes them."""
    events = []
    for e in range(block.size):
        attributes: dict[str, tuple[object, ...]] = {}
        weights: dict[str, tuple[float, ...]] = {}
        for i in range(int(block.offsets[e]), int(block.offsets[e + 1])):
            attribute, value = block.terms[int(block.term[i])]
            name = block.attributes[attribute]
            attributes[name] = (*attributes.get(name, ()), value)
            weights[name] = (*weights.get(name, ()), float(block.weight[i]))
        time = int(block.time[e])
        events.append(Event(attributes, weights, time=None if time == NO_TIME else time))  # type: ignore[arg-type]
    return events
