"""``tocsin similar``: subscriptions that say the same, and those that come nearest."""

from __future__ import annotations

from pathlib import Path

from tests.stream.index_commands import FILTERS, lines, records, run, tocsin


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


def test_similar_says_when_nothing_is(index: Path) -> None:
    """Also when a predicate is there in others: that alone is not near."""
    for wanted in ("nothing = 'like it'", "carrier != 'UA' and b = 1 and c = 1 and d = 1 and e = 1 and f = 1"):
        result = tocsin(index, "similar", wanted)
        assert (result.returncode, result.stdout) == (0, "")
        assert result.stderr == "none of 6 subscriptions is near the filter\n"
