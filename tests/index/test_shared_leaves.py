"""What a merge decodes is what was written, with one object for equal leaves."""

from __future__ import annotations

from benchmarks.workloads.registry import workload
from index.segment import Rows
from schemas.expression import And, In
from schemas.records import Subscription


def test_rows_give_back_the_subscriptions_they_were_made_of() -> None:
    for name in ("ads-uniform", "trees", "mixed"):
        subscriptions = workload(name).subscriptions(200)
        assert Rows.of(subscriptions).subscriptions() == subscriptions


def test_equal_leaves_of_two_subscriptions_are_one_object_and_values_that_python_takes_for_equal_are_not() -> None:

    made = [Subscription(str(i), And((In("a", (value,)), In("b", (2,))))) for i, value in enumerate((1, True, 1.0, 1))]
    first, *_, last = found = [s.expression for s in Rows.of(made).subscriptions()]
    assert isinstance(first, And)
    assert isinstance(last, And)
    assert all(a is b for a, b in zip(first.args, last.args, strict=True))
    assert [type(e.args[0].values[0]) for e in found] == [int, bool, float, int]  # type: ignore[union-attr]
