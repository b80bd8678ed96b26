"""What the micro-batches of both queries use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stream.metrics import Metrics
from stream.output import TransactionalOutput
from stream.progress import IndexProgress
from stream.reread import Rereader
from stream.wording import Say

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BatchFunction = Callable[["DataFrame", int], None]


@dataclass(frozen=True, eq=False)
class QueryBatches:
    """What the micro-batches of a query use; each of the two queries adds what is its own, and a call that takes one.

    Attributes
    ----------
    checkpoint
        The query's, in which Spark has written down where a batch ends.
    reread
        Reads a batch that Spark's source fails over.
    output
        Takes what a batch gives, and its offsets.
    progress
        How far the index has come.
    metrics, say
        Told of each batch, and of what a person should know.
    """

    checkpoint: Path
    reread: Rereader
    output: TransactionalOutput
    progress: IndexProgress
    metrics: Metrics
    say: Say
