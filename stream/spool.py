"""The spool: rows past a limit go to an Arrow IPC file that the driver streams, so that memory stays bounded."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from stream import rows

OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")
"""Notifications of one event differ in little: the file has a sixth of their bytes."""


class SpoolPlan(msgspec.Struct, frozen=True):
    """Where a task spools, and from how many bytes of rows on."""

    folder: str
    inline_bytes: int


def bounded(plan: SpoolPlan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass batches on until ``inline_bytes`` have gone by; write the rest to a file and yield one row that names it.

    Order is kept: the row of the file stands where its rows would. A task that is run again writes a new file; the
    driver empties the folder before each pass.
    """
    passed = 0
    for batch in batches:
        passed += batch.nbytes
        yield batch
        if passed > plan.inline_bytes:
            break
    else:
        return
    first = next(batches, None)
    if first is None:
        return
    file = Path(plan.folder) / f"{uuid.uuid4().hex}.arrow"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, rows.SCHEMA, options=OPTIONS) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
    yield rows.record_batch(rows.SPOOL, [None], [str(file).encode()])


def expand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in order, those of spooled files in place of the rows that name them."""
    for batch in batches:
        if rows.values_of([batch], rows.SPOOL):
            yield from _expand_batch(batch)
        else:
            yield batch


def _expand_batch(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    start = 0
    for i, kind in enumerate(batch.column(0).to_pylist()):
        if kind == rows.SPOOL:
            yield batch.slice(start, i - start)
            start = i + 1
            with pa.OSFile(batch.column(2)[i].as_py().decode(), "rb") as source:  # a map of it would fill the memory
                reader = pa.ipc.open_file(source)
                for n in range(reader.num_record_batches):
                    yield reader.get_batch(n)
    yield batch.slice(start)


def clear(folder: Path) -> None:
    """Remove all spooled files: called when no pass of the query's is under way."""
    for file in folder.glob("*.arrow"):
        file.unlink(missing_ok=True)
