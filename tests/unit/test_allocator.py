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


# texts of all sizes, freed in two threads, and then looked for in all memory of the process
FREE_AND_LOOK = """
import gc, re, sys, threading
from keepword import allocator
allocator.configure()
def texts():
    made = [("sec" + "ret%d" % i) * n for n, many in ((7, 2000), (100, 300), (8000, 30)) for i in range(many)]
    between = [bytes(700) for _ in range(3000)]
    del made
    return between
def found():
    number = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            fields = line.split()
            begin, end = (int(one, 16) for one in fields[0].split("-"))
            if "r" in fields[1] and not (len(fields) > 5 and fields[5].startswith(("/", "[v"))):
                memory.seek(begin)
                number += len(re.findall(b"sec" + b"ret", memory.read(end - begin)))
    return number
held = [texts()]
thread = threading.Thread(target=lambda: held.append(texts()))
thread.start()
thread.join()
gc.collect()
print(found())
allocator.wipe()
print(found())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read as Linux shows it")
def test_freed_texts_are_overwritten_in_every_arena():
    done = subprocess.run([sys.executable, "-c", FREE_AND_LOOK], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    # the C library keeps a few small blocks for each thread, which nobody else gets
    assert after < before / 50, (before, after)


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
