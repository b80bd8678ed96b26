"""What a sign of another language is likely to have meant in a filter text: query strings', PostgreSQL's, programs'.

Each hint is a function from the place to its answer, None when it has nothing to say, as in `schemas.filter_hints`.
"""

from __future__ import annotations

import re
from typing import Final

from schemas.filter_scene import Scene, quoted
from schemas.filter_word_hints import Answer
from schemas.filter_words import SIGNS, note_on


def typographic(scene: Scene) -> Answer:
    """Quotes as word processors write them."""
    if scene.kind == "" and scene.found in "‘’‚‛“”„‟´«»":
        return (
            "filter.syntax",
            f"{quoted(scene.found)} is no quote here; write strings in straight single quotes: 'JFK'",
        )
    return None


def comment(scene: Scene) -> Answer:
    """Signs that begin comments elsewhere."""
    sign = "//" if scene.text.startswith("//", scene.start) else scene.found
    if sign == "//" or (sign == "#" and scene.kind == ""):
        return (
            "filter.syntax",
            f'"{sign}" begins no comment; write -- before one that ends its line, or /* and */ around it',
        )
    return None


def colon(scene: Scene) -> Answer:
    """A colon, as casts have it, and query strings between an attribute and what it shall be."""
    if scene.kind != "" or scene.found != ":":
        return None
    if scene.text.startswith("::", scene.start):
        return (
            "filter.syntax",
            "a filter has no casts; compare the attribute with a value of the type it has, as in a = 1",
        )
    if scene.word_before in _PRESENCE:
        word = _PRESENCE[scene.word_before]
        return "filter.syntax", f'"{word}" stands after the attribute, as in delay {word}', scene.start_before
    cure = next((cure for start, cure in _AFTER_COLON if re.match(start, scene.rest)), None)
    if cure is not None and scene.operator_wanted:
        return "operator.unknown", f'there is no operator ":"; {cure}'
    return None


_PRESENCE: Final = {"_exists_": "exists", "_missing_": "not exists"}
"""What query strings have before a colon and the attribute after it."""

_AFTER_COLON: Final = (
    (r"[<>]", "a comparison has its sign alone, as in delay > 60"),
    (r"[\[{]", "a range is written like delay between 20 and 60, or 20 < delay <= 60"),
    (r"\(", "several values are listed with in, as in origin in ('JFK', 'LGA')"),
    (r"\*(?![^\s)])", "that an attribute is there is asked with exists, as in gate exists"),
    (r"/", "a regular expression follows matches, in single quotes, and fits the whole value"),
    (r'"?[^\s()"]*[*?]', "a pattern with * and ? follows glob, as in file glob '*.tmp'"),
)
"""What query strings have after a colon, by its beginning, and what is written here."""


def parameter(scene: Scene) -> Answer:
    """A sign that stands for a value to come."""
    if scene.kind == "" and scene.found in (":", "?", "$", "@") and scene.value_wanted:
        return "filter.syntax", "a filter has no parameters; write the value itself, a text in single quotes"
    return None


def sign(scene: Scene) -> Answer:
    """Operators of other languages that are signs."""
    meant = SIGNS.get(scene.found) if scene.kind == "" else None
    if meant is None:
        return None
    cased = ", and (?i) at its beginning to ignore case" * (scene.found in ("~*", "!~*"))
    return "operator.unknown", f'there is no operator "{scene.found}"; did you mean "{meant}"{note_on(meant)}{cased}?'


_MEMBER: Final = "a member of an object is written with a dot, as in geo.lat"


def bracket(scene: Scene) -> Answer:
    """Brackets and arrows that lead into an object, and those that stand around a name or a whole filter."""
    if scene.kind == "" and scene.found == "[" and scene.operator_wanted and scene.before_kind == "NAME":
        return (
            "filter.syntax",
            f"{_MEMBER}, and what stands in an array are values of one attribute, whatever their places",
        )
    if scene.before_kind == "MINUS" and scene.text.startswith("->", scene.start_before):
        return "filter.syntax", _MEMBER, scene.start_before
    if scene.kind == "" and scene.found == "[" and "NAME" in scene.wanted:
        return "filter.syntax", "names with anything but letters, digits, _ and dots between them are in double quotes"
    if scene.kind == "" and scene.found == "{" and "NAME" in scene.wanted:
        return "filter.syntax", "a filter is a text such as origin = 'JFK'; a tree in JSON is the member expression"
    return None
