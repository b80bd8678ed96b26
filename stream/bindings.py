"""What the checkpoint of the events belongs to: one index directory and one events topic, written down beside it."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from index import files
from index.directory import IndexDirectory
from schemas.errors import TocsinError
from stream.sources import Source

IDENTITY_FILE = "identity"
BINDING_FILE = "binding.json"


class Binding(msgspec.Struct, frozen=True):
    """What a checkpoint was made with.

    Attributes
    ----------
    index
        Identity of the index directory, which goes with its files wherever they are moved.
    index_path
        Where it was, for the eye.
    events
        The events topic, in words.
    """

    index: str
    index_path: str
    events: str


_binding_decoder = msgspec.json.Decoder(Binding)


def bind(checkpoint: Path, index: Path | str, events: Source, index_is_new: bool) -> None:
    """Bind a checkpoint to an index and a topic, or see that it is bound to these.

    Parameters
    ----------
    checkpoint
        The folder of the events' checkpoint.
    index
        The index directory.
    events
        The events topic.
    index_is_new
        Whether nothing was ever published in it: an index that is built anew takes the place of the one before.

    Raises
    ------
    TocsinError
        The checkpoint belongs to another index directory or another topic.
    """
    now = Binding(_identity(index), str(index), events.topic_text)
    path = checkpoint / BINDING_FILE
    if path.exists():
        before = _read(path)
        if before.events != now.events:
            raise TocsinError(
                f"the checkpoint {checkpoint} counts the offsets of {before.events}, but {events.topic} is now "
                f"{now.events}: it was created again, or is on another cluster; remove the checkpoint folder "
                f"(job.checkpoint_dir) to begin with this one, or give the job its topic back"
            )
        if before.index != now.index and before.index_path == now.index_path and not index_is_new:
            raise TocsinError(
                f"the index directory {index} is not the one that the checkpoint {checkpoint} belongs to: it was "
                f"removed or replaced; bring that one back, or remove {index}: the index is built anew from the "
                f"subscriptions topic, and the checkpoint stays"
            )
        if before.index != now.index and not index_is_new:
            raise TocsinError(
                f"the checkpoint {checkpoint} belongs to the index of {before.index_path}, not to that of {index}; "
                f"name the one it belongs to (job.index_dir), or remove the checkpoint folder (job.checkpoint_dir): "
                f"Kafka keeps what was committed"
            )
        if before == now:
            return
    files.make_folder(checkpoint)
    files.write_new(path, [msgspec.json.encode(now)])


def _identity(index: Path | str) -> str:
    """Return the random name of an index directory, given when it is first used."""
    path = IndexDirectory.of(index).root / IDENTITY_FILE
    files.create_exclusive(path, secrets.token_hex(16).encode())
    return files.read(path).decode("ascii")


def _read(path: Path) -> Binding:
    try:
        return _binding_decoder.decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise TocsinError(
            f"{path} is damaged ({error}); remove the checkpoint folder: Kafka keeps what was committed"
        ) from error
