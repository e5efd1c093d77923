"""Processes that give way, whether the system shares the processor among processes or among sessions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keepword import priority

WAITS = [sys.executable, "-c", "input()"]


@pytest.fixture(params=[True, False], ids=["a session of its own", "our session"])
def process(request):
    started = subprocess.Popen(WAITS, stdin=subprocess.PIPE, start_new_session=request.param)
    yield started, request.param
    started.communicate(b"\n")


def test_a_process_gives_way_to_others_and_its_session_to_other_sessions(process):
    started, has_own_session = process
    group = Path(f"/proc/{os.getpid()}/autogroup")
    ours = group.read_text() if group.exists() else None
    priority.lower(started.pid)
    assert os.getpriority(os.PRIO_PROCESS, started.pid) == priority.NICE
    if ours is not None:
        assert group.read_text() == ours
        if has_own_session:
            assert Path(f"/proc/{started.pid}/autogroup").read_text().split()[-1] == str(priority.NICE)


def test_a_process_that_is_gone_is_no_error():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    priority.lower(ended.pid)
