"""Events that are made of subscriptions' own predicates match many of them."""

from __future__ import annotations

import random

import pytest

from index.oracle import match_subscription
from index.probes import probes
from schemas.filter_text import parse_filter
from schemas.records import Subscription

MATCHED = (
    "origin in ('JFK', 'LGA')",
    "delay > 60",
    "delay < 60",
    "delay between 20 and 30",
    "gate exists",
    "kind has all ('a', 'b')",
    "path starts with '/api' ignore case",
    "path ends with '.html'",
    "note contains 'late'",
    "name like 'ab%'",
    "build version >= '1.10.2'",
    "ip in cidr '10.0.0.0/8'",
    "title has any ('storm', 'delay')",
    "a = 1 and b = 'x' and c > 2.5 and (d exists or e = true)",
)


@pytest.mark.parametrize("text", MATCHED)
def test_an_event_of_a_subscription_without_exclusions_matches_it(text: str) -> None:
    subscription = Subscription("s", parse_filter(text), not_before=1_000_000, not_after=2_000_000)
    for event in probes([subscription], 20, random.Random(0)):
        assert match_subscription(subscription, event) is not None, event


def test_the_same_chance_makes_the_same_events_and_another_makes_others() -> None:
    subscriptions = [Subscription(f"s{n}", parse_filter(f"a in ({n}, {n + 1}) and b > {n}")) for n in range(9)]
    first, again, other = (probes(subscriptions, 30, random.Random(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 30
