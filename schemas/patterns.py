"""Regular expressions in RE2's syntax, which match in time linear in the text."""

from __future__ import annotations

from typing import Any

import re2

from schemas.errors import Refused

_QUIET = re2.Options()
_QUIET.log_errors = False
_QUIET.never_capture = True

_NO_REFERENCE = "back-references are not part of RE2; compare the parts with predicates of their own"
_CURES = (
    ("invalid perl operator: (?=", "look-ahead is not part of RE2; write the condition as a predicate of its own"),
    ("invalid perl operator: (?!", "look-ahead is not part of RE2; write the condition as a predicate under not"),
    ("invalid perl operator: (?<", "look-behind is not part of RE2; the pattern matches the whole value already"),
    (
        "invalid perl operator: (?P",
        "back-references are not part of RE2; compare the parts with predicates of their own",
    ),
    ("invalid escape sequence: \\Z", "write \\z, or nothing: the pattern matches the whole value already"),
    ("invalid repetition size", "repeat at most 1,000 times"),
    ("pattern too large", "make it smaller, or split it over several predicates joined by or"),
)


def compile_pattern(pattern: str) -> Any:
    r"""Return a regular expression, compiled; the package re2 keeps the last 128 of a process.

    Raises
    ------
    Refused
        ``pattern.syntax``: RE2 does not accept it. Back-references and look-arounds are among what it refuses.
    """
    try:
        return re2.compile(pattern, _QUIET)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise Refused("pattern.syntax", f"RE2 does not accept the pattern: {reason:.200}; {_cure(reason)}") from None


def full_match(pattern: str, text: str) -> bool:
    """Return whether a regular expression matches the whole of a text.

    Raises
    ------
    Refused
        As `compile_pattern`.
    """
    return compile_pattern(pattern).fullmatch(text) is not None


def _cure(reason: str) -> str:
    for beginning, cure in _CURES:
        if beginning in reason:
            return cure
    if reason.startswith("invalid escape sequence: \\") and reason[-1:].isdigit():
        return _NO_REFERENCE
    return "a backslash before a character takes it for itself; RE2's syntax is that of Perl without back-references"
