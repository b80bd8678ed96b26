"""A segment's dictionary: from (tag, bytes) to ordinal in flat arrays, memory-mapped and shared by all processes.

::

    tags     int32  [n]      the attribute's ordinal of a term; 0 for the attributes themselves
    data     uint8  [...]    all keys one after the other
    offsets  int64  [n + 1]  key i is data[offsets[i]:offsets[i + 1]]
    slots    int32  [2**k]   ordinal or -1, open addressing with linear probing, at most half full
    seed     uint64 [1]      of the hash

Look-ups compare tag and bytes, so a collision costs time and never an answer. The seed is the first of 0 to 31 with
which no key stands further than `PROBE_LIMIT` from its place, or 31 where each has such a key: keys chosen to collide
under one seed meet another, and equal keys always build equal arrays.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from index.byte_rows import ByteRows, Offsets
from index.kernel import kernel
from schemas.values import INT64_MAX, INT64_MIN, Value

PROBE_LIMIT = 64
_SEEDS = 32
_NAMES = ("tags", "data", "offsets", "slots", "seed")
_DOUBLE = struct.Struct("<d")

Int32s = npt.NDArray[np.int32]


def text_bytes(text: str) -> bytes:
    """Return UTF-8, whose byte order is the order of code points; a lone surrogate keeps its place in it."""
    return text.encode("utf-8", "surrogatepass")


def value_bytes(value: Value) -> bytes:
    """Return a value's canonical bytes: a letter for its kind, then its content; equal values have equal bytes.

    A number that is a 64-bit integer is written as one, whichever type holds it. A NaN has no bytes, as no key has.
    """
    if isinstance(value, str):
        return b"s" + text_bytes(value)
    if isinstance(value, bool):
        return b"b\1" if value else b"b\0"
    if isinstance(value, float):
        if not (value.is_integer() and INT64_MIN <= value <= INT64_MAX):
            return b"" if math.isnan(value) else b"f" + _DOUBLE.pack(value)
        value = int(value)
    return b"i" + value.to_bytes(8, "little", signed=True)


def bytes_value(key: bytes) -> Value:
    """Return a value that has these canonical bytes."""
    kind, content = key[:1], key[1:]
    if kind == b"s":
        return content.decode("utf-8", "surrogatepass")
    if kind == b"b":
        return content == b"\1"
    if kind == b"f":
        number: float = _DOUBLE.unpack(content)[0]
        return number
    return int.from_bytes(content, "little", signed=True)


class Held(NamedTuple):
    """The arrays drawn above, as kernels take them."""

    tags: Int32s
    data: npt.NDArray[np.uint8]
    offsets: Offsets
    slots: Int32s
    seed: npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The arrays drawn above; all are read-only."""

    tags: Int32s
    keys: ByteRows
    slots: Int32s
    seed: npt.NDArray[np.uint64]

    @classmethod
    def build(cls, tags: Int32s, keys: ByteRows) -> Dictionary:
        """Return the dictionary of distinct (tag, key) pairs."""
        slots = np.empty(1 << (2 * len(keys) | 1).bit_length(), np.int32)
        tags.flags.writeable = False
        for seed in range(_SEEDS):
            if _fill(tags, keys.data, keys.offsets, np.uint64(seed), slots) <= PROBE_LIMIT:
                break
        used = np.array([seed], np.uint64)
        slots.flags.writeable = used.flags.writeable = False
        return cls(tags, keys, slots, used)

    @classmethod
    def of(cls, parts: Mapping[str, npt.NDArray[Any]], prefix: str) -> Dictionary:
        """Return the dictionary whose arrays stand in ``parts`` as ``parts`` gave them."""
        tags, data, offsets, slots, seed = (parts[f"{prefix}_{name}"] for name in _NAMES)
        return cls(tags, ByteRows(data, offsets), slots, seed)

    def parts(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays under their names in a segment."""
        return {f"{prefix}_{name}": array for name, array in zip(_NAMES, self.held, strict=True)}

    @cached_property
    def held(self) -> Held:
        """The arrays as kernels take them."""
        return Held(self.tags, self.keys.data, self.keys.offsets, self.slots, self.seed)

    def find(self, tags: Int32s, keys: ByteRows) -> Int32s:
        """Return each pair's ordinal; -1 where it is not held or its tag is negative."""
        found = np.empty(len(keys), np.int32)
        _find(self.held, tags, keys.data, keys.offsets, found)
        return found


@kernel
def _hash(tag, data, start, stop, seed):  # type: ignore[no-untyped-def]
    """FNV-1a over tag and bytes from a seeded start, then a finaliser, since probing uses the low bits."""
    h = np.uint64(0xCBF29CE484222325) ^ (seed * np.uint64(0x9E3779B97F4A7C15))
    h = (h ^ np.uint64(tag)) * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    for i in range(start, stop):
        h = (h ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
        h ^= h >> np.uint64(29)
    return h ^ (h >> np.uint64(32))


@kernel
def _same(data, start, stop, other, other_start, other_stop):  # type: ignore[no-untyped-def]
    if stop - start != other_stop - other_start:
        return False
    for i in range(stop - start):  # noqa: SIM110 -- compiled code
        if data[start + i] != other[other_start + i]:
            return False
    return True


@kernel
def _fill(tags, data, offsets, seed, slots):  # type: ignore[no-untyped-def]
    """Fill the slots and return how far the unluckiest key stands from its place."""
    slots[:] = -1
    mask = np.uint64(len(slots) - 1)
    longest = 0
    for key in range(len(tags)):
        slot = _hash(tags[key], data, offsets[key], offsets[key + 1], seed) & mask
        distance = 0
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
            distance += 1
        slots[slot] = key
        longest = max(longest, distance)
    return longest


@kernel
def _find(held, tags, data, offsets, found):  # type: ignore[no-untyped-def]
    for i in range(len(found)):
        found[i] = find_key(held, tags[i], data, offsets[i], offsets[i + 1])


@kernel
def find_key(held, tag, data, start, stop):  # type: ignore[no-untyped-def]
    """Return the ordinal of one pair, or -1, as `Dictionary.find` does.

    The slots are never full, so every probe ends.
    """
    if tag < 0 or start == stop:
        return np.int32(-1)
    mask = np.uint64(len(held.slots) - 1)
    slot = _hash(tag, data, start, stop, held.seed[0]) & mask
    while held.slots[slot] >= 0:
        key = held.slots[slot]
        if held.tags[key] == tag and _same(held.data, held.offsets[key], held.offsets[key + 1], data, start, stop):
            return key
        slot = (slot + np.uint64(1)) & mask
    return np.int32(-1)
