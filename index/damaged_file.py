"""The error for a file of an index that is missing, torn or altered: what was found, what was wanted, what to do."""

from __future__ import annotations

from typing import Any

from schemas.errors import TocsinError


class DamagedFile(TocsinError):
    """A file of the index that is missing, torn or altered.

    Parameters
    ----------
    file
        The file: a path, or that of an object in a store.
    found, wanted
        What was met and what should have been there.
    """

    def __init__(self, file: Any, found: str, wanted: str) -> None:
        super().__init__(file, found, wanted)
        self.file = file
        self.found = found
        self.wanted = wanted

    def __str__(self) -> str:
        return (
            f"{self.file} is damaged: found {self.found}, wanted {self.wanted}. "
            "Start the job again: it sets a damaged index directory aside, and the index is rebuilt from the "
            "subscriptions topic."
        )
