"""Where the server's account can get to. No folder above the data is opened for it: that would open it for all."""

import pwd
import subprocess
from contextlib import suppress
from pathlib import Path

from keepword.errors import StartError
from keepword.postgres.embedded.account import Account

# the names that Keepword itself makes or reads in a data folder
OWN_NAMES = {"lock", "in-use", "postgres", "postgres.log", "postgres.log.1", "programs", "templates", "keepword.toml"}


def can_enter(account: Account, folder: Path) -> bool:
    """Tell whether the account may go into a folder. The system is asked: it also knows access lists."""
    done = subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", 'cd "$1"', "sh", folder], cwd="/", check=False, capture_output=True, env={},
        user=account.uid, group=account.gid, extra_groups=[],
    )  # fmt: skip
    return done.returncode == 0


def open_home(home: Path) -> None:
    """Let all accounts pass through the data folder itself, if it holds nothing but Keepword's own."""
    if {entry.name for entry in home.iterdir()} <= OWN_NAMES:
        home.chmod(home.stat().st_mode | 0o001)


def require_reachable(account: Account, data: Path) -> None:
    if can_enter(account, data):
        return
    closed = next((folder for folder in reversed(data.parents) if not can_enter(account, folder)), data)
    raise StartError(
        f"the database runs as the account {_name(account)}, which can't get to {data}: {closed} is closed to it. "
        "Keepword opens no folder above its data; name another data folder with KEEPWORD_HOME (root's is "
        f"/var/lib/keepword by default), or let all accounts pass through: chmod o+x '{closed}'"
    )


def require_no_links(*paths: Path) -> None:
    """Refuse links in the data folder: its author could lead a start by root to any file."""
    for path in paths:
        if path.is_symlink():
            raise StartError(
                f"{path} is a link to {path.readlink()}, and Keepword follows no links in its data folder; put that "
                "there itself, or name another data folder with KEEPWORD_HOME"
            )


def _name(account: Account) -> str:
    with suppress(KeyError):
        return pwd.getpwuid(account.uid).pw_name
    return str(account.uid)
