"""The index directory as a state machine: whatever is added, replaced, removed, merged and collected, in any order,
a version's answers are the oracle's over what the version must hold."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from index import tail, writer
from index.block.engine import BlockEngine
from index.compaction import due, merge
from index.directory import IndexDirectory
from index.engine import Engine
from index.event_block import EventBlock
from index.garbage import collect
from index.manifest import latest, latest_version
from index.merge_policy import MergePlan
from index.oracle import best_matches
from index.pins import pin, unpin_before
from index.reader import IndexReader, Snapshot
from index.segment import SegmentInfo, write_segment
from index.writer import IndexWriter
from schemas.expression import And, Not
from schemas.records import Event, Subscription
from tests.index.oracle_engine import OracleEngine
from tests.strategies import IDS, events, subscription


@st.composite
def deltas(draw: st.DrawFn) -> dict[str, Subscription | None]:
    """What a micro-batch says of each id: a body, or None to unsubscribe."""
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=6, unique=True))
    return {id_: draw(subscription(id_, max_leaves=4)) if draw(st.integers(0, 3)) else None for id_ in ids}


PROBES = [
    Event({}),
    Event({"a": ("a", 1), "b": (0, True), "c": ("1",)}, time=1_000_000),
    Event({"a": (35,), "geo.lat": (3.5, ""), "é b": (2**53,)}, {"a": (2.0,)}, top=2),
]
"""Events that are matched after every step."""

Model = dict[str, Subscription]


class IndexDirectoryMachine(RuleBasedStateMachine):
    """Holds the directory, and beside it what each version must contain."""

    engine: Engine = OracleEngine()

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="tocsin-test-"))
        self.layout = IndexDirectory.of(self.root)
        self.model: Model = {}
        self.pinned: dict[int, tuple[int, Model]] = {}
        self.offset = 0
        self.batch = 0

    @initialize()
    def open(self) -> None:
        """Also a rule below: a process that begins anew finds everything in the directory."""
        self.writer = IndexWriter(self.layout, "source")
        self.reader = IndexReader(self.layout, [self.engine])

    @rule()
    def reopen(self) -> None:
        self.open()

    @rule(delta=deltas(), split=st.booleans())
    def absorb(self, delta: dict[str, Subscription | None], split: bool) -> None:
        """Add, replace, remove, add again: all ids of a micro-batch in one publication of one or two segments."""
        version = self._publish(delta, split)
        assert version == latest_version(self.layout)

    @rule(delta=deltas())
    def absorb_twice(self, delta: dict[str, Subscription | None]) -> None:
        """A replay publishes nothing."""
        version = self._publish(delta, False)
        ghost = write_segment(self.layout, self.engine, [Subscription("ghost", Not(And(())))])
        assert self.writer.publish([ghost], list(self.model), {0: self.offset}) == version
        assert version == latest_version(self.layout)

    @rule(delta=deltas(), other=deltas())
    def absorb_after_a_lost_race(
        self, delta: dict[str, Subscription | None], other: dict[str, Subscription | None]
    ) -> None:
        """Another publication gets in between reading the latest version and creating the next."""
        self._interrupted(lambda: self._publish(delta, False), lambda: self._publish_apart(other))

    @precondition(lambda self: len(latest(self.layout).segments) > 1)
    @rule(delta=deltas())
    def absorb_after_a_merge_got_between(self, delta: dict[str, Subscription | None]) -> None:
        names = [entry.segment.name for entry in latest(self.layout).segments]
        self._interrupted(
            lambda: self._publish(delta, False), lambda: merge(self.layout, MergePlan(tuple(names)), self.engine)
        )

    @precondition(lambda self: latest(self.layout).segments)
    @rule(data=st.data())
    def merge_some(self, data: st.DataObject) -> None:
        names = [entry.segment.name for entry in latest(self.layout).segments]
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        assert merge(self.layout, MergePlan(tuple(chosen)), self.engine) == latest_version(self.layout)

    @rule()
    def merge_what_is_due(self) -> None:
        for plan in due(self.layout):
            assert merge(self.layout, plan, self.engine) == latest_version(self.layout)
        assert all(entry.alive for entry in latest(self.layout).segments)

    @precondition(lambda self: latest(self.layout).segments)
    @rule(delta=deltas())
    def absorb_during_a_merge(self, delta: dict[str, Subscription | None]) -> None:
        machine = self

        class Interrupted(type(self.engine)):  # type: ignore[misc]
            def build(self, subscriptions: object) -> object:
                if delta:
                    machine._publish(dict(delta), False)
                    delta.clear()
                return super().build(subscriptions)

        names = [entry.segment.name for entry in latest(self.layout).segments if entry.alive]
        if names:
            assert merge(self.layout, MergePlan(tuple(names)), Interrupted()) == latest_version(self.layout)

    @rule()
    def pin_latest(self) -> None:
        version = latest_version(self.layout)
        assert pin(self.layout, "job", self.batch, version) == version
        assert pin(self.layout, "job", self.batch, version + 1) == version
        self.pinned[self.batch] = (version, dict(self.model))
        self.batch += 1

    @precondition(lambda self: self.pinned)
    @rule(data=st.data())
    def unpin(self, data: st.DataObject) -> None:
        before = data.draw(st.integers(0, self.batch))
        unpin_before(self.layout, "job", before)
        self.pinned = {batch: pinned for batch, pinned in self.pinned.items() if batch >= before}

    @rule()
    def collect_garbage(self) -> None:
        collect(self.layout, superseded=0, unpublished=0)

    @rule(block=st.lists(events(), max_size=4))
    def match(self, block: list[Event]) -> None:
        for version, model in [(latest_version(self.layout), self.model), *self.pinned.values()]:
            snapshot = self.reader.at(version)
            assert _answers(snapshot, block) == [best_matches(model.values(), event, event.top) for event in block]

    @invariant()
    def the_latest_version_holds_the_model(self) -> None:
        snapshot = self.reader.at(latest_version(self.layout))
        for id_ in IDS:
            assert repr(snapshot.get(id_)) == repr(self.model.get(id_)), "1, True and 1.0 are equal in Python"
        assert _answers(snapshot, PROBES) == [best_matches(self.model.values(), event, event.top) for event in PROBES]
        assert snapshot.stats.subscriptions == len(self.model)
        assert latest(self.layout).absorbed == ({0: self.offset} if self.offset else {})

    @invariant()
    def an_id_is_alive_in_one_segment_at_most(self) -> None:
        alive = []
        for live in self.reader.at(latest_version(self.layout)).segments:
            ids = live.segment.rows.ids.to_list()
            assert ids == sorted(set(ids))
            assert len(live.dead) == live.entry.dead_count == len(set(live.dead.tolist()))
            alive += [id_ for ordinal, id_ in enumerate(ids) if ordinal not in live.dead]
        assert len(set(alive)) == len(alive)

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def _publish(self, delta: dict[str, Subscription | None], split: bool) -> int:
        self.offset += 1
        bodies = _bodies(delta)
        halves = [bodies[::2], bodies[1::2]] if split else [bodies]
        segments: list[SegmentInfo] = [write_segment(self.layout, self.engine, half) for half in halves if half]
        removed = [id_ for id_, body in delta.items() if body is None]
        version = self.writer.publish(segments, removed, {0: self.offset})
        self._apply(delta)
        return version

    def _publish_apart(self, delta: dict[str, Subscription | None]) -> None:
        bodies = _bodies(delta)
        segments = [write_segment(self.layout, self.engine, bodies)] if bodies else []
        IndexWriter(self.layout).publish(segments, [id_ for id_, body in delta.items() if body is None], {})
        self._apply(delta)

    def _apply(self, delta: dict[str, Subscription | None]) -> None:
        kept = {id_: body for id_, body in self.model.items() if id_ not in delta}
        self.model = kept | {body.id: body for body in _bodies(delta)}

    def _interrupted(self, publication: Callable[[], int], interruption: Callable[[], object]) -> None:
        """Let the interruption happen once, after the publication has computed its dead sets."""
        rest = [interruption]

        def extend(*arguments: object) -> object:
            entries = tail.extend(*arguments)  # type: ignore[arg-type]
            if rest:
                rest.pop()()
            return entries

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(writer, "tail", _Tail(extend))
            publication()
        assert not rest


class _Tail:
    """`index.tail` with another ``extend``."""

    discard = staticmethod(tail.discard)

    def __init__(self, extend: Callable[..., object]) -> None:
        self.extend = extend


def _bodies(delta: dict[str, Subscription | None]) -> list[Subscription]:
    return [body for body in delta.values() if body is not None]


def _answers(snapshot: Snapshot, block: list[Event]) -> list[list[tuple[str, int]]]:
    found = snapshot.match(EventBlock.from_events(block))
    rows: list[list[tuple[str, int]]] = [[] for _ in block]
    for event, id_, score in zip(found.event.tolist(), snapshot.ids(found), found.score.tolist(), strict=True):
        rows[event].append((id_.decode(), score))
    assert found.rank.tolist() == [rank for row in rows for rank in range(1, len(row) + 1)]
    return rows


class BlockIndexDirectoryMachine(IndexDirectoryMachine):
    """The same with the main engine."""

    engine = BlockEngine()


LIMITS = settings(max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TestIndexDirectory = IndexDirectoryMachine.TestCase
TestIndexDirectory.settings = LIMITS
TestBlockIndexDirectory = BlockIndexDirectoryMachine.TestCase
TestBlockIndexDirectory.settings = LIMITS
