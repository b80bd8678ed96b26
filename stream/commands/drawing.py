"""Draws an explanation: the tree with the truth of each predicate, what met it, what it adds, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from stream.commands.drawn_nodes import drawn_nodes
from stream.commands.shared import printable
from stream.wording import counted, spell_score

if TYPE_CHECKING:
    from index.explain.evidence import Evidence
    from index.explain.explanation import Explanation
    from index.explain.scores import Term
    from schemas.values import Value

SHOWN_VALUES = 4
SHOWN_LETTERS = 100

TRUE, FALSE, MISSING, SCORE, QUIET = "green", "red", "bold yellow", "cyan", "dim"


def draw(console: Console, explanation: Explanation) -> None:
    """Print an explanation."""
    console.print(headline(explanation), soft_wrap=True)
    console.print(_tree(explanation))
    for line in _remarks(explanation):
        console.print(line, soft_wrap=True)


def headline(explanation: Explanation) -> Text:
    """Return the answer in a line."""
    text = Text().append(printable(explanation.subscription.id), style="bold")
    if explanation.points is None:
        return text.append(" does not match", style=FALSE)
    text.append(" matches", style=TRUE)
    text.append(", score ").append(_score(explanation.points), style=SCORE)
    if explanation.priority:
        text.append(f" with priority {_score(explanation.priority)}")
    return text


def _remarks(explanation: Explanation) -> list[Text]:
    """Return what is missing, in words."""
    lines = []
    weighing = explanation.weighing
    if weighing is not None and weighing.met is not None and weighing.wanted is not None:
        sign = "≥" if explanation.holds else "<"
        lines.append(
            Text(f"share of the weights: {float(weighing.met):.6g} {sign} {float(weighing.wanted):.6g} wanted")
        )
    if not explanation.in_time:
        lines.append(Text(f"validity: {_validity(explanation)}", style=MISSING))
    if explanation.holds:
        return lines
    turning = explanation.turning
    if not turning.places:
        return [*lines, Text("no event can match: the tree is false whatever its predicates are", style=MISSING)]
    count, predicates = int(turning.fewest), counted(turning.predicates, "predicate")
    others = "" if explanation.in_time else " and its validity"
    if explanation.weighing is None:
        cure = f"if just {'that' if count == 1 else 'those'} changed{others}, it would match"
    else:
        within = "" if explanation.in_time else " and within its validity"
        cure = f"with {'its' if count == 1 else 'their'} full weight{within} it would match"
    if not turning.is_least:
        cure += "; perhaps fewer would do, which would take too long to find out"
    if not turning.turns:
        cure = "some of them stand in several places, and no small change was found with which it would match"
    lines.append(Text(f"kept away by {count:,} of its {predicates}: {cure}", style=MISSING))
    return lines


def _validity(explanation: Explanation) -> str:
    from schemas.instants import utc

    subscription, time = explanation.subscription, explanation.event.time

    def spell(moment: int | None) -> str:
        known = None if moment is None else utc(moment)
        return str(moment) if known is None else f"{known:%Y-%m-%dT%H:%M:%S}Z"

    if time is None:
        return "the event has no time, and the subscription has bounds"
    if subscription.not_before is not None and time < subscription.not_before:
        return f"the event's time {spell(time)} is before {spell(subscription.not_before)}"
    return f"the event's time {spell(time)} is after {spell(subscription.not_after)}"


def _tree(explanation: Explanation) -> Tree:
    shown = drawn_nodes(explanation)
    drawn = {0: Tree(_label(explanation, 0), guide_style=QUIET)}
    left_out: Counter[int] = Counter()
    for place, parent in enumerate(explanation.tree.parents[1:], 1):
        if place in shown:
            drawn[place] = drawn[parent].add(_label(explanation, place))
        elif parent in shown:
            left_out[parent] += 1
    for parent, count in left_out.items():
        drawn[parent].add(Text(f"… {count:,} more: see --json", style=QUIET))
    return drawn[0]


def _label(explanation: Explanation, place: int) -> Text:
    holds = explanation.tree.holds[place]
    if explanation.weighing is not None and place not in explanation.evidence:
        return Text(_mode(explanation), style="bold")
    text = Text().append("✔ " if holds else "✘ ", style=TRUE if holds else FALSE)
    if place in explanation.evidence:
        from schemas.filter_leaf_printer import format_leaf

        leaf = explanation.tree.nodes[place]
        text.append(_short(format_leaf(leaf)))  # type: ignore[arg-type]
        text.append_text(_seen(explanation.evidence[place], holds))
    else:
        text.append(str(type(explanation.tree.nodes[place]).__struct_config__.tag), style="bold")
    text.append_text(_gain(explanation, place))
    if place in explanation.missing:
        text.append(f"  ◀ {_fault(explanation, holds)}", style=MISSING)
    return text


def _fault(explanation: Explanation, holds: bool) -> str:
    """Return what is wrong with a marked predicate."""
    if not holds:
        return "missing"
    return "in the way" if explanation.weighing is None else "weighs too little"


def _mode(explanation: Explanation) -> str:
    """Return what stands for the connective where that has no say."""
    threshold = explanation.subscription.threshold
    if threshold is None:
        return "at least one weighted predicate (mode relaxed)"
    return f"at least {threshold:.15g} of the weights (mode threshold)"


def _seen(found: Evidence, holds: bool) -> Text:
    """Return what the event has that speaks for a predicate or against it."""
    text = Text(style=QUIET)
    if not found.values:
        return text.append("  absent")
    if found.met:
        text.append(f"  {'met by' if holds else 'has'} {_listed(found.met)}")
    if found.against:
        text.append(f"  has {_listed(found.against)}")
    if found.missing:
        text.append(f"  lacks {_listed(found.missing)}")
    return text if text.plain else text.append(f"  has {_listed(found.values)}")


def _gain(explanation: Explanation, place: int) -> Text:
    """Return what a node adds to the score."""
    text = Text(style=SCORE)
    if explanation.scores is not None:
        points, counts = explanation.scores.points[place], explanation.scores.counts[place]
        parent = explanation.tree.parents[place]
        if points is None or not explanation.matches:
            return text
        chosen = parent >= 0 and _is_choice(explanation, parent) and explanation.scores.counts[parent]
        if not (points or chosen):
            return text
        text.append(f"  {_sum(explanation.terms.get(place, ()), points)}")
        if chosen:
            text.append(" ◀ best branch" if counts else ", not the best", style=SCORE if counts else QUIET)
    elif explanation.weighing is not None and explanation.weighing.points.get(place) is not None:
        points = explanation.weighing.points[place] or 0
        text.append(f"  {'+' if points >= 0 else ''}{_score(points)}")
    return text


def _is_choice(explanation: Explanation, place: int) -> bool:
    """Return whether a node is an OR of which more than one branch is true."""
    from schemas.expression import Or

    tree = explanation.tree
    branches = (child for child, parent in enumerate(tree.parents) if parent == place and tree.holds[child])
    return isinstance(tree.nodes[place], Or) and next(branches, -1) >= 0 and next(branches, -1) >= 0


def _sum(terms: Sequence[Term], points: int) -> str:
    """Return a score, as the sum of products where it is one of few."""
    total = f"{'+' if points >= 0 else ''}{_score(points)}"
    if not terms or len(terms) > SHOWN_VALUES or all(t.event_weight == t.weight == 1.0 for t in terms):
        return total
    return f"{total} = {' + '.join(f'{term.event_weight:.15g} × {term.weight:.15g}' for term in terms)}"


def _score(points: int) -> str:
    from index.oracle import as_score

    return spell_score(as_score(points))


def _listed(values: Sequence[Value]) -> str:
    from schemas.filter_leaf_printer import format_value

    shown = ", ".join(_short(format_value(value)) for value in values[:SHOWN_VALUES])
    more = len(values) - SHOWN_VALUES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _short(text: str) -> str:
    text = printable(text)
    return text if len(text) <= SHOWN_LETTERS else f"{text[:SHOWN_LETTERS]}… ({len(text):,} characters)"
