"""The tree engines beyond the contract: the paper's labels and algorithms, trees as written, what is refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.papers.exchange import Exchange
from index.classic.dewey import Dewey
from index.classic.dewey_kernel import LabelArrays, OpenNodes, evaluate_dewey
from index.classic.dewey_labels import dewey_labels
from index.classic.interval import Interval
from index.classic.interval_kernel import IntervalArrays, evaluate_interval
from index.classic.interval_labels import interval_labels
from index.classic.postings import SLOTS
from index.classic.tree_conjunction_scan import ConjunctionScan
from index.classic.tree_expansion import DnfExpansion
from index.classic.tree_forms import Conjunction, Node, TreeReader
from index.classic.tree_scan import TreeScan
from index.engine import SelectiveEngine
from index.event_block import EventBlock
from schemas.errors import Refused
from schemas.expression import And, In, Not, NotIn, Or
from schemas.records import Event, Subscription
from tests.contract.support import expected, rows

TREES: dict[str, Callable[[], SelectiveEngine]] = {
    "dewey": Dewey,
    "interval": Interval,
    "tree-scan": TreeScan,
    "conjunction-scan": ConjunctionScan,
}
AS_WRITTEN: dict[str, Callable[[], SelectiveEngine]] = {
    "dewey": lambda: Dewey(as_written=True),
    "interval": lambda: Interval(as_written=True),
    "tree-scan": lambda: TreeScan(as_written=True),
    "conjunction-scan": lambda: ConjunctionScan(as_written=True),
}


def leaf() -> Conjunction:
    return Conjunction((2,), ())


def exchange_tree() -> Node:
    """Return the tree of the paper's figures 2 and 5: (A and B) or C or (D and E and F)."""
    return Node(True, [Node(False, [Node(True, [leaf(), leaf()]), leaf(), Node(True, [leaf(), leaf(), leaf()])])])


def test_dewey_labels_are_those_of_the_papers_figure_2() -> None:
    found = dewey_labels([exchange_tree()])
    starts, edges = found["label_start"].tolist(), found["label_edge"].tolist()
    labels = [edges[low:high] for low, high in pairwise(starts)]
    spelled = [".".join(f"{edge >> 1}{'*' if edge & 1 else ''}" for edge in label) for label in labels]
    assert spelled == ["1*.1.1", "1*.1.2*", "1*.2", "1*.3.1", "1*.3.2", "1*.3.3*"]


def test_interval_labels_are_those_of_the_papers_figure_5() -> None:
    """The paper's M is 10 where ours is the number of leaves, 6."""
    found = interval_labels([exchange_tree()])
    assert list(zip(found["begin"].tolist(), found["end"].tolist(), strict=True)) == [
        *((1, 1), (2, 6), (1, 6)),
        *((1, 4), (5, 5), (6, 6)),
    ]
    assert found["tree_leaves"].tolist() == [6]


def nodes(conjunction: bool, depth: int) -> st.SearchStrategy[Node]:
    child: st.SearchStrategy[Node | Conjunction] = st.builds(leaf)
    if depth:
        child = st.one_of(child, nodes(not conjunction, depth - 1))
    return st.lists(child, min_size=1, max_size=4).map(lambda children: Node(conjunction, children))


def truth_of(item: Node | Conjunction, leaves: Iterator[bool]) -> bool:
    if isinstance(item, Conjunction):
        return next(leaves)
    found = [truth_of(child, leaves) for child in item.children]
    return all(found) if item.conjunction else any(found)


@settings(max_examples=60, deadline=None)
@given(drawn=nodes(True, 4), rng=st.randoms(use_true_random=False))
def test_dewey_and_interval_evaluation_find_the_trees_truth(drawn: Node, rng: random.Random) -> None:
    """The true leaves are all they know."""
    dewey, interval = dewey_labels([drawn]), interval_labels([drawn])
    labels = LabelArrays(dewey["label_start"], dewey["label_edge"])
    depth = int(dewey["label_depth"][0]) + 1
    memory = OpenNodes(np.zeros(depth, np.uint8), np.zeros(depth, np.int32), np.zeros(depth, np.uint8))
    intervals = IntervalArrays(interval["begin"], interval["end"], interval["tree_leaves"])
    leaves = int(interval["tree_leaves"][0])
    matched = np.zeros(leaves + 1, np.int64)
    for mark in range(1, 30):
        likely = rng.random()
        truth = [rng.random() < likely for _ in range(leaves)]
        true = np.flatnonzero(truth).astype(np.int32)
        if len(true):
            wanted = truth_of(drawn, iter(truth))
            assert evaluate_dewey(true, 0, len(true), labels, memory) == wanted
            assert evaluate_interval(true, 0, len(true), leaves, intervals, matched, mark) == wanted


def test_begins_of_all_children_of_ands_but_the_first_are_distinct() -> None:
    """Invariant 3 of the paper, without which B and D of its figure 6 would satisfy the tree."""
    figure_6 = Node(True, [Node(False, [Node(True, [leaf(), leaf()]), Node(True, [leaf(), leaf()])])])
    found = interval_labels([figure_6])
    assert found["begin"].tolist()[1] != found["begin"].tolist()[3]


@pytest.mark.parametrize("name", TREES)
def test_what_a_not_leaves_is_weak_and_exact(name: str) -> None:
    """A conjunction of exclusions alone is true without its attributes, and false as soon as one value is excluded."""
    neither = Not(Or((In("a", (1, 2)), In("b", (1,)))))
    mixed = And((Or((neither, In("c", (1,)))), Not(And((In("a", (3,)), Not(In("c", (2,))))))))
    population = [
        Subscription("0", neither),
        Subscription("1", mixed),
        Subscription("2", NotIn("a", (1,), True)),
        Subscription("3", Not(NotIn("a", (1,), True))),
    ]
    values: Sequence[tuple[int, ...]] = ((), (1,), (3,), (4,), (1, 4), (3, 4))
    happened = [
        Event({name: own for name, own in (("a", a), ("b", b), ("c", c)) if own})
        for a in values
        for b in ((), (1,), (2,))
        for c in ((), (1,), (2,), (1, 2))
    ]
    engine = TREES[name]()
    matcher = engine.open(engine.build(population))
    assert rows(matcher, EventBlock.from_events(happened)) == expected(population, happened)


@pytest.mark.parametrize("name", AS_WRITTEN)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_trees_as_they_are_written_answer_as_in_normal_form(name: str, depth: int) -> None:
    trees = Exchange(depth, never=0.2)
    population, happened = trees.subscriptions(60), trees.events(8)
    engine = AS_WRITTEN[name]()
    found = rows(engine.open(engine.build(population)), EventBlock.from_events(happened))
    assert found == expected(population, happened)
    assert found


def test_as_written_conjunctions_below_an_and_stay_apart() -> None:
    pair = And((And((In("a", (1,)),)), And((In("b", (1,)), In("c", (1,))))))
    joined, apart = (TreeReader("x", as_written).read(Subscription("s", pair)) for as_written in (False, True))
    assert [len(item.literals) for item in joined.children if isinstance(item, Conjunction)] == [3]
    assert [len(item.literals) for item in apart.children if isinstance(item, Conjunction)] == [1, 2]


def test_a_tree_that_expands_too_far_is_refused_by_expansion_alone() -> None:
    explosive = And(tuple(Or((In(f"a{i}", (1,)), In(f"b{i}", (1,)))) for i in range(20)))
    subscription = Subscription("s", explosive)
    with pytest.raises(Refused, match=r"more than 4,096 conjunctions.*'dnf-expansion' cannot express") as refused:
        DnfExpansion().build([subscription])
    assert refused.value.code == "engine.unsupported"
    for make in TREES.values():
        make().check(subscription)


def test_an_and_of_more_literals_than_there_are_slots_is_refused() -> None:
    """An expression within the limits may have it: a ``contains all`` is one predicate, whatever it lists."""
    engine, listed = Dewey(as_written=True), tuple(In("a", (value,)) for value in range(SLOTS + 1))
    most = And(listed[:-1])
    engine.check(Subscription("s", most))
    for wide in (
        Subscription("s", And(listed)),
        Subscription("s", Or((In("b", (1,)), And(listed)))),
        Subscription("s", most, not_before=5),
    ):
        with pytest.raises(Refused, match=r"an AND of more than 65,535 predicates") as refused:
            engine.check(wide)
        assert refused.value.code == "engine.unsupported"


def test_conjunction_scan_evaluates_no_tree_without_a_true_conjunction() -> None:
    population = [Subscription(f"{i:03d}", And((In("a", (i,)), Or((In("b", (1,)), In("c", (1,))))))) for i in range(50)]
    engine = ConjunctionScan()
    matcher = engine.open(engine.build(population))
    view = matcher.keys.view(EventBlock.from_events([Event({"a": (7,)}), Event({"c": (1,)})]))
    touched = [
        {matcher.annotations.annotation_tree[place] for place in matcher.true_annotations(found)}
        for e in range(2)
        for found in [matcher.true_conjunctions(view, e).copy()]
    ]
    assert touched == [{7}, set(range(50))]


def test_as_written_a_tree_that_does_not_alternate_is_refused() -> None:
    nested = And((In("a", (1,)), And((In("b", (1,)), Or((In("c", (1,)), In("d", (1,))))))))
    with pytest.raises(Refused, match=r"a connective below its like"):
        Dewey(as_written=True).check(Subscription("s", nested))
    Dewey().check(Subscription("s", nested))
