"""Runs commands with a real terminal as their input and output."""

import os
import pty
import subprocess
import sys
from pathlib import Path

KEEPWORD = str(Path(sys.executable).parent / "keepword")
# sets a title, clears the screen, begins a C1 sequence, turns the writing direction
HOSTILE = "a\x1b]0;pwned\x07b\x1b[2Jc\x9b31md\u202ee"


def on_terminal(service, *args, columns=100):
    """Run the command with a terminal as its output and return its exit status and what is shown."""
    leader, follower = pty.openpty()
    env = os.environ | {"KEEPWORD_URL": service.url, "COLUMNS": str(columns), "TERM": "xterm"}
    with subprocess.Popen(
        [KEEPWORD, *args], env=env, cwd="/", stdout=follower, stderr=follower, stdin=follower
    ) as process:
        os.close(follower)
        shown = b""
        try:
            while got := os.read(leader, 65536):
                shown += got
        except OSError:  # how a terminal says that the other side is gone
            pass
        os.close(leader)
    return process.returncode, shown.decode()
