"""The account that the server runs as, since PostgreSQL refuses to run as root.

It is chosen once, for a data folder without a database. From then on the owner of that folder is the account, whatever
accounts come and go on the machine.
"""

import fcntl
import grp
import os
import pwd
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from keepword.errors import StartError

ACCOUNT = "keepword"
FALLBACK = "nobody"  # initdb needs an account with a name, and every system has this one
# other programs that change accounts hold the lock of /etc/passwd, for a moment each
MAKE_SECONDS = 30
RETRY_SECONDS = 0.1
_ETC = Path("/etc")
# the first is root's alone; in the second anybody may make files, so the owner is checked
_LOCKS = (Path("/run/keepword-account.lock"), Path("/tmp/keepword-account.lock"))  # noqa: S108


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int

    def take(self, path: Path) -> None:
        """Make this account the owner of `path`, of the link itself if it is one."""
        os.chown(path, self.uid, self.gid, follow_symlinks=False)


def owner_of(data: Path) -> Account | None:
    """Return the account that the server of this folder runs as, or None if it runs as this process does."""
    if os.geteuid() != 0:
        return None
    owner = data.stat()
    if owner.st_uid == 0:
        raise StartError(
            f"{data} belongs to root, and PostgreSQL refuses to run as root; give the folder to the server's account: "
            f"chown -R {ACCOUNT}: '{data}'"
        )
    with suppress(KeyError):
        return Account(owner.st_uid, pwd.getpwuid(owner.st_uid).pw_gid)
    return Account(owner.st_uid, owner.st_gid)


def choose() -> Account:
    """Return the account for a new database: `keepword`, made if it can be, else `nobody`."""
    with _first_start_lock():
        refusal = _make_account()
    for name in (ACCOUNT, FALLBACK):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid)
    raise StartError(
        f"PostgreSQL refuses to run as root, and there is neither an account {ACCOUNT} nor {FALLBACK}; make one with "
        f"`useradd --system {ACCOUNT}`, or start Keepword as an ordinary user ({refusal})"
    )


def _make_account() -> str:
    """Make the account unless it is there; returns why it could not be made."""
    useradd = shutil.which("useradd", path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"]))
    deadline = time.monotonic() + MAKE_SECONDS
    while not _exists():
        if useradd is None:
            return "there is no useradd"
        refusal = _add_account(useradd)
        if not refusal or not _is_locked(refusal) or time.monotonic() > deadline:
            return refusal
        time.sleep(RETRY_SECONDS)
    return ""


def _exists() -> bool:
    with suppress(KeyError):
        return bool(pwd.getpwnam(ACCOUNT))
    return False


def _add_account(useradd: str) -> str:
    group = []
    with suppress(KeyError):
        group = ["--gid", grp.getgrnam(ACCOUNT).gr_name]  # useradd refuses to make a group that is there
    try:
        done = subprocess.run(  # noqa: S603
            [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", *group, ACCOUNT],
            check=False, capture_output=True, text=True, timeout=MAKE_SECONDS, env=os.environ | {"LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        return str(exc)
    return (done.stderr.strip() or f"useradd failed with status {done.returncode}") if done.returncode else ""


def _is_locked(refusal: str) -> bool:
    # useradd says the same of a lock that somebody else holds and of one that it can't make on a read-only disk
    return "lock" in refusal and os.access(_ETC, os.W_OK)


@contextmanager
def _first_start_lock() -> Iterator[None]:
    """Let one first start of this machine at a time make the account.

    Where no lock can be made, useradd's own lock and the retry after it have to do.
    """
    handle = next((handle for path in _LOCKS if (handle := _open_lock(path)) is not None), None)
    try:
        if handle is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _open_lock(path: Path) -> int | None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    file = os.fstat(handle)
    if stat.S_ISREG(file.st_mode) and file.st_uid == os.geteuid():
        return handle
    os.close(handle)
    return None
