"""Keepword as a service of whoever is logged in: a unit of systemd, or of launchd on macOS."""

import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

Manager = Literal["systemd", "launchd"]

_UNIT = "keepword.service"
_LABEL = "dev.keepword.serve"


def find_manager() -> Manager | None:
    """Return what starts a user's services on this machine."""
    if sys.platform == "darwin" and shutil.which("launchctl"):
        return "launchd"
    return "systemd" if shutil.which("systemctl") else None


def start(manager: Manager, program: Path, log: Path) -> bool:
    """Write the unit and start it; False, with the reason printed, where the system does not take it."""
    if manager == "systemd":
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        file = base / "systemd" / "user" / _UNIT
        _write(file, systemd_unit(program))
        return _run(file, ["systemctl", "--user", "enable", "--now", _UNIT])
    file = Path.home() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    _write(file, launchd_unit(program, log))
    return _run(file, ["launchctl", "bootstrap", f"gui/{os.getuid()}", str(file)])


def systemd_unit(program: Path) -> bytes:
    command = shlex.quote(str(program))
    return (
        f"[Unit]\nDescription=Keepword\n\n[Service]\nExecStart={command} serve\nRestart=on-failure\n\n"
        "[Install]\nWantedBy=default.target\n"
    ).encode()


def launchd_unit(program: Path, log: Path) -> bytes:
    return plistlib.dumps({
        "Label": _LABEL, "ProgramArguments": [str(program), "serve"], "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False}, "StandardOutPath": str(log), "StandardErrorPath": str(log),
    })  # fmt: skip


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _run(file: Path, command: list[str]) -> bool:
    done = subprocess.run(  # noqa: S603 - the system's own command
        [shutil.which(command[0]) or command[0], *command[1:]], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"{command[0]} did not take {file}: {done.stderr.strip()}")
    return done.returncode == 0
