"""A micro-batch of events and an index of several shards: one Spark plan of two stages, matching and merging."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING

from index.shards import Shard
from stream import rows
from stream.matcher import MatchTask
from stream.shard_candidates import ORDER, SPARK_SCHEMA, shard_candidates
from stream.shard_merge import merge_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def match_shards(frame: DataFrame, task: MatchTask, partitions: int) -> DataFrame:
    """Return the plan whose rows are those of `stream.matcher.match_batches` over an index of one shard.

    1. A task for each partition and shard matches the events with its shard. Each reads them from Kafka for itself:
       that spares a shuffle of all events, most of which match little.
    2. The matches go to one task a partition, sorted there on disk if need be, and are merged.

    Parameters
    ----------
    frame
        The micro-batch, as `stream.running_queries.start_query` reads it.
    task
        The micro-batch's constants.
    partitions
        Of the events topic. The answers come partition by partition, as they do without shards.
    """
    shards = [Shard(number, task.shards) for number in range(task.shards)]
    matched = [frame.mapInArrow(partial(shard_candidates, task, shard), SPARK_SCHEMA) for shard in shards]
    gathered = reduce(lambda left, right: left.union(right), matched).repartitionById(partitions, "place")
    ordered = gathered.sortWithinPartitions(*(gathered[name] if up else gathered[name].desc() for name, up in ORDER))
    return ordered.mapInArrow(partial(merge_batches, task), rows.SPARK_SCHEMA)
