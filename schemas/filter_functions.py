"""The functions of filter texts beside their plain names: other names, signs, and the units of ``extract``."""

from __future__ import annotations

from typing import Final

SIGNS: Final = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "mod": "%"}
"""The functions that are written between their operands."""

SIGN_FUNCTIONS: Final = {sign: function for function, sign in SIGNS.items()}

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
