"""What a person is likely to have meant at the place where a filter text stops being one: codes and sentences.

A sign of another language, a string in the wrong quotes, an open parenthesis: each hint is a function from the place to
its answer, None when it has nothing to say. Those on words are in `schemas.filter_word_hints`, those on signs of other
languages in `schemas.filter_sign_hints`.
"""

from __future__ import annotations

import re
from typing import Final

from schemas import filter_sign_hints as signs
from schemas import filter_word_hints as words
from schemas.filter_operands import unknown_function
from schemas.filter_scene import Scene, quoted
from schemas.filter_word_hints import Answer
from schemas.filter_words import CALCULATIONS, RESERVED_WORDS

_VALUES: Final = ("STRING", "NUMBER", "BOOLEAN")


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


def _weight(scene: Scene) -> Answer:
    if scene.kind == "CIRCUMFLEX":
        return (
            "weights.position",
            "a weight stands here, where nothing can have one: it follows a value of =, in or has, the list of these, "
            "or any other predicate that is not negative, once each, as in origin in ('JFK'^0.7, 'LGA')^0.2",
        )
    return None


def _list(scene: Scene) -> Answer:
    if scene.kind == "RPAR" and "STRING" in scene.wanted and "NAME" not in scene.wanted and scene.before_kind == "LPAR":
        return "value.empty_list", "the list of values is empty; list at least one value"
    if "LPAR" in scene.wanted <= {"LPAR", "_OF"} and scene.kind in _VALUES:
        note = '; whether a value is there is asked with "="' * (scene.before_kind == "_EQUALS")
        return "filter.syntax", f"a list in parentheses was expected, as in {scene.before} ({scene.found:.40}){note}"
    return None


def _negated_version(scene: Scene) -> Answer:
    """A sign after "not version", which only "between" may follow."""
    if [token.type for token in scene.past] != ["NOT", "VERSION"] or scene.kind not in ("_EQUAL", "COMPARE"):
        return None
    cure = "write version !=" if scene.kind == "_EQUAL" else "write not before the attribute"
    return "filter.syntax", f'"not version" stands before between, but here before "{scene.found}"; {cure}'


def _negated_sign(scene: Scene) -> Answer:
    if scene.before_kind != "NOT" or scene.kind not in ("_EQUAL", "COMPARE") or not scene.operator_wanted:
        return None
    cure = "write !=" if scene.kind == "_EQUAL" else "write the opposite sign, or not before the attribute"
    return "filter.syntax", f'"not" stands before words such as in and like, but here before "{scene.found}"; {cure}'


def _ignore_case(scene: Scene) -> Answer:
    if scene.bare_word == "ignore" and scene.before_kind == "STRING":
        return (
            "filter.syntax",
            "ignore case follows starts with, ends with, contains, glob and like; in a regular expression write (?i), "
            "elsewhere compare lower(name)",
        )
    return None


def _function(scene: Scene) -> Answer:
    if scene.value_wanted and scene.bare_word and re.match(r"\s*\(", scene.text[scene.end : scene.end + 80]):
        return (
            "filter.syntax",
            f"a function such as {quoted(scene.found)} stands around an attribute, not around a value; work out the "
            "value and write that",
        )
    if [token.type for token in scene.past] == ["NAME", "LPAR"] and "NAME" in scene.wanted:
        refused = unknown_function(scene.past[0])
        if refused is not None:
            return refused.code, refused.message, scene.past[0].start_pos or 0
        return "filter.syntax", f"a function takes an attribute first, as in {scene.past[0]:.40}(name)"
    return None


def _arithmetic(scene: Scene) -> Answer:
    if scene.kind == "NAME" and scene.before_kind in CALCULATIONS and "NUMBER" in scene.wanted:
        name = "".join((*scene.past, scene.found))
        written = scene.past[0].type == "NAME" and scene.text.endswith(name, 0, scene.end)
        return (
            "filter.syntax",
            "arithmetic joins an attribute and a number, so a number was expected"
            + (f'; if "{scene.past[-1]}" belongs to a name, write the name in double quotes: "{name:.80}"' * written),
        )
    signed = scene.kind in ("", "NUMBER", *CALCULATIONS) and scene.found[0] in "+-*/%"
    if (signed or scene.bare_word == "mod") and scene.before_kind in _VALUES:
        return (
            "filter.syntax",
            "a value is written out, not calculated; a date or another text stands in single quotes",
        )
    return None


def _no_attribute(scene: Scene) -> Answer:
    if scene.before_kind == "NUMBER" and scene.wanted <= {*CALCULATIONS}:
        compared = len(scene.past) > 1 and scene.past[0].type in ("_EQUAL", "_UNEQUAL")
        return (
            "filter.syntax",
            f"an attribute was expected where {scene.before:.40} stands, alone or after its sign"
            + "; a filter that matches every event is true, one that matches none false" * compared,
            scene.start_before,
        )
    return None


def _joining_nothing(scene: Scene) -> Answer:
    if scene.kind not in ("AND", "OR") or "NAME" not in scene.wanted:
        return None
    joins = scene.before_kind in ("AND", "OR")
    cure = (
        f'leave out this or the "{scene.before}" before it' if joins else "leave it out, or write a predicate before it"
    )
    name = f'; an attribute of that name is written in double quotes: "{scene.found}"' if scene.found.isalpha() else ""
    return "filter.syntax", f'"{scene.found}" joins two predicates, but none stands before it; {cure}{name}'


def _attribute_left_out(scene: Scene) -> Answer:
    if scene.kind not in ("_EQUAL", "_UNEQUAL", "COMPARE") or scene.before_kind not in ("AND", "OR"):
        return None
    return (
        "filter.syntax",
        f'an attribute was expected before "{scene.found}"; write it once more, or 60 < delay <= 120 for a value that '
        "lies between two",
    )


def _keyword_as_name(scene: Scene) -> Answer:
    if scene.kind not in RESERVED_WORDS or "NAME" not in scene.wanted or not scene.found.isalpha():
        return None
    word = scene.found
    cure = "the attribute stands before it: delay exists; " if scene.kind == "_EXISTS" else ""
    return (
        "filter.syntax",
        f'the keyword "{word}" was found where an attribute was expected; {cure}an attribute of that name is written '
        f'in double quotes: "{word}"',
    )


def _name_as_value(scene: Scene) -> Answer:
    if scene.kind != "NAME" or "STRING" not in scene.wanted or "NAME" in scene.wanted:
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
    if scene.kind in ("LPAR", "ALL", "ANY") and scene.value_wanted:
        return "filter.syntax", "one value was expected; several are listed with in, as in origin in ('JFK', 'LGA')"
    if scene.found in ("[", "{") and scene.kind == "":
        return (
            "filter.syntax",
            f"\"{scene.found}\" has no meaning here; a list is written in parentheses: ('JFK', 'LGA')",
        )
    if scene.before_kind == "_IN" and scene.kind != "$END":
        return "filter.syntax", "after in a list in parentheses was expected, as in origin in ('JFK', 'LGA')"
    return None


def _name_without_quotes(scene: Scene) -> Answer:
    """A word that is no name where an attribute must stand, perhaps after a sign, as other languages begin names."""
    word = re.compile(r"[$@#]?[\w.]*").match(scene.text, scene.start)
    if scene.kind != "" or "NAME" not in scene.wanted or word is None or not re.search(r"[^\W\d]", word[0]):
        return None
    if word[0][0].isdecimal():
        cure = (
            f'a name that begins with a digit is in double quotes, "{word[0]:.80}", a version, date or code in single'
        )
        return "filter.syntax", f"{quoted(word[0])} is neither a number nor a name without quotes; {cure}"
    return (
        "filter.syntax",
        f"{quoted(word[0])} is no name; names with anything but letters, digits, _ and dots between them are in double "
        f'quotes: "{word[0]:.80}"',
    )


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


def _joined(scene: Scene) -> Answer:
    if scene.wanted == {"AND"}:
        return "filter.syntax", "between takes two bounds joined by and, as in delay between 20 and 60"
    if scene.before_kind == "_SEMICOLON" or (scene.kind == "COMMA" and "$END" in scene.wanted):
        return "filter.syntax", "a filter is one condition; join its predicates with and or or"
    return None


def _value_alone(scene: Scene) -> Answer:
    alone = scene.before_kind in _VALUES and {"_EQUAL", "COMPARE"} <= scene.wanted and not scene.operator_wanted
    if not alone or scene.kind not in ("$END", "AND", "OR", "RPAR", "COMMA"):
        return None
    return (
        "filter.syntax",
        f"the value {scene.before:.40} stands alone, which is no predicate; several values are listed with in, as in "
        "origin in ('JFK', 'LGA'), and other operators are repeated with their attribute",
        scene.start_before,
    )


def _value_first(scene: Scene) -> Answer:
    if scene.before_kind not in _VALUES or scene.operator_wanted or not {"_EQUAL", "COMPARE"} <= scene.wanted:
        return None
    if scene.kind not in ("_IN", "NOT"):
        return None
    sign = "=" if scene.kind == "_IN" else "!="
    return (
        "filter.syntax",
        f'before "{scene.found}" stands an attribute; whether a value is among those of an attribute is asked with '
        f"\"{sign}\", as in tags {sign} 'late'",
        scene.start_before,
    )


def _chained(scene: Scene) -> Answer:
    if scene.kind == "COMPARE" and scene.before_kind in _VALUES and "AND" in scene.wanted:
        return (
            "filter.syntax",
            "a second comparison was found; a chained comparison has the attribute in the middle, as in "
            "60 < delay <= 120",
        )
    return None


HINTS: Final = (
    *(
        _empty,
        _unclosed,
        signs.typographic,
        signs.comment,
        signs.colon,
        signs.parameter,
        words.statement,
        _weight,
        _list,
        words.after_is,
        words.null_alone,
    ),
    *(
        words.other_word,
        _negated_version,
        _negated_sign,
        _ignore_case,
        words.quantifier,
        words.time,
        words.truth,
        _function,
        signs.sign,
        signs.bracket,
    ),
    *(
        _arithmetic,
        _no_attribute,
        words.misspelt,
        words.negation,
        _joining_nothing,
        _attribute_left_out,
        _keyword_as_name,
        _name_as_value,
        _other_value,
    ),
    *(_name_without_quotes, _malformed_word, _parenthesis, _chained, _joined, _value_alone, _value_first),
)
"""The first that answers is heard."""
