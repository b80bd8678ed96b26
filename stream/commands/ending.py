"""How a command ends: what went wrong becomes one sentence on stderr and one of few exit codes."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from schemas.errors import TocsinError
from stream.commands.shared import WrongUsage, say
from stream.commands.streams import drop, settle
from stream.exit_codes import BROKEN_PIPE, FAILURE, INTERRUPTED, USAGE

LIKE_GREP = ("check",)
"""Commands whose answer may be 1, so that a failure of theirs is 2."""


class Commands(TyperGroup):
    """All commands, each of which ends as `ending` has it, and so do their help pages."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse what stands before the command's name."""
        with ending(lambda: FAILURE):
            return super().make_context(info_name, args, parent=parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with ending(lambda: USAGE if ctx.invoked_subcommand in LIKE_GREP else FAILURE):
            return super().invoke(ctx)


@contextmanager
def ending(failure: Callable[[], int]) -> Iterator[None]:
    """Turn what ends the block into a sentence and an exit code, which for a failure the argument gives."""
    try:
        try:
            yield
        except typer.Exit:
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except WrongUsage as error:
        fail(error, USAGE)
    except TocsinError as error:
        fail(error, failure())
    except BrokenPipeError:
        _break()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich ends a program so
            _break()
        raise
    except UnicodeEncodeError as error:
        letters = printable_letters(error.object[error.start : error.end])
        fail(
            f"the output is {error.encoding} text, which has no {letters}; set PYTHONIOENCODING=utf-8, or use --json "
            "where there is such an option",
            failure(),
        )
    except OSError as error:
        fail(_sentence(error), failure())
    except KeyboardInterrupt:
        settle()
        raise typer.Exit(INTERRUPTED) from None


def printable_letters(text: str) -> str:
    """Return the first of some letters in quotes, by its number as well."""
    return f"'{text[0].encode('ascii', 'backslashreplace').decode()}'"


def _sentence(error: OSError) -> str:
    """Return what is wrong with a file or with stdout, which as a rule is what has no name."""
    if error.filename is not None:
        return f"{error.filename} can't be used: {error.strerror}; see that it is there and that this user may use it"
    if error.errno == errno.ENOSPC:
        return "the output can't be written: no space is left on the device; make room, or write it elsewhere"
    return f"the output can't be written: {error.strerror or error}; see where stdout leads to"


def fail(error: object, code: int = FAILURE) -> NoReturn:
    """Print a sentence to stderr and end with an exit code."""
    from stream.secrets import hide

    say(f"tocsin: {hide(str(error))}")
    settle()
    raise typer.Exit(code)


def _break() -> NoReturn:
    drop(sys.stdout)
    raise typer.Exit(BROKEN_PIPE) from None
