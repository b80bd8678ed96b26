"""Segments: immutable, self-contained files of subscriptions, with the engine's arrays, ids, bodies and labels."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from index import files
from index.array_file import WHOLE, ArrayFile, open_arrays, write_arrays
from index.byte_rows import ByteRows
from index.directory import AnyPath, IndexDirectory
from index.engine import Engine, EstimatingEngine, Parts
from index.files import DamagedFile
from index.kept_tree import SHORT, Kept, kept, restored
from index.observed.statistics import EventStatistics, decode, encode
from index.packed_rows import PackedRows
from index.shared_leaves import SharedLeaves
from schemas.records import Subscription

KIND = "segment"

VERIFY_LIMIT = 2**20
"""Files up to this many bytes have their arrays' checksums compared when they are opened: it costs under 1 ms."""


class SegmentInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a manifest says of a segment file; ``checksum`` stands for its whole content, ``shard`` is the ids'."""

    name: str
    bytes: int
    count: int
    checksum: int
    shard: int = 0


class Body(msgspec.Struct, frozen=True, array_like=True):
    """A subscription without its id and labels, which have columns of their own, and without field names."""

    expression: Kept
    priority: float
    mode: Literal["all", "relaxed", "threshold"]
    threshold: float | None
    not_before: int | None
    not_after: int | None


class RawBody(msgspec.Struct, frozen=True, array_like=True):
    """A `Body` whose expression is left as it stands."""

    expression: msgspec.Raw
    priority: float
    mode: Literal["all", "relaxed", "threshold"]
    threshold: float | None
    not_before: int | None
    not_after: int | None


_encoder = msgspec.msgpack.Encoder()
_body_decoder = msgspec.msgpack.Decoder(Body)
_raw_body_decoder = msgspec.msgpack.Decoder(RawBody)
_labels_encoder = msgspec.json.Encoder()
_labels_decoder = msgspec.json.Decoder(dict[str, str])

STATISTICS = "statistics/data"
"""The array that holds `EventStatistics`."""

STATISTICS_FROM = 10_000
"""How many subscriptions a segment has at least that keeps them: they take some hundred kilobytes at most."""

SHARD = "shard"
"""The file's note of the number of its shard; none is 0."""

NO_LABELS = b"{}"
"""Empty labels as JSON; the column holds nothing for them."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Subscriptions in columns; row ``i`` of each is ordinal ``i``'s.

    Attributes
    ----------
    ids
        UTF-8, strictly ascending.
    bodies
        `Body` in MessagePack; plain rows in a file of format 1.
    labels
        JSON objects as notifications carry them; empty where there are none. Each match reads its own, so they are not
        compressed.
    """

    ids: ByteRows
    bodies: PackedRows | ByteRows
    labels: ByteRows

    @classmethod
    def of(cls, subscriptions: Sequence[Subscription]) -> Rows:
        """Return the subscriptions in columns."""
        return cls(
            ByteRows.of([s.id.encode() for s in subscriptions]),
            PackedRows.of([_encoded(s) for s in subscriptions]),
            ByteRows.of([_labels_encoder.encode(s.labels) if s.labels else b"" for s in subscriptions]),
        )

    @classmethod
    def concatenate(cls, tables: Sequence[Rows]) -> Rows:
        """Return the rows of all tables, in their order."""
        return cls(
            ByteRows.concatenate([t.ids for t in tables]),
            PackedRows.concatenate([t.bodies for t in tables]),
            ByteRows.concatenate([t.labels for t in tables]),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, ordinals: npt.NDArray[np.integer]) -> Rows:
        """Return the named rows, in the order named."""
        return Rows(self.ids.take(ordinals), self.bodies.take(ordinals), self.labels.take(ordinals))

    def subscription(self, ordinal: int) -> Subscription:
        """Return a subscription as it was written."""
        labels = self.labels[ordinal]
        body = msgspec.structs.asdict(_body_decoder.decode(self.bodies[ordinal]))
        return Subscription(
            id=self.ids[ordinal].decode(),
            expression=restored(body.pop("expression")),
            labels=_labels_decoder.decode(labels) if labels else {},
            **body,
        )

    def subscriptions(self) -> list[Subscription]:
        """Return all subscriptions; equal leaves are one object."""
        leaves = SharedLeaves()
        decode = _raw_body_decoder.decode
        found: list[Subscription] = []
        for id_, data, labels in zip(self.ids, self.bodies, self.labels, strict=True):
            body = decode(data)
            found.append(
                Subscription(
                    id_.decode(),
                    leaves.expression(bytes(body.expression)),
                    body.priority,
                    body.mode,
                    body.threshold,
                    body.not_before,
                    body.not_after,
                    _labels_decoder.decode(labels) if labels else {},
                )
            )
        return found


@dataclass(frozen=True, eq=False)
class Segment:
    """An open segment: read-only views of one memory map.

    Attributes
    ----------
    info
        Name, length, count, checksum.
    engine
        Name of the engine that built ``parts``.
    rows
        Ids, bodies and labels.
    parts
        The engine's arrays.
    """

    info: SegmentInfo
    engine: str
    rows: Rows
    parts: Parts
    file: ArrayFile

    @property
    def statistics(self) -> EventStatistics | None:
        """What was known of events when the segment was built, if that was kept."""
        data = self.file.arrays.get(STATISTICS)
        return None if data is None else decode(data.tobytes())

    @classmethod
    def open(cls, directory: AnyPath | IndexDirectory, name: str, whole: bool = False) -> Segment:
        """Map a segment's file; with ``whole``, or when it is small, its arrays' checksums are compared too.

        Raises
        ------
        DamagedFile
            The file is missing, torn or altered; of a large one without ``whole``, arrays that were altered are not
            found.
        """
        file = open_arrays(IndexDirectory.of(directory).segment(name), KIND, WHOLE if whole else VERIFY_LIMIT)
        rows = _rows(file)
        parts = {n.removeprefix("engine/"): array for n, array in file.arrays.items() if n.startswith("engine/")}
        info = SegmentInfo(name, file.bytes, len(rows), file.checksum, int(file.notes.get(SHARD, 0)))
        return cls(info, file.notes["engine"], rows, parts, file)

    def expect(self, wanted: SegmentInfo) -> None:
        """Raise `DamagedFile` unless this is the very file that a manifest names."""
        if self.info != wanted:
            raise DamagedFile(self.file.path, str(self.info), str(wanted))


def write_segment(
    directory: AnyPath | IndexDirectory, engine: Engine, subscriptions: Sequence[Subscription], shard: int = 0
) -> SegmentInfo:
    """Build a segment and write its file, which nobody sees until a version names it.

    Parameters
    ----------
    directory
        The index directory; made when missing.
    engine
        Builds the arrays that match.
    subscriptions
        At least one, with distinct ids, in any order.
    shard
        The one that all of the ids belong to.

    Raises
    ------
    schemas.errors.Refused
        The engine cannot express a subscription.
    """
    ordered = sorted(subscriptions, key=lambda s: s.id)
    return write_rows(directory, engine, ordered, Rows.of(ordered), shard=shard)


def write_rows(
    directory: AnyPath | IndexDirectory,
    engine: Engine,
    subscriptions: Sequence[Subscription],
    rows: Rows,
    statistics: EventStatistics | None = None,
    shard: int = 0,
) -> SegmentInfo:
    """Write the segment of subscriptions whose columns are at hand; both ascending by id, ids distinct.

    An engine that has a use for statistics of events is given them, and a segment that is not small keeps them.
    """
    if not len(rows) or not rows.ids.ascending():
        raise ValueError("a segment wants at least one subscription and distinct ids")
    layout = IndexDirectory.of(directory)
    layout.create()
    name = files.unique_name()
    if statistics is not None and statistics.events and isinstance(engine, EstimatingEngine):
        parts = engine.build(subscriptions, statistics)
    else:
        parts, statistics = engine.build(subscriptions), None
    arrays = {f"engine/{part}": array for part, array in parts.items()}
    if statistics is not None and len(rows) >= STATISTICS_FROM:
        arrays[STATISTICS] = np.frombuffer(encode(statistics), np.uint8)
    arrays |= _columns(rows)
    notes = {"engine": engine.name} | ({SHARD: str(shard)} if shard else {})
    length, checksum = write_arrays(layout.segment(name), KIND, notes, arrays)
    return SegmentInfo(name, length, len(rows), checksum, shard)


def _encoded(s: Subscription) -> bytes:
    """Return a subscription's body; a look at every tree would take as long as encoding it, one at the length does not.

    A tree for which the stack does not suffice is looked at too.
    """
    with suppress(RecursionError):
        encoded = _encoder.encode(_body(s, s.expression))
        if len(encoded) <= SHORT:
            return encoded
    return _encoder.encode(_body(s, kept(s.expression)))


def _body(s: Subscription, expression: Kept) -> Body:
    return Body(expression, s.priority, s.mode, s.threshold, s.not_before, s.not_after)


def _columns(rows: Rows) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of the columns as a file holds them: labels have one offset when there are none at all."""
    ids, bodies, labels = rows.ids.small(), PackedRows.packed(rows.bodies), rows.labels.small()
    return {
        "ids/data": ids.data,
        "ids/offsets": ids.offsets,
        "bodies/data": bodies.data,
        "bodies/blocks": bodies.blocks,
        "labels/data": labels.data,
        "labels/offsets": labels.offsets if len(labels.data) else labels.offsets[:1],
    }


def _rows(file: ArrayFile) -> Rows:
    arrays = file.arrays
    ids = ByteRows(arrays["ids/data"], arrays["ids/offsets"])
    bodies: PackedRows | ByteRows
    if "bodies/blocks" in arrays:
        bodies = PackedRows(arrays["bodies/data"], arrays["bodies/blocks"], file.path)
    else:
        bodies = ByteRows(arrays["bodies/data"], arrays["bodies/offsets"])
    offsets = arrays["labels/offsets"]
    if len(offsets) == 1:
        offsets = np.zeros(len(ids) + 1, np.uint32)  # costs memory only where it is written to, and it never is
    return Rows(ids, bodies, ByteRows(arrays["labels/data"], offsets))
