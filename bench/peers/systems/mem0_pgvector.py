"""mem0 on PostgreSQL with pgvector, its HNSW index on, as is its default."""

from measure import Bench
from systems._local import versions_of
from systems._mem0 import Mem0
from systems._postgres import OnPostgres


class OnPgvector(Mem0, OnPostgres):
    def __init__(self, bench: Bench) -> None:
        OnPostgres.__init__(self, bench.folder)
        Mem0.__init__(self, bench, "pgvector", {"connection_string": self.conninfo, "collection_name": "turns"})


def open_system(bench: Bench, _phase: str) -> OnPgvector:
    return OnPgvector(bench)


def versions() -> dict[str, str]:
    return versions_of("mem0ai", "psycopg")
