"""The checks before the first micro-batch, one by one: what is refused, with which words, and what is let through."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from index.manifest import EMPTY, Manifest
from schemas.errors import TocsinError
from stream.bindings import bind
from stream.preflight import check_events, check_index
from stream.sources import Source

SUBSCRIPTIONS = Source("cluster-1", "subs", "id-1", 2)
EVENTS = Source("cluster-1", "events", "id-2", 2)


def _manifest(absorbed: dict[int, int], source: str = str(SUBSCRIPTIONS)) -> Manifest:
    return msgspec.structs.replace(EMPTY, version=3, absorbed=absorbed, source=source)


def _checkpoint(folder: Path, topic: str, *ends: dict[int, int], done: int) -> Path:
    """A query's checkpoint: one file of end offsets a batch begun, one commit a batch done."""
    (folder / "offsets").mkdir(parents=True)
    (folder / "commits").mkdir()
    (folder / "metadata").write_text('{"id":"query"}')
    for number, end in enumerate(ends):
        body = json.dumps({topic: {str(partition): offset for partition, offset in end.items()}})
        (folder / "offsets" / str(number)).write_text(f"v1\n{{}}\n{body}")
    for number in range(done):
        (folder / "commits" / str(number)).write_text("v1\n{}")
    return folder


class TestIndex:
    """`check_index`."""

    def check(self, folder: Path, manifest: Manifest, **changes: Any) -> None:
        given: dict[str, Any] = {"source": SUBSCRIPTIONS, "beginnings": {0: 0, 1: 0}, "ends": {0: 10, 1: 10}} | changes
        check_index(str(folder), manifest, given["source"], given["beginnings"], given["ends"])

    def test_an_index_that_fits_or_is_new_is_let_through(self, tmp_path: Path) -> None:
        self.check(tmp_path, EMPTY, beginnings={0: 5, 1: 5})
        self.check(tmp_path, _manifest({0: 10, 1: 3}))
        self.check(tmp_path, _manifest({0: 10}, source=""))

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (Source("cluster-2", "subs", "id-1", 2), "is on another cluster; remove the index directory"),
            (Source("cluster-1", "subs", "id-9", 2), "was created again"),
            (Source("cluster-1", "subs", "id-1", 3), "with 2 partitions, but now there are 3"),
        ],
    )
    def test_another_source_is_refused(self, tmp_path: Path, source: Source, words: str) -> None:
        with pytest.raises(TocsinError, match=words):
            self.check(tmp_path, _manifest({0: 1, 1: 1}), source=source)

    def test_a_topic_that_was_cut_off_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(TocsinError, match="partition 1 of subs up to offset 11, but the topic ends at 10"):
            self.check(tmp_path, _manifest({0: 10, 1: 11}))
        with pytest.raises(TocsinError, match="partition 1 of subs up to offset 3, but the topic ends at 0"):
            self.check(tmp_path, _manifest({0: 10, 1: 3}), ends={0: 10})

    def test_records_that_are_gone_before_they_were_absorbed_are_missed(self, tmp_path: Path) -> None:
        with pytest.raises(TocsinError, match="offsets 4 to 6 in partition 0 of subs were removed before"):
            self.check(tmp_path, _manifest({0: 4, 1: 10}), beginnings={0: 7, 1: 0})
        with pytest.raises(TocsinError, match="offsets 10 to 10 in partition 1 of subs were removed before"):
            self.check(tmp_path, _manifest({0: 4, 1: 10}), beginnings={0: 4, 1: 11}, ends={0: 11, 1: 11})


class TestEvents:
    """`check_events`."""

    def check(self, checkpoint: Path, committed: dict[int, int], **changes: Any) -> tuple[dict[int, int], list[str]]:
        given: dict[str, Any] = {"beginnings": {0: 0, 1: 0}, "ends": {0: 90, 1: 90}} | changes
        said: list[str] = []
        start = check_events(
            checkpoint, EVENTS, "job-events", committed, given["beginnings"], given["ends"], said.append
        )
        return start, said

    def test_a_new_checkpoint_begins_at_the_committed_offsets(self, tmp_path: Path) -> None:
        assert self.check(tmp_path, {}) == ({}, [])
        assert self.check(tmp_path, {0: 7, 1: 8}) == ({0: 7, 1: 8}, [])
        assert self.check(tmp_path, {0: 90, 1: 8}) == ({0: 90, 1: 8}, []), "at the end too"

    def test_lost_offsets_of_a_group_matter_only_when_a_batch_is_under_way(self, tmp_path: Path) -> None:
        idle = _checkpoint(tmp_path / "idle", "events", {0: 5, 1: 5}, done=1)
        assert self.check(idle, {}) == ({0: 5, 1: 5}, [])
        under_way = _checkpoint(tmp_path / "busy", "events", {0: 5, 1: 5}, {0: 9, 1: 5}, done=1)
        words = (
            r"no committed offsets of the group job-events.*from offsets \{0: 5, 1: 5\} to \{0: 9, 1: 5\}, was "
            r"committed can't be told.*'tocsin listen --from-beginning'.* Or remove the checkpoint folder .*: then all"
        )
        with pytest.raises(TocsinError, match=words):
            self.check(under_way, {})
        assert self.check(under_way, {0: 9, 1: 5}) == ({0: 5, 1: 5}, [])

    def test_what_was_removed_while_the_job_ran_is_refused(self, tmp_path: Path) -> None:
        """Batches that came after it are written down, and the query's beginning is not."""
        checkpoint = _checkpoint(tmp_path / "c", "events", {0: 5, 1: 5}, done=1)
        (checkpoint / "metadata").unlink()
        with pytest.raises(TocsinError, match=r"lacks its file metadata: it was removed.*; remove the checkpoint"):
            self.check(checkpoint, {0: 5, 1: 5})

    def test_a_first_batch_with_events_goes_on_where_the_group_has_begun(self, tmp_path: Path) -> None:
        """What a job commits at its start tells that nothing of the batch was committed."""
        first = _checkpoint(tmp_path / "first", "events", {0: 5, 1: 5}, done=0)
        assert self.check(first, {0: 0, 1: 0}) == ({0: 0, 1: 0}, [])
        after_an_empty_one = _checkpoint(tmp_path / "second", "events", {0: 0, 1: 0}, {0: 5, 1: 5}, done=1)
        assert self.check(after_an_empty_one, {0: 0, 1: 0}) == ({0: 0, 1: 0}, [])
        with pytest.raises(TocsinError, match=r"from offsets \{0: 0, 1: 0\} to \{0: 5, 1: 5\}, was committed can't be"):
            self.check(first, {})

    def test_a_group_that_was_set_back_is_refused(self, tmp_path: Path) -> None:
        checkpoint = _checkpoint(tmp_path / "c", "events", {0: 5, 1: 5}, done=1)
        with pytest.raises(TocsinError, match="partition 1 of events up to offset 5, but the group job-events is at 4"):
            self.check(checkpoint, {0: 5, 1: 4})

    def test_a_topic_that_was_cut_off_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(TocsinError, match="partition 0 of events up to offset 91, but the topic ends at 90"):
            self.check(tmp_path, {0: 91})

    def test_events_that_are_gone_are_told_and_passed_over_once_the_checkpoint_is_removed(self, tmp_path: Path) -> None:
        checkpoint = _checkpoint(tmp_path / "c", "events", {0: 5, 1: 5}, done=1)
        words = r"3 events of events were removed before they were matched: partition 1 offsets 5 to 7; .* remove the"
        with pytest.raises(TocsinError, match=words):
            self.check(checkpoint, {0: 5, 1: 5}, beginnings={0: 0, 1: 8})
        start, said = self.check(tmp_path / "new", {0: 5, 1: 5}, beginnings={0: 0, 1: 8})
        assert start == {0: 5, 1: 8}
        assert said == ["3 events of events were removed before they were matched: partition 1 offsets 5 to 7"]


class TestBinding:
    """`bind`."""

    @staticmethod
    def index(folder: Path) -> Path:
        folder.mkdir()
        return folder

    def test_a_checkpoint_stays_with_its_index_wherever_that_is_moved(self, tmp_path: Path) -> None:
        index = self.index(tmp_path / "index")
        bind(tmp_path / "c", index, EVENTS, index_is_new=True)
        bind(tmp_path / "c", index, EVENTS, index_is_new=False)
        moved = index.rename(tmp_path / "moved")
        bind(tmp_path / "c", moved, EVENTS, index_is_new=False)
        other = self.index(tmp_path / "other")
        with pytest.raises(TocsinError, match=r"belongs to the index of .*moved, not to that of .*other; name the one"):
            bind(tmp_path / "c", other, EVENTS, index_is_new=False)

    def test_an_index_that_is_built_anew_takes_its_place(self, tmp_path: Path) -> None:
        bind(tmp_path / "c", self.index(tmp_path / "one"), EVENTS, index_is_new=True)
        rebuilt = self.index(tmp_path / "two")
        bind(tmp_path / "c", rebuilt, EVENTS, index_is_new=True)
        bind(tmp_path / "c", rebuilt, EVENTS, index_is_new=False)

    def test_another_one_in_its_place_is_refused_with_the_place_to_remove(self, tmp_path: Path) -> None:
        index = self.index(tmp_path / "index")
        bind(tmp_path / "c", index, EVENTS, index_is_new=True)
        (index / "identity").unlink()
        with pytest.raises(TocsinError, match=rf"removed or replaced; bring that one back, or remove {index}"):
            bind(tmp_path / "c", index, EVENTS, index_is_new=False)

    def test_another_events_topic_is_refused_and_more_partitions_are_not(self, tmp_path: Path) -> None:
        index = self.index(tmp_path / "index")
        bind(tmp_path / "c", index, EVENTS, index_is_new=True)
        bind(tmp_path / "c", index, msgspec.structs.replace(EVENTS, partitions=9), index_is_new=False)
        with pytest.raises(TocsinError, match=r"counts the offsets of topic events .id id-2. of cluster"):
            bind(tmp_path / "c", index, msgspec.structs.replace(EVENTS, id="id-3"), index_is_new=False)

    def test_a_damaged_binding_is_refused_with_the_cure(self, tmp_path: Path) -> None:
        index = self.index(tmp_path / "index")
        bind(tmp_path / "c", index, EVENTS, index_is_new=True)
        (tmp_path / "c" / "binding.json").write_text("{")
        with pytest.raises(TocsinError, match=r"is damaged .*; remove the checkpoint folder"):
            bind(tmp_path / "c", index, EVENTS, index_is_new=False)

    def test_a_binding_is_on_the_disk_before_it_has_its_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else a power cut may leave a file of that name without its content, which the next start refuses."""
        index = self.index(tmp_path / "one")
        steps: list[str] = []
        for module, name in ((os, "fsync"), (Path, "rename")):
            real = getattr(module, name)

            def noted(*args: Any, real: Any = real, name: str = name) -> Any:
                steps.append(name)
                return real(*args)

            monkeypatch.setattr(module, name, noted)
        bind(tmp_path / "c", index, EVENTS, index_is_new=True)
        assert steps[-3:] == ["fsync", "rename", "fsync"], "the content, the name, the folder"
