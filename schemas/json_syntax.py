"""JSON text to plain Python values, every failure a refusal that says where."""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF8
from typing import Any, Final, Literal

import msgspec

from schemas.errors import Refused
from schemas.json_deep import BadTextError, TooDeepError, decode_deep

Kind = Literal["event", "subscription"]
"""Which record the text is; refusal codes begin with it."""

_decode = msgspec.json.Decoder().decode
SUCH_AS: Final[dict[Kind, str]] = {"event": "", "subscription": """, such as {"filter": "origin = 'JFK'"}"""}
"""An example to follow the word object, for who gives the filter alone."""

_BYTE = re.compile(r" ?\(byte (\d+)\)$")

_HALF_PAIR = re.compile(rb"(?<!\\)(?:\\\\)*+(\\u[dD][89abAB][0-9a-fA-F]{2})(?!\\u|\\?\Z)")
"""The first half of a surrogate pair, as an escape, with no second one behind it: the decoder calls that an end."""

_STRING_OR_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*+"|(-?[0-9]++(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+)', re.DOTALL)

_AFTER_IT = "trailing characters"
_TOLD_ONE_LATE = (_AFTER_IT, "invalid escape character in string")
"""What the decoder notices when it has read the character already."""

_INVALID = "invalid character"
_IN_WORDS = {
    _AFTER_IT: "something follows its end; a record is one JSON object",
    "object keys must be strings": "a member's name is a string in double quotes",
}

Failure = msgspec.DecodeError | UnicodeDecodeError | RecursionError | TooDeepError | BadTextError
"""What the decoders raise."""


def parse(value: bytes, kind: Kind, depth: int = 0) -> Any:
    """Return the value that a JSON text stands for. Of members with one name in one object, the last one counts.

    Parameters
    ----------
    value
        The text.
    kind
        Which record it is.
    depth
        Levels of objects and arrays down to which a text is read that is too deep for the quick decoder, which reaches
        some 900; 0 leaves it at that.

    Raises
    ------
    Refused
        As `refusal` says.
    """
    try:
        return _decode(value)
    except RecursionError as error:
        if not depth:
            raise refusal(error, value, kind) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise refusal(error, value, kind) from None
    try:
        return decode_deep(value, depth)
    except (msgspec.DecodeError, UnicodeDecodeError, TooDeepError, BadTextError) as error:
        raise refusal(error, value, kind) from None


def refusal(error: Failure, value: bytes, kind: Kind) -> Refused:
    """Return the refusal for what the JSON decoder raised over a text.

    Codes: ``<kind>.empty``, ``<kind>.utf8``, ``<kind>.json``, ``value.number_range``, and ``event.too_deep`` or
    ``expression.too_deep``.
    """
    if isinstance(error, UnicodeDecodeError):
        place = _first_bad_byte(value)
        return Refused(f"{kind}.utf8", f"the {kind} is not UTF-8: {error.reason}; encode it as UTF-8", place)
    if isinstance(error, RecursionError | TooDeepError):
        code = "event.too_deep" if kind == "event" else "expression.too_deep"
        return Refused(code, f"the {kind} is nested far too deep; flatten it")
    if isinstance(error, BadTextError):
        return Refused(f"{kind}.json", f"the {kind} is not JSON: {error.wanted} was wanted", f"byte {error.place}")
    if isinstance(error, msgspec.ValidationError):  # without a schema, only a number out of range
        return Refused(
            "value.number_range",
            "a number is beyond the range of a double, which ends at 1.8e308; write a smaller one, or a value as a "
            "string",
            _first_endless_number(value),
        )
    if not value.strip():
        return Refused(f"{kind}.empty", f"the {kind} is empty; a JSON object was wanted")
    text = str(error)
    found = _BYTE.search(text)
    if found is None:
        return _unfinished(value, kind)
    reason = text[: found.start()].removeprefix("JSON is malformed: ")
    byte = int(found[1]) - (reason in _TOLD_ONE_LATE)
    place = f"byte {byte}"
    if _first_bad_byte(value) == place:
        return Refused(f"{kind}.utf8", f"the {kind} is not UTF-8; encode it as UTF-8", place)
    if value.startswith(BOM_UTF8):
        reason = "it begins with a byte order mark; leave that out"
    elif reason == _INVALID and value[byte : byte + 1] in (b"\n", b"\r", b"\t"):
        reason = r"a line break or a tab stands in a string; write it as \n, \r or \t, or a blank instead"
    elif reason == _INVALID and not value[:byte].strip():
        reason = "a record is one JSON object" + SUCH_AS[kind]
    return Refused(f"{kind}.json", f"the {kind} is not JSON: {_IN_WORDS.get(reason, reason)}", place)


def _first_endless_number(value: bytes) -> str:
    """Return where the first number stands that no double can hold."""
    numbers = (found for found in _STRING_OR_NUMBER.finditer(value) if found[1])
    return next((f"byte {found.start()}" for found in numbers if math.isinf(float(found[1]))), "")


def _unfinished(value: bytes, kind: Kind) -> Refused:
    """Return the refusal of a text that ends too early, or of a character in it that does."""
    half = _HALF_PAIR.search(value)
    if half is None:
        return Refused(f"{kind}.json", f"the {kind} ends in the middle of its JSON", f"byte {len(value)}")
    return Refused(
        f"{kind}.json",
        f"the {kind} is not JSON: {half[1].decode()} is half of a surrogate pair and stands alone; write both "
        "halves, or the character itself",
        f"byte {half.start(1)}",
    )


def _first_bad_byte(value: bytes) -> str:
    """Return the place of the first byte that is not UTF-8; the decoder counts from the start of its string."""
    try:
        value.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start}"
    return ""
