"""Every engine behind an index: a main segment, a tail of deltas, replacements and removals, and the compaction."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from index.compaction import due
from index.engine import Engine
from index.engines import ENGINES, engine_named
from index.event_block import EventBlock
from index.manifest import latest
from index.merge import merge
from index.oracle import best_matches
from index.reader import IndexReader
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.records import Event, Subscription
from tests.contract.support import dense_event, dense_population, dense_tree, expressible


@pytest.mark.parametrize("name", ENGINES)
def test_main_and_tail_segments_answer_as_one_before_and_after_a_merge(name: str, tmp_path: Path) -> None:
    """A large segment, small deltas that replace and remove some of it, and then their merge."""
    rng = random.Random(5)
    engine = engine_named(name)
    drawn = expressible(engine, dense_population(rng, lambda r: dense_tree(r, 2), 120))
    assert len(drawn) > 80
    population = {s.id: s for s in drawn}
    happened = [dense_event(rng) for _ in range(12)]
    writer = IndexWriter(tmp_path)
    version = writer.publish([write_segment(tmp_path, engine, list(population.values()))], [], {})
    for step in range(9):
        delta = expressible(engine, [Subscription(f"{rng.randrange(150):04d}", dense_tree(rng, 2)) for _ in range(6)])
        delta = list({s.id: s for s in delta}.values())
        removed = sorted(set(rng.sample(sorted(population), 3)) - {s.id for s in delta})
        version = writer.publish([write_segment(tmp_path, engine, delta)], removed, {})
        population = {id_: s for id_, s in population.items() if id_ not in removed} | {s.id: s for s in delta}
        if step in (0, 8):
            assert answers(tmp_path, engine, version, happened) == wanted(population.values(), happened)
    plans = due(tmp_path)
    assert plans
    merged = max(found for plan in plans if (found := merge(tmp_path, plan, engine)) is not None)
    assert len(latest(tmp_path).segments) < 10
    assert answers(tmp_path, engine, merged, happened) == wanted(population.values(), happened)


def answers(index: Path, engine: Engine, version: int, happened: Sequence[Event]) -> list[list[tuple[str, int]]]:
    snapshot = IndexReader(index, [engine]).at(version)
    found = snapshot.match(EventBlock.from_events(happened))
    lists: list[list[tuple[str, int]]] = [[] for _ in happened]
    for e, id_, points in zip(found.event.tolist(), snapshot.ids(found), found.score.tolist(), strict=True):
        lists[e].append((id_.decode(), points))
    return lists


def wanted(population: Iterable[Subscription], happened: Sequence[Event]) -> list[list[tuple[str, int]]]:
    everyone = list(population)
    return [best_matches(everyone, one, one.top) for one in happened]
