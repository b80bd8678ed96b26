"""Where the archive of Spark's classes lies and how Java is told of it; `stream.class_archive` makes it."""

from __future__ import annotations

import sys
from pathlib import Path


def archive_file() -> Path:
    """Return where the archive is: it belongs to the jars in this environment."""
    return Path(sys.prefix) / "share" / "tocsin" / "spark-classes.jsa"


def archive_options() -> tuple[str, ...]:
    """Return Java's options for the archive; none when there is none."""
    file = archive_file()
    return (f"-XX:SharedArchiveFile={file}",) if file.exists() else ()
