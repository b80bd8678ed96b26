"""``tocsin verify``: recorded events are matched by brute force and by the live index, and the answers compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from schemas.errors import TocsinError
from stream.commands.comparing import compared
from stream.commands.looking import IndexOption, VersionOption, look_into
from stream.commands.shared import ConfigOption, JsonOption, SetOption, give_way, printable, say, write_line
from stream.console import console
from stream.exit_codes import FAILURE
from stream.wording import counted, spell_score

if TYPE_CHECKING:
    from index.ratify import Difference, Report
    from index.reader import Snapshot
    from stream.commands.sample import Sample

SHOWN_DIFFERENCES = 5
SHOWN_BYTES = 300


def verify(
    context: typer.Context,
    events_file: Annotated[
        str | None,
        typer.Argument(metavar="EVENTS.jsonl", help="Recorded events, one a line; - for stdin; absent: the topic's."),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, metavar="N", help="How many events are matched.")] = 50,
    seconds: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Stop comparing after that time.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the random choice of events and order.")] = 0,
    json: JsonOption = False,
    index: IndexOption = None,
    version: VersionOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Match recorded events by brute force against every subscription of the live index and compare the answers.

    Which subscriptions match, their scores and the order of each event's best are compared.

    It runs at the lowest priority, writes nothing, and may run beside the job.

    The exit code is 0 when nothing differs and 1 otherwise; each difference is explained.
    """
    give_way()
    settings, snapshot = look_into(context, index, version, config, overrides)
    from stream.commands.sample import sample_of_file, sample_of_topic

    if events_file is None:
        chosen = sample_of_topic(settings, sample)
    else:
        chosen = sample_of_file(events_file, settings, sample, seed)
    if chosen.refused:
        say(f"{counted(chosen.refused, 'record')} left out, no events that the job would accept")
    if not chosen.events:
        raise TocsinError("there are no events to match; name a file of recorded events, or publish some")
    report = compared(snapshot, chosen.events, seed, seconds)
    if json:
        _print_json(snapshot, chosen, report)
    else:
        _print_report(snapshot, chosen, report)
    if report.differing:
        raise typer.Exit(FAILURE)


def _print_report(snapshot: Snapshot, chosen: Sample, report: Report) -> None:
    shown = console()
    whole = "" if report.complete else f" of {snapshot.stats.subscriptions:,}, then time was up"
    looked_at = f"{counted(len(chosen.events), 'event')} × {counted(report.subscriptions, 'subscription')}{whole}"
    matches = f"{report.matches:,} match{'' if report.matches == 1 else 'es'}"
    verdict = counted(report.differing, "difference") if report.differing else "no difference"
    shown.print(
        f"version {snapshot.version}: {looked_at}: {matches}, [{'red' if report.differing else 'green'}]{verdict}[/]",
        markup=True,
        soft_wrap=True,
    )
    for difference in report.differences[:SHOWN_DIFFERENCES]:
        _print_difference(snapshot, chosen, difference)
    if report.differing > SHOWN_DIFFERENCES:
        shown.print(f"and {report.differing - SHOWN_DIFFERENCES:,} more; --json shows them")


def _print_difference(snapshot: Snapshot, chosen: Sample, difference: Difference) -> None:
    from index.explain.explanation import explain
    from stream.commands.drawing import draw

    shown = console()
    shown.print()
    shown.print(f"{_sentence(difference)}, for the event", style="red", soft_wrap=True)
    body = chosen.bodies[difference.event].decode(errors="replace")
    short = body if len(body) <= SHOWN_BYTES else f"{body[:SHOWN_BYTES]}… ({len(body):,} characters)"
    shown.print(f"  {chosen.names[difference.event]}: {printable(short)}", soft_wrap=True)
    subscription = snapshot.get(difference.id)
    if subscription is not None:
        draw(shown, explain(subscription, chosen.events[difference.event]))


def _sentence(difference: Difference) -> str:
    from index.oracle import as_score

    def spell(points: int | None) -> str:
        return "no match" if points is None else f"a match of score {spell_score(as_score(points))}"

    found, expected = spell(difference.found), spell(difference.expected)
    if difference.expected_rank is not None:
        rank = "none" if difference.found_rank is None else str(difference.found_rank)
        return f"{printable(difference.id)}: the index gives it rank {rank}, its score rank {difference.expected_rank}"
    return f"{printable(difference.id)}: the index says {found}, brute force says {expected}"


def _print_json(snapshot: Snapshot, chosen: Sample, report: Report) -> None:
    import msgspec

    content = {
        "version": snapshot.version,
        "events": len(chosen.events),
        "refused": chosen.refused,
        "subscriptions": report.subscriptions,
        "complete": report.complete,
        "matches": report.matches,
        "differing": report.differing,
        "differences": [_plain(snapshot, chosen, difference) for difference in report.differences],
    }
    write_line(msgspec.json.encode(content))


def _plain(snapshot: Snapshot, chosen: Sample, difference: Difference) -> dict[str, Any]:
    from index.explain.explanation import explain
    from index.explain.plain import as_plain

    subscription = snapshot.get(difference.id)
    event = chosen.events[difference.event]
    return {
        "event": chosen.names[difference.event],
        "subscription": difference.id,
        "expected": _score(difference.expected),
        "found": _score(difference.found),
        "expected_rank": difference.expected_rank,
        "found_rank": difference.found_rank,
        "explanation": None if subscription is None else as_plain(explain(subscription, event)),
    }


def _score(points: int | None) -> float | None:
    from index.oracle import as_score

    return None if points is None else as_score(points)
