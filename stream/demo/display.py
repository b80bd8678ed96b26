"""What the demo shows while it works: steps with spinners and bars in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from stream.console import console

PLAIN_WIDTH = 140
PLAIN_SECONDS = 5.0
"""How often a step that takes long says how far it is, where there is no terminal."""


class Step:
    """A step under way; `update` may be called as often as is convenient."""

    def __init__(self, title: str, total: int | None) -> None:
        self.title = title
        self.total = total
        self.note = ""
        self._started = time.monotonic()

    def update(self, done: int | None = None, note: str | None = None) -> None:
        """Say how far the step is."""
        if note is not None:
            self.note = note

    def summary(self) -> str:
        """Return the line that stays when the step is done."""
        note = f", {self.note}" if self.note else ""
        return f"{self.title}: {time.monotonic() - self._started:.1f} s{note}"


class _TerminalStep(Step):
    def __init__(self, title: str, total: int | None, progress: Progress) -> None:
        super().__init__(title, total)
        self._progress = progress
        self._task: TaskID = progress.add_task(title, total=total, note="")

    def update(self, done: int | None = None, note: str | None = None) -> None:
        super().update(done, note)
        self._progress.update(self._task, completed=done, note=self.note)


class _PlainStep(Step):
    def __init__(self, title: str, total: int | None, console: Console) -> None:
        super().__init__(title, total)
        self._console = console
        self._due = self._started + PLAIN_SECONDS

    def update(self, done: int | None = None, note: str | None = None) -> None:
        super().update(done, note)
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + PLAIN_SECONDS
            far = "" if done is None or self.total is None else f" {done:,} of {self.total:,}"
            self._console.print(f"  {self.title}:{far} {self.note}".rstrip(), soft_wrap=True)


class Display:
    """The demo's output."""

    def __init__(self) -> None:
        self.console = console(plain_width=PLAIN_WIDTH)

    @contextmanager
    def step(self, title: str, total: int | None = None) -> Iterator[Step]:
        """Show a step; its last note stays beside the time it took.

        Parameters
        ----------
        title
            What is done.
        total
            How many parts it has; None when that isn't known.
        """
        if self.console.is_terminal:
            with self._progress(total) as progress:
                step: Step = _TerminalStep(title, total, progress)
                yield step
        else:
            step = _PlainStep(title, total, self.console)
            yield step
        self.console.print(f"[green]done[/] {escape(step.summary())}", markup=True, soft_wrap=True)

    def say(self, sentence: str) -> None:
        """Print one line."""
        self.console.print(sentence, soft_wrap=True)

    def _progress(self, total: int | None) -> Progress:
        bar = [] if total is None else [BarColumn(), TextColumn("{task.percentage:>3.0f} %")]
        note = TextColumn("{task.fields[note]}", markup=False)
        columns = SpinnerColumn(), TextColumn("{task.description}"), *bar, note
        return Progress(*columns, console=self.console, transient=True)
