"""A stop ends the process in time, though nobody can be told."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ABANDONED = """
import sys, threading
from stream import stop

stop.STOP_SECONDS = 0.6

def tell(sentence):
    print(sentence, flush=True)
    raise BrokenPipeError

stop.Stop(tell, tell).begin({error})
threading.Event().wait(60)
"""


@pytest.mark.parametrize(
    ("error", "code", "told"), [("None", 0, "is abandoned"), ("'the index is gone'", 1, "is gone")]
)
def test_a_batch_that_does_not_end_is_abandoned_though_telling_it_fails(error: str, code: int, told: str) -> None:
    command = [sys.executable, "-c", ABANDONED.format(error=error)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=40, check=False, env=os.environ)
    assert done.returncode == code
    assert told in done.stdout
