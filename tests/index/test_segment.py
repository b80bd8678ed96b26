"""Segment files: what is written comes back, damage is found, other formats are refused."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import array_file
from index.array_file import FORMAT, open_arrays, write_arrays
from index.byte_rows import ByteRows
from index.directory import IndexDirectory
from index.files import DamagedFile
from index.segment import Body, Segment, write_segment
from schemas.errors import TocsinError
from schemas.expression import And, In, Not, NotIn, Range
from schemas.records import Subscription
from tests.index.oracle_engine import OracleEngine
from tests.local import local

FULL = Subscription(
    id="s-é",
    expression=And(
        (
            In("a", (1, -0.0, 2**63 - 1, "x", True), (0.5, 1.0, -2.0, 1e-300, 3.0)),
            Not(Range("b", gt=1.5, le=7)),
            NotIn("c", ("y",), strong=True),
        )
    ),
    priority=-1.25,
    mode="threshold",
    threshold=0.5,
    not_before=-(2**62),
    not_after=2**62,
    labels={"team": 'ops "€"', "b": ""},
)


def simple(id_: str) -> Subscription:
    return Subscription(id_, In("a", (1,)))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[IndexDirectory, str]:
    layout = IndexDirectory.of(tmp_path_factory.mktemp("index"))
    return layout, write_segment(layout, OracleEngine(), [simple("b"), FULL, simple("a")]).name


@pytest.fixture
def copy(written: tuple[IndexDirectory, str], tmp_path: Path) -> tuple[IndexDirectory, str]:
    shutil.copytree(local(written[0].root), tmp_path / "index")
    return IndexDirectory.of(tmp_path / "index"), written[1]


def test_subscriptions_come_back_as_written_in_order_of_their_ids(written: tuple[IndexDirectory, str]) -> None:
    segment = Segment.open(*written)
    assert [segment.rows.subscription(i) for i in range(3)] == [simple("a"), simple("b"), FULL]
    assert repr(segment.rows.subscription(2)) == repr(FULL), "1, True and 1.0 are equal in Python"
    assert segment.engine == "oracle"
    assert OracleEngine().open(segment.parts).count == 3
    segment.file.verify()


def test_the_body_and_its_columns_cover_every_field_of_a_subscription() -> None:
    fields = {field.name for field in msgspec.structs.fields(Subscription)}
    assert {*Body.__struct_fields__, "id", "labels"} == fields
    assert all(getattr(FULL, f.name) != f.default for f in msgspec.structs.fields(Subscription))


def test_arrays_are_aligned_read_only_views_of_one_map(written: tuple[IndexDirectory, str]) -> None:
    segment = Segment.open(*written)
    for array in segment.file.arrays.values():
        assert type(array) is np.ndarray
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0
        assert array.base is not None


def test_folders_and_files_are_the_owners_only(tmp_path: Path) -> None:
    write_segment(tmp_path / "index", OracleEngine(), [simple("a")])
    for folder in [tmp_path / "index", *(tmp_path / "index").iterdir()]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("subscriptions", [[], [simple("a"), simple("a")]])
def test_a_segment_wants_some_subscriptions_with_distinct_ids(
    subscriptions: list[Subscription], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="at least one subscription and distinct ids"):
        write_segment(tmp_path, OracleEngine(), subscriptions)


def test_nothing_is_left_of_a_segment_whose_engine_failed(tmp_path: Path) -> None:
    class Failing(OracleEngine):
        def build(self, subscriptions: object) -> dict[str, np.ndarray]:
            return {"objects": np.array([object()])}

    with pytest.raises(ValueError, match="only plain numbers"):
        write_segment(tmp_path, Failing(), [simple("a")])
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_every_flipped_bit_is_found(copy: tuple[IndexDirectory, str]) -> None:
    """Small files are verified as they are opened, padding, format and lengths too."""
    path = local(copy[0].segment(copy[1]))
    good = path.read_bytes()
    for position in range(len(good)):
        bad = bytearray(good)
        bad[position] ^= 1 << position % 8
        path.write_bytes(bad)
        with pytest.raises(DamagedFile) as caught:
            Segment.open(*copy)
        assert caught.value.file == path


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.unlink(), id="missing"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-1]), id="a byte short"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), id="half"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:70]), id="head only"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes() + b"\0"), id="a byte long"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[64:]), id="beginning lost"),
        pytest.param(lambda path: write_arrays(path, "dead", {"segment": "x"}, {}), id="another kind"),
    ],
)
def test_a_damaged_file_is_named_with_the_cure(
    damage: Callable[[Path], object], copy: tuple[IndexDirectory, str]
) -> None:
    path = local(copy[0].segment(copy[1]))
    damage(path)
    with pytest.raises(DamagedFile) as caught:
        Segment.open(*copy)
    assert str(path) in str(caught.value)
    assert "rebuilt from the subscriptions topic" in str(caught.value)


def test_a_large_file_is_verified_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "big"
    write_arrays(path, "dead", {}, {"big": np.zeros(2**20)})
    content = bytearray(path.read_bytes())
    content[2**19] ^= 4
    path.write_bytes(content)
    opened = open_arrays(path, "dead")
    with pytest.raises(DamagedFile, match=r"checksum .* of array big"):
        opened.verify()


def test_another_format_is_refused_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "FORMAT", 99)
    name = write_segment(tmp_path, OracleEngine(), [simple("a")]).name
    monkeypatch.undo()
    with pytest.raises(TocsinError, match=rf"format 99, this version reads 1 to {FORMAT}. Remove the index") as caught:
        Segment.open(tmp_path, name)
    assert not isinstance(caught.value, DamagedFile)


@settings(deadline=None)
@given(st.lists(st.sampled_from([bool, np.int8, np.uint32, np.int64, np.float32, np.float64]), max_size=5), st.data())
def test_arrays_of_any_shape_and_number_come_back(dtypes: list[type], data: st.DataObject) -> None:
    shapes = [data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)) for _ in dtypes]
    rng = np.random.default_rng(0)
    arrays: dict[str, np.ndarray] = {
        f"a{i}": rng.integers(0, 2, shapes[i]).astype(dtype) for i, dtype in enumerate(dtypes)
    }
    with tempfile.TemporaryDirectory() as folder:
        write_arrays(Path(folder) / "x", "dead", {"note": "1"}, arrays)
        file = open_arrays(Path(folder) / "x", "dead")
        file.verify()
        assert file.notes == {"note": "1"}
        assert list(file.arrays) == list(arrays)
        for name, array in arrays.items():
            assert file.arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(file.arrays[name], array)


ROWS = st.lists(st.binary(max_size=4))


@settings(deadline=None)
@given(ROWS, ROWS)
def test_columns_of_bytes_do_what_lists_do(left: list[bytes], right: list[bytes]) -> None:
    ordered = sorted(set(left))
    table, needles = ByteRows.of(ordered), ByteRows.of(right)
    assert table.to_list() == ordered == [table[i] for i in range(len(table))]
    assert table.find(needles).tolist() == [ordered.index(row) if row in ordered else -1 for row in right]
    assert table.ascending()
    assert ByteRows.of(left).ascending() == (left == ordered)
    assert ByteRows.concatenate([table, needles]).to_list() == ordered + right
    order = np.arange(len(right))[::-1]
    assert needles.take(order).to_list() == right[::-1]
    assert (ByteRows.of(left).hashes()[:, None] == needles.hashes()[None, :]).tolist() == [
        [a == b for b in right] for a in left
    ]
