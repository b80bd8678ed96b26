"""All that kernels look at while they test and score the records of a segment for a chunk of events."""

from __future__ import annotations

from typing import NamedTuple

from index.block.entries import Entries
from index.block.layout import PostingArrays, RowArrays, ScoreArrays
from index.block.masks import Chunk
from index.block.workspace import Memory


class Scene(NamedTuple):
    """A chunk before a segment.

    Attributes
    ----------
    first
        The chunk's first event.
    chunk
        Its events, as masks.
    rows, postings, scores
        The segment.
    entries
        What the events bring that scores.
    memory
        What kernels write to meanwhile.
    """

    first: int
    chunk: Chunk
    rows: RowArrays
    postings: PostingArrays
    scores: ScoreArrays
    entries: Entries
    memory: Memory
