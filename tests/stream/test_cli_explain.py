"""``tocsin explain``: why a subscription matches an event or does not, drawn and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from index.block.engine import BlockEngine
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.json_codec import decode_subscription
from schemas.limits import Limits
from tests.stream.console import ESCAPE
from tests.stream.index_commands import EVENT, lines, on_a_terminal, records, run, tocsin


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


def test_explain_says_in_the_other_modes_what_weighs_too_little(event: str, tmp_path: Path) -> None:
    bodies = {
        "relaxed": {"filter": "origin in ('JFK'^0, 'LGA'^5)", "mode": "relaxed"},
        "shares": {"filter": "origin in ('JFK'^1, 'LGA'^2) and gate exists", "mode": "threshold", "threshold": 0.9},
    }
    made = [decode_subscription(id_, json.dumps(body).encode()) for id_, body in bodies.items()]
    IndexWriter(tmp_path / "index").publish([write_segment(tmp_path / "index", BlockEngine(), made)], [], {0: 2})
    assert lines(tocsin(tmp_path / "index", "explain", "relaxed", event))[-2:] == [
        "✔ origin in ('JFK'^0, 'LGA'^5)  met by 'JFK'  ◀ weighs too little",
        "kept away by 1 of its 1 predicate: with its full weight it would match",
    ]
    assert lines(tocsin(tmp_path / "index", "explain", "shares", event))[2:] == [
        "├── ✔ origin in ('JFK'^1, 'LGA'^2)  met by 'JFK'  +1  ◀ weighs too little",
        "└── ✘ gate exists  absent  ◀ missing",
        "share of the weights: 0.333333 < 0.9 wanted",
        "kept away by 2 of its 2 predicates: with their full weight it would match",
    ]


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


def test_a_terminal_gets_colours(index: Path, event: str) -> None:
    code, shown = on_a_terminal("stdout", "explain", "hub-fan", event, index=index)
    assert code == 0
    assert f"{ESCAPE}[32m✔" in shown
