"""Columns of values as rows of their canonical bytes: `index.terms.value_bytes` for thousands of values at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from index.byte_rows import ByteRows
from index.exact_numbers import ExactNumbers
from index.slices import starts_of
from index.terms import text_bytes, value_bytes
from schemas.values import Value

_FEW, _FEW_TEXTS = 512, 64
"""So few values of several types, or texts beyond ASCII, are sooner written one by one."""

_TEXT, _BOOLEAN, _INTEGER, _DOUBLE = b"sbif"
_NUMBER = np.dtype([("kind", "u1"), ("content", "<i8")])
_MARK = "\x80"
"""Stands before each text until it is known to be the only character that is not ASCII."""


def value_rows(values: Sequence[Value]) -> ByteRows:
    """Return each value's `index.terms.value_bytes`."""
    types = set(map(type, values))
    if types == {str}:
        return _texts(values)  # type: ignore[arg-type]
    if types == {int}:
        return _integers(values)
    return _one_by_one(values) if len(values) < _FEW else _mixed(values, types)


def _one_by_one(values: Sequence[Value]) -> ByteRows:
    return ByteRows.of([value_bytes(value) for value in values])


def _mixed(values: Sequence[Value], types: set[type]) -> ByteRows:
    """Write a column for each type, and put the rows back into their order."""
    place = {of: next(i for i, (base, _) in enumerate(_COLUMNS) if issubclass(of, base)) for of in types}
    column = np.fromiter(map(place.__getitem__, map(type, values)), np.int8, len(values))
    order = np.argsort(column, kind="stable")
    sorted_ = [values[i] for i in order.tolist()]
    cuts = np.searchsorted(column[order], np.arange(len(_COLUMNS) + 1)).tolist()
    tables = [write(sorted_[a:b]) for (_, write), (a, b) in zip(_COLUMNS, pairwise(cuts), strict=True) if a < b]
    row = np.empty(len(order), np.int64)
    row[order] = np.arange(len(order))
    return ByteRows.concatenate(tables).take(row)


def _texts(texts: Sequence[str]) -> ByteRows:
    """Write all texts at once: in ASCII, the bytes show where each begins."""
    marked = _MARK + _MARK.join(texts)
    try:
        data = np.frombuffer(bytearray(marked.encode("latin-1")), np.uint8)
    except UnicodeEncodeError:
        return _wide_texts(texts)
    begins = (data >= ord(_MARK)).nonzero()[0]
    if len(begins) > len(texts):
        return _wide_texts(texts)
    data[begins] = _TEXT
    offsets = np.empty(len(texts) + 1, np.int64)
    offsets[:-1], offsets[-1] = begins, len(data)
    return ByteRows(data, offsets)


def _wide_texts(texts: Sequence[str]) -> ByteRows:
    """Count the characters before each text, and find in the bytes where so many have ended."""
    if len(texts) < _FEW_TEXTS:
        return _one_by_one(texts)
    data = np.frombuffer(text_bytes("s" + "s".join(texts)), np.uint8)
    characters = starts_of(np.fromiter(map(len, texts), np.int64, len(texts)) + 1, len(texts))
    begins = ((data & 0xC0) != 0x80).nonzero()[0]
    return ByteRows(data, np.append(begins, len(data))[characters])


def _booleans(values: Sequence[Value]) -> ByteRows:
    data = np.full((len(values), 2), _BOOLEAN, np.uint8)
    data[:, 1] = values
    return ByteRows(data.ravel(), np.arange(0, data.size + 1, 2))


def _integers(values: Sequence[Value]) -> ByteRows:
    return _numbers(_INTEGER, np.array(values, np.int64))


def _doubles(values: Sequence[Value]) -> ByteRows:
    return number_rows(ExactNumbers.of_doubles(np.array(values, np.float64)))


def number_rows(numbers: ExactNumbers) -> ByteRows:
    """Return each number's `index.terms.value_bytes`: a 64-bit integer is written as one, and a NaN as nothing."""
    rows = _numbers(np.where(numbers.whole, np.uint8(_INTEGER), np.uint8(_DOUBLE)), numbers.content)
    held = numbers.whole | ~np.isnan(numbers.double)
    if held.all():
        return rows
    offsets = starts_of(held * _NUMBER.itemsize, len(held))
    return ByteRows(rows.take(held.nonzero()[0]).data, offsets)


def _numbers(kind: npt.ArrayLike, content: npt.NDArray[np.int64]) -> ByteRows:
    rows = np.empty(len(content), _NUMBER)
    rows["kind"], rows["content"] = kind, content
    return ByteRows(rows.view(np.uint8), np.arange(0, rows.nbytes + 1, _NUMBER.itemsize))


_COLUMNS: tuple[tuple[type, Callable[[Sequence[Value]], ByteRows]], ...] = (
    (str, _texts),  # type: ignore[assignment]
    (bool, _booleans),
    (int, _integers),
    (float, _doubles),
)
"""How a column of each type is written; a boolean is an integer too."""
