"""The console script ``tocsin``: imports the command line and runs it, with Ctrl-C obeyed from the first import on."""

from __future__ import annotations

import sys

from stream.exit_codes import INTERRUPTED, USAGE


def main() -> None:
    """Run the command line."""
    try:  # most of a short command's time is these imports
        from stream.command_table import app
        from stream.commands.streams import fill

        fill()
        app(prog_name="tocsin")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError:  # what a command's own output meets is told where it ends; left is wrong usage that can't be told
        from stream.commands.streams import drop

        drop(sys.stderr)
        sys.exit(USAGE)


if __name__ == "__main__":
    main()
