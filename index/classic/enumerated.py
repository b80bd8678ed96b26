"""The K-index engines with ranges by enumeration: a range is the list of all elementary intervals that lie in it.

Whang et al., "Indexing Boolean Expressions" (PVLDB 2009), section 2.3, which sets the hierarchies of ``kindex-dnf`` and
``kindex-cnf`` against it. With n bounds of an attribute a range takes up to 2 n + 1 posting lists instead of
2 log2(2 n + 1), and a value has one key instead of log2(2 n + 1): `index.classic.ranges`. All else, and so what is
expressed and refused, is the same.
"""

from __future__ import annotations

from index.classic.kindex_cnf import KIndexCnf
from index.classic.kindex_dnf import KIndexDnf


class EnumeratedDnf(KIndexDnf):
    """The engine ``kindex-dnf-enumerated``."""

    name = "kindex-dnf-enumerated"

    def __init__(self, prune: bool = True) -> None:
        super().__init__(prune, "enumeration")


class EnumeratedCnf(KIndexCnf):
    """The engine ``kindex-cnf-enumerated``."""

    name = "kindex-cnf-enumerated"

    def __init__(self, prune: bool = True) -> None:
        super().__init__(prune, "enumeration")
