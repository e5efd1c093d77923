"""A real streaming standby of an embedded server, made and run with the programs of the same wheel."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from keepword.postgres.embedded import Cluster
from keepword.postgres.logins import APP_LOGIN
from patience import HANG_SECONDS


class Standby:
    def __init__(self, primary: Cluster, home: Path) -> None:
        """Copy the primary, which may be serving, and start to follow it."""
        self.primary = primary
        self.cluster = Cluster(home)
        self.cluster._prepare_folders()
        host = str(conninfo_to_dict(primary.conninfo)["host"])
        # -R writes where to stream from; the folder is there, empty and the account's own
        self.cluster._run(
            "pg_basebackup", "-h", host, "-U", "postgres", "-D", self.cluster.data, "-R", "-X", "stream", "-c", "fast"
        )
        # the embedded server has its socket in its data folder, and the copy has the lock of the original's
        for lock in self.cluster.data.glob(".s.PGSQL.*"):
            lock.unlink()
        self.cluster.launch()

    def url(self, database: str = "keepword") -> str:
        """Return how a service reads from it: as the login that may do least."""
        host = conninfo_to_dict(self.cluster.conninfo)["host"]
        return f"postgresql:///{database}?host={host}&user={APP_LOGIN}"

    def ask(self, query: Any) -> list[Any]:
        with psycopg.connect(make_conninfo(self.cluster.conninfo, dbname="postgres"), autocommit=True) as conn:
            cursor = conn.execute(query)
            return cursor.fetchall() if cursor.description else []

    def pause(self) -> None:
        self.ask("SELECT pg_wal_replay_pause()")
        self._wait_for("SELECT pg_get_wal_replay_pause_state() = 'paused'")

    def resume(self) -> None:
        self.ask("SELECT pg_wal_replay_resume()")

    def promote(self) -> None:
        self.ask("SELECT pg_promote()")

    def catch_up(self) -> None:
        """Wait until all that the primary has written is replayed."""
        with psycopg.connect(make_conninfo(self.primary.conninfo, dbname="postgres"), autocommit=True) as conn:
            ((end,),) = conn.execute("SELECT pg_current_wal_flush_lsn()").fetchall()
        self._wait_for(f"SELECT pg_last_wal_replay_lsn() >= '{end}'")

    def freeze(self) -> None:
        """Stop all of its processes, as a machine that hangs: connections stay open, and nobody answers."""
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: int) -> None:
        for pid in self._processes():
            with suppress(ProcessLookupError):  # a server's processes come and go
                os.kill(pid, number)

    def kill(self) -> None:
        for pid in self._processes():
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + HANG_SECONDS
        while self.cluster.is_running():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def start(self) -> None:
        self.cluster.launch()

    def stop(self) -> None:
        self.cluster.stop()

    def _processes(self) -> list[int]:
        postmaster = self.cluster.postmaster_pid()
        assert postmaster is not None
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        return [postmaster, *map(int, children)]

    def _wait_for(self, question: Any) -> None:
        deadline = time.monotonic() + HANG_SECONDS
        while self.ask(question) != [(True,)]:
            assert time.monotonic() < deadline, question
            time.sleep(0.01)
