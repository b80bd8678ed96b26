"""What holds for every command that looks into a live index: rows, depth, errors, damage, and nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from index.block.engine import BlockEngine
from index.directory import IndexDirectory
from index.segment import VERIFY_LIMIT, write_segment
from index.writer import IndexWriter
from schemas.filter_text import parse_filter
from schemas.json_codec import decode_subscription
from schemas.limits import Limits
from schemas.records import Subscription
from tests.local import local
from tests.stream.index_commands import lines, records, tocsin


def test_a_program_gets_rows_of_any_length_as_one_line_with_tabs(event: str, tmp_path: Path) -> None:
    path = tmp_path / "index"
    long = " or ".join(f"attribute_{n} = '[b]{'x' * 40}[/b]\t'" for n in range(7))
    subscription = decode_subscription("a [red]b", json.dumps({"filter": f"not ({long})"}).encode())
    IndexWriter(path).publish([write_segment(path, BlockEngine(), [subscription])], [], {0: 1})
    similar = tocsin(path, "similar", f"not ({long})").stdout.splitlines()
    assert len(similar) == 2
    assert similar[1].split("\t")[2] == "a [red]b"
    assert "[b]xxx" in similar[1]
    stats = tocsin(path, "index", "stats").stdout.splitlines()
    assert "tail, to be merged first\t1 segment, 1 subscription" in stats
    assert "always-list: 1 of 1 subscription (100.00%)" in stats
    (member,) = (line.split("\t") for line in stats if line.startswith("a [red]b"))
    assert (len(member), member[1]) == (4, "7")
    status = tocsin(path, "status", "--set", f"kafka.bootstrap_servers=localhost:1,{'x' * 200}:1").stdout.splitlines()
    assert [line.split("\t")[0] for line in status] == ["job", "state", "kafka", "index"]
    assert " 1 subscription in 1 segment " in status[-1]
    (explained,) = (line for line in tocsin(path, "explain", "a [red]b", event).stdout.splitlines() if "_6" in line)
    assert explained == explained.rstrip()


def test_trees_of_two_thousand_levels_are_compared_explained_and_exported(event: str, tmp_path: Path) -> None:
    path, file = tmp_path / "index", tmp_path / "tree.json"
    text = '{"op":"in","attribute":"origin","values":["JFK"]}'
    for level in range(2_000):
        text = f'{{"op":"{"and" if level % 2 else "or"}","args":[{text}]}}'
    file.write_text(text)
    deep = decode_subscription("deep", f'{{"expression":{text}}}'.encode(), Limits(depth=2_000))
    IndexWriter(path).publish([write_segment(path, BlockEngine(), [deep])], [], {0: 1})
    (found,) = records(tocsin(path, "similar", f"@{file}", "--json", "--set", "limits.depth=2000"))
    assert (found["subscription"], found["relation"]) == ("deep", "same")
    explained = lines(tocsin(path, "explain", "deep", event))
    assert explained[0] == "deep matches, score 1"
    assert explained[-1].endswith("└── … 1 more: see --json")
    assert tocsin(path, "index", "export").stdout == f'{{"id":"deep","expression":{text}}}\n'


def test_a_missing_index_subscription_or_event_is_one_sentence(index: Path, event: str, tmp_path: Path) -> None:
    expected = [
        (tocsin(Path(event), "index", "stats"), "/event.json/manifests: Not a directory. The index directory must be"),
        (tocsin(tmp_path / "none", "explain", "late-jfk", event), "there is no index in"),
        (tocsin(index, "explain", "no-such-id", event), "no subscription 'no-such-id'"),
        (tocsin(index, "explain", "late-jkf", event), "; did you mean late-jfk?"),
        (tocsin(index, "explain", "late-jfk"), "tocsin explain late-jfk EVENT.json"),
        (tocsin(index, "explain", "late-jfk", "/no/such.json"), "/no/such.json"),
        (tocsin(index, "explain", "late-jfk", "-", stdin="[]"), "the event is an array"),
        (tocsin(index, "explain", "late-jfk", event, "--at-version", "9"), "there is no version 9 in"),
        (tocsin(index, "explain", "\udcff", event), "no subscription '\\udcff'"),
        (
            tocsin(index, "similar", "a = '\udcff'"),
            "is not UTF-8 text: it has '\\udcff' at character 6; give it in UTF-8",
        ),
        (tocsin(index, "similar", "origin ="), "line 1, column 9"),
    ]
    for result, said in expected:
        assert (result.returncode, result.stdout) == (1, ""), said
        assert result.stderr.startswith("tocsin: ")
        assert said in result.stderr
        assert "Traceback" not in result.stderr


LOOKING = ("explain late EVENT", "explain EVENT", "similar a=1", "verify EVENT", "index stats", "index export")


@pytest.mark.parametrize("command", [*LOOKING, "index verify"])
def test_a_bit_that_flipped_in_a_large_array_is_one_sentence(command: str, event: str, tmp_path: Path) -> None:
    path = tmp_path / "index"
    late = Subscription("late", parse_filter("origin = 'JFK'"), labels={"note": "x" * 2 * VERIFY_LIMIT})
    info = write_segment(path, BlockEngine(), [late])
    IndexWriter(path).publish([info], [], {0: 1})
    file = local(IndexDirectory.of(path).segment(info.name))
    content = bytearray(file.read_bytes())
    content[content.index(b"xxxx") + VERIFY_LIMIT] ^= 1
    file.write_bytes(content)
    result = tocsin(path, *(event if word == "EVENT" else word for word in command.split()))
    assert result.returncode == 1
    said = result.stdout if command == "index verify" else result.stderr
    assert f"{file}" in said
    assert "found checksum" in said
    assert "of array labels/data, wanted" in said
    assert len(result.stderr.splitlines()) <= 1


def test_status_says_of_an_index_that_can_not_be_read_what_is_wrong_with_it(event: str, tmp_path: Path) -> None:
    layout = IndexDirectory.of(tmp_path / "index")
    IndexWriter(tmp_path / "index").publish([], [], {0: 1})
    manifest = local(layout.manifest(1))
    manifest.write_bytes(manifest.read_bytes()[:-9])
    nowhere = ("--set", "kafka.client.none=1")  # refused, so nobody is waited for
    index = tocsin(tmp_path / "index", "status", *nowhere).stdout.splitlines()[-1]
    assert index.startswith(f"index\t{manifest} is damaged: ")
    status = json.loads(tocsin(Path(event), "status", "--json", *nowhere).stdout)
    assert status["index"] is None
    assert "/manifests: Not a directory. The index directory must be" in status["index_error"]


def test_nothing_in_the_directory_is_written_or_removed(index: Path, event: str) -> None:
    def state() -> dict[str, tuple[int, int]]:
        found = index.rglob("*")
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}

    before = state()
    lines(tocsin(index, "explain", event))
    lines(tocsin(index, "verify", event))
    lines(tocsin(index, "index", "stats"))
    assert state() == before
