"""A segment knows an attribute by its name, whichever names it has been asked for before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.block import translate
from index.block.engine import BlockEngine
from index.event_block import EventBlock
from schemas.expression import And, Exists, Expression, In, Not
from schemas.records import Event, Subscription

NAMES = "abcdefgh"
KNOWN = NAMES[:5]

sets_of_names = st.lists(st.sampled_from(NAMES), unique=True)


@given(st.lists(st.lists(sets_of_names, max_size=3), max_size=8), st.integers(0, 9), st.integers(0, 4))
def test_names_are_found_however_many_are_kept(blocks: list[list[list[str]]], few: int, kept: int) -> None:
    leaves: list[Expression] = [leaf for name in KNOWN for leaf in (In(name, (1,)), Exists(name), Not(Exists(name)))]
    population = [Subscription(f"{i:02d}", And((leaf, Not(In("x", (0,)))))) for i, leaf in enumerate(leaves)]
    engine = BlockEngine()
    matcher = engine.open(engine.build(population))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate, "_FEW_NAMES", few)
        patch.setattr(translate, "_KNOWN_NAMES", kept)
        for block in blocks:
            found = matcher.match(EventBlock.from_events([Event(dict.fromkeys(names, (1,))) for names in block]))
            for e, names in enumerate(block):
                expected = [3 * i + j for i, name in enumerate(KNOWN) for j in ((0, 1) if name in names else (2,))]
                assert sorted(found.subscription[found.event == e].tolist()) == expected
