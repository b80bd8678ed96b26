"""``tocsin index compact``: merges segments now, those that are due or all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.errors import TocsinError
from stream.commands.looking import IndexOption, look_for, progress_bar
from stream.commands.shared import ConfigOption, SetOption, give_way
from stream.console import console
from stream.wording import counted

if TYPE_CHECKING:
    from index.manifest import Manifest
    from index.merge_policy import MergePlan, SegmentStat

ATTEMPTS = 3
"""How often all segments are merged before the job's own merges are given way to."""


def index_compact(
    context: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="All segments into one, without what is dead, whether that is due or not.")
    ] = False,
    index: IndexOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Merge segments now: those that are due, which the running job does by itself, or all of them.

    It may run beside the job. What is replaced or removed meanwhile stays so; a merge that another process was quicker
    with is thrown away. Files that nobody needs any more go a while later, with 'tocsin index gc' or the job.
    """
    give_way()
    settings, _ = look_for(context, index, None, config, overrides)
    directory = settings.job.index_dir
    from index.engines import check_builder, engine_named
    from index.manifest import latest
    from index.merge import merge

    before, engine = latest(directory), engine_named(settings.job.engine)
    check_builder(directory, before.segments, settings.job.engine)

    def carry_out(plan: MergePlan) -> bool:
        return merge(directory, plan, engine) is not None

    if everything:
        _merge_all(directory, carry_out)
    else:
        _merge_due(directory, carry_out)
    _print(before, latest(directory))


def _merge_due(directory: str, carry_out: Callable[[MergePlan], bool]) -> None:
    """Carry out what is due, and what is due then, until nothing is or somebody else is at it."""
    from index.compaction import due

    while plans := due(directory):
        if not any(_merge(directory, plans, carry_out)):
            return


def _merge_all(directory: str, carry_out: Callable[[MergePlan], bool]) -> None:
    from index.merge_policy import everything

    for _ in range(ATTEMPTS):
        plans = everything(_stats(directory))
        if all(_merge(directory, plans, carry_out)):
            return
    raise TocsinError(
        "the job's own merges were quicker each time; try again when fewer subscriptions change, or stop the job for it"
    )


def _merge(directory: str, plans: list[MergePlan], carry_out: Callable[[MergePlan], bool]) -> list[bool]:
    """Carry out the plans and return which of them won."""
    alive = {stat.name: stat.alive for stat in _stats(directory)}
    sizes = [sum(alive.get(name, 0) for name in plan.inputs) for plan in plans]
    won = []
    with progress_bar(sum(sizes), "merging") as update:
        for done, plan in enumerate(plans, 1):
            won.append(carry_out(plan))
            update(sum(sizes[:done]))
    return won


def _stats(directory: str) -> list[SegmentStat]:
    from index.compaction import stats_of
    from index.manifest import latest

    return stats_of(latest(directory).segments)


def _print(before: Manifest, after: Manifest) -> None:
    def spell(manifest: Manifest) -> str:
        size = sum(entry.segment.bytes for entry in manifest.segments)
        return f"{counted(len(manifest.segments), 'segment')}, {size:,} bytes"

    alive = sum(entry.alive for entry in after.segments)
    text = f"version {after.version}: {counted(alive, 'subscription')} in {spell(after)}"
    changed = "nothing was due" if before.version == after.version else f"before: {spell(before)}"
    console().print(f"{text}; {changed}", soft_wrap=True)
