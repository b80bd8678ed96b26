"""DNF expansion: every tree is multiplied out, and its conjunctions are matched by the K-index.

"Efficiently Evaluating Complex Boolean Expressions" (Fontoura et al., SIGMOD 2010), section 5.2. A tree may have
exponentially many conjunctions; one with more than `index.classic.conjunctions` allows is refused. Everything else,
the ranking with both prunings included, is the conjunction algorithm of Whang et al., `index.classic.kindex_dnf`.
"""

from __future__ import annotations

from index.classic.kindex_dnf import KIndexDnf


class DnfExpansion(KIndexDnf):
    """The engine ``dnf-expansion``."""

    name = "dnf-expansion"
