"""Trees of 2,000 levels go through the index like any other, however much of the stack its caller has used up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given

from index.block.engine import BlockEngine
from index.directory import IndexDirectory
from index.event_block import EventBlock
from index.explain.explanation import explain
from index.explain.nearest import nearest
from index.explain.plain import as_plain
from index.kept_tree import DEEPEST, restored
from index.live import alive, need, open_version, read
from index.manifest import latest
from index.merge import merge
from index.merge_policy import MergePlan
from index.segment import Rows, write_segment
from index.similar import Relation, similar
from index.writer import IndexWriter
from schemas.expression import Expression
from schemas.json_codec import encode_subscription
from schemas.records import Event, Subscription
from tests.schemas.test_deep_trees import NEST, nested, same
from tests.strategies import rich_expressions

Answer = TypeVar("Answer")

KINDS = [*NEST, "mixed", "alternating"]
FRAMES = 300
"""What is on the stack of a Spark worker, or of pytest, is less."""


def tree(levels: int, kind: str) -> Expression:
    """Return `nested`'s, or one of AND and OR in turn."""
    if kind != "alternating":
        return nested(levels, kind)
    found = nested(0, "not")
    for level in range(levels):
        found = NEST["or" if level % 2 else "and"](found)
    return found


def below(frames: int, call: Callable[[], Answer]) -> Answer:
    """Return what a function returns that has so many callers."""
    return call() if not frames else below(frames - 1, call)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("levels", [DEEPEST, DEEPEST + 1, 490, 2_000])
def test_a_deep_tree_is_written_merged_found_explained_compared_and_exported(
    levels: int, kind: str, tmp_path: Path
) -> None:
    layout, engine = IndexDirectory.of(tmp_path / "index"), BlockEngine()
    written = {id_: Subscription(id_, tree(levels, kind), 2.0, labels={"k": id_}) for id_ in ("s", "t")}
    event = Event({"a": (7,), "x": (1,)})

    def through_the_index() -> None:
        writer = IndexWriter(layout)
        for subscription in written.values():
            writer.publish([write_segment(layout, engine, [subscription])], [], {})
        assert merge(layout, MergePlan(tuple(e.segment.name for e in latest(layout).segments)), engine) is not None
        snapshot = open_version(tmp_path / "index")
        assert len(snapshot.segments) == 1
        found = list(read(snapshot, alive(snapshot)))
        for subscription in found:
            assert same(subscription.expression, written[subscription.id].expression)
            assert encode_subscription(subscription) == encode_subscription(written[subscription.id])
        explanation = explain(need(snapshot, "s"), event)
        assert len(as_plain(explanation)["nodes"]) >= levels
        matched = snapshot.ids(snapshot.match(EventBlock.from_events([event])))
        assert matched == ([b"s", b"t"] if explanation.matches else [])
        assert nearest(found, event, 1).matching == [id_.decode() for id_ in matched]
        assert [s.relation for s in similar(found, written["t"], 2)] == [Relation.SAME] * 2

    below(FRAMES, through_the_index)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frames", [0, FRAMES])
def test_a_tree_is_kept_as_it_is_up_to_a_depth_that_hangs_on_nothing_else(frames: int, kind: str) -> None:
    levels = (1, 2, DEEPEST, DEEPEST + 1, 490, 2_000)
    made = [Subscription(str(n), tree(n, kind)) for n in levels]
    bodies = below(frames, lambda: Rows.of(made)).bodies
    assert [isinstance(msgspec.msgpack.decode(body)[0], bytes) for body in bodies] == [n > DEEPEST for n in levels]


@given(rich_expressions())
def test_what_is_kept_as_text_comes_back_as_it_was(expression: Expression) -> None:
    text = msgspec.json.encode(expression)
    assert repr(restored(text)) == repr(expression)


def test_a_column_of_shallow_and_deep_trees_gives_all_of_them() -> None:
    made = [Subscription(str(i), tree(levels, "alternating")) for i, levels in enumerate((1, 3, 201, 1_000))]
    rows = Rows.of(made)
    for found in (rows.subscriptions(), [rows.subscription(i) for i in range(len(made))]):
        assert all(same(a.expression, b.expression) for a, b in zip(found, made, strict=True))
