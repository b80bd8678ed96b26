"""A process that is killed before or after any file operation loses nothing, revives nothing, and leaves no orphan."""

from __future__ import annotations

import ast
import multiprocessing
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

import index
from index import failpoints
from index.compaction import compact
from index.directory import IndexDirectory
from index.event_block import EventBlock
from index.garbage import collect
from index.manifest import latest, read_manifest, versions
from index.pins import pinned_versions, unpin_before
from index.reader import IndexReader
from index.writer import IndexWriter
from tests.index.crash import (
    AFTER,
    BEFORE,
    ENGINE,
    FINAL,
    OWNER,
    PINNED,
    PROBES,
    STEPS,
    VALUES,
    Model,
    build,
    kept_versions,
    known_files,
    recorded,
    step_publish,
    written,
)

FORK = multiprocessing.get_context("fork")
LIBRARY = Path(index.__file__).parent


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """A process that is killed takes no cache of the kernel with it; what waits for the disk is time only."""
    with mock.patch("os.fsync"):
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("crash") / "index"
    build(root)
    return root


@pytest.fixture(scope="module")
def places(built: Path) -> dict[str, list[str]]:
    """The places that each step reaches, in order."""
    reached: dict[str, list[str]] = {name: [] for name in STEPS}
    for name, step in STEPS.items():
        root = built.with_name(f"record-{name}")
        shutil.copytree(built, root)
        with recorded(reached[name]):
            step(IndexDirectory.of(root))
        assert held(root) == FINAL[name]
    return reached


def held(root: Path, version: int | None = None) -> Model:
    """Return what a version holds, as the events find it and as its bodies say."""
    snapshot = IndexReader(root, [ENGINE]).at(latest(root).version if version is None else version)
    found = snapshot.match(EventBlock.from_events(PROBES))
    ids = [id_.decode() for id_ in snapshot.ids(found)]
    assert len(set(ids)) == len(ids) == snapshot.stats.subscriptions, "an id lives once"
    model = {id_: VALUES[event] for id_, event in zip(ids, found.event.tolist(), strict=True)}
    for id_, value in model.items():
        subscription = snapshot.get(id_)
        assert subscription is not None
        assert subscription.expression.values == (value,)  # type: ignore[union-attr]
    return model


def killed_at(root: Path, name: str, place: int) -> None:
    """Take a step in a process of its own, which is killed when it reaches its so-manieth place."""

    def live() -> None:
        left = place

        def reach(place: str) -> None:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        failpoints.reach = reach
        STEPS[name](IndexDirectory.of(root))

    process = FORK.Process(target=live)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def test_whatever_is_cut_off_is_whole_and_goes_on(built: Path, places: dict[str, list[str]], step: str) -> None:
    for number, place in _firsts_and_lasts(places[step]):
        root = built.with_name("killed")
        shutil.copytree(built, root)
        killed_at(root, step, number)
        try:
            check_reader(root, step)
            check_writer(root)
            check_garbage(root)
        except BaseException as error:
            error.add_note(f"killed at {place}, place {number} of {step}")
            raise
        shutil.rmtree(root)


def _firsts_and_lasts(places: list[str]) -> Iterator[tuple[int, str]]:
    """Yield of each name the first and the last place: those between leave files of the same kinds."""
    for number, place in enumerate(places):
        if place not in places[:number] or place not in places[number + 1 :]:
            yield number, place


def check_reader(root: Path, step: str) -> None:
    """A reader finds a version as it was before the step or is after it, and the pinned one as it ever was."""
    assert held(root) in (BEFORE, FINAL[step])
    for version in pinned_versions(root):
        assert held(root, version) == (PINNED if version == 1 else BEFORE)


def check_writer(root: Path) -> None:
    """The publication is carried out, by its replay if need be, and merges and further publications go on."""
    layout = IndexDirectory.of(root)
    step_publish(layout)
    assert held(root) == AFTER
    compact(root, ENGINE)
    assert held(root) == AFTER
    IndexWriter(root).publish([written(layout, c=5)], ["l"], {0: 20})
    assert held(root) == {id_: value for id_, value in AFTER.items() if id_ != "l"} | {"c": 5}


def check_garbage(root: Path) -> None:
    """Afterwards there are the files of the versions that are kept, and no others."""
    layout = IndexDirectory.of(root)
    before = held(root)
    for _ in range(2):
        collect(root, superseded=0, unpublished=3600)
        age(root)
        collect(root, superseded=0, unpublished=1800)
        kept = [read_manifest(root, version) for version in kept_versions(layout)]
        assert versions(root) == sorted(manifest.version for manifest in kept)
        assert files_of(root) - known_files(layout, kept) == set()
        assert known_files(layout, kept) - files_of(root) <= {layout.all_statistics}
        unpin_before(root, OWNER, 9)
    assert held(root) == before


def age(root: Path) -> None:
    """Let an hour pass."""
    for path in root.rglob("*"):
        then = path.stat().st_mtime - 3600
        os.utime(path, (then, then))


def files_of(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "step" in metafunc.fixturenames:
        metafunc.parametrize("step", STEPS)


def calls(path: Path) -> Iterator[ast.Call]:
    yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))


def test_every_operation_has_its_places_and_each_is_died_at(places: dict[str, list[str]]) -> None:
    """An operation that is added to local_files.py, and that no step reaches, fails here."""
    written_down = {
        call.args[0].value
        for call in calls(LIBRARY / "local_files.py")
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "around"
        and isinstance(call.args[0], ast.Constant)
    }
    reached = {tuple(place.split(".")) for step in places.values() for place in step}
    assert {operation for _, operation, _ in reached} == written_down
    assert {(kind, operation, side) for kind, operation, _ in reached for side in ("before", "after")} == reached
    for step, wanted in (("publish", "seg dead json"), ("merge", "seg json stats"), ("collect", "seg dead json")):
        assert set(wanted.split()) <= {place.split(".")[0] for place in places[step]}


CHANGING = {"mkdir", "makedirs", "rename", "unlink", "rmdir", "rmtree", "write_bytes", "write_text", "hardlink_to"}
CHANGING |= {"symlink_to", "touch", "utime", "link", "truncate", "fsync", "move", "copy", "copyfile"}


def test_no_file_is_changed_but_by_the_file_operations() -> None:
    """So the places of local_files.py, and of remote_files.py for stores, are all there are."""
    for path in sorted(LIBRARY.rglob("*.py")):
        if path.name in ("files.py", "local_files.py", "remote_files.py", "failpoints.py"):
            continue
        for call in calls(path):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            ours = isinstance(owner, ast.Name) and owner.id in ("files", "np", "local_files")
            array = name == "copy" and not call.args
            assert ours or array or name not in {*CHANGING, "open"} or _opens_something_else(call), (
                f"{path}, line {call.lineno}: {name}"
            )


def _opens_something_else(call: ast.Call) -> bool:
    """Return whether it is `Engine.open`, `Segment.open` or their like, which take arrays or an index directory."""
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "open"
        and not any(isinstance(argument, ast.Constant) for argument in call.args)
    )


def test_the_variable_names_the_place_that_a_process_dies_at(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(built, tmp_path / "index")
    order = tmp_path / "order"
    monkeypatch.setenv(failpoints.VARIABLE, str(order))
    for place in ("dead.sync.after:SIGTERM", "json.link.before:SIGKILL"):
        order.write_text(place)
        process = FORK.Process(target=step_publish, args=(IndexDirectory.of(tmp_path / "index"),))
        process.start()
        process.join(60)
        assert process.exitcode == -signal.Signals[place.partition(":")[2]]
        assert not order.exists(), "it happens once"
    assert held(tmp_path / "index") == BEFORE
    step_publish(IndexDirectory.of(tmp_path / "index"))
    assert held(tmp_path / "index") == AFTER
