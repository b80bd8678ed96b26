"""One fault of each kind while events and subscriptions keep coming: nothing lost, doubled, wrong or stuck."""

from __future__ import annotations

from pathlib import Path

from tests.faults.faults import FAULTS
from tests.faults.run import run


def test_one_fault_of_each_kind_loses_and_doubles_nothing(tmp_path: Path) -> None:
    report = run(len(FAULTS), seed=6, kinds=sorted(FAULTS), folder=tmp_path)
    assert report.total.examples == []
    assert report.good, report.reasons
    assert set(report.faults) == FAULTS.keys() - report.skipped.keys()
    assert report.total.right > 1_000
