"""The worker beside the raw model on the same texts, a query beside the raw model, and what an entry costs an append.

All in one run, in turns. TEXTS=2000 sets how many texts are embedded (default 1,200), THREADS=2 the model's threads.
"""

import asyncio
import os
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from uuid import uuid4

from _service import milliseconds, verdict
from keepword import transcript
from keepword.access import Grant, Place, Viewer, grant
from keepword.background import WORKER_LIMITS
from keepword.embedding import TextIndexer, message_parts
from keepword.embedding.chunk import split
from keepword.embedding.onnx import NAME, LocalEmbedder, Model, default_threads
from keepword.embedding.worker import Worker
from keepword.ids import new_id
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.backlog import PostgresBacklog
from keepword.postgres.embedded import Cluster
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import NewConversation
from keepword.transcript.ports import PreparedMessage

ROUNDS = 4
QUERY = "When does the launch happen, and who tells the partners?"
# lengths in words as chats have them: mostly short turns, some long answers
LENGTHS = (4, 8, 12, 16, 20, 25, 30, 40, 60, 250)
# made-up chat: what counts here is how long texts are, not what they say
WORDS = (
    "we agreed to move the launch second week of March and Priya will tell partners on Monday harbour invoice violin "
    "because budget review late again so nobody waits train ticket Lisbon museum closes early children school concert "
    "bread doctor appointment insurance letter apartment deposit keys neighbour bicycle repair shop weekend hut"
)


class Nothing:
    def embedded(self, _: str, __: int) -> None: ...

    def failed(self, _: str, __: int) -> None: ...


class Talk:
    """A session in a database of its own, written to without HTTP."""

    def __init__(self, pool: Pool) -> None:
        self.store = PostgresTranscript(pool)
        self.reader = TextIndexer()
        self.lookup, self.conversations = PostgresPlaceLookup(pool), PostgresConversations(pool)
        self.grant: Grant
        self.place: Place

    async def open(self, conninfo: str) -> None:
        with migrate.owner(conninfo) as conn:
            (tenant_id,) = conn.execute("SELECT id FROM tenants WHERE name = 'default'").fetchone()
        self.viewer = Viewer(tenant_id, "admin")
        name = uuid4().hex
        await transcript.put(self.lookup, self.conversations, self.viewer, name, NewConversation("session"))
        self.place = await self.lookup.place(tenant_id, name)
        self.grant = grant(self.viewer, self.place)

    def seal(self, text: str, *, indexed: bool) -> PreparedMessage:
        draft = Draft("assistant", text, agent="default")
        salts = (str(self.grant.tenant_id), self.place.run_id)
        parts = message_parts("default", text, None, None, None) if indexed else []
        return PreparedMessage(
            draft, new_id(), None, tuple(self.reader.index_entry(p, salts, n) for n, p in enumerate(parts))
        )

    async def append(self, texts: list[str], *, indexed: bool = True) -> float:
        started = time.perf_counter()
        await self.store.append(self.grant, self.place, [self.seal(text, indexed=indexed) for text in texts])
        return time.perf_counter() - started


def make_texts(amount: int) -> list[str]:
    chance = random.Random(7)
    return [" ".join(chance.choices(WORDS.split(), k=chance.choice(LENGTHS))) + "." for _ in range(amount)]


async def embed_in_worker(conninfo: str, talk: Talk, embedder: LocalEmbedder, texts: list[str]) -> float:
    """Return the seconds from the worker's start until nothing waits any more."""
    await talk.append(texts)
    pool = Pool(conninfo, WORKER_LIMITS)
    await pool.open()
    backlog = PostgresBacklog(pool, conninfo)
    started = time.perf_counter()
    task = asyncio.create_task(Worker(backlog, [embedder], Nothing()).run())
    while await backlog.waiting(NAME):  # noqa: ASYNC110 - it happens in the database
        await asyncio.sleep(0.02)
    took = time.perf_counter() - started
    task.cancel()
    await asyncio.wait({task})
    await pool.close()
    return took


def embed_raw(model: Model, embedder: LocalEmbedder, texts: list[str]) -> float:
    """Return the seconds that the model alone takes for the same chunks, in the same order of arrival."""
    chunks = [
        chunk for text in texts for chunk in split(f"default: {text}", embedder.chunk_tokens, embedder.count_tokens)
    ]
    started = time.perf_counter()
    for start in range(0, len(chunks), 32):
        model.embed(chunks[start : start + 32])
    return time.perf_counter() - started


async def compare_worker(conninfo: str, talk: Talk, amount: int, threads: int) -> None:
    embedder, model = LocalEmbedder(threads), Model(threads)
    await embedder.embed(["warm"])
    await embedder.embed_query("warm")
    model.embed(["warm"])
    texts = make_texts(amount)
    step = amount // ROUNDS
    raw, worker, ratios = 0.0, 0.0, []
    for start in range(0, step * ROUNDS, step):
        part = texts[start : start + step]
        alone = await asyncio.to_thread(embed_raw, model, embedder, part)
        beside = await embed_in_worker(conninfo, talk, embedder, part)
        raw, worker, ratios = raw + alone, worker + beside, [*ratios, alone / beside]
    rates = [step * ROUNDS / seconds for seconds in (raw, worker)]
    print(f"  {step * ROUNDS} texts, {threads} thread(s): raw {rates[0]:.1f} texts/s, worker {rates[1]:.1f} texts/s")
    print(f"  round by round: {' '.join(f'{ratio:.2f}' for ratio in ratios)}")
    verdict("worker's texts a second / raw model's (median of rounds)", statistics.median(ratios), 0.9, at_least=True)
    await compare_query(embedder, model)
    await embedder.close()


async def compare_query(embedder: LocalEmbedder, model: Model) -> None:
    raw, ours = [], []
    for _ in range(200):
        started = time.perf_counter()
        model.embed([QUERY])
        raw.append(time.perf_counter() - started)
        started = time.perf_counter()
        await embedder.embed_query(QUERY)
        ours.append(time.perf_counter() - started)
    print(f"  a query, raw model          {milliseconds(raw)}")
    print(f"  a query, beside the loop    {milliseconds(ours)}")
    verdict("query's median / raw model's", statistics.median(ours) / statistics.median(raw), 1.1)


async def compare_append(talk: Talk) -> None:
    texts = make_texts(400)
    reads, vectors = [], []
    for text in texts:
        started = time.perf_counter()
        reading = talk.reader.read(text)
        reads.append(time.perf_counter() - started)
        started = time.perf_counter()
        talk.reader.table.vector(reading.pieces)
        vectors.append(time.perf_counter() - started)
    print(f"  reading a text              {milliseconds(reads)}")
    print(f"  of that, its vector         {milliseconds(vectors)}")
    singles = [(await talk.append([text]), await talk.append([text], indexed=False)) for text in texts]
    batches = [
        (await talk.append(texts[:100]), await talk.append(texts[:100], indexed=False)) for _ in range(20)
    ]  # fmt: skip
    for name, samples, size in (("alone", singles, 1), ("in batches of 100", batches, 100)):
        extra = statistics.median([with_ - without for with_, without in samples]) / size * 1000
        verdict(f"what an entry adds to an append {name}, in ms a message", extra, 1)


async def run(conninfo: str, amount: int, threads: int) -> None:
    pool = Pool(conninfo, Limits())
    await pool.open()
    talk = Talk(pool)
    await talk.open(conninfo)
    await compare_append(talk)
    # what that left behind is not part of the comparison
    with migrate.owner(conninfo) as conn:
        conn.execute("DELETE FROM backlog")
    await compare_worker(conninfo, talk, amount, threads)
    await pool.close()


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="kw-bench-"))
    root.chmod(0o711)
    cluster = Cluster(root / "home")
    try:
        cluster.start()
        migrate.migrate(cluster.conninfo)
        threads = int(os.environ.get("THREADS", "0")) or default_threads()
        asyncio.run(run(cluster.conninfo, int(os.environ.get("TEXTS", "1200")), threads))
    finally:
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
