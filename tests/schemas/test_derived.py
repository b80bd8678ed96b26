"""Derived values: exact arithmetic, parts of texts and times, arguments refused."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.derived import FUNCTIONS, PUBLIC_FUNCTIONS, check_function, derived_values
from schemas.errors import Refused
from schemas.values import INT64_MAX, INT64_MIN, Number, Value, same_value
from tests.strategies import event_values, numbers

EXACT = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "mod": lambda a, b: a - b * math.trunc(a / b),
}


def nearest(exact: Fraction) -> Number:
    if exact.denominator == 1 and INT64_MIN <= exact <= INT64_MAX:
        return int(exact)
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def derive(function: str, args: tuple[Value, ...], value: Value) -> Value | None:
    """Return the one result, None when there is none."""
    results = derived_values(function, args, value)
    assert len(results) <= 1
    return results[0] if results else None


@given(st.sampled_from(sorted(EXACT)), numbers(), numbers())
def test_arithmetic_is_exact_on_64_bit_integers_and_else_the_nearest_double(
    function: str, a: Number, b: Number
) -> None:
    if b == 0 and function in ("divide", "mod"):
        return
    result = derive(function, (b,), a)
    assert result is not None
    assert same_value(result, nearest(EXACT[function](Fraction(a), Fraction(b))))


@given(st.sampled_from(("abs", "floor", "ceil", "round")), numbers())
def test_rounding_is_exact(function: str, a: Number) -> None:
    x = Fraction(a)
    away = math.floor(abs(x) + Fraction(1, 2)) * (1 if x >= 0 else -1)
    wanted: dict[str, Fraction | int] = {"abs": abs(x), "floor": math.floor(x), "ceil": math.ceil(x), "round": away}
    result = derive(function, (), a)
    assert result is not None
    assert same_value(result, nearest(Fraction(wanted[function])))


@given(st.data(), event_values())
def test_every_function_takes_any_value_and_gives_values(data: st.DataObject, value: Value) -> None:
    """Equal numbers of two types give equal results; what comes out fits where values must."""
    function = data.draw(st.sampled_from(sorted(FUNCTIONS)))
    given: dict[str, tuple[Value, ...]] = {"substring": (2, 2), "~tokens": ("words",)}
    args = given.get(function, ())
    if function in EXACT:
        args = (data.draw(numbers().filter(bool)),)
    results = derived_values(function, args, value)
    assert len(results) <= 1 or function == "~tokens"
    assert results == () or (
        isinstance(value, str) == (FUNCTIONS[function].takes is str) and not isinstance(value, bool)
    )
    for result in results:
        assert isinstance(result, str | float) or INT64_MIN <= result <= INT64_MAX
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        (twin,) = derived_values(function, args, int(value)) or ("none",)
        assert same_value(twin, (results or ("none",))[0])


@pytest.mark.parametrize(
    ("function", "args", "value", "result"),
    [
        *(("mod", (4,), 7, 3), ("mod", (4,), -7, -3), ("mod", (-4,), 7, 3), ("mod", (0.5,), 2.25, 0.25)),
        *(("mod", (3,), INT64_MIN, -2), ("mod", (3,), math.inf, None), ("add", (1,), INT64_MAX, 2.0**63)),
        *(("add", (1,), 2.0**53, 2**53 + 1), ("multiply", (10,), 1e308, math.inf), ("multiply", (0,), math.inf, "nan")),
        *(("divide", (4,), 10, 2.5), ("divide", (5,), 10, 2), ("divide", (-1,), INT64_MIN, 2.0**63)),
        *(("add", (1,), math.nan, "nan"), ("mod", (1,), math.nan, "nan"), ("round", (), math.nan, "nan")),
        *(("abs", (), INT64_MIN, 2.0**63), ("abs", (), -0.0, 0), ("floor", (), -math.inf, -math.inf)),
        *(("round", (), 2.5, 3), ("round", (), -2.5, -3), ("round", (), 0.49999999999999994, 0)),
        *(("ceil", (), 1e300, 1e300), ("abs", (), True, None), ("length", (), 7, None), ("lower", (), True, None)),
        *(("lower", (), "ÀB", "àb"), ("upper", (), "ß", "SS"), ("length", (), "a\U0001f600", 2), ("length", (), "", 0)),
        *(("substring", (1, 3), "abcd", "abc"), ("substring", (2,), "abcd", "bcd"), ("substring", (5,), "ab", "")),
        *(("substring", (2.0, 0), "ab", ""), ("substring", (2, 2**62), "ab", "b"), ("add", (1,), "1", None)),
        *(("year", (), "2026-01-01T00:30:00+01:00", 2025), ("hour", (), "2026-01-01T00:30:00+01:00", 23)),
        *(("second", (), "2026-01-01", 0), ("year", (), "2026", None), ("year", (), "0001-01-01T00:00:00+01:00", None)),
        *(("~reverse", (), "ab\U0001f600", "\U0001f600ba"), ("~fold", (), "ẞ", "ss"), ("~version", (), "x", None)),
        *(("~address", (), "10.0.0.1", "40a000001"), ("~instant", (), "1970-01-02", 86_400_000_000)),
    ],
)
def test_results(function: str, args: tuple[Value, ...], value: Value, result: Value | None) -> None:
    found = derive(function, args, value)
    if result == "nan":
        assert isinstance(found, float)
        assert math.isnan(found)
    elif result is None or found is None:
        assert found is result
    else:
        assert same_value(found, result)


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)), st.integers(-1439, 1439))
def test_parts_of_a_time_are_those_in_utc(time: datetime, minutes: int) -> None:
    zoned = time.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    in_utc = zoned - zoned.utcoffset()  # type: ignore[operator]
    for part in ("year", "month", "day", "hour", "minute", "second"):
        assert derive(part, (), zoned.isoformat()) == getattr(in_utc, part)


def test_tokens_are_several_results() -> None:
    assert derived_values("~tokens", ("words",), "B a b") == ("b", "a")
    assert derived_values("~tokens", ("whole",), "B a b") == ("b a b",)


@pytest.mark.parametrize(
    ("function", "args", "code"),
    [
        *(("sqrt", (), "derive.function"), ("~fold", (), "derive.function"), ("", (), "derive.function")),
        *(("mod", (), "derive.args"), ("mod", (0,), "derive.args"), ("mod", (1, 2), "derive.args")),
        *(("divide", (-0.0,), "derive.args"), ("add", ("1",), "derive.args"), ("add", (True,), "derive.args")),
        *(("add", (math.nan,), "derive.args"), ("add", (math.inf,), "derive.args"), ("add", (2**63,), "derive.args")),
        *(("abs", (1,), "derive.args"), ("length", ("a",), "derive.args"), ("substring", (), "derive.args")),
        *(
            ("substring", (0,), "derive.args"),
            ("substring", (1, -1), "derive.args"),
            ("substring", (1.5,), "derive.args"),
        ),
        *(("substring", (1, 2, 3), "derive.args"), ("substring", ("1",), "derive.args"), ("year", (1,), "derive.args")),
    ],
)
def test_a_call_that_means_nothing_is_refused(function: str, args: tuple[Value, ...], code: str) -> None:
    with pytest.raises(Refused) as raised:
        check_function(function, args, "$")
    assert raised.value.code == code
    assert raised.value.path == ("$.derive" if code == "derive.function" else "$.args")


def test_calls_that_are_allowed() -> None:
    for function in PUBLIC_FUNCTIONS:
        args: tuple[Value, ...] = (2,) if function in (*EXACT, "substring") else ()
        check_function(function, args)
    check_function("substring", (1, 0))
    check_function("mod", (INT64_MIN,))
    check_function("multiply", (0,))
