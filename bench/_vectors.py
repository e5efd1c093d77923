"""Vectors for benchmarks that fill a store: made up for the deep space, indexed once at the end.

Embedding a million texts takes a day here, and a million insertions into an index take longer than one build of it.
"""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from psycopg import Connection, sql

from keepword.embedding.instant import Floats, InstantTable
from keepword.embedding.onnx import LocalEmbedder
from keepword.embedding.text_indexer import pack_vector
from keepword.postgres.halfvec import Vectors
from keepword.postgres.pool import Pool
from keepword.recall.question import ask

DEEP_SPACE = 2
RIDGE = 1.0
PORTION = 5_000
_INDEXES = (
    "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'vectors' AND indexdef LIKE '%hnsw%' ORDER BY 1"
)
_TENANTS = "SELECT id FROM tenants ORDER BY id"
_ENTRIES = """
SELECT id, instant FROM entries WHERE tenant_id = %s AND id > %s AND instant IS NOT NULL ORDER BY id LIMIT %s
"""
_STORE = "SELECT store_vectors(%(space)s::int2, %(tenants)s::uuid[], %(ids)s::int8[], %(parts)s::int2[], %(vectors)b)"


def drop_indexes(conn: Connection) -> list[str]:
    """Drop the indexes of vectors; return how the migrations made them, for `build`."""
    found = conn.execute(_INDEXES).fetchall()
    for name, _ in found:
        conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
    return [definition for _, definition in found]


def settle(conn: Connection) -> None:
    """Do the worker's work of the instant space."""
    conn.execute("SET statement_timeout = 0")
    while conn.execute("SELECT index_instant_vectors(20000)").fetchone() != (0,):
        pass
    conn.execute("SELECT flush_pending_lexemes()")


def build(conn: Connection, definitions: Sequence[str]) -> None:
    conn.execute("SET maintenance_work_mem = '3GB'")
    conn.execute("SET statement_timeout = 0")
    for definition in definitions:
        conn.execute(definition.encode())
    conn.execute("VACUUM ANALYZE")


class DeepVectors:
    """Vectors as the deep model might make them, each of its own text.

    What the deep model makes of a text is foretold from the text's instant vector, by a linear map that was fitted on
    texts that it did embed; what that does not tell is added by chance, with the spread that it had there.
    """

    def __init__(self, instants: Floats, deeps: Floats) -> None:
        within = instants.T @ instants + RIDGE * np.eye(instants.shape[1])
        self._map = np.linalg.solve(within, instants.T @ deeps)
        rest = deeps - instants @ self._map
        self._mean = rest.mean(axis=0)
        self._spread = np.linalg.cholesky(np.cov(rest.T) + 1e-9 * np.eye(deeps.shape[1]))
        self._chance = np.random.default_rng(3)

    @classmethod
    async def like(cls, embedder: LocalEmbedder, table: InstantTable, texts: Sequence[str]) -> "DeepVectors":
        deeps = np.array(await embedder.embed(list(texts)), np.float64)
        return cls(np.array([ask(text, table).vector for text in texts], np.float64), deeps)

    def of(self, instants: Floats) -> Floats:
        chance = self._chance.normal(size=(len(instants), len(self._mean))) @ self._spread.T
        made = instants @ self._map + self._mean + chance
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)

    async def store(self, conn: Connection, pool: Pool, after: int = 0) -> int:
        """Give every entry after the one with this number a vector; return the number of the last."""
        return max([await self._store(conn, pool, tenant, after) for (tenant,) in conn.execute(_TENANTS).fetchall()])

    async def _store(self, conn: Connection, pool: Pool, tenant: UUID, after: int) -> int:
        while rows := conn.execute(_ENTRIES, (tenant, after, PORTION), binary=True).fetchall():
            ids = [id_ for id_, _ in rows]
            instants = np.array([np.frombuffer(sent, ">f2", offset=4) for _, sent in rows], np.float64)
            vectors = Vectors(pack_vector(vector) for vector in self.of(instants))
            values = {"space": DEEP_SPACE, "tenants": [tenant] * len(ids), "ids": ids, "parts": [0] * len(ids)}
            await pool.fetch(_STORE, values | {"vectors": vectors})
            after = ids[-1]
        return after
