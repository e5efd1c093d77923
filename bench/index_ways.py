"""Ways to find the nearest ten of a deep space: recall beside an exact search, time, size and time to build.

    ENTRIES=200000 python bench/index_ways.py

A table of vectors alone, without scopes and grants: what differs is the index. The vectors are made up as in
bench/search.py, the questions are embedded. One way is what the service does. Every way returns as many
candidates as a search asks an arm for, because that is what is ranked: the recall is the share of the true nearest ten
among them.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
from numpy.typing import NDArray

from _vectors import DeepVectors
from keepword.embedding import TextIndexer
from keepword.embedding import entry_format as fmt
from keepword.embedding.onnx import LocalEmbedder
from keepword.embedding.text_indexer import pack_vector
from keepword.postgres.embedded import Cluster
from keepword.postgres.halfvec import Vector, register_sync
from keepword.recall.question import ask
from search import SAMPLE, Writer

ENTRIES = int(os.environ.get("ENTRIES", "100000"))
QUESTIONS = 100
PORTION = 5_000
TEN = 10
DIMENSIONS = 384
PARTS = 4

_TABLE = f"CREATE TABLE deep (id int PRIMARY KEY, part int NOT NULL, vector halfvec({DIMENSIONS}) NOT NULL)"
_NEAREST = "SELECT id FROM deep ORDER BY vector <#> %(vector)s LIMIT %(amount)s"
_OF_PART = "(SELECT id, vector FROM deep WHERE part = {} ORDER BY vector <#> %(vector)s LIMIT %(amount)s)"
_PARTS = (
    "SELECT id FROM (" + " UNION ALL ".join(_OF_PART.format(part) for part in range(PARTS)) + ") AS parts "
    "ORDER BY vector <#> %(vector)s LIMIT %(amount)s"
)
# the bits find candidates, the vectors rank them
_BITS = f"""
SELECT id FROM (
    SELECT id, vector FROM deep
    ORDER BY binary_quantize(vector)::bit({DIMENSIONS}) <~> binary_quantize(%(vector)s) LIMIT {{}}
) AS nearest ORDER BY vector <#> %(vector)s LIMIT %(amount)s
"""
_SIZE = """
SELECT COALESCE(sum(pg_relation_size(indexrelid)), 0) FROM pg_index
WHERE indrelid = 'deep'::regclass AND NOT indisprimary
"""
_HNSW = "CREATE INDEX way ON deep USING hnsw (vector halfvec_ip_ops) WITH (m = {}, ef_construction = {})"
_BIT_HNSW = (
    f"CREATE INDEX way ON deep USING hnsw ((binary_quantize(vector)::bit({DIMENSIONS})) bit_hamming_ops) "
    "WITH (m = 24, ef_construction = 128)"
)
_ONE_PART = (
    "CREATE INDEX way{0} ON deep USING hnsw (vector halfvec_ip_ops) WITH (m = 24, ef_construction = 128) "
    "WHERE part = {0}"
)


@dataclass(frozen=True, slots=True)
class Way:
    """A query with `ef_search`; where it `goes_on`, the scan is iterative, as the service's."""

    name: str
    query: str
    ef: int
    goes_on: bool = True


@dataclass(frozen=True, slots=True)
class Index:
    name: str
    definitions: Sequence[str]
    ways: Sequence[Way]


INDEXES = (
    Index("none", [], [
        Way("every vector is compared", _NEAREST, 300),
        *(Way(f"the bits of every vector are compared, {number} re-ranked", _BITS.format(number), 300)
          for number in (300, 1000, 3000)),
    ]),
    Index("halfvec, m 24, ef_construction 128", [_HNSW.format(24, 128)], [
        Way("ef_search 300, iterative (the service)", _NEAREST, 300),
        Way("ef_search 120", _NEAREST, 120),
        Way("ef_search 300, not iterative", _NEAREST, 300, goes_on=False),
        Way("ef_search 600", _NEAREST, 600),
        Way("ef_search 1000", _NEAREST, 1000),
    ]),
    Index("bits, m 24, ef_construction 128", [_BIT_HNSW], [
        Way("300 re-ranked", _BITS.format(300), 300),
        Way("1000 re-ranked", _BITS.format(1000), 1000),
    ]),
    Index(f"{PARTS} partial halfvec indexes", [_ONE_PART.format(part) for part in range(PARTS)], [
        Way("ef_search 120 in each", _PARTS, 120),
        Way("ef_search 300 in each", _PARTS, 300),
    ]),
    Index("halfvec, m 32, ef_construction 256", [_HNSW.format(32, 256)], [
        Way("ef_search 300, iterative", _NEAREST, 300),
        Way("ef_search 600", _NEAREST, 600),
    ]),
)  # fmt: skip


async def make() -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """Return the entries' vectors and those of questions about some of them."""
    embedder, writer, table = LocalEmbedder(1), Writer(1), TextIndexer().table
    deep = await DeepVectors.like(embedder, table, [writer.text() for _ in range(SAMPLE)])
    portions, every = [], list[str]()
    for start in range(0, ENTRIES, PORTION):
        texts = [writer.text() for _ in range(min(PORTION, ENTRIES - start))]
        every += texts
        portions.append(deep.of(np.array([ask(text, table).vector for text in texts], np.float64)).astype(np.float16))
    questions = [await embedder.embed_query(writer.query(text)) for text in every[:: ENTRIES // QUESTIONS][:QUESTIONS]]
    return np.concatenate(portions), np.array(questions, np.float16)


def exact(vectors: NDArray[np.float16], questions: NDArray[np.float16]) -> list[set[int]]:
    whole = vectors.astype(np.float32)
    products = questions.astype(np.float32) @ whole.T
    return [set(np.argpartition(-row, TEN)[:TEN].tolist()) for row in products]


def store(conn: psycopg.Connection, vectors: NDArray[np.float16]) -> None:
    conn.execute(_TABLE)
    conn.execute("ALTER TABLE deep ALTER COLUMN vector SET STORAGE PLAIN")
    with conn.cursor().copy("COPY deep FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "int4", "bytea"])
        for number, vector in enumerate(vectors):
            copy.write_row((number, number % PARTS, pack_vector(vector)))
    conn.execute("VACUUM ANALYZE deep")


def measure(conn: psycopg.Connection, way: Way, questions: Sequence[Vector], nearest: Sequence[set[int]]) -> str:
    conn.execute(f"SET hnsw.ef_search = {way.ef}")
    conn.execute(f"SET hnsw.iterative_scan = {'relaxed_order' if way.goes_on else 'off'}")
    taken, shares = [], []
    for number in (*range(TEN), *range(len(questions))):
        values = {"vector": questions[number], "amount": fmt.HITS_PER_ARM}
        started = time.perf_counter()
        rows = conn.execute(way.query, values).fetchall()
        taken.append(time.perf_counter() - started)
        shares.append(len(nearest[number] & {id_ for (id_,) in rows}) / TEN)
    return f"{statistics.mean(shares[TEN:]):.3f} | {statistics.median(taken[TEN:]) * 1000:.1f}"


def compare(conn: psycopg.Connection, questions: Sequence[Vector], nearest: Sequence[set[int]]) -> Iterator[str]:
    yield f"| {ENTRIES:,} entries, {len(questions)} questions | recall@10 | median ms | index MB | built in s |"
    yield "| --- | --- | --- | --- | --- |"
    for index in INDEXES:
        began = time.monotonic()
        for definition in index.definitions:
            conn.execute(definition)
        seconds = time.monotonic() - began
        (size_bytes,) = conn.execute(_SIZE).fetchone()
        size = f"{size_bytes / 2**20:.0f} | {seconds:.0f}"
        for way in index.ways:
            yield f"| {index.name}: {way.name} | {measure(conn, way, questions, nearest)} | {size} |"
        for (name,) in conn.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'way%'").fetchall():
            conn.execute(f"DROP INDEX {name}")


def main() -> None:
    vectors, questions = asyncio.run(make())
    nearest = exact(vectors, questions)
    with tempfile.TemporaryDirectory(prefix="kw-ways-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        cluster = Cluster(Path(folder) / "home")
        cluster.start()
        try:
            with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
                conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
                conn.execute("SET maintenance_work_mem = '2GB'")
                conn.execute("SET enable_seqscan = off")
                conn.execute("SET hnsw.max_scan_tuples = 40000")
                register_sync(conn)
                store(conn, vectors)
                print(f"stored {len(vectors):,}", file=sys.stderr, flush=True)
                for line in compare(conn, [Vector(pack_vector(each)) for each in questions], nearest):
                    print(line, flush=True)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
