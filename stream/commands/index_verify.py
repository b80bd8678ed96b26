"""``tocsin index verify``: checksums, invariants, and answers compared with brute force, of an index directory."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from stream.commands.comparing import compared
from stream.commands.looking import IndexOption, VersionOption, look_for, progress_bar
from stream.commands.shared import ConfigOption, JsonOption, SetOption, give_way, write_line
from stream.console import console
from stream.exit_codes import FAILURE
from stream.wording import counted

if TYPE_CHECKING:
    from index.ratify import Report

CHOSEN_FROM = 1_000
"""Subscriptions, chosen by chance, that the events are made of."""


class Findings(msgspec.Struct):
    """What was found, as ``--json`` shows it.

    Attributes
    ----------
    version
        The version that was looked into.
    versions, bytes
        How many versions are kept, and how long their segments are.
    damage
        Damaged files.
    broken
        Invariants that do not hold.
    events, subscriptions, matches, differing
        What was compared with brute force.
    """

    version: int
    versions: int = 0
    bytes: int = 0
    damage: list[dict[str, str]] = []
    broken: list[str] = []
    events: int = 0
    subscriptions: int = 0
    matches: int = 0
    differing: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.damage or self.broken or self.differing)


def index_verify(
    context: typer.Context,
    sample: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many events are made up and matched; 0 leaves that out.")
    ] = 50,
    seconds: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Stop comparing answers after that time.")
    ] = 60.0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the random choices.")] = 0,
    json: JsonOption = False,
    index: IndexOption = None,
    version: VersionOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Check the index: every file's checksum, the invariants of a version, and answers against brute force.

    Checksums are those of all versions that are kept. Events are made of the values that some subscriptions ask for;
    'tocsin verify' compares the answers to recorded events instead, and explains each difference.

    It writes nothing, runs at the lowest priority, and may run beside the job.

    The exit code is 0 when all is well and 1 otherwise. A damaged index is built anew at the job's next start.
    """
    give_way()
    settings, chosen = look_for(context, index, version, config, overrides)
    directory, findings = settings.job.index_dir, Findings(chosen)
    _check_files(directory, findings)
    if not findings.damage:
        _check_invariants(directory, findings)
    if findings.sound and sample:
        _compare(directory, findings, sample, seconds, seed)
    if json:
        write_line(msgspec.json.encode(findings))
    else:
        _print(findings)
    if not findings.sound:
        raise typer.Exit(FAILURE)


def _check_files(directory: str, findings: Findings) -> None:
    from index.inspection import bytes_of, damage, lost_pins
    from index.manifest import versions

    present = versions(directory)
    findings.versions, findings.bytes = len(present), bytes_of(directory, present)
    with progress_bar(findings.bytes, "reading files") as told:
        errors = [*damage(directory, present, told, may_go=True), *lost_pins(directory)]
    findings.damage = [{"file": str(e.file), "found": e.found, "wanted": e.wanted} for e in errors]


def _check_invariants(directory: str, findings: Findings) -> None:
    from index.inspection import broken
    from index.manifest import read_manifest

    manifest = read_manifest(directory, findings.version)
    total = sum(entry.segment.count for entry in manifest.segments)
    with progress_bar(total, "checking invariants") as told:
        findings.broken = list(broken(directory, manifest, told))


def _compare(directory: str, findings: Findings, sample: int, seconds: float, seed: int) -> None:
    import numpy as np

    from index.live import alive, open_version, read
    from index.probes import probes

    snapshot = open_version(directory, findings.version)
    places = alive(snapshot)
    if not len(places):
        return
    chosen = np.random.default_rng(seed).choice(places, min(CHOSEN_FROM, len(places)), replace=False)
    events = probes(list(read(snapshot, chosen)), sample, random.Random(seed))
    _take(findings, sample, compared(snapshot, events, seed, seconds))


def _take(findings: Findings, events: int, report: Report) -> None:
    findings.events, findings.subscriptions = events, report.subscriptions
    findings.matches, findings.differing = report.matches, report.differing


def _print(findings: Findings) -> None:
    shown = console()

    def line(what: str, good: bool, verdict: str) -> None:
        shown.print(f"{what}: [{'green' if good else 'red'}]{verdict}[/]", markup=True, soft_wrap=True)

    files = f"files of {counted(findings.versions, 'version')}, {findings.bytes:,} bytes"
    line(files, not findings.damage, counted(len(findings.damage), "damaged file") if findings.damage else "whole")
    for entry in findings.damage:
        shown.print(f"  {entry['file']}: found {entry['found']}, wanted {entry['wanted']}", soft_wrap=True)
    if findings.damage:
        shown.print("start the job again, which builds a damaged index anew from the subscriptions topic")
        return
    line(f"invariants of version {findings.version}", not findings.broken, "broken" if findings.broken else "kept")
    for sentence in findings.broken:
        shown.print(f"  {sentence}", soft_wrap=True)
    if findings.events:
        looked_at = f"{counted(findings.events, 'event')} × {counted(findings.subscriptions, 'subscription')}"
        verdict = counted(findings.differing, "difference") if findings.differing else "no difference"
        line(f"answers, {looked_at}, {findings.matches:,} matches", not findings.differing, verdict)
