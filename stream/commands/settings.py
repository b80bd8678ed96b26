"""``tocsin settings``: every setting with its value and what it means, as a settings file or as a page."""

from __future__ import annotations

from typing import Annotated

import typer

from stream.commands.shared import ConfigOption, SetOption, load

PAGE_HEAD = """\
# Settings

Made by `tocsin settings --markdown`; `tocsin settings` prints the same as a file to start from.

A value comes from the default, over it the file named by `--config` (or `TOCSIN_CONFIG`), over it the environment
(`TOCSIN_KAFKA__BOOTSTRAP_SERVERS` is `kafka.bootstrap_servers`), over it `--set kafka.bootstrap_servers=host:9092`.
A name that is not in this list is refused.

"""


def settings(
    context: typer.Context,
    markdown: Annotated[bool, typer.Option("--markdown", help="The page docs/settings.md, with defaults.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Print every setting with its value and its meaning, as a settings file.

    The values are those that a command with the same options would use.
    """
    from stream.settings_reference import settings_markdown, settings_toml

    if markdown:
        typer.echo(PAGE_HEAD + settings_markdown(), nl=False)
    else:
        typer.echo(settings_toml(load(context, config, overrides)), nl=False)
