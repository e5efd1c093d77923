"""What the processes do with the processors that they have."""

import os
import subprocess
import sys

import pytest

COUNT_THREADS = """
import os, keepword.__main__, numpy as np
rows = np.ones((3000, 256), np.float32)
rows @ rows.T
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="with one processor there is one thread anyway")
def test_arrays_are_computed_in_the_thread_that_asks_and_a_number_that_is_set_stays():
    assert threads_with({}) == 1
    assert threads_with({"OPENBLAS_NUM_THREADS": "2"}) > 1


def threads_with(variables: dict[str, str]) -> int:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"} | variables
    command = [sys.executable, "-c", COUNT_THREADS]
    return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
