"""What a person is likely to have meant at the place where a filter text stops being one: codes and sentences.

An operator of another language, a misspelt word, a string in the wrong quotes: each hint is a function from the place
to its answer, None when it has nothing to say.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches
from typing import Final, NamedTuple

from lark import Token

from schemas.expression import LATER_OPERATORS

OPERATORS: Final = "=, !=, <, <=, >, >=, in, between, exists, is null and their negations with not"

PHRASES: Final = ("in", "not in", "between", "not between", "exists", "not exists", "is null", "is not null")
"""What may follow an attribute, for comparison with a misspelt word."""

KEYWORDS: Final = {
    kind: kind.strip("_").lower()
    for kind in ["AND", "OR", "NOT", "ALL", "ANY", "_IN", "_IS", "_NULL", "_EXISTS", "_BETWEEN", "_STRONG", "BOOLEAN"]
} | {"BOOLEAN": "true"}
"""The words of the grammar, by the names of their tokens."""

LATER: Final = {
    **{name: name.replace("_", " ") for name in LATER_OPERATORS},
    **{word: word for word in ("like", "ilike", "rlike", "regexp", "equals")},
    "starts": "starts with",
    "startswith": "starts with",
    "ends": "ends with",
    "endswith": "ends with",
    "similar": "similar to",
    "has": "has all or has any",
}
"""First words of operators that the contract or other languages have, and what those operators are called."""

_SIGNS_BY_MEANING = {
    "=": ": := ===",
    "!=": "≠ =! !==",
    "<>": "><",
    ">=": "≥ =>",
    "<=": "≤ =<",
    "and": "& && ∧",
    "or": "| || ∨",
    "not": "! ¬",
    "in": "∈",
    "not in": "∉",
    "matches": "~ =~ ~= ~~ !~",
}
SIGNS: Final = {sign: meaning for meaning, signs in _SIGNS_BY_MEANING.items() for sign in signs.split()}
"""Signs of other languages and what they are here."""

SUGGEST_FROM = 0.65
"""How alike a word and a keyword must be for a proposal: "inn" and "in" are, "an" and "in" are not."""

Answer = tuple[str, str] | None
"""A reason code and a sentence."""


class Scene(NamedTuple):
    """The place where the parser stopped: ``text[start:end]``.

    ``kind`` is the type of the token found there, "" where none begins. ``wanted`` holds the types of the tokens that
    could stand there, ``before`` is the token before it.
    """

    text: str
    start: int
    end: int
    kind: str
    wanted: set[str]
    before: Token | None

    @property
    def found(self) -> str:
        """What stands there."""
        return self.text[self.start : self.end]

    @property
    def bare_word(self) -> str:
        """The name without quotes that stands there, in lower case, or nothing."""
        return self.found.lower() if self.kind == "NAME" and self.found[0] not in '"`' else ""

    @property
    def before_kind(self) -> str:
        """The type of the token before, or nothing."""
        return "" if self.before is None else self.before.type

    @property
    def operator_wanted(self) -> bool:
        """Whether an attribute stands before, so that an operator must follow."""
        return bool(self.wanted & {"_IN", "_BETWEEN"})

    @property
    def value_wanted(self) -> bool:
        """Whether a value must stand there."""
        return "STRING" in self.wanted and "NAME" not in self.wanted


def quoted(text: str) -> str:
    """Return a piece of a filter as a sentence shows it: short, and with the names of characters that mislead."""
    if len(text) == 1 and not (text.isascii() and text.isprintable()) and not text.isalnum():
        return f"the character U+{ord(text):04X} ({unicodedata.name(text, 'no name')})"
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown) + '"'


def _empty(scene: Scene) -> Answer:
    if scene.kind == "$END" and scene.before is None:
        return "filter.empty", "the filter is empty; write a predicate such as origin = 'JFK', or true for every event"
    return None


def _unclosed(scene: Scene) -> Answer:
    if scene.text.startswith("/*", scene.start):
        return "filter.syntax", "the comment that begins here is not closed; end it with */"
    if scene.kind == "" and scene.found in ("'", '"', "`"):
        what = "string" if scene.found == "'" else "quoted name"
        quote = scene.found
        return (
            "filter.syntax",
            f"the {what} that begins here is not closed; end it with {quote} and write a {quote} inside it twice",
        )
    if scene.before is not None and scene.before.type == "STRING" and scene.before.end_pos == scene.start:
        return _quote_inside(scene)
    return None


def _quote_inside(scene: Scene) -> Answer:
    if scene.kind != "NAME" and not scene.found[:1].isalnum():
        return None
    return (
        "filter.syntax",
        f"{quoted(scene.found)} follows the end of a string; a quote inside a string is written twice, as in 'O''Hare'",
    )


def _typographic(scene: Scene) -> Answer:
    if scene.kind == "" and scene.found in "‘’‚‛“”„‟´«»":
        return (
            "filter.syntax",
            f"{quoted(scene.found)} is no quote here; write strings in straight single quotes: 'JFK'",
        )
    return None


def _weight(scene: Scene) -> Answer:
    if scene.kind == "CIRCUMFLEX":
        return (
            "weights.position",
            "a weight stands here, but only values of = and in have weights, one each; write it after such a value or "
            "after the list, as in origin in ('JFK'^0.7, 'LGA')^0.2",
        )
    return None


def _empty_list(scene: Scene) -> Answer:
    if scene.kind == "RPAR" and scene.value_wanted and scene.before_kind == "LPAR":
        return "value.empty_list", "the list of values is empty; list at least one value"
    return None


def _later_operator(scene: Scene) -> Answer:
    name = LATER.get(scene.bare_word)
    if name is not None and (scene.operator_wanted or scene.before_kind == "_IN"):
        return _unsupported(f'the operator "{name}"')
    return None


def _function(scene: Scene) -> Answer:
    called = scene.kind == "LPAR" and scene.before_kind == "NAME" and scene.operator_wanted
    if called or (scene.value_wanted and scene.bare_word and re.match(r"\s*\(", scene.text[scene.end :])):
        name = scene.before if called else scene.found
        return _unsupported(f"a function such as {quoted(str(name))}")
    return None


def _sign(scene: Scene) -> Answer:
    meant = SIGNS.get(scene.found) if scene.kind == "" else None
    if meant is None:
        return None
    if meant == "matches":
        return _unsupported(f'the operator "{scene.found}"')
    return "operator.unknown", f'there is no operator "{scene.found}"; did you mean "{meant}"?'


def _arithmetic(scene: Scene) -> Answer:
    signed = scene.kind in ("", "NUMBER") and scene.found[0] in "+-*/%"
    if not signed or scene.before_kind not in ("NAME", "NUMBER", "STRING", "BOOLEAN"):
        return None
    return _unsupported(
        "arithmetic",
        'if the sign belongs to a name, write the name in double quotes ("dep-delay"); if it belongs to a date or '
        "another text, write that in single quotes",
    )


def _misspelt(scene: Scene) -> Answer:
    if not scene.bare_word:
        return None
    words = [KEYWORDS[kind] for kind in sorted(scene.wanted & KEYWORDS.keys())]
    known = [*words, *PHRASES] if scene.operator_wanted and "_EQUAL" in scene.wanted else words
    near = [] if {"NAME", "STRING"} & scene.wanted else get_close_matches(scene.bare_word, known, 1, SUGGEST_FROM)
    if near:
        return "operator.unknown", f'there is no operator {quoted(scene.found)}; did you mean "{near[0]}"?'
    return None


def _keyword_as_name(scene: Scene) -> Answer:
    if scene.kind not in KEYWORDS or "NAME" not in scene.wanted:
        return None
    word = scene.found
    cure = "the attribute stands before it: delay exists; " if scene.kind == "_EXISTS" else ""
    return (
        "filter.syntax",
        f'the keyword "{word}" was found where an attribute was expected; {cure}an attribute of that name is written '
        f'in double quotes: "{word}"',
    )


def _name_as_value(scene: Scene) -> Answer:
    if not scene.value_wanted or scene.kind != "NAME":
        return None
    if scene.bare_word in ("nan", "inf", "infinity"):
        return "filter.syntax", f"{quoted(scene.found)} is no value; nothing equals NaN, and open ranges have one bound"
    inside = scene.found if scene.bare_word else scene.found[1:-1]
    return (
        "filter.syntax",
        f"the name {quoted(inside)} was found where a value was expected; a string is written in single quotes "
        "('JFK'), and an attribute is compared with values only",
    )


def _other_value(scene: Scene) -> Answer:
    if scene.kind == "_NULL" and scene.value_wanted:
        return "filter.syntax", 'null is no value; write "is null" or "is not null" after the attribute'
    if scene.kind == "LPAR" and scene.value_wanted:
        return "filter.syntax", "one value was expected; several are listed with in, as in origin in ('JFK', 'LGA')"
    if scene.found in ("[", "{") and scene.kind == "":
        return (
            "filter.syntax",
            f"\"{scene.found}\" has no meaning here; a list is written in parentheses: ('JFK', 'LGA')",
        )
    if scene.before_kind == "_IN" and scene.kind != "$END":
        return "filter.syntax", "after in a list in parentheses was expected, as in origin in ('JFK', 'LGA')"
    return None


def _malformed_word(scene: Scene) -> Answer:
    if scene.kind == "" and re.match(r"[\w.]", scene.found):
        if scene.found[0].isdecimal() or scene.found[0] == ".":
            kind, cure = "number", "a version, date or code is a string and stands in single quotes"
        else:
            kind, cure = "name", "names with anything but letters, digits, _ and dots between them are in double quotes"
        return "filter.syntax", f"{quoted(scene.found)} is no {kind}; {cure}"
    return None


def _parenthesis(scene: Scene) -> Answer:
    if scene.kind == "$END" and "RPAR" in scene.wanted:
        return "filter.syntax", 'the filter ends, but a parenthesis is still open; close it with ")"'
    if scene.kind == "RPAR" and "$END" in scene.wanted:
        return "filter.syntax", 'no parenthesis is open that this ")" could close; remove it or add a "(" before'
    return None


def _chained(scene: Scene) -> Answer:
    if scene.kind == "COMPARE" and scene.before_kind in ("STRING", "NUMBER", "BOOLEAN") and "AND" in scene.wanted:
        return (
            "filter.syntax",
            "a second comparison was found; a chained comparison has the attribute in the middle, as in "
            "60 < delay <= 120",
        )
    return None


def _unsupported(what: str, cure: str = "") -> tuple[str, str]:
    advice = f"; {cure}" if cure else ""
    return "operator.unsupported", f"{what} is not supported by this version, which has {OPERATORS}{advice}"


HINTS: Final = (
    *(_empty, _unclosed, _typographic, _weight, _empty_list, _later_operator, _function, _sign, _arithmetic),
    *(_misspelt, _keyword_as_name, _name_as_value, _other_value, _malformed_word, _parenthesis, _chained),
)
"""The first that answers is heard."""
