"""Several real PostgreSQL servers that share tenants, for the tests of KEEPWORD_SERVERS."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from psycopg.conninfo import conninfo_to_dict

from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.keys import NewKey, make_key
from patience import HANG_SECONDS


def url_of(conninfo: str) -> str:
    """Return how a service of several servers connects to an embedded server."""
    parts = conninfo_to_dict(conninfo)
    return f"postgresql:///{parts['dbname']}?host={parts['host']}&user={parts['user']}"


def setting(conninfos: dict[str, str]) -> str:
    return " ".join(f"{name}={url_of(conninfo)}" for name, conninfo in conninfos.items())


@dataclass(frozen=True)
class Resident:
    """A tenant, where it lives, and its admin's key."""

    name: str
    id: UUID
    server: str
    key: str

    @property
    def key_id(self) -> str:
        return self.key.split("_")[1]


def settle(conninfo: str, server: str, names: list[str]) -> list[Resident]:
    """Make tenants with a key each, as if the directory knew nothing of them."""
    residents = []
    with migrate.owner(conninfo) as conn:
        for name in names:
            key = make_key(conn, NewKey(name, "admin")).text
            ((id_,),) = conn.execute("SELECT id FROM tenants WHERE name = %s", (name,)).fetchall()
            residents.append(Resident(name, id_, server, key))
    return residents


def processes(cluster: Cluster) -> list[int]:
    postmaster = cluster.postmaster_pid()
    assert postmaster is not None
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return [postmaster, *map(int, children)]


def kill(cluster: Cluster) -> None:
    """End a server and all of its processes, as the loss of its machine would."""
    for pid in processes(cluster):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + HANG_SECONDS
    while cluster.is_running():
        assert time.monotonic() < deadline
        time.sleep(0.01)
