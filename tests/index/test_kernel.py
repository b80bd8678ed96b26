"""Kernels that an older version of the code has compiled are compiled again, whatever they were for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNEL = """
from index.kernel import inlined, kernel

@inlined
def first(pair):
    return pair.values[0]

@kernel
def twice(pair):
    return 2 * first(pair)
"""
TYPES = """
from typing import NamedTuple
import numpy as np

class {name}(NamedTuple):
    values: np.ndarray
"""
CALL = """
import numpy as np
from {module} import {name}
from kernels import twice
print(twice({name}(np.arange(3) + 4)), sum(twice.stats.cache_hits.values()))
"""


def test_files_that_name_what_is_no_more_are_passed_over(tmp_path: Path) -> None:
    """A module has another name after the first call, and a type after the second."""
    (tmp_path / "kernels.py").write_text(KERNEL)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment["PYTHONPATH"] = f"{tmp_path}:{ROOT}"

    def call(module: str, name: str) -> str:
        for other in tmp_path.glob("types_*.py"):
            other.unlink()
        (tmp_path / f"{module}.py").write_text(TYPES.format(name=name))
        command = [sys.executable, "-c", CALL.format(module=module, name=name)]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert call("types_of_one", "Pair") == "8 0"
    assert call("types_of_two", "Pair") == "8 0"
    assert call("types_of_two", "Couple") == "8 0"
    assert call("types_of_two", "Couple") == "8 1", "what is up to date is not compiled again"
