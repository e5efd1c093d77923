"""Vectors for benchmarks that fill a store: made up for the deep space, indexed once at the end.

Embedding a million texts takes a day here, and a million insertions into an index take longer than one build of it.
"""

from collections.abc import Sequence

import numpy as np
from psycopg import Connection, sql

from keepword.embedding.onnx import LocalEmbedder
from keepword.embedding.reading import pack_vector
from keepword.postgres.packed import Vectors
from keepword.postgres.pool import Pool

DEEP_SPACE = 2
NOISE = 0.35
PORTION = 5_000
_INDEXES = (
    "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'vectors' AND indexdef LIKE '%hnsw%' ORDER BY 1"
)
_STORE = "SELECT store_vectors(%(space)s::int2, %(ids)s::int8[], %(parts)s::int2[], %(vectors)b)"


def drop_indexes(conn: Connection) -> list[str]:
    """Drop the indexes of vectors; return how the migrations made them, for `build`."""
    found = conn.execute(_INDEXES).fetchall()
    for name, _ in found:
        conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
    return [definition for _, definition in found]


def settle(conn: Connection) -> None:
    """Do the worker's work of the instant space."""
    conn.execute("SET statement_timeout = 0")
    while conn.execute("SELECT settle_entries(20000)").fetchone() != (0,):
        pass
    conn.execute("SELECT flush_lexemes()")


def build(conn: Connection, definitions: Sequence[str]) -> None:
    conn.execute("SET maintenance_work_mem = '3GB'")
    conn.execute("SET statement_timeout = 0")
    for definition in definitions:
        conn.execute(definition.encode())
    conn.execute("VACUUM ANALYZE")


class DeepVectors:
    """The deep model's vectors of a few real texts, repeated with noise."""

    def __init__(self, real: np.ndarray) -> None:
        self._real, self._noise = real, np.random.default_rng(3)

    @classmethod
    async def like(cls, embedder: LocalEmbedder, texts: Sequence[str]) -> "DeepVectors":
        return cls(np.array(await embedder.embed(list(texts)), np.float32))

    async def store(self, pool: Pool, ids: Sequence[int]) -> None:
        for start in range(0, len(ids), PORTION):
            some = list(ids[start : start + PORTION])
            made = self._real[self._noise.integers(0, len(self._real), len(some))]
            made += NOISE * self._noise.normal(size=made.shape).astype(np.float32) / np.sqrt(made.shape[1])
            made /= np.linalg.norm(made, axis=1, keepdims=True)
            vectors = Vectors(pack_vector(vector) for vector in made)
            await pool.fetch(_STORE, {"space": DEEP_SPACE, "ids": some, "parts": [0] * len(some), "vectors": vectors})
