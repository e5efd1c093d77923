"""Two real servers, between which tenants move."""

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg.conninfo import conninfo_to_dict

from keepword.postgres import migrate, moving
from keepword.postgres.embedded import Cluster
from keepword.postgres.keys import NewKey, make_key, open_tenant
from keepword.postgres.logins import is_embedded
from keepword.postgres.moving import tables


def make_server(home: Path, *, wal_level: str = "logical") -> Cluster:
    cluster = Cluster(home)
    cluster.start()
    with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
        conn.execute(f"ALTER SYSTEM SET wal_level = {wal_level}")
    cluster.stop()
    cluster.launch()
    assert is_embedded(cluster.conninfo)
    return cluster


@dataclass
class Pair:
    """The servers, of which `north` is the first; a move is one of `names` to the other."""

    clusters: dict[str, Cluster]

    @property
    def servers(self) -> moving.Servers:
        return moving.make_servers([moving.ServerAddress(name, one.conninfo) for name, one in self.clusters.items()])

    def url(self, name: str) -> str:
        """Return how a service connects to the server."""
        host = conninfo_to_dict(self.clusters[name].conninfo)["host"]
        return f"postgresql:///keepword?host={host}&user=postgres"

    def ask(self, name: str, query: str, *values: object) -> list[tuple]:
        with migrate.owner(self.clusters[name].conninfo) as conn:
            return conn.execute(query, values).fetchall()

    def make_tenant(self, name: str, server: str = "north") -> tuple[UUID, str]:
        """Make a tenant on a server; return its id and an owner's key."""
        with migrate.owner(self.clusters[server].conninfo) as conn:
            secret = make_key(conn, NewKey(name, "admin"))
            return open_tenant(conn, name), secret.text

    def digests(self, name: str, tenant: UUID) -> dict[str, str]:
        """Return what each table's rows of the tenant are, but for the transactions that wrote them there."""
        with migrate.owner(self.clusters[name].conninfo) as conn:
            return self.digests_of(conn, tenant)

    @staticmethod
    def digests_of(conn: psycopg.Connection, tenant: UUID) -> dict[str, str]:
        return {table: conn.execute(_digest(table), (tenant,)).fetchone()[0] for table in sorted(tables.MOVED)}

    def stop(self) -> None:
        for cluster in self.clusters.values():
            cluster.stop()


def _digest(table: str) -> str:
    column = "id" if table == "tenants" else "tenant_id"
    return (
        "SELECT count(*) || ' ' || COALESCE(md5(string_agg(line, '' ORDER BY line)), '') FROM ("
        f"SELECT md5((to_jsonb(t) - 'created_xid')::text) AS line FROM {table} t WHERE {column} = %s) AS lines"
    )
