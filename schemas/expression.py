"""The expression tree as it travels on the topics and as all code sees it: frozen structs tagged by ``op``.

A tree only says what was written; whether it is allowed is `schemas.check`'s to say, what it means is stated by
`index.oracle`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from schemas.values import Number, Value


class Derive(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Stands for an attribute: its values are those of ``of``, each put through a function of `schemas.derived`.

    A value for which the function has no result, such as the length of a number, gives none. What comes out is a set:
    two values that become one are one, and weigh what the heavier of them does.
    """

    function: str = msgspec.field(name="derive")
    of: Attribute
    args: tuple[Value, ...] = ()


Attribute: TypeAlias = str | Derive
"""The name of an attribute, or what is derived from one."""


class _Node(msgspec.Struct, frozen=True, tag_field="op", forbid_unknown_fields=True, omit_defaults=True):
    """Base of all nodes: frozen, tagged by ``op``, unknown members refused (a typo must not widen a match)."""


class And(_Node, frozen=True, tag="and"):
    """True when every argument is; its score is the sum of theirs."""

    args: tuple[Expression, ...]


class Or(_Node, frozen=True, tag="or"):
    """True when some argument is; its score is the highest among the true ones."""

    args: tuple[Expression, ...]


class Not(_Node, frozen=True, tag="not"):
    """True exactly when the argument is false; nothing under it scores."""

    arg: Expression


class In(_Node, frozen=True, tag="in"):
    """True when some value of the attribute is listed; ``weights``, when given, has one entry a value."""

    attribute: Attribute
    values: tuple[Value, ...]
    weights: tuple[float, ...] | None = None


class NotIn(_Node, frozen=True, tag="not_in"):
    """True when no value of the attribute is listed; the strong form also wants the attribute present."""

    attribute: Attribute
    values: tuple[Value, ...]
    strong: bool = False


class Range(_Node, frozen=True, tag="range"):
    """True when some one value lies inside the bounds, at most one lower and one upper; a missing bound is open.

    Bounds are two numbers or two strings; strings are ordered by code points. With ``type`` "time" the bounds are
    RFC 3339 texts, and values that are such texts are compared with them as instants.

    ``weight``, here and in the leaves below, counts in the modes relaxed and threshold only.
    """

    attribute: Attribute
    gt: str | Number | None = None
    ge: str | Number | None = None
    lt: str | Number | None = None
    le: str | Number | None = None
    type: str | None = None
    weight: float | None = None


class Exists(_Node, frozen=True, tag="exists"):
    """True when the attribute has a value (0, false, "" and NaN are values)."""

    attribute: Attribute
    weight: float | None = None


class NotExists(_Node, frozen=True, tag="not_exists"):
    """True when the attribute has no value."""

    attribute: Attribute


class ContainsAll(_Node, frozen=True, tag="contains_all"):
    """True when every listed value is among the attribute's; never scores in mode all."""

    attribute: Attribute
    values: tuple[Value, ...]
    weight: float | None = None


class Within(_Node, frozen=True, tag="within"):
    """True when the attribute is present and each of its values is listed."""

    attribute: Attribute
    values: tuple[Value, ...]
    weight: float | None = None


class EqualsSet(_Node, frozen=True, tag="equals_set"):
    """True when the attribute's values are exactly the listed ones, as sets."""

    attribute: Attribute
    values: tuple[Value, ...]
    weight: float | None = None


class Matches(_Node, frozen=True, tag="matches"):
    """True when the regular expression (RE2 syntax) matches the whole of some string value."""

    attribute: Attribute
    pattern: str
    weight: float | None = None


class StartsWith(_Node, frozen=True, tag="starts_with"):
    """True when some string value begins with the text; ``ignore_case`` compares both sides case-folded."""

    attribute: Attribute
    text: str
    ignore_case: bool = False
    weight: float | None = None


class EndsWith(_Node, frozen=True, tag="ends_with"):
    """True when some string value ends with the text."""

    attribute: Attribute
    text: str
    ignore_case: bool = False
    weight: float | None = None


class Contains(_Node, frozen=True, tag="contains"):
    """True when the text occurs in some string value."""

    attribute: Attribute
    text: str
    ignore_case: bool = False
    weight: float | None = None


class Glob(_Node, frozen=True, tag="glob"):
    """True when the whole of some string value fits the pattern of ``*``, ``?``, ``[abc]``, ``[!a-z]``.

    A backslash takes the next character for itself.
    """

    attribute: Attribute
    pattern: str
    ignore_case: bool = False
    weight: float | None = None


class Version(_Node, frozen=True, tag="version"):
    """True when some string value is a version inside the bounds, in the order of `schemas.versions`."""

    attribute: Attribute
    eq: str | None = None
    gt: str | None = None
    ge: str | None = None
    lt: str | None = None
    le: str | None = None
    weight: float | None = None


class Cidr(_Node, frozen=True, tag="cidr"):
    """True when some string value is an IP address in one of the networks."""

    attribute: Attribute
    networks: tuple[str, ...]
    weight: float | None = None


class Keywords(_Node, frozen=True, tag="keywords"):
    """True when all, or any, of the words are among the tokens of the attribute's string values.

    Exactly one of ``all`` and ``any`` is given; ``weights``, when given, has one entry a word. It scores as an ``in``
    over the tokens does.
    """

    attribute: Attribute
    all: tuple[str, ...] | None = None
    any: tuple[str, ...] | None = None
    weights: tuple[float, ...] | None = None


Leaf: TypeAlias = (
    In
    | NotIn
    | Range
    | Exists
    | NotExists
    | ContainsAll
    | Within
    | EqualsSet
    | Matches
    | StartsWith
    | EndsWith
    | Contains
    | Glob
    | Version
    | Cidr
    | Keywords
)
Expression: TypeAlias = And | Or | Not | Leaf
