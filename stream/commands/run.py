"""``tocsin run``: the job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schemas.errors import TocsinError
from stream.commands.shared import ConfigOption, SetOption, load
from stream.exit_codes import FAILURE


def run(
    context: typer.Context,
    master: Annotated[
        str | None, typer.Option(metavar="MASTER", help="Where Spark runs: local[*], spark://host:7077, yarn …")
    ] = None,
    index: Annotated[str | None, typer.Option(metavar="DIR", help="Folder of the index, or its address.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", readable=False, help="Folder of Spark's checkpoints.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="The matching engine; see job.engine in the settings.")
    ] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Run the job: subscriptions and events in, notifications out, until Ctrl-C or SIGTERM.

    It goes on where the last run with the same index and checkpoint ended.
    """
    named = {
        "--master": ("job.master", master),
        "--index": ("job.index_dir", index),
        "--checkpoint": ("job.checkpoint_dir", checkpoint),
        "--engine": ("job.engine", engine),
    }
    settings = load(context, config, overrides, named)
    from stream import job
    from stream.log_format import tell_error

    try:
        code = job.run(settings)
    except TocsinError as error:
        tell_error(settings.job.log_format, error)
        code = FAILURE
    raise typer.Exit(code)
