"""Memory that a request needed goes back to the system."""

import subprocess
import sys

import pytest

MIB = 2**20
# a body of 31 MiB, then smaller ones, each below a small block that stays
HOLD_AND_FREE = """
import re, sys
from keepword import allocator
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
if sys.argv[1] == "configured":
    allocator.configure()
before = resident()
del_me = b"x" * (31 << 20)
del del_me
held = []
for _ in range(4):
    body = b"x" * (12 << 20)
    held.append(b"y" * 100_000)
    del body
    held.append(b"y" * 100_000)
print(resident() - before)
if sys.argv[1] == "given back":
    allocator.give_back()
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator of other systems is not configured")
def test_large_blocks_go_back_when_they_are_freed():
    assert kept("configured")[1] < 4 * MIB < kept("as it is")[1]


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator of other systems is not configured")
def test_free_memory_between_blocks_in_use_is_given_back():
    before, after = kept("given back")
    assert after < 4 * MIB < before


def kept(how: str) -> list[int]:
    command = [sys.executable, "-c", HOLD_AND_FREE, how]
    return [int(line) for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]
