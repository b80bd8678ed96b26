"""Values of options: a number or a time that can't be taken is refused in words that name it and show one that can."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBER = "is no number; write one such as 1.5"
WHOLE_NUMBER = "is no whole number; write one such as 10"
TIME = "is no time; write it like 2026-05-01T08:00:00Z, or 2026-05-01 for the beginning of that day in UTC"


class Command(TyperCommand):
    """A command that says of an option's number what is wrong with it; typer hands on what its library says."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments."""
        try:
            context = super().make_context(info_name, args, parent=parent, **extra)
        except typer.BadParameter as refused:
            said = _in_words(refused.__cause__)
            if said is None:
                raise
            raise typer.BadParameter(said, ctx=refused.ctx, param=refused.param) from refused
        for name, value in context.params.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise typer.BadParameter(f"{value} {NUMBER}", ctx=context, param_hint=f"'--{name.replace('_', '-')}'")
        return context


def _in_words(error: BaseException | None) -> str | None:
    """Return what is wrong with a number, None for other errors."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return None
    first: Mapping[str, Any] = errors()[0]
    kind, given = str(first["type"]), f"{first['input']!s:.60}"
    if kind.startswith("int"):
        return f"{given!r} {WHOLE_NUMBER}"
    if kind.startswith("float") or given.lstrip("+-").lower() in ("nan", "inf", "infinity"):
        return f"{given!r} {NUMBER}"
    if kind == "greater_than_equal":
        return f"{given} is too small; the least is {first['ctx']['ge']}"
    if kind == "less_than_equal":
        return f"{given} is too large; the most is {first['ctx']['le']}"
    return None


def moment(text: str, option: str) -> int:
    """Return the time that an option's text names, in microseconds since the epoch.

    Raises
    ------
    typer.BadParameter
        It is neither an RFC 3339 time with a zone nor a date.
    """
    from schemas.instants import instant, utc

    found = instant(text)
    if found is None or utc(found) is None:
        raise typer.BadParameter(f"{text!r:.60} {TIME}", param_hint=f"'{option}'")
    return found


def time_text(text: str, option: str) -> str:
    """Return the time that an option's text names as records spell it; see `moment`."""
    from schemas.instants import utc

    known = utc(moment(text, option))
    assert known is not None
    return known.isoformat().replace("+00:00", "Z")
