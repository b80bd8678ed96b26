"""Version keys: a total order that agrees with comparing versions part by part."""

from __future__ import annotations

import re
from functools import cmp_to_key
from itertools import pairwise, zip_longest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.versions import version_key

TAG = st.one_of(
    st.integers(0, 120).map(str),
    st.sampled_from(("00", "01", "rc", "RC", "rc1", "rc01", "rc2", "rc10", "M2", "M10", "a-b", "-", "-1", "1-", "0a")),
    st.text("aZ09-", min_size=1, max_size=4),
)
NUMBER = st.one_of(
    st.integers(0, 12).map(str), st.integers(0, 10**30).map(str), st.sampled_from(("00", "007", "9" * 300))
)


@st.composite
def versions(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(("", "v", "V"))) + ".".join(draw(st.lists(NUMBER, min_size=1, max_size=4)))
    if draw(st.booleans()):
        text += "-" + ".".join(draw(st.lists(TAG, min_size=1, max_size=3)))
    if draw(st.integers(0, 3)) == 0:
        text += "+" + draw(st.text("aZ0-", min_size=1, max_size=3))
    return text


def sign(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def compare(a: str, b: str) -> int:
    """Compare two versions as the words of `version_key` say, part by part."""
    releases, tags = zip(*(parts(text) for text in (a, b)), strict=True)
    for x, y in zip_longest(*releases, fillvalue=0):
        if x != y:
            return sign(x, y)
    if (tags[0] is None) != (tags[1] is None):
        return 1 if tags[0] is None else -1
    for x, y in zip(*(tag or [] for tag in tags), strict=False):
        different = compare_tags(x, y)
        if different:
            return different
    return sign(*(len(tag or []) for tag in tags))


def parts(text: str) -> tuple[list[int], list[str] | None]:
    release, hyphen, tags = text.split("+")[0].lstrip("vV").partition("-")
    return [int(number) for number in release.split(".")], tags.split(".") if hyphen else None


def compare_tags(a: str, b: str) -> int:
    if a.isdigit() != b.isdigit():
        return -1 if a.isdigit() else 1
    for x, y in zip(*(re.findall(r"\d+|\D", tag) for tag in (a, b)), strict=False):
        if x.isdigit() and y.isdigit():
            if int(x) != int(y):
                return sign(int(x), int(y))
        elif x != y:
            return sign(x[0], y[0])
    return sign(*(len(re.findall(r"\d+|\D", tag)) for tag in (a, b)))


@given(versions(), versions())
def test_keys_order_as_versions_do(a: str, b: str) -> None:
    assert sign(version_key(a), version_key(b)) == compare(a, b)


@given(st.lists(versions(), max_size=8))
def test_the_order_is_total(texts: list[str]) -> None:
    """Sorted by comparing pairs, and every pair of the sorted list is in order, not neighbours only."""
    ordered = sorted(texts, key=cmp_to_key(compare))
    assert [version_key(text) for text in ordered] == sorted(map(str, map(version_key, texts)))
    assert all(compare(a, b) <= 0 for i, a in enumerate(ordered) for b in ordered[i:])


def test_the_order_of_the_semantic_versioning_standard_holds() -> None:
    rising = "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1-a"
    keys = [version_key(text) for text in [*rising.split(), "1.2.0-M2", "1.2.0-M10", "1.2", "1.2.0.1", "1.10", "2"]]
    assert None not in keys
    assert all(str(a) < str(b) for a, b in pairwise(keys))


@pytest.mark.parametrize(
    ("a", "b"),
    [("1.2", "1.2.0"), ("v1", "1.0.0"), ("1.2+x", "1.2"), ("01.002", "1.2"), ("0", "0.0"), ("1-rc.01", "V1-rc.1+b.c")],
)
def test_versions_that_are_equal_have_one_key(a: str, b: str) -> None:
    assert version_key(a) == version_key(b) is not None


@pytest.mark.parametrize(
    "text",
    ["", "v", "abc", "1.", ".1", "1..2", "1.x", "1-", "1+", "1-a..b", "1-é", "1_0", " 1", "1\n", "vv1", "-1", "１.2"],
)
def test_what_is_no_version_has_no_key(text: str) -> None:
    assert version_key(text) is None


def test_versions_of_a_megabyte_are_versions() -> None:
    assert str(version_key("9" * 2**20)) < str(version_key("1" + "0" * 2**20))
    assert version_key("1" + ".0" * 2**19) == version_key("1")
    assert version_key("1." * 2**19) is None
