"""The exit codes of the commands."""

from __future__ import annotations

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
"""Exit code of a program that SIGINT ends, as shells have it."""

BROKEN_PIPE = 141
"""Exit code of a program that SIGPIPE ends, which is what a shell expects of one that writes to a closed pipe."""
