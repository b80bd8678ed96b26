"""``tocsin index gc``: removes the files of an index directory that no version that is kept names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream.commands.looking import IndexOption, look_for
from stream.commands.shared import ConfigOption, JsonOption, SetOption, write_line
from stream.console import console
from stream.wording import counted


def index_gc(
    context: typer.Context,
    now: Annotated[
        bool, typer.Option("--now", help="Young files too; for an index that no job and nobody else uses.")
    ] = False,
    json: JsonOption = False,
    index: IndexOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Remove versions that nobody may read any more, and the files that no version names. The running job does so too.

    The latest version stays, as do those that a batch is pinned to. Versions that were superseded in the last five
    minutes stay for readers, and files of the last hour for those who write them.
    """
    settings, _ = look_for(context, index, None, config, overrides)
    directory = settings.job.index_dir
    from index.garbage import SUPERSEDED_SECONDS, UNPUBLISHED_SECONDS, collect
    from stream.index_place import IndexPlace
    from stream.lock import FolderLock

    if now:
        place = IndexPlace.of(directory, Path(settings.job.checkpoint_dir).absolute())
        # Held to the end: a job that began meanwhile would lose the segments that it is about to publish.
        with FolderLock(place.folder, "job.index_dir", "", "tocsin index gc --now", "leave out --now"):
            collected = collect(directory, 0.0, 0.0)
    else:
        collected = collect(directory, SUPERSEDED_SECONDS, UNPUBLISHED_SECONDS)
    if json:
        import msgspec

        write_line(msgspec.json.encode(collected))
    else:
        removed = f"{counted(collected.manifests, 'version')} and {counted(collected.files, 'file')}"
        console().print(f"removed {removed}, {collected.bytes:,} bytes", soft_wrap=True)
