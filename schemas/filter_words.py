"""The words and signs of filter texts, by the names of their tokens, and what other languages write instead."""

from __future__ import annotations

from typing import Final

RESERVED_WORDS: Final = {
    kind: kind.strip("_").lower()
    for kind in ("ALL", "AND", "ANY", "_BETWEEN", "_EXISTS", "_IN", "_IS", "NOT", "_NULL", "OR", "STRONG")
} | {"BOOLEAN": "true"}
"""Words that a name needs quotes to be."""

FREE_WORDS: Final = {
    "_CIDR": "cidr",
    "_CONTAINS": "contains",
    "_ENDS": "ends with",
    "_ENDSWITH": "ends with",
    "_EQUALS": "equals",
    "_ESCAPE": "escape",
    "_GLOB": "glob",
    "_HAS": "has",
    "IGNORE": "ignore case",
    "ILIKE": "ilike",
    "LIKE": "like",
    "_MATCHES": "matches",
    "MOD": "mod",
    "_STARTS": "starts with",
    "_STARTSWITH": "starts with",
    "VERSION": "version",
    "_WITHIN": "within",
    **{kind: kind.strip("_").lower() for kind in ("_CASE", "_FOR", "_FROM", "NONE", "_OF", "TIME", "_WITH")},
}
"""Words that are names too; some stand for the phrase that they begin."""

PHRASES: Final = (
    *("in", "not in", "between", "not between", "exists", "not exists", "is null", "is not null"),
    *("contains", "contains all", "not contains", "within", "equals", "starts with", "ends with", "matches", "glob"),
    *("like", "not like", "ilike", "version", "in cidr", "has all", "has any"),
)
"""What may follow an attribute, for comparison with a misspelt word."""

_WORDS_BY_MEANING = {
    "=": "eq equal equalto is_equal",
    "!=": "ne neq",
    ">": "gt after greater more above over",
    ">=": "ge gte since",
    "<": "lt before less below under",
    "<=": "le lte until",
    "in": "isin one_of oneof overlaps intersects",
    "not in": "nin notin",
    "is null": "isnull missing",
    "is not null": "notnull isnotnull isnt present",
    "contains": "includes include icontains contain substring",
    "contains all": "superset hasall",
    "within": "subset",
    "equals": "setequals",
    "matches": "rlike regexp regex similar match iregex regexp_like",
    "starts with": "begins prefix istartswith",
    "ends with": "suffix iendswith",
    "not like": "unlike",
    "glob": "wildcard fnmatch",
    "has any": "text fulltext search",
}
OTHER_WORDS: Final = {word: meaning for meaning, words in _WORDS_BY_MEANING.items() for word in words.split()}
"""Operators of other languages and what they are here."""

_SIGNS_BY_MEANING = {
    "=": ": := === <=>",
    "!=": "≠ =! !==",
    "<>": "><",
    ">=": "≥ =>",
    "<=": "≤ =<",
    "and": "& ∧",
    "or": "| ∨",
    "not": "¬",
    "in": "∈",
    "not in": "∉",
    "matches": "~ =~ ~= ~*",
    "not matches": "!~ !~*",
    "like": "~~",
    "not like": "!~~",
    "ilike": "~~*",
    "not ilike": "!~~*",
    "in cidr": "<< <<=",
}
SIGNS: Final = {sign: meaning for meaning, signs in _SIGNS_BY_MEANING.items() for sign in signs.split()}
"""Signs of other languages and what they are here."""

_LISTING: Final = ("in", "not in", "contains all", "within", "equals", "has all", "has any")
_ALONE: Final = ("exists", "not exists", "is null", "is not null")


def example_of(operator: str) -> str:
    """Return a predicate with an operator or phrase that stands after the attribute."""
    if operator in _ALONE:
        return f"name {operator}"
    if operator in _LISTING:
        return f"name {operator} ('x', 'y')"
    if operator.endswith("between"):
        return f"name {operator} 1 and 9"
    if operator == "version":
        return "name version >= '1.2'"
    return f"name {operator} '10.0.0.0/8'" if operator == "in cidr" else f"name {operator} 'x'"


def note_on(operator: str) -> str:
    """Return what is to be known of an operator beside its name, or nothing."""
    if operator == "contains":
        return ', for a piece of a text; a whole value is asked for with "="'
    return ", which wants the whole value to fit" if operator.endswith("matches") else ""


COMPARISONS: Final = {"=": "_EQUAL", "!=": "_UNEQUAL", **dict.fromkeys((">", ">=", "<", "<="), "COMPARE")}
"""The signs that compare, and their tokens."""

QUANTIFIERS: Final = {
    **{word: word for word in ("all", "any", "none")},
    **dict.fromkeys(("each", "every", "both"), "all"),
    **dict.fromkeys(("one", "some", "either"), "any"),
    **dict.fromkeys(("no", "neither"), "none"),
}
"""Words that may be meant to say how many of a list."""

TIMES: Final = ("time", "timestamp", "date", "datetime", "timestamptz", "instant")
"""Words that may be meant to begin a time."""

ABSENT: Final = frozenset(("missing", "absent", "unknown", "undefined", "none", "nil"))
PRESENT: Final = frozenset(("present", "defined", "known", "set", "notnull", "exists"))
"""What may be said after "is" of an attribute that has no value, and of one that has."""

STATEMENT_STARTS: Final = frozenset(("select", "where", "when", "if", "having", "filter"))
STATEMENT_ENDS: Final = frozenset(("limit", "order", "group", "having", "fetch", "offset", "union"))
"""Words of a statement around its condition."""

CALCULATIONS: Final = ("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "MOD")

WORDS: Final = {
    "NAME": "an attribute",
    "STRING": "a string in single quotes",
    "NUMBER": "a number",
    "BOOLEAN": "true or false",
    "_EQUAL": '"="',
    "_UNEQUAL": '"!="',
    "COMPARE": '"<", "<=", ">", ">="',
    **{kind: f'"{RESERVED_WORDS[kind]}"' for kind in ("_IN", "NOT", "_BETWEEN", "_IS", "_NULL", "_EXISTS", "STRONG")},
    **{kind: f'"{word}"' for kind, word in FREE_WORDS.items() if not kind.endswith(("SWITH", "MOD"))},
    "ALL": '"all"',
    "ANY": '"any"',
    "AND": '"and"',
    "OR": '"or"',
    "CIRCUMFLEX": '"^"',
    "COMMA": '","',
    "LPAR": '"("',
    "RPAR": '")"',
    "$END": "the end of the filter",
}
"""What the grammar's tokens are called, in the order in which a sentence lists them; arithmetic is not worth a word."""
