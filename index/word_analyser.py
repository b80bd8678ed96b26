"""Whether a version of an index and this process take texts apart into words in the same way."""

from __future__ import annotations

from index.directory import AnyPath, IndexDirectory
from index.manifest import Manifest
from schemas.errors import TocsinError
from schemas.texts import analyser


def check_analyser(directory: AnyPath | IndexDirectory, manifest: Manifest) -> None:
    """See that this process can match with a version, or go on from it; the empty index goes with any analyser.

    Its keywords were checked and its subscriptions built by one analyser; under another an event's texts have other
    words, and subscriptions that were refused might have been taken.

    Raises
    ------
    TocsinError
        It was built by another analyser than this process's.
    """
    if manifest.version and manifest.analyser != analyser():
        raise TocsinError(
            f"The index {IndexDirectory.of(directory).root} was built by the analyser {manifest.analyser!r}, and "
            f"matching.analyser is {analyser()!r}. Set matching.analyser back, or remove the index directory: the "
            "subscriptions are then read again."
        )
