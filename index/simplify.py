"""What the arguments of one AND or OR make superfluous: duplicates, contradictions, arguments that others imply.

Every rule keeps the truth for every event, several values of an attribute included, and the score: an argument that may
score goes only where an equal one stays.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import chain, islice

from index.parts import FALSE_PART, TRUE_PART, Connective, Part
from schemas.expression import And

COMPARISONS = 32
"""How many pairs of arguments are compared at most for each member of them."""


def simplified(connective: Connective, parts: Sequence[Part]) -> list[Part]:
    """Return the arguments that are left; none of an AND means true, none of an OR false.

    Parameters
    ----------
    connective
        What joins the parts.
    parts
        No part is itself joined by that connective.
    """
    return _conjunction(parts) if connective is And else _disjunction(parts)


def _conjunction(parts: Sequence[Part]) -> list[Part]:
    """Keep what scores, and of the rest what no other argument implies."""
    present = {part.presence for part in parts if part.presence >= 0 and not part.negated}
    truths = {part.truth for part in parts} | present
    if any(part.truth ^ 1 in truths or part is FALSE_PART for part in parts):
        return [FALSE_PART]
    seen = {part.truth for part in parts if part.scores} | present
    kept: list[Part] = []
    for part in parts:
        by_absence = part.negated and part.presence >= 0 and part.presence ^ 1 in truths
        if part.scores or not (by_absence or part.truth in seen):
            kept.append(part)
        seen.add(part.truth)
    sets = [frozenset(inner.truth for inner in part.parts) or frozenset((part.truth,)) for part in kept]
    return _unabsorbed(kept, sets, lambda small, large: not large.scores)


def _disjunction(parts: Sequence[Part]) -> list[Part]:
    """Drop duplicates and what implies another branch; beside a true branch only branches that may score count."""
    first: dict[int, Part] = {}
    for part in parts:
        first.setdefault(part.key, part)
    distinct = list(first.values())
    silent = {part.truth for part in distinct if not part.scores}
    absent = {part.presence ^ 1 for part in distinct if part.presence >= 0 and part.negated}
    if (
        any(part is TRUE_PART for part in distinct)
        or any(part.truth ^ 1 in silent and not part.scores for part in distinct)
        or any(truth ^ 1 in silent for truth in absent)
    ):
        return [TRUE_PART, *(part for part in distinct if part.scores)]
    kept = [
        part
        for part in distinct
        if part.scores or not ((part.presence in silent and not part.negated) or part.truth in absent)
    ]
    sets = [frozenset(inner.key for inner in part.parts) or frozenset((part.key,)) for part in kept]
    return _unabsorbed(kept, sets, lambda small, large: _scoring(small) == _scoring(large))


def _scoring(part: Part) -> list[int]:
    """Return the keys of what scores in a branch of an OR, as often as it does."""
    return sorted(inner.key for inner in part.parts or (part,) if inner.scores)


def _unabsorbed(parts: list[Part], sets: Sequence[frozenset[int]], allowed: Callable[[Part, Part], bool]) -> list[Part]:
    """Drop each part whose set holds the set of another, where that is allowed.

    Each set is looked up by its rarest member. The number of comparisons is bounded by the number of members, so that
    no population of branches takes quadratic time; beyond it parts simply stay.
    """
    if all(len(members) == 1 for members in sets):
        return parts
    count = Counter(chain.from_iterable(sets))
    by_rarest: dict[int, list[int]] = defaultdict(list)
    for i, members in enumerate(sets):
        by_rarest[min(members, key=lambda member: (count[member], member))].append(i)
    left = COMPARISONS * sum(map(len, sets))
    kept: list[Part] = []
    for i, members in enumerate(sets):
        others = (j for member in members for j in by_rarest.get(member, ()) if j != i) if len(members) > 1 else ()
        for j in islice(others, max(left, 0)):
            left -= 1
            smaller = (len(sets[j]), j) < (len(members), i)
            if smaller and sets[j] <= members and allowed(parts[j], parts[i]):
                break
        else:
            kept.append(parts[i])
    return kept
