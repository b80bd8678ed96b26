"""Every decoder against hostile records: each is right, or refused with a reason that the manual lists; nothing else.

Command: ``python -m tests.fuzz.decoders --minutes 10 [--seed 1]``, or ``make fuzz MINUTES=10``. The first record that
does anything else, or takes half a minute, ends the run: it is made small and printed, with the seed that brings it
back, and the exit code is 1.
"""

from __future__ import annotations

import json
import math
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.error import SchemaRegistryError

from benchmarks.command import run
from schemas.avro_codec import AvroEventDecoder, AvroSubscriptionDecoder
from schemas.errors import Refused
from schemas.filter_text import format_filter, parse_filter
from schemas.json_codec import decode_subscription, encode_subscription
from schemas.json_event import decode_event, encode_event
from schemas.limits import Limits
from schemas.records import Event, Subscription
from schemas.values import INT64_MAX, INT64_MIN, value_key
from tests.fuzz.hostile import (
    EVENT_ID,
    EXTREMES,
    FLIGHT,
    FLIGHT_ID,
    LIST,
    LIST_ID,
    SUBSCRIPTION_ID,
    damaged,
    goods,
    shipped,
)
from tests.fuzz.seeds import command, first_wrong

HANG_SECONDS = 30
"""A record that takes so much of a processor's time counts as one that hangs a worker; the slowest take three."""

SHRINK_SECONDS = 30.0
WIDE = Limits(record_bytes=2**26, depth=2000, leaves=10**6, list_length=10**6)
"""What is given back is read again with these, for it may be longer than what came."""

REASONS = frozenset(
    re.findall(
        r"^\| `([a-z_.0-9]+)` \|", (Path(__file__).parents[2] / "schemas" / "README.md").read_text(), re.MULTILINE
    )
)
"""The reason codes that the manual lists."""


class Hang(BaseException):
    """Raised in whatever takes too long; no decoder may catch it."""


class Registry:
    """A schema registry that answers from memory."""

    def get_schema(self, schema_id: int) -> Any:
        schemas = {
            FLIGHT_ID: FLIGHT,
            LIST_ID: LIST,
            EVENT_ID: shipped("event.avsc"),
            SUBSCRIPTION_ID: shipped("subscription.avsc"),
        }
        if schema_id not in schemas:
            raise SchemaRegistryError(404, 40403, "Schema not found")
        return Schema(json.dumps(schemas[schema_id]), "AVRO")

    def get_version(self, subject_name: str, version: int) -> Any:
        raise AssertionError("no schema here refers to another")


@cache
def decoders() -> dict[str, Callable[[bytes], None]]:
    """Return the decoders by what they decode; each raises Refused, or sees that what it returns is right."""
    generic, flight, nested = AvroEventDecoder(), AvroEventDecoder(FLIGHT), AvroEventDecoder(LIST)
    plain, registered = AvroSubscriptionDecoder(), AvroSubscriptionDecoder(Registry())
    framed = AvroEventDecoder(registry=Registry())
    return {
        "JSON event": lambda value: check_event(decode_event(value, 1)),
        "JSON subscription": lambda value: check_subscription(decode_subscription("s", value)),
        "filter": _filter,
        "Avro event": lambda value: check_event(generic.decode(value, 1)),
        "Avro event of a schema file": lambda value: check_event(flight.decode(value, 1)),
        "Avro event of a recursive schema": lambda value: check_event(nested.decode(value, 1)),
        "Avro subscription": lambda value: check_subscription(plain.decode("s", value)),
        "framed event": lambda value: check_event(framed.decode(value, 1)),
        "framed subscription": lambda value: check_subscription(registered.decode("s", value)),
    }


def _filter(value: bytes) -> None:
    tree = parse_filter(value.decode(errors="replace"))
    text = format_filter(tree)
    assert format_filter(parse_filter(text, 10**9)) == text, "printed, it is another filter"


def check_event(event: Event) -> None:
    """See that an event holds what `schemas.records` promises, and that JSON gives it back."""
    for name, values in event.attributes.items():
        assert values, f"{name!r:.40} has no value"
        assert len({value_key(value) for value in values}) == len(values) or any(
            isinstance(value, float) and math.isnan(value) for value in values
        ), f"{name!r:.40} has a value twice"
        assert all(INT64_MIN <= value <= INT64_MAX for value in values if isinstance(value, int)), (
            "an integer too large"
        )
        assert len(event.weights.get(name, values)) == len(values), "as many weights as values"
    assert all(math.isfinite(weight) for weights in event.weights.values() for weight in weights)
    if all(not isinstance(v, float) or math.isfinite(v) for values in event.attributes.values() for v in values):
        again = decode_event(encode_event(event), event.time, WIDE)
        assert (again.attributes, again.weights, again.top) == (event.attributes, event.weights, event.top)


def check_subscription(subscription: Subscription) -> None:
    """See that JSON gives a subscription back; compared as bytes, for comparing trees recurses."""
    value = encode_subscription(subscription)
    assert encode_subscription(decode_subscription("s", value, WIDE)) == value


def record(seed: int) -> tuple[str, bytes]:
    """Return what is decoded in one trial: which decoder, and the record."""
    chance = random.Random(seed)
    kind = chance.choice(sorted(EXTREMES))
    if chance.random() < 0.15:
        return kind, EXTREMES[kind](chance)
    return kind, damaged(chance.choice(goods()[kind]), chance)


@dataclass
class Counts:
    """What a run has done: records that were right, and those refused by reason."""

    right: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.right + self.refused.total()


def trial(kind: str, value: bytes, counts: Counts) -> str | None:
    """Decode one record; return what went wrong."""
    try:
        with _bounded(HANG_SECONDS):
            decoders()[kind](value)
    except Refused as refused:
        counts.refused[refused.code] += 1
        if refused.code not in REASONS:
            return f"the manual does not list the reason {refused.code}"
        return None if 10 < len(str(refused)) < 2000 else f"a message of {len(str(refused))} characters"
    except Hang:
        return f"no answer in {HANG_SECONDS} s"
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.300}"
    counts.right += 1
    return None


@contextmanager
def _bounded(seconds: int) -> Iterator[None]:
    """Raise Hang in the block when it takes too long."""

    def hang(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def fuzz(seconds: float, seed: int, counts: Counts, most: int | None = None) -> int | None:
    """Run trials until the time is up or there were ``most``; return the seed of the first that goes wrong."""
    return first_wrong(
        lambda seed: trial(*record(seed), counts) is not None, seconds, seed, partial(summary, counts), most
    )


def summary(counts: Counts, seconds: float) -> str:
    """Say what has been done."""
    return (
        f"{counts.total:,} records in {seconds:,.0f} s, {counts.right:,} of them right, {counts.refused.total():,} "
        f"refused for {len(counts.refused)} reasons"
    )


def reproduction(seed: int) -> str:
    """Return what a seed does wrong, and the record, as small as it can be made."""
    kind, value = record(seed)
    first = str(trial(kind, value, Counts()))
    wrong = first.partition(":")[0]
    deadline = time.monotonic() + SHRINK_SECONDS
    length = len(value) // 2
    while length and time.monotonic() < deadline:
        start = 0
        while start < len(value) and time.monotonic() < deadline:
            rest = value[:start] + value[start + length :]
            if str(trial(kind, rest, Counts())).partition(":")[0] == wrong:
                value = rest
            else:
                start += length
        length //= 2
    shown = repr(value) if len(value) <= 2000 else f"{value[:1000]!r} … ({len(value):,} bytes)"
    return f"seed {seed}, {kind}: {first}\nmade small: {shown}\nonce more: python -m tests.fuzz.decoders --seed {seed}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a command; return the exit code."""
    counts = Counts()

    def tried(seconds: float, seed: int) -> int | None:
        return fuzz(seconds, seed, counts)

    wrong = command(arguments, "tests.fuzz.decoders", "record", tried, partial(summary, counts))
    if wrong is None:
        print("nothing went wrong")
        return 0
    print(reproduction(wrong))
    return 1


if __name__ == "__main__":
    run(main, "fuzz")
