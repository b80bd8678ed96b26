"""A small disk that can be filled: a tmpfs of its own, where this process may mount one."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

SIZE = "64m"
CHUNK = bytes(65_536)


class SmallDisk:
    """A context manager: a folder on a file system of its own; ``mounted`` says whether that was possible."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mounted = False

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0 and shutil.which("mount"):
            command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(self.folder)]
            self.mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.mounted:
            # lazily: processes that were just killed may still hold files
            subprocess.run(["umount", "-l", str(self.folder)], check=True)

    def fill(self) -> None:
        """Leave no byte free."""
        with (self.folder / "ballast").open("wb", buffering=0) as ballast:
            size = len(CHUNK)
            while size:
                try:
                    ballast.write(CHUNK[:size])
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size //= 2

    def free(self) -> None:
        """Take the ballast away."""
        (self.folder / "ballast").unlink()
