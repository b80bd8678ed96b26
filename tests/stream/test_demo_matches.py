"""The demo's ranges have postings and are tested in programs, too: an event alone matches as in a block."""

from __future__ import annotations

from index.block.engine import BlockEngine
from index.event_block import EventBlock
from index.oracle import best_matches
from schemas.json_codec import decode_event
from stream.demo.workload import build_workload


def test_events_match_alone_as_in_a_block_and_as_the_oracle_says() -> None:
    load = build_workload(120, 6000, 1, lambda: None)
    subscriptions = sorted(load.decoded_subscriptions(), key=lambda subscription: subscription.id)
    events = [decode_event(body, None) for body in load.bodies]
    engine = BlockEngine()
    matcher = engine.open(engine.build(subscriptions))
    together = matcher.match(EventBlock.from_events(events))
    for place, event in enumerate(events):
        alone = matcher.match(EventBlock.from_events([event]))
        held = together.event == place
        assert alone.subscription.tolist() == together.subscription[held].tolist()
        assert alone.score.tolist() == together.score[held].tolist()
    for place in (0, 6, 33):
        expected = [match[0] for match in best_matches(subscriptions, events[place], len(subscriptions))]
        assert [subscriptions[i].id for i in together.subscription[together.event == place].tolist()] == expected
