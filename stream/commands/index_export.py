"""``tocsin index export``: all subscriptions of an index as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
import typer

from schemas.errors import TocsinError
from stream.commands.looking import IndexOption, VersionOption, look_into, scanned
from stream.commands.shared import ConfigOption, SetOption, say
from stream.wording import counted


def index_export(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Where they go, one a line; - for stdout. It must not exist.")
    ] = "-",
    index: IndexOption = None,
    version: VersionOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Write every subscription of the index as a line of JSON: the id as 'id', and the members of its record.

    It reads the index directory alone, needs no broker, and may run beside the job. 'tocsin index import' reads the
    lines. Filter texts are not kept in the index: they come out as the trees that they stand for.
    """
    _, snapshot = look_into(context, index, version, config, overrides)
    from index.live import alive, read
    from schemas.json_codec import encode_subscription

    places = alive(snapshot)
    with _output(file) as lines:
        for subscription in scanned(read(snapshot, places), len(places), "exporting"):
            id_, record = msgspec.json.encode(subscription.id), encode_subscription(subscription)
            lines.write(b'{"id":%b,%b\n' % (id_, record[1:]))
    say(f"exported {counted(len(places), 'subscription')} of version {snapshot.version}")


@contextmanager
def _output(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        lines = Path(file).open("xb")  # noqa: SIM115 - an OSError of the block below is not this one's
    except OSError as error:
        raise TocsinError(f"{file} can't be made: {error.strerror}; give the path of a new file") from error
    with lines:
        yield lines
