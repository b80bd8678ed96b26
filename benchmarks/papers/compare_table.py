"""The table of a comparison: times, how much was read for them, by how much the block engine leads, who disagrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SHOWN = {0: "all", 1: "top 1", 10: "top 10", 100: "top 100"}
"""What is asked for, by ``top``."""

Row = dict[str, Any]

ANSWER_BYTES = 12
"""Subscription and score of a match where nearly all scores of an event differ."""

WANTED = 20
"""Times as fast that the block engine is to be on the ads data."""


def kind(row: Row) -> tuple[str, str, int]:
    """Return what a newer row replaces an older one by."""
    return row["workload"], row["engine"], row["size"]


def disagreements(rows: Sequence[Row]) -> list[str]:
    """Return sentences about engines that answer otherwise than the block engine."""
    right = {(row["workload"], row["size"]): row for row in rows if row["engine"] == "block"}
    wrong = []
    for row in rows:
        wanted = right.get((row["workload"], row["size"]))
        if "matches" not in row or wanted is None:
            continue
        place = f"{row['engine']} on {row['workload']}, {row['size']:,}"
        if row["matches"] != wanted["matches"]:
            wrong.append(f"{place}: {row['matches']} matches an event, block finds {wanted['matches']}")
        elif row["answers"] != wanted["answers"]:
            wrong.append(f"{place}: other rows, order or scores than block's")
    return wrong


def table(rows: Sequence[Row]) -> str:
    """Return the table of each workload and size, and what it comes to."""
    lines: list[str] = []
    for workload, size in sorted({(row["workload"], row["size"]) for row in rows}):
        own = [row for row in rows if (row["workload"], row["size"]) == (workload, size)]
        timed = sorted((row for row in own if "bytes" in row), key=lambda row: row["all"])
        lines += [f"### {workload}, {size:,} subscriptions", "", *_times(timed), ""]
        lines += [f"`{row['engine']}` takes no part: {row['refused']}\n" for row in own if "refused" in row]
        lines += [*lead(timed), "", *_work(timed), ""]
    return "\n".join(lines)


def _times(timed: Sequence[Row]) -> list[str]:
    columns = " | ".join(f"{name}, ms" for name in SHOWN.values())
    lines = [
        f"| engine | {columns} | bytes | build, s | matches | events |",
        "|---|" + "---:|" * (len(SHOWN) + 4),
    ]
    for row in timed:
        times = " | ".join(f"{row[name]:.3g}" for name in SHOWN.values())
        lines.append(
            f"| `{row['engine']}` | {times} | {row['bytes']:.0f} | {row['build']:.1f} | {row['matches']:.1f} "
            f"| {row['events']} |"
        )
    return lines


def _work(timed: Sequence[Row]) -> list[str]:
    """Return how much each engine reads and verifies an event, for all matches and for the best ten."""
    counted = [row for row in timed if row.get("work", {}).get("all")]
    if not counted:
        return []
    lines = [
        "| engine, an event | entries of its lists | read | verified | ns each read or verified | top 10: read "
        "| verified | skipped by list | sizes skipped |",
        "|---|" + "---:|" * 8,
    ]
    for row in counted:
        every, best = row["work"]["all"], row["work"]["top 10"]
        cost = 1e6 * row["all"] / max(every["read"] + every["candidates"], 1.0)
        numbers = (every["entries"], every["read"], every["candidates"])
        ranked = (best["read"], best["candidates"], best["skipped_by_list"])
        lines.append(
            f"| `{row['engine']}` | {' | '.join(f'{n:,.0f}' for n in numbers)} | {cost:.0f} "
            f"| {' | '.join(f'{n:,.0f}' for n in ranked)} | {best['skipped_sizes']:.1f} |"
        )
    return lines


def lead(timed: Sequence[Row]) -> list[str]:
    """Return by how much the block engine is faster than the best of the others; below `WANTED`, on ads, why."""
    block = next((row for row in timed if row["engine"] == "block"), None)
    others = [row for row in timed if row["engine"] != "block"]
    if block is None or not others:
        return []
    best = {name: min(others, key=lambda row: row[name]) for name in SHOWN.values()}
    times = {name: row[name] / block[name] for name, row in best.items()}
    parts = [f"{times[name]:.1f} times ({name}, against `{row['engine']}`)" for name, row in best.items()]
    lines = [f"The block engine is faster than the best of the others by {', '.join(parts)}."]
    missed = [name for name, lead in times.items() if lead < WANTED]
    if block["workload"] == "ads" and missed:
        lines += ["", _why(block, best[missed[0]], missed)]
    return lines


def _why(block: Row, other: Row, missed: Sequence[str]) -> str:
    """Say in numbers what a lead below `WANTED` comes from."""
    matches, verified = block["matches"], other.get("work", {}).get("all", {}).get("candidates", 0.0)
    spent = 1e6 * block["all"] / max(matches, 1.0)
    return (
        f"Less than {WANTED} times: {', '.join(missed)}. `{other['engine']}` verifies {verified:,.0f} conjunctions an "
        f"event, {1e6 * other['all'] / max(verified, 1.0):.0f} ns each, {1e3 * other['all']:,.0f} µs in all, where "
        f"{WANTED} times the block engine's {1e3 * block['all']:,.0f} µs would be {WANTED * 1e3 * block['all']:,.0f}. "
        "The block engine spends "
        f"{spent:.0f} ns on each of {matches:,.0f} matches, which are found, scored, ordered and written "
        f"({ANSWER_BYTES} bytes each, {ANSWER_BYTES * matches / 1000:,.0f} KB an event); the best one alone takes it "
        f"{1e3 * block['top 1']:,.0f} µs, the best ten {1e3 * block['top 10']:,.0f} µs, the best hundred "
        f"{1e3 * block['top 100']:,.0f} µs. So {100 * (1 - block['top 1'] / block['all']):.0f} % of its time for all "
        f"matches, and {100 * (1 - block['top 1'] / block['top 100']):.0f} % of that for a hundred, goes with what is "
        "answered beyond the first. What would change the ratio: fewer matches an event, a smaller top, or an answer "
        "that need not be in order; and more subscriptions, with which the clusters grow."
    )
