"""``tocsin topics``: create the topics that are missing, check those that are there."""

from __future__ import annotations

import typer

from stream.commands.shared import ConfigOption, SetOption, load, say


def topics(context: typer.Context, config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Create the topics that are missing and check those that are there; 'tocsin run' does the same when it starts.

    Prints the names of the four topics.
    """
    settings = load(context, config, overrides)
    from stream.clients import reach
    from stream.topics import ensure_topics

    there = reach(settings)
    ensure_topics(settings)
    names = settings.topics
    for name in (names.events, names.subscriptions, names.notifications, names.dead_letters):
        typer.echo(name)
        if name not in there:
            say(f"created {name}")
