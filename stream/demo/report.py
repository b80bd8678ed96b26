"""What the demo found: the most interesting alerts of the hand-written subscriptions, and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from schemas.records import Notification
from stream.demo.check import Answer, Difference

ALERTS = 14


class Alert(NamedTuple):
    """The best alert of one subscription and how many it got in all."""

    times: int
    event: int
    notification: Notification


def interesting(answers: Mapping[int, Sequence[Notification]], ids: Sequence[str], limit: int = ALERTS) -> list[Alert]:
    """Return the best alert of each of the subscriptions, the rarest subscriptions first.

    Parameters
    ----------
    answers
        Notifications by event number.
    ids
        The subscriptions to look at.
    limit
        How many alerts at most.
    """
    wanted = set(ids)
    best: dict[str, Alert] = {}
    for event in sorted(answers):
        for notification in answers[event]:
            id_ = notification.subscription
            if id_ not in wanted:
                continue
            known = best.get(id_)
            if known is None:
                best[id_] = Alert(1, event, notification)
            elif notification.score > known.notification.score:
                best[id_] = Alert(known.times + 1, event, notification)
            else:
                best[id_] = known._replace(times=known.times + 1)
    found = sorted(best.values(), key=lambda alert: (alert.times, -alert.notification.score))
    return found[:limit]


def alerts_table(alerts: Sequence[Alert], flights: Sequence[Mapping[str, Any]]) -> Table:
    """Return the alerts as a table, a row each."""
    table = Table(title="The rarest alerts, each subscription's best", box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("flight", no_wrap=True)
    table.add_column("route", no_wrap=True)
    table.add_column("scheduled", no_wrap=True)
    table.add_column("delay", justify="right", no_wrap=True)
    table.add_column("subscription", style="cyan", no_wrap=True)
    table.add_column("because")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("alerts", justify="right", no_wrap=True)
    for times, event, notification in alerts:
        flight = flights[event]
        table.add_row(
            f"{flight['carrier']}{flight['flight']}",
            f"{flight['origin']}-{flight['dest']}",
            flight["scheduled"].replace("T", " "),
            delay(flight),
            notification.subscription,
            notification.labels["why"],
            f"{notification.score:.2f}",
            f"{times:,}",
        )
    return table


def delay(flight: Mapping[str, Any]) -> str:
    """Return how late a flight left, or why it has no delay."""
    if flight["cancelled"]:
        return "cancelled"
    if flight["diverted"]:
        return "diverted"
    return f"{flight['dep_delay']:+} min"


def figures_table(figures: Mapping[str, str]) -> Table:
    """Return names and values as a table without a head."""
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    for name, value in figures.items():
        table.add_row(name, value)
    return table


def percentiles(latencies: Sequence[float]) -> str:
    """Return the 50th and the 99th percentile of seconds as milliseconds."""
    if not latencies:
        return "-"
    p50, p99 = np.percentile(latencies, (50, 99)) * 1000
    return f"{p50:,.0f} and {p99:,.0f} ms"


def describe(difference: Difference, key: str) -> str:
    """Return a difference in words."""
    return f"event {key}: the oracle says {_answer(difference.expected)}; notified was {_answer(difference.found)}"


def _answer(answer: Answer) -> str:
    return ", ".join(f"{rank}. {id_} ({score})" for rank, id_, score in answer) or "nothing"
