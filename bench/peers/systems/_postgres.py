"""What systems on PostgreSQL have in common: the same embedded server that Keepword starts, in its default settings."""

import os

import psycopg

from systems._local import Local
from usage import disk_mb, memory_mb


class OnPostgres(Local):
    conninfo = os.environ.get("PEERS_POSTGRES", "")

    def memory_mb(self) -> float:
        return memory_mb(os.getpid(), int(os.environ["PEERS_POSTMASTER"]))

    def disk_mb(self) -> float:
        with psycopg.connect(self.conninfo) as conn:
            (size,) = conn.execute("SELECT pg_database_size(current_database())").fetchone()
        return size / 1024**2 + disk_mb(self.folder)
