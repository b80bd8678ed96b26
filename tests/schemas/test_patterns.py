"""Regular expressions: RE2's, whole values, refusals with their cure."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import Refused
from schemas.patterns import compile_pattern, full_match


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        *(
            ("a|b", "a", True),
            ("a|b", "ab", False),
            ("ab", "ab\n", False),
            ("ab$", "ab\n", False),
            ("B.?", "xB3", False),
        ),
        *((".", "\n", False), ("(?s).", "\n", True), ("(?i)é", "É", True), ("", "", True), ("", "a", False)),
        *(
            (".", "\U0001f600", True),
            (r"\x{1f600}", "\U0001f600", True),
            ("a\0b", "a\0b", True),
            ("(a)(b)?", "a", True),
        ),
    ],
)
def test_a_pattern_matches_the_whole_of_a_text(pattern: str, text: str, found: bool) -> None:
    assert full_match(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "cure"),
    [
        (r"(a)\1", "back-references are not part"),
        (r"(?P<x>a)(?P=x)", "back-references are not part"),
        ("(?=a)b", "look-ahead is not part"),
        ("(?!a)b", "look-ahead is not part"),
        ("(?<=a)b", "look-behind is not part"),
        ("(?<!a)b", "look-behind is not part"),
        (r"a\Z", "nothing"),
        ("a{1001}", "at most 1,000"),
        (r"(\pL{300}){3}", "make it smaller"),
        ("(", "missing"),
        ("[z-a]", "invalid character class range"),
        ("*", "no argument"),
    ],
)
def test_a_bad_pattern_is_refused_with_its_cure(pattern: str, cure: str) -> None:
    with pytest.raises(Refused, match=cure) as raised:
        compile_pattern(pattern)
    assert raised.value.code == "pattern.syntax"


@given(st.text("ab()[]{}|*+?\\^$.-,:=!<>P1é\0", max_size=12), st.text("ab1é\0", max_size=6))
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str) -> None:
    with suppress(Refused):
        assert full_match(pattern, text) is full_match(f"(?:{pattern})", text)


def test_nested_repetitions_cost_no_exponential_time() -> None:
    assert not full_match("(a*)*b", "a" * 20_000)
