"""A small run of the index directory's state machine: ``python -m tests.index.small_machine oracle|block EXAMPLES``.

For processes of their own, which Numba's environment variables run without compilation or with checked bounds.
"""

from __future__ import annotations

import sys

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.index.test_index_directory import BlockIndexDirectoryMachine, IndexDirectoryMachine

MACHINES = {"oracle": IndexDirectoryMachine, "block": BlockIndexDirectoryMachine}


def main(machine: str, examples: str) -> None:
    """Run it with the same examples each time; an error ends the process with a traceback."""
    limits = settings(
        max_examples=int(examples),
        stateful_step_count=20,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(MACHINES[machine], settings=limits)


if __name__ == "__main__":
    main(*sys.argv[1:])
