"""Work in a thread that the end of the process does not wait for."""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def run_in_daemon(work: Callable[[], T], name: str) -> Future[T]:
    """Start work in a daemon thread; the future has its result, or what it raised."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    threading.Thread(target=settle, args=(future, work), name=name, daemon=True).start()
    return future


def end_process() -> None:
    """End the process at once where daemon threads are left: the interpreter would take apart what they still use.

    Call it last: what is registered with atexit does not run then.
    """
    if any(thread.daemon for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def settle(future: Future[T], work: Callable[[], T]) -> None:
    """Do the work in this thread; the future gets its result, or what it raised."""
    try:
        result = work()
    except BaseException as exc:  # noqa: BLE001 - raised again by whoever waits for the future
        future.set_exception(exc)
    else:
        future.set_result(result)
