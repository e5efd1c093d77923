"""The account that the server runs as: PostgreSQL refuses to run as root."""

import os
import pwd
import shutil
import subprocess
from contextlib import suppress

ACCOUNT = "keepword"


def server_account() -> pwd.struct_passwd | None:
    """Return the account that the server runs as, if not our own: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam(ACCOUNT)
    if useradd := shutil.which("useradd"):
        subprocess.run(  # noqa: S603
            [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT],
            check=False, capture_output=True,
        )  # fmt: skip
        with suppress(KeyError):
            return pwd.getpwnam(ACCOUNT)
    return pwd.getpwnam("nobody")
