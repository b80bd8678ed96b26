"""Searching one text for many finds exactly what searching for each alone does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import patterns as patterns_module
from index.byte_rows import ByteRows
from index.needles import LONG, find_needles, parents
from index.pattern_start import closed
from index.patterns import Patterns
from schemas.patterns import full_match
from tests.leaf_strategies import PATTERNS, TEXTS, rich_strings
from tests.strategies import strings

letters = st.text("ab\u00e9", min_size=1, max_size=4)
groups = st.lists(st.sets(letters, max_size=8), min_size=1, max_size=3)
texts = st.lists(st.tuples(st.text("ab\u00e9", max_size=8), st.integers(0, 2)), max_size=5)


def found(listed: list[set[str]], asked: list[tuple[str, int]], long: int = LONG) -> set[tuple[int, int, str]]:
    keys = sorted((g, text.encode()) for g, members in enumerate(listed) for text in members)
    group = np.array([g for g, _ in keys], np.int32)
    group.flags.writeable = False
    needles = ByteRows.of([key for _, key in keys])
    of_text = np.array([g for _, g in asked], np.int64)
    first, stop = (np.searchsorted(group, of_text, side=side) for side in ("left", "right"))
    haystacks = ByteRows.of([b"b" + text.encode() for text, _ in asked])
    place, needle = find_needles(haystacks, 1, first, stop, needles, parents(group, needles), long)
    pairs = list(zip(place.tolist(), needle.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    return {(i, keys[n][0], keys[n][1].decode()) for i, n in pairs}


@given(groups, texts, st.sampled_from((1, 2, 3, 5, LONG)))
def test_needles_are_found_wherever_they_occur(listed: list[set[str]], asked: list[tuple[str, int]], long: int) -> None:
    expected = {
        (i, g, text)
        for i, (haystack, g) in enumerate(asked)
        for text in (listed[g] if g < len(listed) else ())
        if text in haystack
    }
    assert found(listed, asked, long) == expected


def test_there_may_be_more_finds_than_were_reckoned_with() -> None:
    many = {"a" * n for n in range(1, 200)}
    assert len(found([many], [("a" * 199, 0)] * 3)) == 3 * 199


def test_long_needles_in_long_texts_take_no_longer_than_a_look_at_each() -> None:
    """Compared letter by letter at each place these would be some 10 ** 12 comparisons."""
    half = "a" * 2**19
    needles = {half, half + "b", "b" + half, "ab", *("a" * n for n in (1, 255, 256, 257, 5_000))}
    expected = {(0, 0, text) for text in needles if "b" not in text} | {(1, 0, text) for text in needles}
    assert found([needles], [("a" * 2**20, 0), (half + "b" + half, 0)]) == expected


@given(st.sets(st.sampled_from(PATTERNS)), rich_strings() | strings())
def test_patterns_together_match_as_each_alone(chosen: set[str], text: str) -> None:
    listed = sorted(chosen)
    places = Patterns(listed).matching(text)
    assert sorted(listed[place] for place in places) == [p for p in listed if full_match(p, text)]


ATOMS = ("a", "b", ".", "[ab]", "[^a]", r"\w", r"\pL", "(?i:A)", "(a|bb)", "(?:.*|b)", r"\x61", "^", "$", r"\Qa\E", "")
REPEATS = ("", "*", "+", "?", "{2}", "{0,20}", "*?", "{1,}")
odd_patterns = st.builds(
    "{}{}".format,
    st.sampled_from(("", "(?s)", "(?i)", "(?U)", "(?-s)", "(?im)")),
    st.lists(st.builds("(?:{}){}".format, st.sampled_from(ATOMS), st.sampled_from(REPEATS)), max_size=4).map("".join),
)


@given(st.sets(odd_patterns, min_size=1, max_size=12), st.lists(st.text("abAB\n\u00e9", max_size=8), max_size=6))
def test_odd_patterns_together_match_as_each_alone(chosen: set[str], texts: list[str]) -> None:
    listed = sorted(chosen)
    together = Patterns(listed)
    for text in texts:
        places = sorted(together.matching(text))
        assert [listed[place] for place in places] == [p for p in listed if full_match(p, text)]


def test_groups_of_both_kinds_are_full_and_tell_each_pattern_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns_module, "OPEN_GROUP", 3)
    monkeypatch.setattr(patterns_module, "CLOSED_GROUP", 5)
    listed = sorted(f"{start}{n}.*" for start in ("", "(?s)", ".*", "(?i).*") for n in range(10))
    assert sorted(Patterns(listed).matching("7 and more")) == [i for i, p in enumerate(listed) if "7" in p]
    assert len(list(patterns_module._groups(listed))) == 7 + 4


@pytest.mark.parametrize(
    ("wanted", "listed"),
    [
        (
            True,
            ("a.*", "(?s)a.*", "(?i)a.*", "/path/.*", "(a|b).*", "(ab|cd).*", "(?:a|bc)?x.*", r"\d{4}-.*", "a+", "^a"),
        ),
        (True, ("[ab].*", "(?i:a|B).*", "(ab)+.*", ".a", "[^x]{3}y.*", r"\.\*.*", "(?P<n>a).*", "\u00e9.*", "a{2,}.*")),
        (False, (".*", ".+a", "(?s).*a", r"\w*a", "[a-z]+x", "(.*|a)b", "(?:(.*)a)+", "a*b", "(ab)*", "(?i).{0,99}a")),
        (False, ("..*a", "[a-z].*a", "(a|.*b)c", "", ".", r"\pL+a", r"\Qa\E.*", "(" * 500 + "a" + ")" * 500, ".*?a")),
    ],
)
def test_a_pattern_is_closed_when_a_letter_stands_before_its_first_endless_repetition(
    wanted: bool, listed: Sequence[str]
) -> None:
    assert [p for p, found in zip(listed, closed(listed), strict=True) if found is not wanted] == []


@pytest.mark.parametrize("memory", [1 << 14, 1 << 18, 1 << 22])
def test_patterns_match_all_the_same_when_memory_is_short(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets that do not compile, and sets whose passes fail, are found out, and their patterns run one by one."""
    monkeypatch.setattr(patterns_module, "GROUP_MEMORY", memory)
    listed = sorted(f"(?i).*[a-{c}]\\w{{{n}}}.*{c}.*" for c in "bcdefgh" for n in range(1, 20)) + list("xyz")
    together = Patterns(listed)
    for text in (*TEXTS, "abc defgh abcdefghij" * 5, "b" * 300):
        places = sorted(together.matching(text))
        assert [listed[place] for place in places] == [p for p in listed if full_match(p, text)]
