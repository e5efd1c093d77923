"""Threads that the end of the process does not wait for."""

import subprocess
import sys

_PROGRAM = """
import atexit, sys, threading
from keepword.daemon import end_process
atexit.register(print, "taken apart")
if {left}:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("done", end=" ")
end_process()
"""


def _run(*, left: bool) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _PROGRAM.format(left=left)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_a_process_with_a_thread_that_was_left_ends_without_being_taken_apart():
    assert _run(left=True).stdout == "done "


def test_a_process_without_one_ends_as_usual():
    assert _run(left=False).stdout == "done taken apart\n"
