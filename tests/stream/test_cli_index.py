"""The commands that look into a live index directory, as a user runs them: explain, similar, verify, index stats."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from typer.testing import CliRunner

from index.block.engine import BlockEngine
from index.directory import IndexDirectory
from index.event_block import EventBlock
from index.observed.collector import Collector
from index.observed.store import add
from index.segment import VERIFY_LIMIT, write_segment
from index.writer import IndexWriter
from schemas.filter_text import parse_filter
from schemas.json_codec import decode_subscription
from schemas.limits import Limits
from schemas.records import Event, Subscription
from stream.command_table import app

TOCSIN = str(Path(sys.executable).with_name("tocsin"))
ESCAPE = "\x1b"
FILTERS = {
    "late-jfk": "origin = 'JFK' and dep_delay > 60 and (gate exists or not carrier = 'AA')",
    "hub-fan": "origin in ('JFK'^0.5, 'LGA'^0.2) and (carrier = 'B6'^2 or carrier = 'AA'^3)",
    "not-ua": "carrier != 'UA'",
    "same-jfk": "(not carrier = 'AA' or gate exists) and dep_delay > 60.0 and origin = 'JFK'",
    "far": "origin = 'EWR' and dep_delay > 600 and gate exists",
}
EVENT = {"origin": "JFK", "dep_delay": 75, "carrier": ["B6", "AA"], "$weights": {"carrier": {"B6": 0.5}}}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli-index") / "index"
    subscriptions = [
        decode_subscription(id_, json.dumps({"filter": text, "priority": 1}).encode()) for id_, text in FILTERS.items()
    ]
    expired = Subscription("expired", parse_filter("origin = 'JFK'"), not_after=1_000_000)
    IndexWriter(path).publish([write_segment(path, BlockEngine(), [*subscriptions, expired])], [], {0: 6})
    return path


@pytest.fixture(scope="module")
def event(index: Path) -> str:
    file = index.parent / "event.json"
    file.write_text(json.dumps(EVENT))
    return str(file)


class Said(NamedTuple):
    """What a command printed, and how it ended."""

    stdout: str
    stderr: str
    returncode: int


def run(index: Path, *arguments: str) -> Said:
    """Run the console script as a shell would, in a pipe."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    result = subprocess.run(
        [TOCSIN, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment | {"TOCSIN_JOB__INDEX_DIR": str(index)},
    )
    return Said(result.stdout, result.stderr, result.returncode)


def tocsin(index: Path, *arguments: str, stdin: str = "") -> Said:
    """Run a command in this process, which spares the interpreter's start; its priority stays what it is."""
    with mock.patch("os.nice"):
        result = CliRunner().invoke(app, arguments, input=stdin, env={"TOCSIN_JOB__INDEX_DIR": str(index)})
    return Said(result.stdout, result.stderr, result.exit_code)


def lines(result: Said) -> list[str]:
    assert (result.returncode, result.stderr) == (0, "")
    assert ESCAPE not in result.stdout
    return [line.rstrip() for line in result.stdout.splitlines()]


def records(result: Said) -> list[Any]:
    return [json.loads(line) for line in lines(result)]


def test_explain_draws_a_match_with_its_terms_and_the_branch_that_counts(index: Path, event: str) -> None:
    assert lines(tocsin(index, "explain", "hub-fan", event)) == [
        "hub-fan matches, score 4.5 with priority 1",
        "✔ and  +3.5",
        "├── ✔ origin in ('JFK'^0.5, 'LGA'^0.2)  met by 'JFK'  +0.5 = 1 × 0.5",
        "└── ✔ or  +3",
        "    ├── ✔ carrier = 'B6'^2  met by 'B6'  +1 = 0.5 × 2, not the best",
        "    └── ✔ carrier = 'AA'^3  met by 'AA'  +3 = 1 × 3 ◀ best branch",
    ]


def test_explain_draws_what_kept_a_subscription_away(index: Path, event: str) -> None:
    assert lines(run(index, "explain", "late-jfk", event)) == [
        "late-jfk does not match",
        "✘ and",
        "├── ✔ origin = 'JFK'  met by 'JFK'",
        "├── ✔ dep_delay > 60  met by 75",
        "└── ✘ or",
        "    ├── ✘ gate exists  absent  ◀ missing",
        "    └── ✘ not",
        "        └── ✔ carrier = 'AA'  met by 'AA'",
        "kept away by 1 of its 4 predicates: if just that changed, it would match",
    ]


@pytest.mark.parametrize("id_", ["hub-fan", "late-jfk"])
def test_the_guide_shows_what_explain_draws(index: Path, event: str, id_: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide.md").read_text()
    drawn = "\n".join(lines(tocsin(index, "explain", id_, event)))
    assert f"```text\n{drawn}\n```\n" in page


def test_explain_draws_of_much_what_decides_and_says_how_much_it_left_out(event: str, tmp_path: Path) -> None:
    many = [f"a{n} = 1" for n in range(7_500)]
    filters = {
        "wide": " or ".join(many),
        "last": " and ".join([*(f"a{n} != 1" for n in range(7_500)), "gate exists"]),
        "best": " or ".join([*(f"origin = 'JFK' and a{n} != 1" for n in range(3_000)), "carrier = 'AA'^3"]),
        "both": " and ".join(f"({' or '.join(many[n : n + 50])})" for n in range(0, 7_500, 50)),
    }
    path, limits = tmp_path / "index", Limits(leaves=10_000, record_bytes=2**20)
    made = [decode_subscription(id_, json.dumps({"filter": f}).encode(), limits) for id_, f in filters.items()]
    IndexWriter(path).publish([write_segment(path, BlockEngine(), made)], [], {0: 4})
    wide, last, best, both = (lines(tocsin(path, "explain", id_, event)) for id_ in filters)
    assert wide[1:3] == ["✘ or", "├── ✘ a0 = 1  absent  ◀ missing"]
    assert wide[-2:] == [
        "└── … 7,480 more: see --json",
        "kept away by 1 of its 7,500 predicates: if just that changed, it would match",
    ]
    assert last[-3:-1] == ["├── ✘ gate exists  absent  ◀ missing", "└── … 7,481 more: see --json"]
    assert best[-2:] == [
        "├── ✔ carrier = 'AA'^3  met by 'AA'  +3 = 1 × 3 ◀ best branch",
        "└── … 2,981 more: see --json",
    ]
    assert len(both) < 250
    assert both[-2] == "└── … 130 more: see --json"
    (plain,) = records(tocsin(path, "explain", "wide", event, "--json"))
    assert len(plain["nodes"]) == 7_501


def test_explain_tells_a_program_the_same(index: Path) -> None:
    (plain,) = records(tocsin(index, "explain", "late-jfk", "-", "--json", stdin=json.dumps(EVENT)))
    assert (plain["subscription"], plain["matches"], plain["score"], plain["distance"]) == ("late-jfk", False, None, 1)
    (missing,) = plain["missing"]
    assert plain["nodes"][missing]["predicate"] == {"op": "exists", "attribute": "gate"}


def test_explain_judges_validity_by_the_time_that_is_given_or_by_now(index: Path, event: str) -> None:
    now = lines(tocsin(index, "explain", "expired", event))
    assert now[0] == "expired does not match"
    assert now[-1].startswith("validity: the event's time ")
    assert now[-1].endswith("is after 1970-01-01T00:00:01Z")
    then = lines(tocsin(index, "explain", "expired", event, "--time", "1970-01-01T00:00:00Z"))
    assert then[0] == "expired matches, score 1"


def test_explain_without_an_id_shows_what_matches_and_what_came_nearest(index: Path, event: str) -> None:
    shown = lines(run(index, "explain", event, "--limit", "2"))
    assert shown[0] == "2 of 6 subscriptions match: hub-fan, not-ua"
    assert [line for line in shown if line.endswith("does not match")] == [
        "late-jfk does not match",
        "same-jfk does not match",
    ]
    (plain,) = records(tocsin(index, "explain", "-", "--json", "--limit", "9", stdin=json.dumps(EVENT)))
    assert plain["matching"] == ["hub-fan", "not-ua"]
    assert [(near["subscription"], near["distance"]) for near in plain["nearest"]] == [
        ("late-jfk", 1),
        ("same-jfk", 1),
        ("expired", 1),
        ("far", 3),
    ]


def test_similar_lists_the_same_first_then_the_nearest(index: Path) -> None:
    wanted = "dep_delay > 60 and origin in ('JFK') and (gate exists or carrier != 'AA')"
    found = records(tocsin(index, "similar", wanted, "--json"))
    assert [(entry["subscription"], entry["relation"]) for entry in found[:3]] == [
        ("late-jfk", "same"),
        ("same-jfk", "same"),
        ("far", "near"),
    ]
    assert found[0]["filter"] == FILTERS["late-jfk"]
    table = lines(run(index, "similar", wanted, "--limit", "2"))
    assert [line.split("\t") for line in table] == [
        ["similarity", "relation", "subscription", "filter"],
        ["1.00", "same", "late-jfk", FILTERS["late-jfk"]],
        ["1.00", "same", "same-jfk", found[1]["filter"]],
    ]


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


def test_similar_says_when_nothing_is(index: Path) -> None:
    result = tocsin(index, "similar", "nothing = 'like it'")
    assert (result.returncode, result.stdout) == (0, "")
    assert "none of 6 subscriptions" in result.stderr


def test_trees_of_two_thousand_levels_are_compared_explained_and_exported(event: str, tmp_path: Path) -> None:
    path, file = tmp_path / "index", tmp_path / "tree.json"
    text = '{"op":"in","attribute":"origin","values":["JFK"]}'
    for level in range(1_999):
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


def test_verify_ends_with_0_when_nothing_differs(index: Path, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(json.dumps(EVENT | {"dep_delay": delay}) for delay in range(0, 1_000, 10)))
    (said,) = lines(run(index, "verify", str(file), "--sample", "40"))
    assert said.startswith("version 1: 40 events × 6 subscriptions: ")
    assert said.endswith(" matches, no difference")
    (plain,) = records(tocsin(index, "verify", str(file), "--json"))
    assert (plain["events"], plain["differing"], plain["complete"]) == (50, 0, True)
    assert plain["matches"] == 100


def test_verify_leaves_out_what_is_no_event_and_says_so(index: Path) -> None:
    result = tocsin(index, "verify", "-", stdin='{"a": 1}\n\n[1]\nnonsense\n')
    assert result.returncode == 0
    assert "1 event ×" in result.stdout
    assert result.stderr == "2 records left out, no events that the job would accept\n"
    nothing = tocsin(index, "verify", "-", stdin="")
    assert (nothing.returncode, nothing.stderr.startswith("tocsin: there are no events")) == (1, True)


def test_verify_ends_with_1_and_explains_each_difference(index: Path, event: str, tmp_path: Path) -> None:
    """The engine's arrays are those of other subscriptions than the bodies, as after a bug in the engine."""
    bad = tmp_path / "bad"
    swapped = [Subscription(id_, parse_filter("origin = 'LGA'")) for id_ in ("a", "b")]
    told = [Subscription(id_, parse_filter("origin = 'JFK'^2")) for id_ in ("a", "b")]

    class Wrong(BlockEngine):
        def build(self, subscriptions: Any) -> Any:
            return super().build(swapped)

    IndexWriter(bad).publish([write_segment(bad, Wrong(), told)], [], {})
    result = run(bad, "verify", event)
    assert (result.returncode, result.stderr) == (1, "")
    shown = result.stdout.splitlines()
    assert shown[0] == "version 1: 1 event × 2 subscriptions: 2 matches, 2 differences"
    assert "a: the index says no match, brute force says a match of score 2, for the event" in shown
    assert "a matches, score 2" in shown
    (plain,) = [json.loads(line) for line in tocsin(bad, "verify", event, "--json").stdout.splitlines()]
    assert [(d["subscription"], d["expected"], d["found"]) for d in plain["differences"]] == [
        ("a", 2.0, None),
        ("b", 2.0, None),
    ]
    assert plain["differences"][0]["explanation"]["matches"] is True


def test_index_stats_shows_sizes_predicates_and_the_always_list(index: Path) -> None:
    shown = lines(run(index, "index", "stats"))
    assert shown[:2] == ["version\t1", "subscriptions\t6"]
    assert any(line.split(maxsplit=1) == ["3", "origin = 'JFK'"] for line in shown)
    assert "always-list: 1 of 6 subscriptions (16.67%)" in shown
    assert shown[-1].startswith("not-ua\t1\tcarrier != 'UA'\t")
    (plain,) = records(tocsin(index, "index", "stats", "--json", "--limit", "2"))
    assert (plain["subscriptions"], plain["always"]) == (6, 1)
    assert plain["offenders"][0]["subscription"] == "not-ua"
    assert {"filter": "origin = 'JFK'", "subscriptions": 3} in plain["common"]
    assert plain["parts"]["bodies"] > 0


def test_index_stats_shows_what_was_observed_of_events(index: Path, tmp_path: Path) -> None:
    assert "no events observed yet" in lines(run(index, "index", "stats"))
    own = tmp_path / "index"
    shutil.copytree(index, own)
    collector = Collector()
    collector.see(EventBlock.from_events([Event({"origin": ("JFK",), "gate": (n,)}) for n in range(4)]))
    add(own, collector.take())
    shown = lines(run(own, "index", "stats", "--limit", "3"))
    assert "most frequent in 4 events observed, of 4 ever" in "\n".join(shown)
    assert [line.split(maxsplit=1) for line in shown if line.startswith("100.00%")] == [
        ["100.00%", "gate exists"],
        ["100.00%", "origin exists"],
        ["100.00%", "origin = 'JFK'"],
    ]
    (plain,) = records(tocsin(own, "index", "stats", "--json", "--limit", "1"))
    assert (plain["observed"], plain["observed_ever"]) == (4, 4)
    assert plain["frequent"] == [{"filter": "gate exists", "share": 1.0}]


def test_index_stats_may_look_at_a_sample(index: Path) -> None:
    (plain,) = records(tocsin(index, "index", "stats", "--json", "--sample", "3"))
    assert (plain["scanned"], plain["subscriptions"]) == (3, 6)


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
    file = IndexDirectory.of(path).segment(info.name)
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


def test_a_terminal_gets_colours(index: Path, event: str) -> None:
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "TOCSIN_JOB__INDEX_DIR": str(index)}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([TOCSIN, "explain", "hub-fan", event], stdout=slave, env=environment) as process:
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 4096):
                shown += chunk
        except OSError:  # the other side is closed
            pass
    os.close(master)
    assert process.returncode == 0
    assert f"{ESCAPE}[32m✔".encode() in shown


def test_nothing_in_the_directory_is_written_or_removed(index: Path, event: str) -> None:
    def state() -> dict[str, tuple[int, int]]:
        found = IndexDirectory.of(index).root.rglob("*")
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}

    before = state()
    lines(tocsin(index, "explain", event))
    lines(tocsin(index, "verify", event))
    lines(tocsin(index, "index", "stats"))
    assert state() == before
