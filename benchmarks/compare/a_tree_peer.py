"""The crate ``a-tree`` 0.6 as a contender: the A-Tree of Ji and Jacobsen (SIGMOD 2021) in Rust, built by ``cargo``."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.compare.contender import Outcome, Pairs, Unable
from benchmarks.compare.plain import Makers, attribute_of, bounds_of, translate
from benchmarks.timing import Span
from index.normal_form import FALSE, normalise
from schemas.expression import And, In, NotIn, Or, Range
from schemas.records import Event, Subscription
from schemas.values import Value

SOURCE = Path(__file__).parent / "a_tree"
REPETITIONS = 3


class ATree:
    """Runs as a program of its own on a file of subscriptions and events; it searches one event at a time."""

    name = "a-tree"

    def __init__(self, scratch: Path) -> None:
        cargo = shutil.which("cargo")
        if cargo is None:
            raise Unable("needs cargo, which is not installed")
        self._scratch = scratch
        target = scratch / "a-tree-target"
        command = [cargo, "build", "--release", "--quiet", "--manifest-path", str(SOURCE / "Cargo.toml")]
        built = subprocess.run([*command, "--target-dir", str(target)], capture_output=True, text=True, check=False)
        if built.returncode:
            raise Unable(f"could not be built: {built.stderr.strip()[-300:]}")
        self._program = target / "release" / "a-tree-peer"
        self._subscriptions: Sequence[Subscription] = ()

    def build(self, subscriptions: Sequence[Subscription]) -> None:
        """See `benchmarks.compare.contender.Contender`; the index itself is built by the program."""
        _texts(subscriptions, {})
        self._subscriptions = subscriptions

    def match(self, events: Sequence[Event]) -> Outcome:
        """See `benchmarks.compare.contender.Contender`; reading events is not timed."""
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            file, answers = Path(folder) / "input", Path(folder) / "answers"
            with file.open("w") as out:
                out.writelines(f"{line}\n" for line in _lines(self._subscriptions, events))
            command = [str(self._program), str(file), str(answers), str(REPETITIONS)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode == -signal.SIGXCPU:
                raise Unable("took longer than it may")
            if run.returncode:
                raise Unable(f"ended with: {run.stderr.strip()[-300:]}")
            _, cpu, wall = (float(field) for field in run.stdout.split())
            found = [[int(field) for field in line.split()] for line in answers.read_text().splitlines()]
        return Outcome(Span(cpu / 1e9, wall / 1e9).over(len(events)), None, Pairs.of_lists(found))


def _lines(subscriptions: Sequence[Subscription], events: Sequence[Event]) -> Iterator[str]:
    """Yield the program's input."""
    kinds: dict[str, str] = {}
    for event in events:
        for name, values in event.attributes.items():
            if kinds.get(name) != "strings":
                kinds[name] = _kind(values)
    texts = _texts(subscriptions, kinds)
    yield from (f"D {kind} {name}" for name, kind in kinds.items())
    yield from (f"S {ordinal} {text}" for ordinal, text in texts)
    for event in events:
        fields = (f"{name}={','.join(map(str, values))}" for name, values in event.attributes.items())
        yield "E " + "\t".join(fields)


def _texts(subscriptions: Sequence[Subscription], kinds: dict[str, str]) -> list[tuple[int, str]]:
    """Return ordinal and expression of all subscriptions but those that can never match, which it cannot say."""
    makers = _makers(kinds)
    expressions = ((ordinal, normalise(s.expression)) for ordinal, s in enumerate(subscriptions))
    return [(ordinal, translate(expression, makers)) for ordinal, expression in expressions if expression != FALSE]


def _kind(values: Sequence[Value]) -> str:
    if len(values) > 1:
        return "strings"
    return "integer" if isinstance(values[0], int) else "string"


def _makers(kinds: dict[str, str]) -> Makers[str]:
    """Return what makes expressions; attributes that no event has get a kind when a leaf names them."""

    def listed(leaf: In | NotIn, one: str, several: str) -> str:
        kind = kinds.setdefault(attribute_of(leaf), _kind(leaf.values[:1]))
        values = ", ".join(str(v) if isinstance(v, int) else f'"{v}"' for v in leaf.values)
        return f"{leaf.attribute} {several if kind == 'strings' else one} ({values})"

    def between(leaf: Range) -> str:
        low, high = bounds_of(leaf)
        name = attribute_of(leaf)
        kinds.setdefault(name, "integer")
        return f"({name} >= {low} and {name} <= {high})"

    return {
        And: lambda args: f"({' and '.join(args)})",
        Or: lambda args: f"({' or '.join(args)})",
        In: lambda leaf: listed(leaf, "in", "one of"),
        # An absent attribute makes its predicates neither true nor false there, so an exclusion asks for it first.
        NotIn: lambda leaf: f"({leaf.attribute} is null or {listed(leaf, 'not in', 'none of')})",
        Range: between,
    }
