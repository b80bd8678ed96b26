"""What the job does at its start with an index that is damaged: set aside what must be built anew, and say so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from index import array_file
from index.directory import IndexDirectory
from index.garbage import collect
from index.manifest import SegmentEntry, latest, latest_version, publish, versions
from index.pins import pin_latest, pinned_versions, pins
from schemas.errors import TocsinError
from stream.checkpoint import UnreadableCheckpoint, batch_end_offsets
from stream.healing import begin_anew, heal, mend_events, mend_progress
from stream.index_place import IndexPlace
from tests.index.crash import build, written
from tests.local import local
from tests.pinned import pinned_before
from tests.stream.test_preflight import _checkpoint

TOPIC = "subs"
ABSORBED = 9
"""What `build` says that the latest version has absorbed of partition 0."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("healing") / "index"
    build(root)
    _checkpoint(root / "progress", TOPIC, {0: ABSORBED - 1}, {0: ABSORBED}, {0: ABSORBED + 1}, done=2)
    return root


class Job:
    """An index directory, and the checkpoint of an event query that has begun batch 8."""

    def __init__(self, folder: Path) -> None:
        self.index = folder / "index"
        self.layout = IndexDirectory.of(self.index)
        self.checkpoint = folder / "checkpoint" / "events"
        _checkpoint(self.checkpoint, "events", *({0: end} for end in range(9)), done=8)

    def heal(self) -> list[str]:
        said: list[str] = []
        heal(IndexPlace.of(str(self.index), self.checkpoint.parent), self.checkpoint, TOPIC, said.append)
        return said

    @property
    def aside(self) -> list[Path]:
        return list(self.index.parent.glob("index.damaged-*"))

    def state(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.index.rglob("*") if path.is_file()}


@pytest.fixture
def job(built: Path, tmp_path: Path) -> Job:
    shutil.copytree(built, tmp_path / "index")
    job = Job(tmp_path)
    shutil.rmtree(local(job.layout.pins))
    pin_latest(job.index, "query", 7, latest_version(job.index))
    return job


def test_a_whole_index_is_left_as_it_is(job: Job) -> None:
    before = job.state()
    assert job.heal() == []
    assert job.state() == before


def test_there_need_not_be_an_index_or_a_checkpoint(tmp_path: Path) -> None:
    said: list[str] = []
    heal(IndexPlace.of(str(tmp_path / "index"), tmp_path), tmp_path / "checkpoint", TOPIC, said.append)
    assert said == []
    assert list(tmp_path.iterdir()) == []


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _segment(layout: IndexDirectory) -> Path:
    return local(layout.segment(latest(layout).segments[0].segment.name))


def _lose_later_manifests_and_commits(layout: IndexDirectory) -> None:
    for version in versions(layout)[1:]:
        local(layout.manifest(version)).unlink()
    shutil.rmtree(local(layout.root / "progress" / "commits"))


DAMAGE: dict[str, Callable[[IndexDirectory], None]] = {
    "the latest manifest altered": lambda layout: _flip(local(layout.manifest(latest(layout).version))),
    "the latest manifest lost": lambda layout: local(layout.manifest(latest(layout).version)).unlink(),
    "all manifests lost": lambda layout: shutil.rmtree(local(layout.manifests)),
    "a segment altered": lambda layout: _flip(_segment(layout)),
    "a segment lost": lambda layout: _segment(layout).unlink(),
    "all dead sets lost": lambda layout: shutil.rmtree(local(layout.dead)),
    "progress without what Spark wrote first": lambda layout: local(layout.root / "progress" / "metadata").unlink(),
    "progress lost in part": lambda layout: local(layout.root / "progress" / "offsets" / "1").unlink(),
    "later manifests and the commits lost": _lose_later_manifests_and_commits,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_index_is_set_aside_as_it_is_and_said(damage: Callable[[IndexDirectory], None], job: Job) -> None:
    damage(job.layout)
    before = {path.relative_to(job.index): content for path, content in job.state().items()}
    found, told = job.heal()
    (aside,) = job.aside
    assert str(job.index) in found
    assert told == (
        f"the index is built anew from {TOPIC}; the damaged one is {aside} now, remove it when it is of no use"
    )
    assert not job.index.exists()
    after = {path.relative_to(aside): path.read_bytes() for path in aside.rglob("*") if path.is_file()}
    assert after == before
    assert job.heal() == [], "the new one is whole"


def test_an_index_that_was_emptied_in_part_is_read_from_the_beginning(job: Job) -> None:
    """Spark would go on with the last batch that ``offsets`` has, and the index would hold that one alone."""
    shutil.rmtree(local(job.layout.pins))
    shutil.rmtree(local(job.layout.manifests))
    shutil.rmtree(job.index / "progress" / "commits")
    assert job.heal() == []
    assert not (job.index / "progress").exists()


class Killed(BaseException):
    """Stands for the end of the process."""


def test_who_dies_while_an_index_is_emptied_leaves_all_of_its_progress_or_nothing(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    rmtree = shutil.rmtree

    def die_half_way(path: Path) -> None:
        rmtree(path / "commits")
        raise Killed

    place = IndexPlace.of(str(job.index), job.checkpoint.parent)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", die_half_way)
        with pytest.raises(Killed):
            begin_anew(place)
    assert not place.progress.exists()
    assert latest_version(job.index) == 0
    assert job.heal() == []
    assert list(place.folder.glob("progress*")) == [], "what was left is gone now"


def test_of_several_that_were_set_aside_each_keeps_its_name(job: Job, built: Path) -> None:
    for count in (1, 2):
        _segment(job.layout).unlink()
        job.heal()
        assert len(job.aside) == count
        shutil.copytree(built, job.index)


def test_another_format_is_refused_and_stays(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "FORMAT", 99)
    info = written(job.layout, new=1)
    monkeypatch.undo()
    publish(job.layout, latest(job.layout).successor([SegmentEntry(info)]))
    with pytest.raises(TocsinError, match="has format 99"):
        job.heal()
    assert job.aside == []


def test_a_directory_that_cannot_be_renamed_is_told_with_the_cure(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """A volume that is mounted there, for example."""
    _segment(job.layout).unlink()

    def rename(self: Path, target: Path) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(TocsinError, match=r"no such file.*can't be renamed .*busy.*; remove what is in it"):
        job.heal()


class TestPins:
    """A batch that was under way may have been pinned to what is damaged."""

    def test_the_pin_of_a_whole_version_stays(self, job: Job) -> None:
        pinned_before(job.index, "query", 8, 1)
        assert job.heal() == []
        assert pinned_versions(job.index) == {1, latest_version(job.index)}

    @pytest.mark.parametrize(
        "damage",
        [
            lambda job: job.layout.pin("query", 8).write_bytes(b""),
            lambda job: job.layout.manifest(1).unlink(),
            lambda job: _flip(job.layout.manifest(1)),
        ],
    )
    def test_a_batch_whose_version_cannot_be_read_is_pinned_to_the_latest(
        self, damage: Callable[[Job], object], job: Job
    ) -> None:
        pinned_before(job.index, "query", 8, 1)
        damage(job)
        said = job.heal()[-1]
        assert said.startswith("the version that micro-batch 8 was matched with can't be read any more (")
        assert said.endswith("; if it was not committed, it is matched with the latest version")
        assert job.aside == []
        assert pin_latest(job.index, "query", 8, latest_version(job.index)) == latest_version(job.index)

    @pytest.mark.parametrize("copied", [False, True], ids=["its record is lost", "an older checkpoint is back"])
    def test_the_number_of_a_batch_that_is_planned_anew_is_pinned_to_the_latest(self, copied: bool, job: Job) -> None:
        """A power cut takes what Spark wrote and did not sync; the pin was synced, and its events were others."""
        pinned_before(job.index, "query", 8, 1)
        for number in range(2 if copied else 8, 9):
            (job.checkpoint / "offsets" / str(number)).unlink()
            (job.checkpoint / "commits" / str(number)).unlink(missing_ok=True)
        assert job.heal() == []
        assert pin_latest(job.index, "query", 8, latest_version(job.index)) == latest_version(job.index)

    def test_pins_of_other_checkpoints_are_let_go_of(self, job: Job) -> None:
        """Nobody else would: a checkpoint that is lost does not come back."""
        pinned_before(job.index, "lost", 3, 1)
        assert job.heal() == []
        assert [path.parent.name for path in pins(job.index)] == ["owner-query"]
        shutil.rmtree(job.checkpoint)
        assert job.heal() == []
        assert pins(job.index) == []


class TestTorn:
    """What a power cut leaves of the files that Spark has just written: names without content."""

    FILES = ("offsets/2", "commits/1", "offsets/1", "sources/0/0", "metadata")

    def mended(self, job: Job, covered: bool = True) -> tuple[str | None, list[str]]:
        said: list[str] = []
        return mend_progress(IndexPlace.of(str(job.index), job.checkpoint.parent), TOPIC, covered, said.append), said

    @pytest.mark.parametrize("content", [b"", b"\0" * 9, b'v1\n{"ba', b'v1\n{"ba\0\0\0'])
    @pytest.mark.parametrize("name", FILES)
    def test_the_index_stays_and_its_topic_is_read_on_from_where_it_ends(
        self, name: str, content: bytes, job: Job
    ) -> None:
        file = job.index / "progress" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        assert job.heal() == []
        anew, (said,) = self.mended(job)
        assert anew is None
        assert said == f"{file} is torn, as after a power cut: {TOPIC} is read on from where the index ends"
        assert list(job.index.glob("progress*")) == []
        assert latest(job.index).absorbed[0] == ABSORBED
        assert self.mended(job) == (None, [])

    def test_the_index_is_built_anew_where_dead_letters_may_be_missing(self, job: Job) -> None:
        (job.index / "progress" / "offsets" / "2").write_bytes(b"")
        anew, said = self.mended(job, covered=False)
        assert anew is not None
        assert anew.endswith("dead letters of subs may not have been written: the index is built anew")
        assert said == []

    def test_whole_files_and_those_that_spark_is_writing_are_no_reason(self, job: Job) -> None:
        (job.index / "progress" / "offsets" / ".3.5f.tmp").write_bytes(b"")
        (job.checkpoint / "offsets" / ".9.5f.tmp").write_bytes(b"")
        before = job.state()
        assert self.mended(job, covered=False) == (None, [])
        mend_events(job.checkpoint, "events", "job-events", {}, pytest.fail)
        assert job.heal() == []
        assert job.state() == before

    @pytest.mark.parametrize("name", ["offsets/8", "commits/7", "offsets/7", "sources/0/0", "metadata"])
    def test_events_go_on_from_what_was_committed_and_no_pin_stays(self, name: str, job: Job) -> None:
        pinned_before(job.index, "query", 8, 1)
        file = job.checkpoint / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
        assert job.heal() == []
        assert pins(job.index) == []
        said: list[str] = []
        mend_events(job.checkpoint, "events", "job-events", {0: 7}, said.append)
        assert said == [
            f"{file} is torn, as after a power cut: events is read on from what the group job-events has committed"
        ]
        assert list(job.checkpoint.parent.iterdir()) == []

    def test_where_nothing_is_committed_any_more_a_person_decides(self, job: Job) -> None:
        """What the torn file said, and whether that was delivered, nobody knows."""
        file = job.checkpoint / "offsets" / "8"
        file.write_bytes(b"")
        with pytest.raises(TocsinError, match=rf"{file} is torn, .* no committed offsets .* remove the checkpoint"):
            mend_events(job.checkpoint, "events", "job-events", {}, pytest.fail)
        assert file.exists()


def test_a_damaged_manifest_of_an_earlier_version_is_removed_so_that_garbage_is_collected(job: Job) -> None:
    _flip(local(job.layout.manifest(3)))
    (said,) = job.heal()
    assert said.startswith(f"{job.layout.manifest(3)} is damaged (")
    assert 3 not in versions(job.index)
    assert job.aside == []
    collect(job.index)


@pytest.mark.parametrize("content", [b"}", b"{}", b'{"id": 1}', b"\xff}"])
def test_the_name_of_a_query_that_is_torn_is_told_with_the_file_and_the_cure(content: bytes, job: Job) -> None:
    (job.checkpoint / "metadata").write_bytes(content)
    with pytest.raises(UnreadableCheckpoint, match=r"file .*/metadata can't be read .*remove the checkpoint"):
        job.heal()


@pytest.mark.parametrize("line", ["5", "[]", '{"subs": 7}', '{"subs": {"0": "x"}}', '{"subs": {"zero": 1}}', '{"subs'])
def test_offsets_that_are_torn_are_told_with_the_file(line: str, tmp_path: Path) -> None:
    _checkpoint(tmp_path / "query", TOPIC, {0: 3}, done=1)
    file = tmp_path / "query" / "offsets" / "0"
    assert batch_end_offsets(file.parent.parent, 0, TOPIC) == {0: 3}
    file.write_text(f"v1\n{{}}\n{line}\n")
    with pytest.raises(UnreadableCheckpoint, match=f"{file} can't be read"):
        batch_end_offsets(file.parent.parent, 0, TOPIC)
