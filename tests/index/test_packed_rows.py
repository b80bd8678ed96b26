"""Rows in compressed blocks come back as they were, and what does not unpack is damage."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from index.byte_rows import ByteRows
from index.damaged_file import DamagedFile
from index.packed_rows import BLOCK, LARGEST, PackedRows

ROW = st.tuples(st.binary(max_size=3), st.sampled_from([0, 1, 5, 300, 40_000, BLOCK - 4, BLOCK, 90_000]))
"""A pattern and about how long the row is that repeats it: few rows fill a block, and some exceed it."""


@settings(deadline=None, max_examples=60)
@given(st.lists(ROW, max_size=9), st.lists(ROW, max_size=3))
@example([], [])
def test_they_do_what_lists_do(left: list[tuple[bytes, int]], right: list[tuple[bytes, int]]) -> None:
    rows, more = ([pattern * (size // 3) for pattern, size in drawn] for drawn in (left, right))
    table = PackedRows.of(rows)
    assert table.to_list() == rows == [table[i] for i in range(len(rows))]
    assert PackedRows.packed(ByteRows.of(rows)).to_list() == rows
    joined = PackedRows.concatenate([table, ByteRows.of(more), PackedRows.of([]), table])
    assert joined.to_list() == rows + more + rows
    every = rows + more + rows
    order = np.random.default_rng(len(every)).integers(0, max(1, len(every)), 5 * len(every))
    assert joined.take(order).to_list() == [every[i] for i in order]


def test_many_rows_are_taken_block_by_block() -> None:
    rows = [f"{i:06d}".encode() * (i % 40) for i in range(20_000)]
    table = PackedRows.of(rows)
    assert len(table.blocks) > 30
    order = np.random.default_rng(1).permutation(len(rows))[:5_000]
    for chosen in (np.sort(order), order):
        assert table.take(chosen).to_list() == [rows[i] for i in chosen]


def test_bodies_shrink_and_noise_does_not_grow() -> None:
    rows = [b'{"op":"in","attribute":"colour","values":["%d"]}' % (i % 97) for i in range(5_000)]
    assert len(PackedRows.of(rows).data) < sum(map(len, rows)) / 8
    noise = np.random.default_rng(0).bytes(50_000)
    assert len(PackedRows.of([noise]).data) == len(noise) + 4
    assert len(PackedRows.of([b"x"]).data) == 5
    long = bytes(LARGEST)
    assert PackedRows.of([long]).to_list() == [long]


def change(table: PackedRows, place: tuple[int, int], number: int) -> PackedRows:
    blocks = table.blocks.copy()
    blocks[place] = number
    return PackedRows(table.data, blocks, "the-file")


@pytest.mark.parametrize(
    ("place", "number"),
    [
        pytest.param((0, 2), 2**62, id="a length that would fill the memory"),
        pytest.param((0, 2), -1, id="a negative length"),
        pytest.param((0, 2), 70_001, id="a length that is too large"),
        pytest.param((0, 2), 100, id="a length that is too small"),
        pytest.param((1, 0), 2**40, id="more rows than bytes"),
        pytest.param((1, 0), 90, id="fewer rows than there are"),
        pytest.param((1, 1), 10, id="a block cut off"),
        pytest.param((0, 1), 1, id="a block without its beginning"),
    ],
)
def test_a_block_that_is_not_whole_is_damage(place: tuple[int, int], number: int) -> None:
    table = PackedRows.of([b"abc%d" % i * 100 for i in range(100)])
    tracemalloc.start()
    with pytest.raises(DamagedFile, match=r"the-file is damaged: found .* block"):
        change(table, place, number).to_list()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 * LARGEST


def test_a_flipped_bit_is_damage_or_other_bytes_and_never_anything_else() -> None:
    rows = [b"abc%d" % i * 10 for i in range(200)]
    table = PackedRows.of(rows)
    refused = 0
    for position in range(len(table.data)):
        data = table.data.copy()
        data[position] ^= 1 << position % 8
        try:
            PackedRows(data, table.blocks).to_list()
        except DamagedFile:
            refused += 1
    assert refused > len(table.data) / 10
