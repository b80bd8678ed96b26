"""Standing queries of 2.2 terms on average over a vocabulary of 1.5 million, events of 33 terms.

Terms are drawn by 1 / rank, as words are in running text, or as often as in items of news. An event's text is one
attribute with a value a term, so a query is an AND of single-value ``in`` leaves or, said as such, one ``keywords``
leaf.
"""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.draws import Bools, Doubles, Int64s, draw, first_distinct, popularity, stream
from benchmarks.workloads.workload import identifiers
from index.uncollected import no_garbage_collection
from schemas.expression import And, Expression, In, Keywords
from schemas.records import Event, Subscription

VOCABULARY = 1_500_000
ATTRIBUTE = "text"
_LONGEST = 12

EVENT_DRAWS = {"text": 36, "news": 33}
"""So many terms drawn are 33 different ones, on the average."""

_NEWS_RANK = (1, 10, 1_000, 10_000, 470_000)
_NEWS_COUNT = (138_090, 60_469, 4_967, 251, 1)
"""How often terms of these ranks occur in 10 M queries that are drawn as terms occur in items of news.

Hmedeh et al., Subscription Indexes for Web Syndication Systems, table 4: stop words are gone, so the most frequent term
has a share of 0.6 %; by 1 / rank it has 6.8 %.
"""


class Queries:
    """The workload; with ``words`` the queries are ``keywords`` leaves, which mean the same here."""

    size = 10_000_000

    def __init__(self, seed: int = 1, words: bool = False, drawn: str = "text") -> None:
        self.name = "keywords-leaf" if words else "keywords" if drawn == "text" else "keywords-news"
        self._seed = seed
        self._words = words
        self._event_draws = EVENT_DRAWS[drawn]
        self._popularity = popularity(VOCABULARY) if drawn == "text" else news_popularity()

    def subscriptions(self, count: int) -> list[Subscription]:
        """See `benchmarks.workloads.workload.Workload`."""
        term, taken = self.columns(count)
        with no_garbage_collection():
            used, place = np.unique(term[taken], return_inverse=True)
            nodes: list[Expression] = [In(ATTRIBUTE, (word(t),)) for t in used.tolist()]
            texts = [word(t) for t in used.tolist()]
            places, at, found = place.tolist(), 0, []
            for name, length in zip(identifiers(count), taken.sum(axis=1).tolist(), strict=True):
                chosen = places[at : at + length]
                at += length
                if self._words:
                    found.append(Subscription(name, Keywords(ATTRIBUTE, all=tuple(texts[p] for p in chosen))))
                elif length == 1:
                    found.append(Subscription(name, nodes[chosen[0]]))
                else:
                    found.append(Subscription(name, And(tuple(nodes[p] for p in chosen))))
        return found

    def columns(self, count: int) -> tuple[Int64s, Bools]:
        """Return drawn terms [count, columns] and which of them count: the first distinct ones of each row."""
        rng = stream(self._seed, "subscriptions")
        length = np.minimum(rng.geometric(0.45, count), _LONGEST)
        term = np.empty((count, _LONGEST), np.int64)
        taken = np.zeros(term.shape, np.bool_)
        # Most queries are short: drawing by length keeps ten million of them within memory.
        for wanted in range(1, _LONGEST + 1):
            rows = np.flatnonzero(length == wanted)
            drawn = draw(rng, self._popularity, (len(rows), wanted))
            term[rows, :wanted] = drawn
            taken[rows, :wanted] = first_distinct(drawn, np.full(len(rows), wanted))
        return term, taken

    def terms(self, count: int) -> list[list[int]]:
        """Return each event's distinct terms, ascending."""
        drawn = draw(stream(self._seed, "events"), self._popularity, (count, self._event_draws))
        return [sorted(set(row)) for row in drawn.tolist()]

    def events(self, count: int) -> list[Event]:
        """See `benchmarks.workloads.workload.Workload`."""
        return [Event({ATTRIBUTE: tuple(word(t) for t in terms)}) for terms in self.terms(count)]


def news_popularity() -> Doubles:
    """Return how likely each term is in news: between the published ranks, and beyond, straight lines of logarithms."""
    rank, count = np.log(_NEWS_RANK), np.log(_NEWS_COUNT)
    at = np.log(np.arange(1, VOCABULARY + 1))
    slope = (count[-1] - count[-2]) / (rank[-1] - rank[-2])
    share = np.exp(np.where(at <= rank[-1], np.interp(at, rank, count), count[-1] + slope * (at - rank[-1])))
    return np.asarray(share / share.sum(), np.float64)


def word(term: int) -> str:
    """Return the text of a term, one token under either analyser."""
    return f"w{term}"
