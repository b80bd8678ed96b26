"""Tokens, prefixes and glob patterns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas import texts
from schemas.errors import Refused, TocsinError
from schemas.patterns import compile_pattern, full_match
from schemas.texts import fold, glob_ignoring_case, glob_regex, prefix_bounds, set_analyser, tokens

EDGES = "ab\ud7ff\ue000\uffff\U00010000\U0010ffff\0"
TEXT = st.one_of(st.text(EDGES, max_size=4), st.text(max_size=4))


@given(TEXT, TEXT, st.booleans())
@example("\ud7ff", "\ue000", False)
@example("a\U0010ffff", "b", False)
@example("\U0010ffff", "\U0010ffffa", False)
def test_what_begins_with_a_text_is_exactly_what_lies_in_its_bounds(text: str, other: str, joined: bool) -> None:
    value = text + other if joined else other
    low, high = prefix_bounds(text)
    assert (low <= value and (high is None or value < high)) == value.startswith(text)
    if high is not None:
        assert not high.startswith(text)
        high.encode()  # holds no surrogate


def test_tokens_are_the_words_of_unicode_folded_and_distinct() -> None:
    assert tokens("Can't STOP, can't stop: 3.14 e-mails! U.S.A.", "words") == (
        *("can't", "stop", "3.14", "e", "mails", "u.s.a"),
    )
    assert tokens("Straße STRASSE", "words") == ("strasse",)
    assert tokens("日本 snake_case \U0001f600 … --", "words") == ("日", "本", "snake_case")
    assert tokens("", "words") == tokens(" \n", "words") == ()


def test_the_whole_text_may_be_one_token() -> None:
    assert tokens("New York", "whole") == ("new york",)
    assert tokens("", "whole") == ()


@given(st.text(max_size=12))
def test_a_token_is_a_token_of_itself(text: str) -> None:
    for analyser in texts.ANALYSERS:
        for token in tokens(text, analyser):
            assert tokens(token, analyser) == (fold(token),) == (token,)


@pytest.fixture
def default_analyser() -> Iterator[None]:
    yield
    set_analyser("words")


@pytest.mark.usefixtures("default_analyser")
def test_the_process_has_one_analyser_which_the_settings_name() -> None:
    assert (texts.analyser(), tokens("A b")) == ("words", ("a", "b"))
    set_analyser("whole")
    assert (texts.analyser(), tokens("A b")) == ("whole", ("a b",))
    with pytest.raises(TocsinError, match=r"set matching\.analyser to one of words, whole"):
        set_analyser("stemmed")


def fits(pattern: str, text: str) -> bool:
    """Match a glob pattern of ``*``, ``?``, plain brackets and escapes the slow way."""
    if not pattern:
        return not text
    head = pattern[0]
    if head == "*":
        return any(fits(pattern[1:], text[i:]) for i in range(len(text) + 1))
    if not text:
        return False
    if head == "?":
        return fits(pattern[1:], text[1:])
    if head == "\\":
        return text[0] == pattern[1] and fits(pattern[2:], text[1:])
    if head == "[":
        end = pattern.index("]", 3 if pattern[1] == "!" else 2)
        listed = pattern[1:end].removeprefix("!")
        inside = text[0] in listed if len(listed) != 3 or listed[1] != "-" else listed[0] <= text[0] <= listed[2]
        return inside != (pattern[1] == "!") and fits(pattern[end + 1 :], text[1:])
    return text[0] == head and fits(pattern[1:], text[1:])


PIECES = (
    "*",
    "?",
    "a",
    "b",
    ".",
    "é",
    "\n",
    "[ab]",
    "[!a]",
    "[a-c]",
    "[!b-é]",
    "[]a]",
    "[!]]",
    "\\*",
    "\\?",
    "\\[",
    "^",
)


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.text("abc.é\n]*?[^\U0001f600", max_size=6))
def test_a_glob_matches_as_the_slow_way_does(pattern: str, text: str) -> None:
    assert full_match(glob_regex(pattern), text) == fits(pattern, text)


@given(st.text(max_size=6), st.text(max_size=6))
def test_any_glob_is_refused_or_compiles_and_an_escaped_text_matches_itself_alone(text: str, other: str) -> None:
    with suppress(Refused):
        compile_pattern(glob_regex(text))
    escaped = glob_regex("".join("\\" + character for character in text))
    assert full_match(escaped, text)
    assert full_match(escaped, other) == (text == other)


@given(
    st.lists(st.sampled_from((*PIECES, "ß", "S", "İ", "[ß]", "[A-z]", "[!ſ]")), max_size=6).map("".join),
    st.text("abßSsſİi_.", max_size=6),
)
def test_a_glob_that_ignores_case_fits_all_that_it_fits_with_case(pattern: str, text: str) -> None:
    """But for what a list excludes: ``[!s]`` excludes S as well then."""
    found, is_folded = glob_ignoring_case(pattern)
    if "[!" not in pattern:
        assert full_match(found, fold(text) if is_folded else text) >= full_match(glob_regex(pattern), text)
    for other in (text.upper(), text.lower()):
        if len(other) == len(text) and fold(other) == fold(text):
            assert full_match(found, fold(other) if is_folded else other) == full_match(
                found, fold(text) if is_folded else text
            )


def test_a_list_that_excludes_a_letter_excludes_both_cases_where_case_is_ignored() -> None:
    found, is_folded = glob_ignoring_case("[!s]")
    assert not is_folded
    assert [full_match(found, text) for text in ("s", "S", "ſ", "t")] == [False, False, False, True]


@pytest.mark.parametrize("pattern", ["a\\", "[", "[]", "[!]", "[a", "x[a-", "[z-a]", "[a\\]", "[\\"])
def test_a_glob_that_is_not_closed_or_runs_backwards_is_refused(pattern: str) -> None:
    with pytest.raises(Refused) as raised:
        glob_regex(pattern)
    assert raised.value.code == "pattern.syntax"


def test_brackets_hold_what_they_list() -> None:
    assert full_match(glob_regex("[a\\]-]"), "]")
    assert full_match(glob_regex("[a-]"), "-")
    assert full_match(glob_regex("[\\!a]"), "!")
    assert not full_match(glob_regex("[^a]"), "b")
