"""What Structured Streaming wrote down about a micro-batch before it ran: its end offsets, and the query's identity.

Spark records batch N's end offsets in ``offsets/N`` under the checkpoint before the batch starts and reads them back
on a replay, so they are the one description of a batch that never changes. `foreachBatch` is not told them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec

from index import files
from schemas.errors import TocsinError
from stream.offsets import Offsets

DROPPED = ".dropped-"
"""In the name of a checkpoint that nobody reads any more, whose files are being removed."""


class Metadata(msgspec.Struct):
    """What Spark says of a query."""

    id: str


_offsets_decoder = msgspec.json.Decoder(dict[str, Offsets])
_metadata_decoder = msgspec.json.Decoder(Metadata)


class UnreadableCheckpoint(TocsinError):
    """A file of a checkpoint that is missing or torn.

    Parameters
    ----------
    file
        The file, which describes one micro-batch or the query.
    reason
        Why it can't be read.
    """

    def __init__(self, file: Path, reason: object) -> None:
        super().__init__(file, reason)
        self.found = f"the checkpoint file {file} can't be read ({reason})"

    def __str__(self) -> str:
        return (
            f"{self.found}; start the job again, and if that does not help remove the checkpoint folder: Kafka keeps "
            f"the committed offsets of the consumer group"
        )


def batch_end_offsets(checkpoint: Path, batch: int, topic: str) -> Offsets:
    """Return the end offsets of a batch, as its query wrote them before running it.

    Raises
    ------
    UnreadableCheckpoint
        The checkpoint lacks the batch, or its file is torn.
    TocsinError
        The batch read another topic.
    """
    file = checkpoint / "offsets" / str(batch)
    try:
        # Three lines and more: a version, the batch's metadata, then one line of offsets a source; ours has one source.
        line = file.read_text().splitlines()[2]
        per_topic = _offsets_decoder.decode(line)
    except (OSError, IndexError, ValueError, msgspec.DecodeError) as error:
        raise UnreadableCheckpoint(file, error) from error
    if set(per_topic) != {topic}:
        raise TocsinError(
            f"the checkpoint {checkpoint} belongs to topic {', '.join(sorted(per_topic))}, not to {topic}; give this "
            f"job a checkpoint folder of its own (job.checkpoint_dir)"
        )
    return per_topic[topic]


def batch_start_offsets(checkpoint: Path, batch: int, topic: str) -> Offsets:
    """Return the offsets that a batch begins at: where the one before ends, or where the query began.

    A partition that is not named begins at its beginning.

    Raises
    ------
    UnreadableCheckpoint
        The checkpoint lacks the batch before, or the file of the query's beginning, or it is torn.
    """
    if batch:
        return batch_end_offsets(checkpoint, batch - 1, topic)
    file = checkpoint / "sources" / "0" / "0"
    try:
        # A byte of Spark's, or none, a line with a version, and the offsets.
        per_topic = json.loads(file.read_text().split("\n", 1)[1])
        return {int(partition): int(offset) for partition, offset in per_topic[topic].items()}
    except (OSError, IndexError, KeyError, ValueError) as error:
        raise UnreadableCheckpoint(file, error) from error


def last_batches(checkpoint: Path) -> tuple[int, int]:
    """Return the numbers of the last micro-batch that was begun and the last that was done; -1 where there is none."""
    begun, done = (
        max((int(file.name) for file in (checkpoint / folder).glob("*") if file.name.isdigit()), default=-1)
        for folder in ("offsets", "commits")
    )
    return begun, done


def torn_file(checkpoint: Path) -> Path | None:
    """Return a file of a checkpoint that does not end as Spark's files do, with a JSON object, or None.

    Spark syncs none of its files: a power cut leaves the latest of them empty, cut off or full of zeros, and Spark then
    ends with "Incomplete log file" whenever it is started.
    """
    numbered = (file for folder in ("offsets", "commits", "sources/*") for file in checkpoint.glob(f"{folder}/*"))
    files_ = [*checkpoint.glob("metadata"), *sorted(file for file in numbered if file.name.isdigit())]
    return next((file for file in files_ if not file.read_bytes().endswith(b"}")), None)


def drop_checkpoint(checkpoint: Path) -> None:
    """Remove a checkpoint, all of it or nothing: half of one would let a query go on in the middle of what it read."""
    if checkpoint.exists():
        checkpoint.rename(checkpoint.with_name(f"{checkpoint.name}{DROPPED}{files.unique_name()}"))
        remove_dropped(checkpoint)


def remove_dropped(checkpoint: Path) -> None:
    """Remove what is left of checkpoints that were dropped, by a process that died over it too."""
    for dropped in checkpoint.parent.glob(f"{checkpoint.name}{DROPPED}*"):
        shutil.rmtree(dropped)


def query_identity(checkpoint: Path) -> str:
    """Return the id that Spark gave the query when the checkpoint was made; a new checkpoint has a new one.

    Raises
    ------
    UnreadableCheckpoint
        The file that holds it is missing or torn.
    """
    file = checkpoint / "metadata"
    try:
        return _metadata_decoder.decode(file.read_bytes()).id
    except (OSError, msgspec.DecodeError) as error:
        raise UnreadableCheckpoint(file, error) from error


def starting_offsets(topic: str, partitions: int, known: Offsets) -> str:
    """Return the ``startingOffsets`` option: known partitions go on where they were, others from their beginning."""
    earliest = -2
    return json.dumps({topic: {str(p): known.get(p, earliest) for p in range(partitions)}})
