"""Records and tasks as Spark's workers get them, for tests that call the workers' functions directly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from stream.absorber import AbsorbTask
from stream.decoding import Decoding
from stream.spool import SpoolPlan

RECORDS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("millis", pa.int64()),
    ]
)


def records(*entries: tuple[bytes | None, Any], partition: int = 0, first: int = 0) -> pa.RecordBatch:
    """Return a partition's records from offset ``first`` on; a value that is not bytes is written as JSON."""
    table = [
        {
            "key": key,
            "value": value if value is None or isinstance(value, bytes) else json.dumps(value).encode(),
            "partition": partition,
            "offset": first + i,
            "millis": 1_700_000_000_000 + i,
        }
        for i, (key, value) in enumerate(entries)
    ]
    return pa.RecordBatch.from_pylist(table, schema=RECORDS)


def absorb_task(index: Path, **changes: Any) -> AbsorbTask:
    """Return the task of a micro-batch of subscriptions."""
    plan = SpoolPlan(str(index / "spool" / "subscriptions"), 1 << 20)
    return msgspec.structs.replace(AbsorbTask(str(index), "subscriptions", Decoding(), plan), **changes)
