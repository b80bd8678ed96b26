"""The functions of filter texts beside their plain names: other names, signs, and the units of ``extract``."""

from __future__ import annotations

from typing import Final

from schemas.filter_words import STATEMENT_STARTS

SIGNS: Final = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "mod": "%"}
"""The functions that are written between their operands."""

SIGN_FUNCTIONS: Final = {sign: function for function, sign in SIGNS.items()} | {"mod": "mod"}
"""The functions by what is written between their operands, in lower case."""

SYNONYMS: Final = {
    "ceiling": "ceil",
    "char_length": "length",
    "character_length": "length",
    "lcase": "lower",
    "len": "length",
    "modulo": "mod",
    "substr": "substring",
    "ucase": "upper",
}
"""Names that other languages have for functions of this one."""

UNITS: Final = ("year", "month", "day", "hour", "minute", "second")
"""What ``extract`` takes from a time; each is a function of that name too."""

WITHOUT_COUNTERPART: Final = {
    **dict.fromkeys(
        ("cast", "convert", "try_cast", "to_char", "to_number"),
        "types are never converted, so compare with values of the type that the attribute has",
    ),
    **dict.fromkeys(
        ("coalesce", "ifnull", "isnull", "nvl", "nullif"),
        "an absent attribute is asked for with name is null, joined by or",
    ),
    **dict.fromkeys(
        ("date", "datetime", "time", "timestamp", "to_date", "to_timestamp", "date_trunc"),
        "times are compared as they are, as in created >= time '2026-05-01'",
    ),
    **dict.fromkeys(STATEMENT_STARTS, "a filter is the condition alone, so leave that word out"),
}
"""What other languages have before a parenthesis and this one has not, and what is written instead."""
