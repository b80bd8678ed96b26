"""Healing: before the job begins, a damaged index directory is set aside, to be built anew from the topic.

The subscriptions topic holds everything, so nothing is lost with an index but the time to build it. The event batch
that was under way is no obstacle. If its transaction was committed, the group's offsets cover it and it is skipped. If
not, it was aborted when the job's producer was fenced, nothing of it was delivered, and it may be matched with any
version that holds the subscriptions acknowledged before its events; the latest does. What the replay then writes may
differ from what was aborted, which only a consumer that reads uncommitted records can notice.

For the same reason a checkpoint with files that a power cut has torn is dropped: the group's offsets, and those that
the index has absorbed, were synced, and say where to go on.
"""

from __future__ import annotations

from pathlib import Path

from index import files
from index.directory import IndexDirectory
from index.files import DamagedFile, Location
from index.inspection import damage
from index.manifest import latest_version, read_manifest, versions
from index.pins import pins, read_pin
from schemas.errors import TocsinError
from stream.checkpoint import (
    UnreadableCheckpoint,
    batch_end_offsets,
    drop_checkpoint,
    last_batches,
    query_identity,
    remove_dropped,
    torn_file,
)
from stream.index_place import IndexPlace
from stream.offsets import Offsets
from stream.preflight import REMOVE
from stream.wording import Say


def heal(place: IndexPlace, events_checkpoint: Path, topic: str, say: Say) -> None:
    """See that the latest version of an index, and the one that a batch is pinned to, can be read.

    1. What is damaged of versions that nobody will open again is removed; so is what an index without versions has of
       the query's progress, unless that tells of versions that were there.
    2. The latest version's files are read whole. If one is damaged, or if versions are missing that the index's
       progress tells of, the directory is renamed, and a new one takes its place. In an object store, where nothing can
       be renamed, the manifests are: what they name is garbage then.
    3. A pin that is damaged, or of a version that is, is let go of: its batch is pinned to the latest version. So is
       one of another checkpoint, or of a batch that was not begun.

    Parameters
    ----------
    place
        The index, whose folder the caller has locked; the lock goes with a folder that is renamed.
    events_checkpoint
        The event query's checkpoint, locked too.
    topic
        The subscriptions topic.
    say
        Told what is done.

    Raises
    ------
    TocsinError
        The directory has another format, or it can't be renamed.
    """
    layout = IndexDirectory.of(place.address)
    for checkpoint in (place.progress, events_checkpoint):
        remove_dropped(checkpoint)
    _drop_damaged_manifests(layout, say)
    if not latest_version(layout) and last_batches(place.progress)[1] < 0:
        # All of the topic is to be read, whatever is left of a progress that was removed in part.
        drop_checkpoint(place.progress)
    found = _found_damage(place, topic)
    if found is None:
        _let_go_of_pins(layout, events_checkpoint, say)
        return
    aside = _rename_manifests(layout, place) if place.is_remote else _rename(place.folder, found, topic)
    say(found)
    say(f"the index is built anew from {topic}; the damaged one is {aside} now, remove it when it is of no use")


def begin_anew(place: IndexPlace) -> None:
    """Empty an index that is whole but can't be brought up to date; the files of its versions are garbage then.

    The latest manifest goes last of all, and before what the query has read: whenever that is cut off, the next start
    finds what is old, or versions missing.
    """
    layout = IndexDirectory.of(place.address)
    for path in pins(layout):
        files.remove(path)
    for version in versions(layout):
        files.remove(layout.manifest(version))
    drop_checkpoint(place.progress)


def mend_progress(place: IndexPlace, topic: str, covered: bool, say: Say) -> str | None:
    """See that Spark can read the subscription query's progress: one with a torn file is dropped.

    The query then begins where the index ends. To plan again the one batch whose file is torn would not do: it may end
    behind what the index has absorbed in one partition and ahead of it in another.

    Parameters
    ----------
    place
        The index.
    topic
        The subscriptions topic.
    covered
        Whether all that the index has absorbed was committed. If not, its dead letters have yet to be written.
    say
        Told what is done.

    Returns
    -------
    str or None
        Why the index has to be emptied instead, so that all of the topic is read again.
    """
    torn = torn_file(place.progress)
    if torn is None:
        return None
    if not covered:
        return (
            f"{torn} is torn, as after a power cut, and dead letters of {topic} may not have been written: the index "
            f"is built anew"
        )
    say(f"{torn} is torn, as after a power cut: {topic} is read on from where the index ends")
    drop_checkpoint(place.progress)
    return None


def mend_events(checkpoint: Path, topic: str, group: str, committed: Offsets, say: Say) -> None:
    """See that Spark can read the event query's checkpoint: one with a torn file is dropped.

    The query then begins at the group's committed offsets. They cover what was delivered, and nothing else.

    Parameters
    ----------
    checkpoint
        The event query's.
    topic
        The events topic.
    group, committed
        The job's consumer group, and the offsets Kafka keeps for it.
    say
        Told what is done.

    Raises
    ------
    TocsinError
        Kafka has none.
    """
    torn = torn_file(checkpoint)
    if torn is None:
        return
    if not committed:
        raise TocsinError(
            f"{torn} is torn, as after a power cut, and Kafka has no committed offsets of the group {group}: they "
            f"have expired (see the brokers' offsets.retention.minutes), the group was deleted, or the job had another "
            f"name (job.name). So where to go on in {topic} can't be told. See with 'tocsin listen --from-beginning' "
            f"up to which events there are notifications, set the group's offsets to the next ones and start the job "
            f"again: kafka-consumer-groups.sh --group {group} --topic {topic}:PARTITION --reset-offsets --to-offset "
            f"OFFSET --execute. Or {REMOVE}: then all events that the topic still holds are matched, those that were "
            f"matched before once more"
        )
    say(f"{torn} is torn, as after a power cut: {topic} is read on from what the group {group} has committed")
    drop_checkpoint(checkpoint)


def _drop_damaged_manifests(layout: IndexDirectory, say: Say) -> None:
    """Remove those before the latest: garbage collection, which reads them, must not fail for what nobody needs."""
    for version in versions(layout)[:-1]:
        try:
            read_manifest(layout, version)
        except DamagedFile as error:
            say(f"{error.file} is damaged (found {error.found}) and was removed; a later version is there")
            files.remove(error.file)


def _found_damage(place: IndexPlace, topic: str) -> str | None:
    """Return what is damaged of the latest version."""
    index = place.address
    version = latest_version(index)
    for error in damage(index, [version]):
        return f"{error.file} is damaged: found {error.found}, wanted {error.wanted}"
    begun, done = last_batches(place.progress)
    metadata = place.progress / "metadata"
    if begun >= 0 and not metadata.exists():
        return f"{metadata} is missing: {index} was removed, in part at least, while the job ran"
    if torn_file(place.progress) is not None:
        return None  # it will begin anew where the latest version ends, whichever that is
    absorbed = read_manifest(index, version).absorbed
    done = max(done, begun - 1)  # a batch begins when the one before it is done, whatever is left of that one's file
    try:
        read = batch_end_offsets(place.progress, done, topic) if done >= 0 else {}
    except UnreadableCheckpoint as error:
        return error.found
    except TocsinError as error:  # of another topic; an index that is there says itself where it comes from
        return None if version else str(error)
    behind = {partition: offset for partition, offset in read.items() if offset > absorbed.get(partition, 0)}
    if behind:
        return f"versions of {index} are missing: {topic} was read up to {behind}, and the latest has {absorbed}"
    return None


def _rename(index: Path, found: str, topic: str) -> Path:
    aside = index.with_name(f"{index.name}.damaged-{files.unique_name()}")
    try:
        index.rename(aside)
    except OSError as error:
        raise TocsinError(
            f"{found}; the index directory can't be renamed to {aside} ({error.strerror}); remove what is in it, and "
            f"the index is built anew from {topic}"
        ) from error
    return aside


def _rename_manifests(layout: IndexDirectory, place: IndexPlace) -> Location:
    """Give the manifests other names, the latest last: until then the next start finds the damage again."""
    aside = layout.root / "damaged" / files.unique_name()
    for version in versions(layout):
        path = layout.manifest(version)
        files.write_new(aside / path.name, [files.read(path)])
        files.remove(path)
    for path in pins(layout):
        files.remove(path)
    if place.progress.exists():
        place.progress.rename(place.progress.with_name(f"progress.damaged-{files.unique_name()}"))
    return aside


def _let_go_of_pins(layout: IndexDirectory, events_checkpoint: Path, say: Say) -> None:
    """Remove pins of other checkpoints, which nobody would ever let go of, and of versions that can't be read.

    And of batches that the checkpoint does not know, after a power cut that took what Spark had written, or because it
    was brought back from a copy: another batch gets the number, with events that later subscriptions are to match.
    A checkpoint with a torn file will be dropped, see `mend_events`.
    """
    known = (events_checkpoint / "metadata").exists() and torn_file(events_checkpoint) is None
    own = layout.pins_of(query_identity(events_checkpoint)) if known else None
    begun, _ = last_batches(events_checkpoint)
    for path in pins(layout):
        if path.parent != own or int(path.stem) > begun:
            files.remove(path)
        elif (error := _damage_of_pinned(layout, path)) is not None:
            say(
                f"the version that micro-batch {int(path.stem)} was matched with can't be read any more ({error.file}: "
                f"found {error.found}); if it was not committed, it is matched with the latest version"
            )
            files.remove(path)


def _damage_of_pinned(layout: IndexDirectory, path: Location) -> DamagedFile | None:
    try:
        version = read_pin(path)
    except DamagedFile as error:
        return error
    return None if version is None else next(damage(layout, [version]), None)
