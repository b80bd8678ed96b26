"""Checks before the first micro-batch: the topics still hold what the index and the checkpoint have not seen yet.

Each refusal says what does not fit and what to do; going on would skip records, or match them twice, without a word.
"""

from __future__ import annotations

from pathlib import Path

from index.manifest import Manifest
from schemas.errors import TocsinError
from stream.checkpoint import batch_end_offsets, last_batches
from stream.offsets import Offsets
from stream.sources import Source
from stream.wording import Say

REMOVE = "remove the checkpoint folder (job.checkpoint_dir)"


def check_index(index: str, manifest: Manifest, source: Source, beginnings: Offsets, ends: Offsets) -> None:
    """Check an index against the subscriptions topic.

    Parameters
    ----------
    index
        The index directory.
    manifest
        Its latest version.
    source
        The subscriptions topic.
    beginnings, ends
        Of the topic's partitions.

    Raises
    ------
    TocsinError
        The index was filled from another topic, or the topic lost records that the index lacks or has.
    """
    check_source(index, manifest.source, source)
    rebuild = f"remove the index directory {index} to build it from what the topic holds"
    for partition, absorbed in manifest.absorbed.items():
        if ends.get(partition, 0) < absorbed:
            raise TocsinError(
                f"the index {index} has absorbed partition {partition} of {source.topic} up to offset {absorbed:,}, "
                f"but the topic ends at {ends.get(partition, 0):,}: it was cut off; {rebuild}"
            )
    for partition, first in beginnings.items() if manifest.version else ():
        absorbed = manifest.absorbed.get(partition, 0)
        if first > absorbed:
            raise TocsinError(
                f"offsets {absorbed:,} to {first - 1:,} in partition {partition} of {source.topic} were removed before "
                f"the index {index} absorbed them; publish their subscriptions again, and {rebuild}"
            )


def check_source(index: str, filled_from: str, source: Source) -> None:
    """Check that an index was filled from this topic; an index that does not say is taken for one that was.

    Raises
    ------
    TocsinError
        It was filled from another one.
    """
    if filled_from in ("", str(source)):
        return
    if source.differs_in_partitions_only(filled_from):
        raise TocsinError(
            f"the index {index} was filled from {filled_from}, but now there are {source.partitions}: an id's records "
            f"may lie in two of them, and which is the last can't be told; create the topic anew with as many as are "
            f"wanted, publish all subscriptions to it, and remove the index directory"
        )
    raise TocsinError(
        f"the index {index} was filled from {filled_from}, but {source.topic} is now {source}: it was created again, "
        f"or is on another cluster; remove the index directory to build it from this one, or name another "
        f"(job.index_dir)"
    )


def check_events(
    checkpoint: Path, source: Source, group: str, committed: Offsets, beginnings: Offsets, ends: Offsets, say: Say
) -> Offsets:
    """Check the events' checkpoint against the topic and the group's committed offsets.

    Parameters
    ----------
    checkpoint
        The event query's.
    source
        The events topic.
    group, committed
        The job's consumer group, and the offsets Kafka keeps for it.
    beginnings, ends
        Of the topic's partitions.
    say
        Told of events that are lost.

    Returns
    -------
    dict
        Where to begin when the checkpoint is new.

    Raises
    ------
    TocsinError
        Whether the last micro-batch was committed can't be told, or the topic lost events or was cut off.
    """
    topic = source.topic
    begun, done = last_batches(checkpoint)
    if begun >= 0 and not (checkpoint / "metadata").exists():
        raise TocsinError(
            f"the checkpoint {checkpoint} lacks its file metadata: it was removed, in part at least, while the job "
            f"ran; {REMOVE}: Kafka keeps what was committed"
        )
    if begun > done and not committed:
        end = batch_end_offsets(checkpoint, begun, topic)
        start = batch_end_offsets(checkpoint, done, topic) if done >= 0 else beginnings
        raise TocsinError(
            f"Kafka has no committed offsets of the group {group} any more: they have expired (see the brokers' "
            f"offsets.retention.minutes), the group was deleted, or the job had another name (job.name). So whether "
            f"the last micro-batch of {topic}, from offsets {start} to {end}, was committed can't be told. See with "
            f"'tocsin listen --from-beginning' whether its events have notifications, and set the group's offsets, to "
            f"{end} if they have and else to {start}: kafka-consumer-groups.sh --group {group} --topic "
            f"{topic}:PARTITION --reset-offsets --to-offset OFFSET --execute. Or {REMOVE}: then all events that the "
            f"topic still holds are matched, those that were matched before once more"
        )
    position = batch_end_offsets(checkpoint, done, topic) if done >= 0 else committed
    for partition, offset in position.items():
        if ends.get(partition, 0) < offset:
            raise TocsinError(
                f"the job has matched partition {partition} of {topic} up to offset {offset:,}, but the topic ends at "
                f"{ends.get(partition, 0):,}: it was cut off; reset the offsets of the group {group} with "
                f"kafka-consumer-groups.sh and {REMOVE}"
            )
        if committed.get(partition, offset) < offset:
            raise TocsinError(
                f"the job has matched partition {partition} of {topic} up to offset {offset:,}, but the group {group} "
                f"is at {committed[partition]:,}: somebody has set it back; to match from there again {REMOVE}"
            )
    lost = {p: (offset, beginnings[p]) for p, offset in position.items() if beginnings.get(p, 0) > offset}
    if lost:
        told = f"{_sum(lost)} of {topic} were removed before they were matched: {_ranges(lost)}"
        if begun >= 0:
            raise TocsinError(f"{told}; see the topic's retention, and to go on with those that are left {REMOVE}")
        say(told)
    return {p: max(offset, beginnings.get(p, 0)) for p, offset in position.items()}


def _sum(lost: dict[int, tuple[int, int]]) -> str:
    return f"{sum(first - offset for offset, first in lost.values()):,} events"


def _ranges(lost: dict[int, tuple[int, int]]) -> str:
    return ", ".join(
        f"partition {p} offsets {offset:,} to {first - 1:,}" for p, (offset, first) in sorted(lost.items())
    )
