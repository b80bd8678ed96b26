"""The engines by name: what ``job.engine`` may say, and what a segment file's engine is opened with."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from index.block.engine import BlockEngine
from index.classic.counting import Counting
from index.classic.dewey import Dewey
from index.classic.enumerated import EnumeratedCnf, EnumeratedDnf
from index.classic.interval import Interval
from index.classic.kindex_cnf import KIndexCnf
from index.classic.kindex_dnf import KIndexDnf
from index.classic.propagation import Propagation
from index.classic.pscan import PScan
from index.classic.scan import Scan
from index.classic.tree_conjunction_scan import ConjunctionScan
from index.classic.tree_expansion import DnfExpansion
from index.classic.tree_scan import TreeScan
from index.directory import AnyPath, IndexDirectory
from index.engine import Engine
from index.manifest import SegmentEntry
from index.segment import Segment
from schemas.errors import TocsinError

ENGINES: dict[str, Callable[[], Engine]] = {
    engine.name: engine
    for engine in (
        BlockEngine,
        Counting,
        KIndexCnf,
        EnumeratedCnf,
        KIndexDnf,
        EnumeratedDnf,
        Propagation,
        PScan,
        Scan,
        Dewey,
        Interval,
        DnfExpansion,
        ConjunctionScan,
        TreeScan,
    )
}
"""Name to engine; ``block``, the default, takes every subscription, `index/classic/README.md` tells of the others."""


def engine_named(name: str) -> Engine:
    """Return the engine with this name.

    Raises
    ------
    TocsinError
        There is none.
    """
    if name not in ENGINES:
        raise TocsinError(f"there is no engine {name!r}; there are {', '.join(sorted(ENGINES))}")
    return ENGINES[name]()


def check_builder(
    directory: AnyPath | IndexDirectory, segments: Iterable[SegmentEntry], name: str, given: str = "job.engine"
) -> None:
    """See that the engine with this name can go on with a version: that it built the version's segments.

    Parameters
    ----------
    directory
        The index directory.
    segments
        Of the version.
    name
        The engine's.
    given
        What named it, for the sentence that refuses.

    Raises
    ------
    TocsinError
        Another engine built one of them.
    DamagedFile
        A segment's file is missing or torn, or what it says of itself was altered.
    """
    for entry in segments:
        segment = Segment.open(directory, entry.segment.name)
        if segment.engine != name:
            raise TocsinError(
                f"The index {segment.file.path.parent.parent} was built by the engine {segment.engine!r}, and "
                f"{given} is {name!r}. Let it be {segment.engine!r}, or remove the index directory: the subscriptions "
                "are then read again."
            )
