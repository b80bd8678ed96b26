"""Reasons: why something was refused, the base of errors shown to users, and what they take from errors of others."""

from __future__ import annotations


class TocsinError(Exception):
    """An error meant for the user's eyes: its text is a sentence with the cure, and no stack trace is owed with it."""


class Refused(TocsinError):
    """A record, expression or filter text that is refused, with a stable code, a sentence and the place.

    Parameters
    ----------
    code
        Stable dotted reason, for example ``value.empty_list`` or ``filter.syntax``. Programs may rely on it;
        `schemas/README.md` lists them all.
    message
        A sentence: what was found, what was wanted and how to cure it.
    path
        Where: a path into the record such as ``$.expression.args[1].values``, or ``line 1, column 12``; empty when
        the whole record is meant.
    """

    def __init__(self, code: str, message: str, path: str = "") -> None:
        super().__init__(code, message, path)
        self.code = code
        self.message = message
        self.path = path

    def __str__(self) -> str:
        return f"{self.message} (at {self.path})" if self.path else self.message


def first_line(error: object) -> str:
    """Return the first line of what somebody else's error says, or its type's name when it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
