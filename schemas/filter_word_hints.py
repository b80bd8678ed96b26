"""What a person is likely to have meant by a word that no filter has at its place: a misspelt one, one of SQL.

Each hint is a function from the place to its answer, None when it has nothing to say, as in `schemas.filter_hints`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from schemas.filter_operands import SUGGEST_FROM
from schemas.filter_scene import Scene, quoted
from schemas.filter_words import (
    ABSENT,
    COMPARISONS,
    FREE_WORDS,
    OTHER_WORDS,
    PHRASES,
    PRESENT,
    QUANTIFIERS,
    RESERVED_WORDS,
    STATEMENT_ENDS,
    STATEMENT_STARTS,
    TIMES,
    note_on,
)

Answer = tuple[str, str] | tuple[str, str, int] | None
"""A reason code, a sentence and, where it is not what was found that is wrong, the place that is."""

_KEYWORDS: Final = RESERVED_WORDS | FREE_WORDS
_ENDS: Final = ("$END", "AND", "OR", "RPAR", "COMMA")
"""What may follow a predicate."""

_CONNECTIVES: Final = {
    "xor": "(x and not y) or (y and not x)",
    "nand": "not (x and y)",
    "nor": "not (x or y)",
}
"""Connectives that are not known here, by what is written instead."""

_CONTAINS: Final = (
    "contains wants a text in single quotes, or all and a list; whether a value is among others is asked with = or in"
)


def statement(scene: Scene) -> Answer:
    """Words around the condition of an SQL statement."""
    if scene.past and scene.past[0].lower() == "select":
        start = scene.past[0].start_pos or 0
        return "filter.syntax", "a filter is what SQL has after where; leave out the rest", start
    if scene.operator_wanted and scene.kind in ("NAME", "LPAR") and scene.word_before in STATEMENT_STARTS:
        return (
            "filter.syntax",
            f'a filter is the condition alone; leave out "{scene.before}"',
            scene.start_before,
        )
    if scene.bare_word in STATEMENT_ENDS and "AND" in scene.wanted:
        return "filter.syntax", f"a filter is the condition alone; leave out what begins with {quoted(scene.found)}"
    return None


def after_is(scene: Scene) -> Answer:
    """What follows "is" or "is not" and is neither null nor a truth."""
    negated = scene.before_kind == "NOT" and scene.past[0].type == "_IS"
    if not negated and scene.before_kind != "_IS":
        return None
    word = scene.found.lower()
    if word in ABSENT | PRESENT:
        return _unknown(scene, "is not null" if (word in PRESENT) != negated else "is null")
    if word in ("empty", "blank"):
        absent = "is not null" if negated else "is null"
        return (
            "filter.syntax",
            f"{absent} asks about an absent attribute, {'!=' if negated else '='} '' about an empty text",
        )
    if word in ("distinct", "equal", "equals") or scene.kind in ("STRING", "NUMBER"):
        sign = "=" if (word == "distinct") == negated else "!="
        return "filter.syntax", f'after is stand null, true and false; a value is compared with "{sign}"'
    if word in OTHER_WORDS or scene.kind in ("_IN", "_BETWEEN", *COMPARISONS.values()) or word in FREE_WORDS.values():
        return "filter.syntax", f"after is stand null, true and false; leave it out before {quoted(scene.found)}"
    return None


def null_alone(scene: Scene) -> Answer:
    """Null without "is"."""
    if scene.kind != "_NULL" or not scene.operator_wanted:
        return None
    return _unknown(scene, "is not null" if scene.before_kind == "NOT" else "is null")


def other_word(scene: Scene) -> Answer:
    """Operators of other languages."""
    word = scene.bare_word
    if word in _CONNECTIVES and ("AND" in scene.wanted or scene.operator_wanted):
        return "operator.unknown", f'there is no operator "{word}"; write {_CONNECTIVES[word]}'
    if word in ("does", "do", "doesn") and scene.operator_wanted:
        return "operator.unknown", f"there is no operator \"{word}\"; not stands alone, as in name not contains 'x'"
    if word == "div" and "SLASH" in scene.wanted:
        return "operator.unknown", 'there is no operator "div"; "/" is exact division, and floor(x / n) rounds it down'
    if word == "cidr" and scene.before_kind == "_WITHIN":
        return _unknown(scene, "in cidr")
    meant = OTHER_WORDS.get(word)
    if meant is None or not (scene.operator_wanted or COMPARISONS.get(meant) in scene.wanted):
        return None
    return _unknown(scene, meant, note_on(meant))


def quantifier(scene: Scene) -> Answer:
    """A word between has or contains and a list."""
    if scene.before_kind not in ("_HAS", "_CONTAINS"):
        return None
    if scene.before_kind == "_CONTAINS" and scene.kind in ("NUMBER", "BOOLEAN", "LPAR", "ANY"):
        return "filter.syntax", _CONTAINS
    if not scene.bare_word or not re.match(r"\(|'|of\b", scene.rest, re.IGNORECASE):
        return None
    near = _near(scene.bare_word, QUANTIFIERS)
    meant = "" if near is None else QUANTIFIERS[near]
    if scene.before_kind == "_CONTAINS" and meant in ("any", "none"):
        return "filter.syntax", _CONTAINS
    return _unknown(scene, meant) if meant else None


def time(scene: Scene) -> Answer:
    """A word before a string, or around one, where a value must stand."""
    if scene.kind == "STRING" and scene.operator_wanted and _near(scene.word_before, TIMES):
        before = scene.before
        assert before is not None
        return _before_string(before, scene.start_before)
    if not scene.bare_word or "TIME" not in scene.wanted or not scene.value_wanted:
        return None
    if scene.rest.startswith("'"):
        return _before_string(scene.found, scene.start)
    if scene.bare_word in TIMES and scene.rest[:1].isdecimal():
        return "filter.syntax", "a time stands in single quotes, as in time '2026-05-01T08:00:00Z'"
    if scene.bare_word in TIMES and scene.rest.startswith("("):
        return "filter.syntax", "a time is written without parentheses, as in time '2026-05-01T08:00:00Z'"
    return None


def _before_string(word: str, start: int) -> Answer:
    if word.lower() == "cidr":
        return (
            "filter.syntax",
            "whether an address lies in a network is asked with in cidr, as in ip in cidr '10.0.0.0/8'",
            start,
        )
    if word.lower() == "version":
        return "filter.syntax", "version stands after the attribute, as in build version >= '1.10.2'", start
    cure = (
        'did you mean "time"?' if _near(word.lower(), TIMES) else "leave it out, or write time '2026-05-01T08:00:00Z'"
    )
    return "filter.syntax", f'{quoted(word)} stands before a string, where only "time" can; {cure}', start


def truth(scene: Scene) -> Answer:
    """A truth misspelt, as a value or as a predicate."""
    if scene.operator_wanted and scene.kind in _ENDS and (near := _near(scene.word_before, ("true", "false"))):
        assert scene.before is not None
        return (
            "filter.syntax",
            f'the attribute {quoted(scene.before)} stands alone, which is no predicate; did you mean "{near}"?',
            scene.start_before,
        )
    near = _near(scene.bare_word, ("true", "false")) if scene.value_wanted else None
    if near is None or "BOOLEAN" not in scene.wanted:
        return None
    return (
        "filter.syntax",
        f'{quoted(scene.found)} is no value; did you mean "{near}"? A string is written in single quotes',
    )


def misspelt(scene: Scene) -> Answer:
    """A word that comes near to one that may stand there."""
    if not scene.bare_word or {"NAME", "STRING"} & scene.wanted:
        return None
    words = [_KEYWORDS[kind] for kind in sorted(scene.wanted & _KEYWORDS.keys())]
    if "BOOLEAN" in scene.wanted:
        words.append("false")
    if scene.operator_wanted and "_EQUAL" in scene.wanted:
        words += PHRASES
    known = {phrase.split()[0]: phrase for phrase in reversed(words)} | {phrase: phrase for phrase in words}
    near = _near(scene.bare_word, known)
    return None if near is None else _unknown(scene, known[near])


def negation(scene: Scene) -> Answer:
    """A "not" misspelt, and therefore read as the attribute."""
    if scene.operator_wanted and scene.kind == "NAME" and _near(scene.word_before, ("not",)):
        assert scene.before is not None
        return (
            "operator.unknown",
            f'there is no operator {quoted(scene.before)}; did you mean "not"?',
            scene.start_before,
        )
    return None


def _unknown(scene: Scene, meant: str, note: str = "") -> Answer:
    return "operator.unknown", f'there is no operator {quoted(scene.found)}; did you mean "{meant}"{note}?'


def _near(word: str, known: Iterable[str]) -> str | None:
    """Return the word itself or the nearest to it, None when none is near."""
    return next(iter(get_close_matches(word, list(known), 1, SUGGEST_FROM)), None)
