"""The index directory as a state machine: whatever is added, replaced, removed, merged, collected and cut off, in any
order, a version's answers are the oracle's over what the version must hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from index import failpoints, tail, writer
from index.block.engine import BlockEngine
from index.byte_rows import ByteRows
from index.compaction import due, stats_of
from index.directory import IndexDirectory
from index.engine import Engine
from index.event_block import EventBlock
from index.files import names
from index.garbage import collect
from index.inspection import broken, damage
from index.manifest import latest, latest_version, read_manifest, versions
from index.merge import merge
from index.merge_policy import MergePlan, everything
from index.oracle import best_matches
from index.pins import pin_latest, unpin_before
from index.reader import IndexReader, Snapshot
from index.shards import shard_numbers
from index.writer import IndexWriter
from schemas.expression import And, Not
from schemas.records import Event, Subscription
from tests.index.oracle_engine import OracleEngine
from tests.index.sharding import write_segments
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
    shards = 1

    def __init__(self) -> None:
        super().__init__()
        self.layout = self.make()
        self.model: Model = {}
        self.pinned: dict[int, tuple[int, Model]] = {}
        self.offset = 0
        self.batch = 0

    @initialize()
    def open(self) -> None:
        """Also a rule below: a process that begins anew finds everything in the directory."""
        self.writer = IndexWriter(self.layout, "source", shards=self.shards)
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
        ghost = write_segments(self.layout, self.engine, self.shards, [Subscription("ghost", Not(And(())))])
        assert self.writer.publish(ghost, list(self.model), {0: self.offset}) == version
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
        plan = self._merge_of_a_shard()
        self._interrupted(lambda: self._publish(delta, False), lambda: merge(self.layout, plan, self.engine))

    @precondition(lambda self: len(latest(self.layout).segments) > 0)
    @rule(data=st.data())
    def merge_some(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self._merge_of_a_shard().inputs), min_size=1, unique=True))
        assert merge(self.layout, MergePlan(tuple(chosen)), self.engine) == latest_version(self.layout)

    @rule()
    def merge_what_is_due(self) -> None:
        for plan in due(self.layout):
            assert merge(self.layout, plan, self.engine) == latest_version(self.layout)
        assert all(entry.alive for entry in latest(self.layout).segments)

    @rule()
    def compact(self) -> None:
        for plan in everything(stats_of(latest(self.layout).segments)):
            assert merge(self.layout, plan, self.engine) == latest_version(self.layout)
        alive = Counter(shard_numbers(ByteRows.of([id_.encode() for id_ in self.model]), self.shards).tolist())
        entries = latest(self.layout).segments
        assert {entry.segment.shard: (entry.dead_count, entry.alive) for entry in entries} == {
            shard: (0, count) for shard, count in alive.items()
        }
        assert len(entries) == len(alive)

    @rule(delta=deltas(), split=st.booleans(), operations=st.integers(0, 60))
    def absorb_is_cut_off_and_replayed(
        self, delta: dict[str, Subscription | None], split: bool, operations: int
    ) -> None:
        if not self._cut_off(lambda: self._publish(delta, split), operations):
            return
        published = latest(self.layout).absorbed.get(0, 0) == self.offset
        if published:
            self._apply(delta)  # and nobody was told
        else:
            self.offset -= 1
        self.the_latest_version_holds_the_model()
        self.offset -= published
        assert self._publish(delta, split) == latest_version(self.layout)

    @precondition(lambda self: len(latest(self.layout).segments) > 0)
    @rule(operations=st.integers(0, 40))
    def merge_is_cut_off(self, operations: int) -> None:
        plan = self._merge_of_a_shard()
        self._cut_off(lambda: merge(self.layout, plan, self.engine), operations)

    @rule(operations=st.integers(0, 20))
    def garbage_collection_is_cut_off(self, operations: int) -> None:
        self._cut_off(self.collect_garbage, operations)

    @precondition(lambda self: len(latest(self.layout).segments) > 0)
    @rule(delta=deltas())
    def absorb_during_a_merge(self, delta: dict[str, Subscription | None]) -> None:
        machine = self

        class Interrupted(type(self.engine)):  # type: ignore[misc]
            def build(self, subscriptions: object) -> object:
                if delta:
                    machine._publish(dict(delta), False)
                    delta.clear()
                return super().build(subscriptions)

        plan = self._merge_of_a_shard(alive=True)
        if plan.inputs:
            assert merge(self.layout, plan, Interrupted()) == latest_version(self.layout)

    @rule()
    def pin_a_batch(self) -> None:
        version = latest_version(self.layout)
        assert pin_latest(self.layout, "job", self.batch, known=version) == version
        assert pin_latest(self.layout, "job", self.batch, known=version) == version
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
        """What is left are the latest version, the pinned ones, and their files."""
        collect(self.layout, superseded=0, unpublished=0)
        pinned = {version for version, _ in self.pinned.values()}
        assert set(versions(self.layout)) == (pinned | {latest_version(self.layout)}) - {0}
        kept = [read_manifest(self.layout, version).segments for version in versions(self.layout)]
        entries = {entry for segments in kept for entry in segments}
        assert set(names(self.layout.segments)) == {f"{entry.segment.name}.seg" for entry in entries}
        assert set(names(self.layout.dead)) == {f"{entry.dead}.dead" for entry in entries if entry.dead}

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

    @rule()
    def inspect(self) -> None:
        assert list(damage(self.layout, versions(self.layout))) == []
        assert list(broken(self.layout, latest(self.layout))) == []

    @invariant()
    def an_id_is_alive_in_one_segment_at_most(self) -> None:
        alive = []
        for live in self.reader.at(latest_version(self.layout)).segments:
            ids = live.segment.rows.ids.to_list()
            assert ids == sorted(set(ids))
            assert len(live.dead) == live.entry.dead_count == len(set(live.dead.tolist()))
            alive += [id_ for ordinal, id_ in enumerate(ids) if ordinal not in live.dead]
        assert len(set(alive)) == len(alive)

    def make(self) -> IndexDirectory:
        return IndexDirectory.of(tempfile.mkdtemp(prefix="tocsin-test-"))

    def teardown(self) -> None:
        shutil.rmtree(str(self.layout.root))

    def _publish(self, delta: dict[str, Subscription | None], split: bool) -> int:
        self.offset += 1
        bodies = _bodies(delta)
        halves = [bodies[::2], bodies[1::2]] if split else [bodies]
        segments = [info for half in halves for info in write_segments(self.layout, self.engine, self.shards, half)]
        removed = [id_ for id_, body in delta.items() if body is None]
        version = self.writer.publish(segments, removed, {0: self.offset})
        self._apply(delta)
        return version

    def _publish_apart(self, delta: dict[str, Subscription | None]) -> None:
        segments = write_segments(self.layout, self.engine, self.shards, _bodies(delta))
        removed = [id_ for id_, body in delta.items() if body is None]
        IndexWriter(self.layout, shards=self.shards).publish(segments, removed, {})
        self._apply(delta)

    def _apply(self, delta: dict[str, Subscription | None]) -> None:
        kept = {id_: body for id_, body in self.model.items() if id_ not in delta}
        self.model = kept | {body.id: body for body in _bodies(delta)}

    def _merge_of_a_shard(self, alive: bool = False) -> MergePlan:
        """Return a merge of all segments of the shard that has most; of those that are alive, where it is said."""
        inputs: dict[int, tuple[str, ...]] = {}
        for entry in latest(self.layout).segments:
            if entry.alive or not alive:
                inputs[entry.segment.shard] = (*inputs.get(entry.segment.shard, ()), entry.segment.name)
        return MergePlan(max(inputs.values(), key=len, default=()))

    def _cut_off(self, work: Callable[[], object], operations: int) -> bool:
        """Let the process end after so many places of `failpoints`, and begin anew; return whether it came so far.

        From the end on no file operation is carried out any more, as none is after a kill.
        """
        left = operations

        def reach(_: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise _Killed

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(failpoints, "reach", reach)
            try:
                work()
            except _Killed:
                patch.undo()
                self.open()
                return True
        return False

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


class _Killed(BaseException):
    """The end of a process."""


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


class ShardedIndexDirectoryMachine(IndexDirectoryMachine):
    """The same with three shards."""

    shards = 3


LIMITS = settings(max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TestIndexDirectory = IndexDirectoryMachine.TestCase
TestIndexDirectory.settings = LIMITS
TestBlockIndexDirectory = BlockIndexDirectoryMachine.TestCase
TestBlockIndexDirectory.settings = LIMITS
TestShardedIndexDirectory = ShardedIndexDirectoryMachine.TestCase
TestShardedIndexDirectory.settings = LIMITS


SMALL_RUNS = {
    "uncompiled": ({"NUMBA_DISABLE_JIT": "1"}, "oracle", 20),
    "uncompiled, with the main engine": ({"NUMBA_DISABLE_JIT": "1"}, "block", 12),
    "bounds checked": ({"NUMBA_BOUNDSCHECK": "1"}, "oracle", 20),
}


@pytest.mark.parametrize(("variables", "machine", "examples"), SMALL_RUNS.values(), ids=SMALL_RUNS)
def test_kernels_do_the_same_without_compilation_and_within_bounds(
    variables: dict[str, str], machine: str, examples: int, tmp_path: Path
) -> None:
    """Compiled code neither checks bounds nor wraps integers as NumPy does; the cache is not that of other tests."""
    environment = os.environ | variables | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "tests.index.small_machine", machine, str(examples)]
    root = Path(__file__).parents[2]
    result = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-5000:]
