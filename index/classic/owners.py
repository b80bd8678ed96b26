"""Whose a conjunction is: from satisfied conjunctions to answers."""

from __future__ import annotations

from typing import NamedTuple

from index.arrays import Int32s, Int64s
from index.classic import answers as held
from index.kernel import inlined


class Owners(NamedTuple):
    """The subscriptions that have a conjunction.

    Attributes
    ----------
    owner_start, owner
        int64 [conjunctions + 1], int32: conjunction c has the owners ``owner_start[c]`` to ``owner_start[c + 1]``,
        ascending.
    owner_points
        int64 [subscriptions], their priorities in units of 1 / SCORE_SCALE.
    """

    owner_start: Int64s
    owner: Int32s
    owner_points: Int64s


@inlined
def offer_owners(conjunction, points, owners, answers):  # type: ignore[no-untyped-def]
    """Offer the living owners of a satisfied conjunction that scores ``points``."""
    for i in range(owners.owner_start[conjunction], owners.owner_start[conjunction + 1]):
        owner = owners.owner[i]
        if not answers.is_dead[owner]:
            held.offer(answers, owner, points + owners.owner_points[owner])
