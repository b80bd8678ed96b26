"""Version numbers as sort keys: strings whose order by code points is the order of the versions.

Layout of a key, for ``1.10-rc.2``::

    1111 1210 -  $rc! #112 ␠
    |    |    |  |    |    end of the tags, lower than any tag: fewer tags are lower
    |    |    |  |    tag of digits alone, lower than any other tag
    |    |    |  tag with other characters, closed by what is lower than all of them
    |    |    a pre-release; a release has "." here, which is higher, and a further number is higher still
    |    the number 10
    the number 1: the length of its length, its length, its digits

Numbers that are zero at the end of the release are left out, so 1.2 and 1.2.0 have one key. No key but a whole one
begins another key in the same place, so the order of keys compares versions part by part.
"""

from __future__ import annotations

import re

_FORM = re.compile(
    r"[vV]?([0-9]+(?:\.[0-9]+)*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_DIGITS = re.compile(r"[0-9]+")


def version_key(text: str) -> str | None:
    """Return the sort key of a version, or None when the text is no version.

    Parameters
    ----------
    text
        Dotted numbers, as many and as long as wanted, a ``v`` before them or not; then, after a hyphen, the tags of a
        pre-release divided by dots; then, after a plus sign, a build, which has no say. Missing numbers are zeros. A
        pre-release is lower than its release. Tags are compared one by one: those of digits alone by their number and
        lower than all others; others character by character, with digits in them as one number, so M2 is lower than
        M10. With equal tags so far, fewer are lower.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    numbers = [number.lstrip("0") for number in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    release = "".join(map(_number, numbers))
    return release + "." if found[2] is None else f"{release}-{''.join(map(_tag, found[2].split('.')))} "


def _tag(tag: str) -> str:
    if tag.isdigit():
        return "#" + _number(tag)
    return "$" + _DIGITS.sub(lambda run: _number(run[0]), tag) + "!"


def _number(digits: str) -> str:
    """Return digits so that they order as numbers and never one as the beginning of another."""
    digits = digits.lstrip("0") or "0"
    length = str(len(digits))
    return f"{len(length)}{length}{digits}"
