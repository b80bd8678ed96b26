"""``tocsin index import``: JSON lines, as ``export`` writes them, become subscriptions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, BinaryIO, Protocol

import msgspec
import typer

from schemas.errors import Refused, TocsinError
from stream.commands.json_lines import open_lines, reading
from stream.commands.shared import ConfigOption, SetOption, load, say
from stream.commands.subscribe import need_json
from stream.wording import counted

if TYPE_CHECKING:
    from schemas.limits import Limits


class Sink(Protocol):
    """Where records go."""

    def send(self, key: bytes | None, value: bytes | None) -> None:
        """Take one."""

    def flush(self) -> None:
        """Wait until all are taken for good."""


def index_import(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Lines as 'export' writes them; - for stdin.")],
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Report lines that are refused and go on, instead of stopping.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Check the lines and send nothing.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Publish subscriptions from JSON lines to the subscriptions topic, each added, or put in place of its id's before.

    A line is a subscription's record with its id as the member 'id'; the member 'filter' may stand for 'expression'.
    Each is checked before it is sent. The command returns when the brokers have acknowledged all; the job's index
    follows. Subscriptions of other ids stay as they are.

    At the first line that is refused the command stops with exit code 1: those before it are published.
    """
    settings = load(context, config, overrides)
    need_json(settings.subscriptions.format)
    topic = settings.topics.subscriptions
    with open_lines(file) as lines:
        if check:
            run = Import(_Nowhere(), settings.limits, skip_bad, "")
            run.send_all(lines)
            say(f"checked {counted(run.sent, 'subscription')}{run.told_skipped}")
            return
        from stream.commands.kafka import Sender

        sender = Sender(settings, topic)
        run = Import(sender, settings.limits, skip_bad)
        try:
            with sender:
                run.send_all(lines)
        finally:  # counts what was acknowledged until the sender was closed, also after Ctrl-C
            say(f"imported {counted(sender.acknowledged, 'subscription')} to {topic}{run.told_skipped}")


class Import:
    """One run over the lines."""

    def __init__(
        self, sink: Sink, limits: Limits, skip_bad: bool, meant: str = ", so nothing from it on was published"
    ) -> None:
        self._sink = sink
        self._limits = limits
        self._skip_bad = skip_bad
        self._meant = meant  # what a refusal means for the lines from it on
        self.sent = 0
        self.skipped = 0

    @property
    def told_skipped(self) -> str:
        """What to say of lines that were left out."""
        return f", skipped {counted(self.skipped, 'bad line')}" if self.skipped else ""

    def send_all(self, lines: BinaryIO) -> None:
        """Check and send every line."""
        with reading(lines, "importing", "subscriptions") as tell:
            position = 0
            for number, line in enumerate(lines, 1):
                position += len(line)
                if line.strip():
                    self._take(number, line.strip())
                tell(position, self.sent)

    def _take(self, number: int, line: bytes) -> None:
        from schemas.json_codec import decode_id, decode_subscription

        try:
            id_, value = parted(line)
            decode_subscription(decode_id(id_.encode(), self._limits), value, self._limits)
        except Refused as refused:
            if not self._skip_bad:
                self._sink.flush()
                raise TocsinError(f"line {number} is refused{self._meant}: {refused}") from refused
            say(f"line {number} skipped: {refused}")
            self.skipped += 1
            return
        self._sink.send(id_.encode(), value)
        self.sent += 1


_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_id_decoder = msgspec.json.Decoder(str)
_leading_id = re.compile(rb'\{\s*"id"\s*:\s*("(?:[^"\\]|\\.)*")\s*,')


def parted(line: bytes) -> tuple[str, bytes]:
    """Return a line's id, and the record without it.

    Raises
    ------
    Refused
        It is no JSON object, or has no text as its member ``id``; or its tree is too deep for the decoder, and the line
        does not begin with the id as in an export.
    """
    try:
        id_, record = _split(line)
        return _id_decoder.decode(id_), record
    except KeyError:
        raise Refused("subscription.json", "the line has no member 'id'; it names the subscription") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused("subscription.json", f"the line is no JSON object with a text as its 'id': {error}") from error


def _split(line: bytes) -> tuple[bytes | msgspec.Raw, bytes]:
    try:
        members = _members_decoder.decode(line)
    except RecursionError:
        leading = _leading_id.match(line)
        if leading is None:
            said = "a line that is nested so deeply must begin with a text as its member 'id'"
            raise Refused("subscription.json", said) from None
        return leading[1], b"{" + line[leading.end() :]
    return members.pop("id"), msgspec.json.encode(members)


class _Nowhere:
    """Where records go that are only checked."""

    def send(self, key: bytes | None, value: bytes | None) -> None:
        """Forget one."""

    def flush(self) -> None:
        """Nothing is on its way."""
