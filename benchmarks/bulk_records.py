"""Subscription records of advertising contracts in any number, joined from the texts of their leaves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice, pairwise

import msgspec

from benchmarks.workloads.ads import Ads
from schemas.expression import In, NotIn
from schemas.filter_printer import format_filter
from schemas.json_codec import encode_event
from schemas.wire_expression import encode_expression

SLICE = 250_000
"""Contracts are drawn so many at a time, each slice by a seed of its own from one stock of lists."""

Record = tuple[str, bytes]
"""Id and value."""

_string = msgspec.json.Encoder().encode


def records(seed: int, first: int, count: int, text: bool) -> Iterator[Record]:
    """Return ``count`` records of a slice, which begins with number ``first``."""
    columns = Ads.slice_of(seed, first // SLICE).columns(SLICE)
    leaves = _leaf_texts(seed, text)
    joined = _text if text else _tree
    code = (2 * columns.leaf + columns.negated).tolist()
    bounds = columns.conjunction_start.tolist()
    owners = columns.subscription_start[: count + 1].tolist()
    for number, (low, high) in enumerate(pairwise(owners), first):
        conjunctions = [[leaves[c] for c in code[a:b]] for a, b in pairwise(bounds[low : high + 1])]
        yield f"s{number:08d}", joined(conjunctions)


def sample(found: Iterator[Record], count: int) -> list[Record]:
    """Return the first records."""
    return list(islice(found, count))


def matching_event(seed: int) -> bytes:
    """Return an event that contracts match."""
    return encode_event(_stock(seed).events(1)[0])


@cache
def _stock(seed: int) -> Ads:
    return Ads(seed)


@cache
def _leaf_texts(seed: int, text: bool) -> list[bytes]:
    """Return the text of each leaf of the stock, plain and negated by turns."""
    stock = _stock(seed).catalogue
    names, values = stock.names, stock.texts
    bounds, numbers = stock.leaves.start.tolist(), stock.leaves.value.tolist()
    found: list[bytes] = []
    for attribute, (low, high) in zip(stock.leaves.attribute.tolist(), pairwise(bounds), strict=True):
        listed = tuple(values[v] for v in numbers[low:high])
        for leaf in (In(names[attribute], listed), NotIn(names[attribute], listed)):
            found.append(format_filter(leaf).encode() if text else encode_expression(leaf))
    return found


def _tree(conjunctions: list[list[bytes]]) -> bytes:
    joined = [
        b'{"op":"and","args":[%b]}' % b",".join(leaves) if len(leaves) > 1 else leaves[0] for leaves in conjunctions
    ]
    tree = joined[0] if len(joined) == 1 else b'{"op":"or","args":[%b]}' % b",".join(joined)
    return b'{"expression":%b}' % tree


def _text(conjunctions: list[list[bytes]]) -> bytes:
    joined = [b"(%b)" % b" and ".join(leaves) for leaves in conjunctions]
    return b'{"filter":%b}' % _string(b" or ".join(joined).decode())
