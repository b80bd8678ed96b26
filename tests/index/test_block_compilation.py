"""The kernels mean the same without compilation, and stay inside their arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACT = ("tests/contract/test_engine_contract.py", "tests/contract/test_every_leaf.py")


def contract_run(environment: dict[str, str], chosen: str, examples: int) -> None:
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-W", "ignore", *CONTRACT, "-k", chosen]
    environment = os.environ | environment | {"TOCSIN_TEST_EXAMPLES": str(examples)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_contract_holds_without_compilation() -> None:
    contract_run({"NUMBA_DISABLE_JIT": "1"}, "block-w2 and (oracles or dead or prefix or one or cases)", 10)


def test_no_kernel_reads_or_writes_outside_its_arrays(request: pytest.FixtureRequest) -> None:
    """Checked kernels have a cache of their own: the flag is no part of a cached kernel's name.

    They are optimised less, and for masks of one width only, which spares most of the minutes of compiling:
    no kernel says one thing for one width and another for the next.
    """
    cache = request.config.cache
    assert cache is not None
    environment = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1", "NUMBA_CACHE_DIR": str(cache.mkdir("checked-kernels"))}
    contract_run(environment, "block-w2 and not maps", 20)
