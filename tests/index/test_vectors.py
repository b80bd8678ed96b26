"""Vector instructions against the same number by number: values picked, ranks compared, masks joined."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block import pages
from index.block.comparing import AT_ONCE, inside
from index.block.exchanging import turn
from index.block.lanes import everywhere, load, some, store
from index.block.selecting import has, list_words, select, select_near
from index.block.streaming import spread_row, write_lines, write_past
from index.kernel import kernel

INT32S = st.integers(-(2**31), 2**31 - 1)


@kernel
def select_all(values, words, out):  # type: ignore[no-untyped-def]
    """Pick from as many stretches of 64 values as there are words; return how many have been picked."""
    n = np.int64(0)
    for i in range(len(words)):
        n = select(values, 64 * i, words[i], out, n)  # type: ignore[no-untyped-call]
    return n


@kernel
def select_all_near(bases, offset, words, out):  # type: ignore[no-untyped-def]
    """Do the same where each stretch has a base to which short numbers are added."""
    n = np.int64(0)
    for i in range(len(words)):
        n = select_near(bases[i], offset, 64 * i, words[i], out, n)  # type: ignore[no-untyped-call]
    return n


@kernel
def list_some(words, row, first, stop, out):  # type: ignore[no-untyped-def]
    """Call it from compiled code, behind three numbers that stand there already."""
    return list_words(words, row, first, stop, out, 3)  # type: ignore[no-untyped-call]


@kernel
def inside_of(ranks, row, low, high):  # type: ignore[no-untyped-def]
    """Call it from compiled code."""
    return inside(ranks, row, low, high)  # type: ignore[no-untyped-call]


@kernel
def combine(lanes, masks, one, out):  # type: ignore[no-untyped-def]
    """Write to ``out`` (a & b) | (~b ^ c), of masks 0, 1 of a table and another; return whether it has a bit."""
    a, b, c = load(lanes, masks, 0), load(lanes, masks, 1), load(lanes, one, 0)
    mask = a & b | (~b ^ c) & everywhere(lanes, np.int64(-1)) | everywhere(lanes, 0)
    store(mask, out, (1, 2))
    return some(mask)


@kernel
def turn_square(lanes, square):  # type: ignore[no-untyped-def]
    """Call it from compiled code."""
    turn(lanes, square)


@kernel
def copy_stretches(values, cuts, out, begin):  # type: ignore[no-untyped-def]
    """Copy the values up to each cut to a stretch of ``out``, each 7 behind the one before; return the end."""
    for i in range(len(cuts)):
        write_past(values, cuts[i], out, begin)
        begin += cuts[i] + 7
    return begin


@kernel
def copy_by_lines(values, cuts, room, out, begin):  # type: ignore[no-untyped-def]
    """Copy the values one behind the other, as many at a time as the cuts say; return the end."""
    taken, n = 0, np.int64(0)
    for i in range(len(cuts)):
        for _ in range(cuts[i]):
            room[n] = values[taken]
            n, taken = n + 1, taken + 1
        n, begin = write_lines(room, n, out, begin)  # type: ignore[no-untyped-call]
    write_past(room, n, out, begin)  # type: ignore[arg-type]
    return begin + n


@kernel
def spread_rows(lanes, squares, turned, word):  # type: ignore[no-untyped-def]
    """Write all rows of eight squares."""
    for row in range(64):
        spread_row(lanes, squares, row, turned, word)


def _check_selected(kind: type[np.int32] | type[np.int64], words: list[int]) -> None:
    bits = np.array(words, np.uint64)
    values = np.random.default_rng(1).integers(np.iinfo(kind).min, np.iinfo(kind).max, 64 * len(bits), kind)
    out = np.zeros(len(values) + 64, kind)
    held = np.unpackbits(bits.astype("<u8").view(np.uint8), bitorder="little").astype(bool)
    count = select_all(values, bits, out)
    assert out[:count].tolist() == values[held].tolist()


def _check_near(words: list[int]) -> None:
    rng, bits = np.random.default_rng(2), np.array(words, np.uint64)
    bases = rng.integers(0, 2**31 - 2**16, len(bits), np.int32)
    offset = rng.integers(0, 2**16, 64 * len(bits), np.uint16)
    out = np.zeros(len(offset) + 64, np.int32)
    held = np.unpackbits(bits.astype("<u8").view(np.uint8), bitorder="little").astype(bool)
    count = select_all_near(bases, offset, bits, out)
    assert out[:count].tolist() == (np.repeat(bases, 64) + offset)[held].tolist()


def _check_listed(words: list[int], first: int, stop: int) -> None:
    table = np.array([[1] * len(words), words], np.uint64)
    out = np.full(len(words) + 11, -1, np.int32)
    end = list_some(table, 1, first, stop, out)
    assert out[:end].tolist() == [-1] * 3 + [i for i in range(first, stop) if words[i]]


@settings(deadline=None)
@given(
    words=st.lists(st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 0, 1, 2**63, 2**64 - 1])), max_size=40),
    data=st.data(),
)
def test_short_numbers_are_picked_and_words_that_are_not_zero_are_listed(words: list[int], data: st.DataObject) -> None:
    _check_near(words)
    first = data.draw(st.integers(0, len(words)))
    _check_listed(words, first, data.draw(st.integers(first, len(words))))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@settings(deadline=None)
@given(words=st.lists(st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 1])), max_size=20))
def test_values_are_picked_by_their_bits(kind: type[np.int32] | type[np.int64], words: list[int]) -> None:
    _check_selected(kind, words)


@pytest.mark.parametrize("features", ["", "+avx512f,+avx512vl,+avx512dq,+avx512bw,+popcnt"])
def test_values_are_picked_the_same_on_a_plainer_processor(features: str) -> None:
    """Numba compiles for the features that it is told of: none, or those that compress registers of numbers alone."""
    if features and not has("avx512f"):
        pytest.skip("this processor has none of them")
    program = (
        "import numpy as np\n"
        "from index.block.selecting import has\n"
        "from tests.index.test_vectors import _check_listed, _check_near, _check_selected\n"
        f"assert has('avx512f') == {bool(features)} and not has('avx512vbmi2')\n"
        "for kind in (np.int32, np.int64):\n"
        "    _check_selected(kind, [0, 1, 2**63, 2**64 - 1, 0x5A5A5A5A5A5A5A5A])\n"
        "_check_near([0, 1, 2**63, 2**64 - 1, 0x5A5A5A5A5A5A5A5A])\n"
        "_check_listed([0, 1, 2**63, 2**64 - 1, 0, 0] * 9, 2, 50)\n"
    )
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": ""}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@settings(deadline=None)
@given(
    ranks=st.lists(st.one_of(INT32S, st.integers(-1, 5)), min_size=3 * AT_ONCE, max_size=3 * AT_ONCE),
    row=st.integers(0, 2),
    low=st.one_of(INT32S, st.integers(0, 5)),
    high=st.one_of(INT32S, st.integers(0, 5)),
)
def test_ranks_inside_an_interval_are_told(ranks: list[int], row: int, low: int, high: int) -> None:
    held = np.array(ranks, np.int32).reshape(3, AT_ONCE)
    expected = sum((low <= rank <= high) << i for i, rank in enumerate(held[row].tolist()))
    assert inside_of(held, row, low, high) == expected


@pytest.mark.parametrize("words", [1, 2, 4, 8])
@pytest.mark.parametrize("kind", ["random", "none"])
def test_masks_are_joined_whole(words: int, kind: str) -> None:
    rng = np.random.default_rng(words)
    masks, one = rng.integers(0, 2**64, (2, words), np.uint64), rng.integers(0, 2**64, words, np.uint64)
    if kind == "none":
        masks[0], masks[1], one[:] = 0, ~np.uint64(0), 0
    out = np.full((2, 3, words), 7, np.uint64)
    expected = masks[0] & masks[1] | (~masks[1] ^ one)
    assert combine((0,) * words, masks, one, out) == bool(expected.any()) == (kind == "random")
    assert out[1, 2].tolist() == expected.tolist()
    assert (np.delete(out.reshape(6, words), 5, axis=0) == 7).all()


@pytest.mark.parametrize("words", [1, 2, 4, 8])
def test_squares_are_turned_by_exchanging_bits(words: int) -> None:
    square = np.random.default_rng(words).integers(0, 2**64, (65, words), np.uint64)
    bits = (square[:64, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    last = square[64].tolist()
    turn_square((0,) * words, square)
    turned = (square[:64, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert (turned == bits.transpose(2, 1, 0)).all()
    assert square[64].tolist() == last


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, 90), max_size=8), begin=st.integers(0, 40))
def test_values_are_copied_past_the_cache(kind: type[np.int32] | type[np.int64], cuts: list[int], begin: int) -> None:
    """From any place in a line to any other, and nothing beside."""
    values, out = np.arange(100, 200, dtype=kind), np.full(1000, -1, kind)
    expected = out.copy()
    at = begin
    for cut in cuts:
        expected[at : at + cut] = values[:cut]
        at += cut + 7
    assert copy_stretches(values, np.array(cuts, np.int64), out, begin) == at
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(cuts=st.lists(st.integers(0, 90), max_size=20), begin=st.integers(0, 40))
def test_values_are_copied_line_by_line(kind: type[np.int32] | type[np.int64], cuts: list[int], begin: int) -> None:
    """What does not fill a line is copied with what comes later, and nothing beside."""
    values, out = np.arange(100, 2000, dtype=kind), np.full(2000, -1, kind)
    expected = out.copy()
    expected[begin : begin + sum(cuts)] = values[: sum(cuts)]
    room = np.empty(16 + 90 + 64, kind)
    assert copy_by_lines(values, np.array(cuts, np.int64), room, out, begin) == begin + sum(cuts)
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("words", [1, 2, 4, 8])
def test_squares_are_written_line_by_line(words: int) -> None:
    squares = np.random.default_rng(words).integers(0, 2**64, (8, 65, words), np.uint64)
    turned = pages.zeros((64 * words, 24), np.uint64)
    spread_rows((0,) * words, squares, turned, 8)
    for event in range(64 * words):
        assert turned[event, 8:16].tolist() == squares[:, event & 63, event >> 6].tolist()
    assert not turned[:, :8].any()
    assert not turned[:, 16:].any()
