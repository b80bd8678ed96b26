"""Ten faults, two of each kind, while events and subscriptions keep coming: nothing lost, doubled, wrong or stuck."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.faults import FAULTS
from tests.faults.run import run


@pytest.mark.faults
def test_ten_faults_lose_and_double_nothing(tmp_path: Path) -> None:
    report = run(2 * len(FAULTS), seed=6, kinds=sorted(FAULTS), folder=tmp_path)
    assert set(report.faults.values()) == {2}
    assert report.verdict.examples == []
    assert report.good
    assert report.verdict.right > 1_000
