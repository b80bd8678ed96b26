"""The kernels of the engines from the literature stay inside their arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAWS = ("tests/contract/test_engine_contract.py", "tests/contract/test_classic_engines.py")
CHOSEN = "not block and (scores_equal or buffer or pruning or any_cnf)"


def test_no_kernel_of_theirs_reads_or_writes_outside_its_arrays(request: pytest.FixtureRequest) -> None:
    """Checked kernels have a cache of their own: the flag is no part of a cached kernel's name."""
    cache = request.config.cache
    assert cache is not None
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache.mkdir("checked-kernels"))}
    environment = os.environ | checked | {"TOCSIN_TEST_EXAMPLES": "10"}
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-W", "ignore", *LAWS, "-k", CHOSEN]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "passed" in done.stdout
