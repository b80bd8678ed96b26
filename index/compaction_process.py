"""The process that compacts: ``python -m index.compaction_process DIRECTORY``.

It runs at low priority beside the job and needs no connection to it: both meet in the index directory only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from index.compaction import compact, watch
from index.directory import IndexDirectory
from index.files import DamagedFile
from index.garbage import collect
from index.manifest import latest
from index.parent_process import end_with
from schemas.errors import TocsinError
from schemas.texts import ANALYSERS, set_analyser

DAMAGED = 65
"""Exit code when a file is damaged: trying again is of no use. Any other error ends the process with 1."""


def lower_priority() -> None:
    """Let every other process go first, on the processors and on the disk."""
    os.nice(10)
    if (ionice := shutil.which("ionice")) is not None:
        subprocess.run([ionice, "-c", "3", "-p", str(os.getpid())], check=False, capture_output=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a process; return the exit code."""
    from index.engines import check_builder, engine_named  # who imports this module for its exit code needs no engine

    options = _parser().parse_args(arguments)
    # A merge may be cut off anywhere, so there is nothing to tidy up: the signals simply end the process.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    lower_priority()
    set_analyser(options.analyser)
    if options.with_parent is not None:
        threading.Thread(target=end_with, args=(options.with_parent,), daemon=True).start()
    try:
        engine = engine_named(options.engine)
        check_builder(options.directory, latest(options.directory).segments, options.engine, "--engine")
        if options.watch:
            merged = _print_seconds if options.report else lambda _: None
            watch(options.directory, engine, options.every, lambda: False, merged=merged)
        else:
            compact(options.directory, engine)
            collect(options.directory)
    except TocsinError as error:
        print(error, file=sys.stderr)
        return DAMAGED if isinstance(error, DamagedFile) else 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m index.compaction_process", description="Merge an index directory's segments."
    )
    parser.add_argument("directory", type=IndexDirectory.of, help="the index directory; it may be in use")
    parser.add_argument("--engine", default="block", metavar="NAME", help="what builds the merged segments (block)")
    parser.add_argument(
        "--analyser", default=ANALYSERS[0], choices=ANALYSERS, help=f"matching.analyser of the job ({ANALYSERS[0]})"
    )
    parser.add_argument("--watch", action="store_true", help="go on until the process is ended")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="pause between two looks (1.0)")
    parser.add_argument(
        "--report", action="store_true", help="with --watch: print the seconds of each merge, one a line"
    )
    parser.add_argument(
        "--with-parent",
        type=int,
        nargs="?",
        const=os.getppid(),
        metavar="PID",
        help="end when the process that started this one ends; give its PID if it may end before this one is up",
    )
    return parser


def _print_seconds(seconds: float) -> None:
    sys.stdout.write(f"{seconds:.6f}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
