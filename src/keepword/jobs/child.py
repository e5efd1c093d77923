"""A process that reads text for the service: `python -m keepword.jobs.child`. Calls come in on stdin, results go out.

Each message is its length in eight bytes and a pickle. A call that takes more processor time than it may ends the
process: the kernel's timer also interrupts a pattern that never gives Python the lock back.
"""

import os
import pickle
import signal
import sys
import time
from typing import IO

from keepword import allocator, priority

HEAD_BYTES = 8
# a call takes many times the memory of its message
LARGE_CALL_BYTES = 256 * 1024


def write(stream: IO[bytes], payload: bytes) -> None:
    stream.write(len(payload).to_bytes(HEAD_BYTES) + payload)
    stream.flush()


def read(stream: IO[bytes]) -> bytes:
    """Return the next message; empty when the other side is gone."""
    head = stream.read(HEAD_BYTES)
    return stream.read(int.from_bytes(head)) if len(head) == HEAD_BYTES else b""


def serve(calls: IO[bytes], results: IO[bytes]) -> None:
    while payload := read(calls):
        write(results, _answer(payload))
        if len(payload) > LARGE_CALL_BYTES:
            allocator.give_back()


def _answer(payload: bytes) -> bytes:
    """Do one call; an exception is its result. The processor time that it took goes along."""
    seconds, do, args, kwargs = pickle.loads(payload)  # noqa: S301 - from the process that started us
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        is_good, value = True, do(*args, **kwargs)
    except Exception as exc:  # noqa: BLE001 - raised again by the caller
        is_good, value = False, exc
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return pickle.dumps((is_good, value, time.process_time() - began))


if __name__ == "__main__":
    priority.lower(os.getpid())
    allocator.configure()
    serve(sys.stdin.buffer, sys.stdout.buffer)
