"""What a record may hold: the limits of the settings, and the refusals that every codec shares."""

from __future__ import annotations

from reprlib import Repr
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from schemas.errors import Refused
from schemas.values import INT64_MAX, INT64_MIN


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a record may hold; what goes beyond is refused with the limit's name in the message."""

    record_bytes: Annotated[
        Annotated[int, Meta(ge=1)], Meta(description="Bytes of the value of an event or a subscription.")
    ] = 2**20
    key_bytes: Annotated[Annotated[int, Meta(ge=1)], Meta(description="Bytes of a subscription's id.")] = 4096
    depth: Annotated[
        Annotated[int, Meta(ge=1, le=2000)],
        Meta(
            description="Levels of an expression, which are its `and`, `or` and `not` one inside another, and of "
            "objects and arrays inside an event, there up to 300 of them."
        ),
    ] = 200
    filter_tokens: Annotated[
        Annotated[int, Meta(ge=1)],
        Meta(description="Words, values and signs of a filter text; reading 100,000 of them takes about a second."),
    ] = 100_000
    leaves: Annotated[Annotated[int, Meta(ge=1, le=2**15)], Meta(description="Predicates of an expression.")] = 10_000
    list_length: Annotated[
        Annotated[int, Meta(ge=1)], Meta(description="Values in one list of an expression, or of one event attribute.")
    ] = 20_000
    attribute_length: Annotated[
        Annotated[int, Meta(ge=1)], Meta(description="Characters of an attribute name, dots included.")
    ] = 256
    label_bytes: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(description="UTF-8 bytes of a subscription's labels, names and values; every notification repeats them."),
    ] = 16_384


DEFAULT_LIMITS = Limits()


def name_too_long(name: str, limits: Limits, path: str) -> Refused:
    """Return the refusal of an attribute name longer than the limit."""
    return Refused(
        "attribute.too_long",
        f"an attribute name has {len(name):,} characters, it begins with {name[:40]!r}; at most "
        f"{limits.attribute_length} are allowed (setting limits.attribute_length)",
        path,
    )


def reserved_name(name: str, path: str) -> Refused:
    """Return the refusal of an attribute name that engines keep for themselves."""
    return Refused(
        "attribute.name",
        f"the attribute name {name[:40]!r} begins with the character U+0000, which is reserved; rename the attribute",
        path,
    )


def integer_range(value: int, path: str) -> Refused:
    """Return the refusal of an integer that 64 bits can't hold."""
    return Refused(
        "value.integer_range",
        f"the integer {digits(value)} does not fit into 64 bits; integers go from {INT64_MIN} to {INT64_MAX}, so write "
        "it as a string or as a float",
        path,
    )


def digits(value: int | float) -> str:
    """Return a number as a refusal quotes it, unrounded: Python spells no integer of very many digits."""
    if isinstance(value, float):
        return f"{value:,}".removesuffix(".0")
    return str(value) if value.bit_length() < 256 else f"of {value.bit_length():,} bits"


_WORDS: Final = {None: "null", True: "true", False: "false"}


class _Short(Repr):
    """Python alone spells no integer of thousands of digits and no list in a thousand lists."""

    def repr1(self, x: Any, level: int) -> str:
        return _WORDS[x] if x is None or isinstance(x, bool) else super().repr1(x, level)

    def repr_int(self, x: int, level: int) -> str:
        spelled = digits(x)
        return spelled if spelled[-1].isdigit() else f"an integer {spelled}"


_short: Final = _Short()
_short.maxstring = 60


def shown(found: Any) -> str:
    """Return a value of a record, of any type, as a refusal quotes it: true, false and null as JSON writes them."""
    return f"{_short.repr(found):.60}"
