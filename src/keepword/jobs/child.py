"""A process that reads text for the service: `python -m keepword.jobs.child`. Calls come in on stdin, results go out.

Each message is its length in eight bytes and a pickle. A call that takes more processor time than it may ends the
process: the kernel's timer also interrupts a pattern that never gives Python the lock back.
"""

import os
import pickle
import signal
import sys
import time
from contextlib import suppress
from io import FileIO
from typing import IO

from keepword import allocator, priority

HEAD_BYTES = 8
# a call takes many times the memory of its message
LARGE_CALL_BYTES = 256 * 1024


def write(stream: IO[bytes], payload: bytes) -> None:
    stream.write(len(payload).to_bytes(HEAD_BYTES) + payload)
    stream.flush()


def read(stream: IO[bytes] | FileIO) -> bytes:
    """Return the next message; empty when the other side is gone."""
    head = _read_all(stream, HEAD_BYTES)
    return _read_all(stream, int.from_bytes(head)) if len(head) == HEAD_BYTES else b""


def _read_all(stream: IO[bytes] | FileIO, length: int) -> bytes:
    # a stream without a buffer gives what is there
    parts: list[bytes] = []
    while length and (part := stream.read(length)):
        parts.append(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


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
    # the service ended while a text was read: nobody waits for the result
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer)
    # not by the interpreter's end, which would write to the pipe again and complain
    os._exit(0)
