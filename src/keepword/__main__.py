"""Where the command begins: a signal while Python still loads Keepword ends `serve` without a word."""

import gc
import os
import signal
import sys
from typing import NoReturn


def _leave(_: int, __: object) -> NoReturn:
    # nothing has begun; an exception would surface inside whatever is being imported
    os._exit(0)


if sys.argv[1:2] == ["serve"]:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    # loading makes 260,000 objects that stay; looking through them again and again took an eighth of its time. Serving
    # turns it on again
    gc.disable()

# numpy's library reads it once, when it is loaded; the processes that this one starts inherit it. The arrays of a
# search are small: with a second thread one product took 18 times the processor time
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if sys.argv[1:2] == ["hook"]:
    # a host waits for it: nothing of the command line or the service is loaded
    from keepword.hooks.command import main
else:
    from keepword.cli import main  # loading takes most of a second, in which a signal may come

if __name__ == "__main__":
    main()
