"""The commands that look after an index directory, as a user runs them: index verify, compact, gc, export, import."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from index.block.engine import BlockEngine
from index.directory import IndexDirectory
from index.engine import Parts
from index.files import names
from index.garbage import Collected
from index.live import alive, open_version, read
from index.manifest import latest, publish, versions
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.expression import And, Not
from schemas.filter_text import parse_filter
from schemas.json_codec import decode_subscription
from schemas.records import Subscription
from stream.lock import FolderLock, Holder, holder
from tests.conftest import BrokerAddress
from tests.local import local
from tests.pinned import pinned_before
from tests.stream.command_line import CommandLine
from tests.stream.index_commands import lines, on_a_terminal, records, run, tocsin

FILTERS = {
    "late": "origin = 'JFK' and dep_delay > 60 and (gate exists or not carrier = 'AA')",
    "fan": "origin in ('JFK'^0.5, 'LGA'^0.2) and (carrier = 'B6'^2 or carrier = 'AA'^3)",
    "far": "origin = 'EWR' and dep_delay between 600 and 700 and note contains 'late'",
    "network": "ip in cidr '10.0.0.0/8' and agent version >= '1.2.0'",
    "words": "title has all ('storm') or title starts with 'Storm'",
}
SUBSCRIPTIONS = {
    id_: Subscription(id_, parse_filter(text), priority=1, labels={"desk": id_}) for id_, text in FILTERS.items()
}


def built(root: Path) -> Path:
    """Ten segments, half of them with a dead subscription."""
    writer = IndexWriter(root)
    for number, (id_, subscription) in enumerate([*SUBSCRIPTIONS.items()] * 2):
        other = Subscription(f"{id_}-{number}", subscription.expression)
        writer.publish([write_segment(root, BlockEngine(), [subscription, other])], [], {0: number + 1})
    return root


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("care") / "index")


@pytest.fixture
def index(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "index")
    return tmp_path / "index"


def held(index: Path) -> dict[str, Subscription]:
    snapshot = open_version(index)
    return {subscription.id: subscription for subscription in read(snapshot, alive(snapshot))}


def test_verify_finds_a_whole_index_sound(index: Path) -> None:
    files, invariants, answers = lines(run(index, "index", "verify", "--sample", "30"))
    assert files.startswith(f"files of {len(versions(index))} versions, ")
    assert files.endswith(" bytes: whole")
    assert invariants == f"invariants of version {latest(index).version}: kept"
    assert answers.startswith("answers, 30 events × 15 subscriptions, ")
    assert answers.endswith(" matches: no difference")
    (plain,) = records(tocsin(index, "index", "verify", "--json"))
    assert (plain["damage"], plain["broken"], plain["differing"]) == ([], [], 0)
    assert plain["matches"] > 50, "the events are made to match"


def test_verify_names_each_damaged_file_and_says_what_helps(index: Path) -> None:
    layout = IndexDirectory.of(index)
    entry = latest(index).segments[-1]
    segment, earlier = local(layout.segment(entry.segment.name)), local(layout.manifest(2))
    content = bytearray(segment.read_bytes())
    content[100] ^= 1
    segment.write_bytes(content)
    earlier.write_bytes(b"")
    pinned_before(index, "job", 1, 4711)
    result = run(index, "index", "verify")
    assert (result.returncode, result.stderr) == (1, "")
    first, *damaged, cure = result.stdout.splitlines()
    assert first.endswith(": 3 damaged files")
    assert f"  {earlier}: found text that does not decode" in "\n".join(damaged)
    assert "wanted what Tocsin writes there" in "\n".join(damaged)
    assert f"  {segment}: found checksum" in "\n".join(damaged)
    assert "a pin of version 4711, which is missing" in damaged[-1]
    assert cure == "start the job again, which builds a damaged index anew from the subscriptions topic"


def test_verify_tells_a_broken_invariant(index: Path) -> None:
    twice = write_segment(index, BlockEngine(), [Subscription("late", And(()))])
    newest = latest(index)
    entry = type(newest.segments[0])(twice)
    publish(index, newest.successor([*newest.segments, entry]))
    result = run(index, "index", "verify")
    assert (result.returncode, result.stderr) == (1, "")
    assert "  'late' is alive in two segments" in result.stdout.splitlines()


def test_verify_tells_an_answer_that_differs(tmp_path: Path) -> None:
    class Deaf(BlockEngine):
        def build(self, subscriptions: Any, statistics: Any = None) -> Parts:
            return super().build([Subscription(s.id, Not(And(()))) for s in subscriptions])

    info = write_segment(tmp_path, Deaf(), [Subscription("late", parse_filter("a = 1"))])
    IndexWriter(tmp_path).publish([info], [], {})
    result = tocsin(tmp_path, "index", "verify", "--sample", "3", "--json")
    assert result.returncode == 1
    plain = json.loads(result.stdout)
    assert (plain["events"], plain["matches"], plain["differing"]) == (3, 3, 3)


def test_compact_merges_what_is_due_and_all_on_demand(index: Path) -> None:
    before = held(index)
    (said,) = lines(run(index, "index", "compact"))
    due = latest(index)
    assert said.startswith(f"version {due.version}: 15 subscriptions in {len(due.segments)} segment")
    assert "; before: 10 segments, " in said
    IndexWriter(index).publish([], ["late"], {0: 99})
    (said,) = lines(tocsin(index, "index", "compact", "--all"))
    (entry,) = latest(index).segments
    assert (entry.segment.count, entry.dead_count) == (14, 0)
    assert said.startswith(f"version {latest(index).version}: 14 subscriptions in 1 segment, ")
    del before["late"]
    assert repr(sorted(held(index).items())) == repr(sorted(before.items()))
    (said,) = lines(tocsin(index, "index", "compact", "--all"))
    assert said.endswith("; nothing was due")


def test_compact_refuses_an_index_of_another_engine_and_changes_nothing(index: Path) -> None:
    before = latest(index)
    for options in ((), ("--all",)):
        result = tocsin(index, "index", "compact", *options, "--set", "job.engine=scan")
        assert (result.returncode, result.stdout) == (1, "")
        assert "was built by the engine 'block', and job.engine is 'scan'. Let it be 'block', or" in result.stderr
        assert latest(index) == before


def test_gc_keeps_what_is_young_and_removes_the_rest_now(index: Path) -> None:
    tocsin(index, "index", "compact", "--all")
    pinned_before(index, "job", 1, 3)
    assert lines(run(index, "index", "gc")) == ["removed 0 versions and 0 files, 0 bytes"]
    expected = held(index)
    (plain,) = records(tocsin(index, "index", "gc", "--now", "--json"))
    assert versions(index) == [3, latest(index).version]
    assert plain["manifests"] == latest(index).version - 2
    assert plain["files"] > 0 < plain["bytes"]
    assert len(names(index / "segments")) == 4, "three of the pinned version, one of the latest"
    assert repr(sorted(held(index).items())) == repr(sorted(expected.items()))


def test_gc_now_is_refused_while_a_job_holds_the_index(index: Path) -> None:
    with FolderLock(index, "job.index_dir", "flights"):
        result = run(index, "index", "gc", "--now")
        assert (result.returncode, result.stdout) == (1, "")
        assert f"{index} is in use by job flights, process {os.getpid()} on " in result.stderr
        assert "; stop that one, or leave out --now" in result.stderr
        assert lines(tocsin(index, "index", "gc")) == ["removed 0 versions and 0 files, 0 bytes"]


def test_no_job_can_begin_while_gc_now_removes_files(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holders: list[Holder | None] = []

    def look(*_: object) -> Collected:
        holders.append(holder(index))
        return Collected(0, 0, 0)

    monkeypatch.setattr("index.garbage.collect", look)
    assert lines(tocsin(index, "index", "gc", "--now")) == ["removed 0 versions and 0 files, 0 bytes"]
    (held,) = holders
    assert held is not None
    assert str(held).startswith(f"tocsin index gc --now, process {os.getpid()} on ")
    assert holder(index) is None


def test_export_writes_each_subscription_as_a_line_that_decodes_to_it(index: Path, tmp_path: Path) -> None:
    result = run(index, "index", "export")
    assert result.returncode == 0
    assert result.stderr == f"exported 15 subscriptions of version {latest(index).version}\n"
    found = {}
    for line in result.stdout.splitlines():
        members = json.loads(line)
        id_ = members.pop("id")
        found[id_] = decode_subscription(id_, json.dumps(members).encode())
    assert repr(sorted(found.items())) == repr(sorted(held(index).items()))
    file = tmp_path / "all.jsonl"
    assert tocsin(index, "index", "export", str(file)).returncode == 0
    assert file.read_text() == result.stdout
    again = tocsin(index, "index", "export", str(file))
    assert (again.returncode, again.stdout) == (1, "")
    assert "give the path of a new file" in again.stderr


def test_a_terminal_gets_a_progress_bar(index: Path, tmp_path: Path) -> None:
    code, shown = on_a_terminal("stderr", "index", "export", str(tmp_path / "out"), index=index)
    assert code == 0
    assert "exporting" in shown
    assert "exported 15 subscriptions" in shown


def test_import_checks_each_line_and_names_the_first_that_is_refused(index: Path) -> None:
    good = '{"filter": "a = 1", "id": "s"}'
    expected = [
        ("[1]", "line 2 is refused: the line is no JSON object"),
        ('{"filter": "a = 1"}', "line 2 is refused: the line has no member 'id'"),
        ('{"id": 7, "filter": "a = 1"}', "line 2 is refused"),
        ('{"id": "", "filter": "a = 1"}', "line 2 is refused: the record's key"),
        ('{"id": "s", "filter": "a ="}', "line 2 is refused"),
        ('{"id": "s", "filter": "a = 1", "prio": 2}', "line 2 is refused"),
    ]
    for bad, said in expected:
        text = "\n".join([good, bad, good])
        result = tocsin(index, "index", "import", "-", "--check", stdin=text)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.startswith(f"tocsin: {said}"), bad
        result = tocsin(index, "index", "import", "-", "--check", "--skip-bad", stdin=text)
        assert result.returncode == 0
        assert result.stderr.endswith("checked 2 subscriptions, skipped 1 bad line\n")


def test_a_tree_that_is_nested_deeply_is_imported_when_its_id_comes_first(index: Path) -> None:
    tree = '{"op":"not","arg":' * 1_500 + '{"op":"exists","attribute":"a"}' + "}" * 1_500
    check = ("index", "import", "-", "--check", "--set", "limits.depth=2000")
    result = tocsin(index, *check, stdin=f'{{"id":"deep","expression":{tree},"priority":2}}')
    assert (result.returncode, result.stderr) == (0, "checked 1 subscription\n")
    for line in (f'{{"expression":{tree},"id":"deep"}}', f'{{"id":"deep"]{tree}', f'{{"id":7,"expression":{tree}}}'):
        result = tocsin(index, *check, stdin=line)
        assert result.returncode == 1
        assert result.stderr.startswith("tocsin: line 1 is refused")


@pytest.mark.parametrize("depth", [1_500, 100_000])
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"expression":@}', "must begin with a text as its member 'id'"),
        ('{"id":@}', "must begin with a text as its member 'id'"),
        ('{"id":@,"filter":"a = 1"}', "must begin with a text as its member 'id'"),
        ("@", "the line is no JSON object with a text as its 'id'"),
        ('{"id":"s","expression":@}', "nested far too deep"),
        ('{"id" : "s", "labels":@}', "nested far too deep"),
        ('{"id":"\\ud800","expression":@}', "the line is no JSON object with a text as its 'id'"),
        ('{"id":"s" "expression":@}', "the line is no JSON object with a text as its 'id'"),
    ],
)
def test_a_line_that_is_nested_too_deeply_is_refused(index: Path, line: str, said: str, depth: int) -> None:
    text = line.replace("@", "[" * depth + "]" * depth)
    good = '{"filter": "a = 1", "id": "s"}'
    result = tocsin(index, "index", "import", "-", "--check", "--skip-bad", stdin=f"{text}\n{good}\n")
    assert result.returncode == 0
    assert result.stderr.startswith("line 1 skipped: ")
    assert said in result.stderr
    assert result.stderr.endswith("checked 1 subscription, skipped 1 bad line\n")


def test_what_was_exported_is_imported_into_the_topic(index: Path, broker: BrokerAddress) -> None:
    commands = CommandLine(broker.bootstrap_servers)
    exported = run(index, "index", "export").stdout
    result = commands("index", "import", "-", stdin=exported)
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.endswith(f"imported 15 subscriptions to {commands.subscriptions}\n")
    found = {(key or b"").decode(): value for key, value in commands.records(commands.subscriptions)}
    decoded = {id_: decode_subscription(id_, json.dumps(value).encode()) for id_, value in found.items()}
    assert repr(sorted(decoded.items())) == repr(sorted(held(index).items()))


def test_a_missing_index_is_one_sentence(tmp_path: Path) -> None:
    for arguments in (["verify"], ["compact"], ["gc"], ["export"], ["verify", "--at-version", "7"]):
        result = tocsin(tmp_path / "none", "index", *arguments)
        assert (result.returncode, result.stdout) == (1, ""), arguments
        assert result.stderr.startswith("tocsin: there is no index in ")
