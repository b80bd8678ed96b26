"""The table of commands: which there are, with examples of each; what they do is in `stream.commands`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated

import typer

from stream.commands.broker import broker
from stream.commands.check import check
from stream.commands.dead_letters import dead_letters
from stream.commands.demo import demo
from stream.commands.ending import Commands
from stream.commands.explain import explain
from stream.commands.index_compact import index_compact
from stream.commands.index_export import index_export
from stream.commands.index_gc import index_gc
from stream.commands.index_import import index_import
from stream.commands.index_stats import index_stats
from stream.commands.index_verify import index_verify
from stream.commands.listen import listen
from stream.commands.publish import publish
from stream.commands.run import run
from stream.commands.settings import settings
from stream.commands.shared import ConfigOption, SetOption
from stream.commands.similar import similar
from stream.commands.status import status
from stream.commands.subscribe import subscribe, unsubscribe
from stream.commands.topics import topics
from stream.commands.values import Command
from stream.commands.verify import verify

app = typer.Typer(
    name="tocsin",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tocsin {version('tocsin')}")
        raise typer.Exit


@app.callback(epilog=" A first subscription: tocsin subscribe late-jfk \"origin = 'JFK' and dep_delay > 60\"")
def options(
    context: typer.Context,
    config: ConfigOption = None,
    overrides: SetOption = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Match events against subscriptions on Kafka: events in, ranked notifications out."""
    context.obj = (config, overrides or [])


def _add(
    command: Callable[..., None], panel: str, *examples: str, name: str | None = None, to: typer.Typer = app
) -> None:
    """Register a command with examples for its help."""
    to.command(name, cls=Command, help=_help(command), epilog=_epilog(*examples), rich_help_panel=panel)(command)


def _help(command: Callable[..., None]) -> str:
    """Return what a command's docstring says, a line a paragraph, which a terminal wraps by its own width."""
    return "\n\n".join(" ".join(text.split()) for text in (inspect.getdoc(command) or "").split("\n\n"))


def _epilog(*examples: str) -> str:
    many = "Examples:" if len(examples) > 1 else "Example:"
    return "\n\n".join([many, *(f"  {example}" for example in examples)])


JOB = "The job"
USE = "Subscribe and publish"
LOOK = "Look"
CARE = "Look after"
MOVE = "Take elsewhere"

_add(demo, JOB, "tocsin demo")
_add(broker, JOB, "tocsin broker", "tocsin broker --data /var/tmp/kafka --port 9192")
_add(topics, JOB, "tocsin topics --set topics.partitions=12")
_add(
    run,
    JOB,
    "tocsin run",
    "tocsin run --config tocsin.toml --master spark://host:7077 --index /shared/index --set job.top=5",
)
_add(status, JOB, "tocsin status", "tocsin status --json | jq '.groups[].lag'")
_add(
    subscribe,
    USE,
    "tocsin subscribe late-jfk \"origin = 'JFK' and dep_delay > 60 and not carrier in ('UA', 'AA')\" --label desk=ops",
    "tocsin subscribe late-jfk @filter.txt --priority 2 --not-after 2026-12-31T23:59:59Z",
)
_add(unsubscribe, USE, "tocsin unsubscribe late-jfk")
_add(
    publish,
    USE,
    "tocsin publish flights.jsonl --key-field carrier --rate 500",
    'echo \'{"origin": "JFK", "dep_delay": 75}\' | tocsin publish -',
)
_add(listen, LOOK, "tocsin listen", "tocsin listen --subscription late-jfk --from-beginning --count 10 | jq .score")
_add(
    check,
    LOOK,
    "tocsin check \"origin = 'JFK' and dep_delay > 60\" flight.json --explain",
    'echo \'{"price": 7}\' | tocsin check "price between 5 and 10" -',
)
_add(
    explain,
    LOOK,
    "tocsin explain late-jfk flight.json",
    'echo \'{"origin": "JFK", "dep_delay": 35}\' | tocsin explain - --limit 5',
)
_add(
    dead_letters,
    LOOK,
    "tocsin dead-letters --last 20",
    "tocsin dead-letters --follow | jq -r .message",
    name="dead-letters",
)
_add(
    similar,
    LOOK,
    "tocsin similar \"dep_delay > 60 and origin = 'JFK'\"",
    "tocsin similar @filter.txt --limit 3 --json | jq -r .subscription",
)
_add(verify, LOOK, "tocsin verify", "tocsin verify flights.jsonl --sample 200 --seconds 60")

index = typer.Typer(no_args_is_help=True)
app.add_typer(
    index,
    name="index",
    help="Look into the index, look after it, and take its subscriptions elsewhere.",
    epilog=_epilog("tocsin index stats"),
    rich_help_panel=LOOK,
)
_add(index_stats, LOOK, "tocsin index stats", "tocsin index stats --sample 10000 --json", name="stats", to=index)
_add(
    index_verify,
    LOOK,
    "tocsin index verify",
    "tocsin index verify --sample 500 --seconds 600 --json",
    name="verify",
    to=index,
)
_add(index_compact, CARE, "tocsin index compact", "tocsin index compact --all", name="compact", to=index)
_add(index_gc, CARE, "tocsin index gc", "tocsin index gc --now --index tocsin-data/index", name="gc", to=index)
_add(
    index_export,
    MOVE,
    "tocsin index export subscriptions.jsonl",
    "tocsin index export | jq -r .id",
    name="export",
    to=index,
)
_add(
    index_import,
    MOVE,
    "tocsin index import subscriptions.jsonl",
    "tocsin index export | tocsin index import - --set kafka.bootstrap_servers=other:9092",
    name="import",
    to=index,
)
_add(settings, LOOK, "tocsin settings > tocsin.toml", "tocsin settings --set job.top=5 | grep -w top")
