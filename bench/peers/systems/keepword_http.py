"""Keepword as its users have it: `keepword serve` over HTTP, a room for each scope, its worker on."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from urllib.parse import quote

import httpx

from _service import KEEPWORD, Connection
from _vectors import build, drop_indexes, settle
from keepword.embedding.text_indexer import pack_vector
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.halfvec import Vectors
from keepword.postgres.pool import Limits, Pool
from measure import Bench
from usage import memory_mb
from world import Doc

AGENT = "default"
DEEP_SPACE = 2
EMBEDDED_BY_WORKER = 6_000  # more takes the worker minutes: then the deep vectors come from the cache
PORTION = 5_000
IDLE_LOOKS = 3
PATIENCE_SECONDS = 900
FRESH = 20
_ENTRIES = """
SELECT e.tenant_id, e.id, m.user_id || ': ' || m.content
FROM entries e JOIN messages m ON m.id = e.source_id AND m.tenant_id = e.tenant_id
WHERE e.kind = 'message' AND e.part = 0 ORDER BY e.id
"""
_STORE = "SELECT store_vectors(2::int2, %(tenants)s::uuid[], %(ids)s::int8[], %(parts)s::int2[], %(vectors)b)"
_IS_DEEP = """
SELECT 1 FROM vectors v JOIN entries e ON e.tenant_id = v.tenant_id AND e.id = v.entry_id
WHERE v.space_id = %s AND e.source_id = %s LIMIT 1
"""


class Keepword:
    variants = ("best", "fast")
    kept = "each append"
    findable_at_once = True
    appends = 1_000_000

    def __init__(self, bench: Bench, phase: str) -> None:
        self._bench, self._phase = bench, phase
        self._home = bench.folder / "home"
        self._cluster = Cluster(self._home)
        self._turns: dict[str, str] = {}
        self._rooms: set[str] = set()
        self._members: set[tuple[str, str]] = set()
        turns = int(phase.removeprefix("size:")) if phase.startswith("size:") else 0
        self._from_cache = turns > EMBEDDED_BY_WORKER
        self._start(worker=not self._from_cache)

    def prepare(self, docs: list[Doc]) -> None:
        for scope in {doc.scope for doc in docs}:
            self._prepare(scope, {doc.speaker for doc in docs if doc.scope == scope})

    def fill(self, docs: list[Doc]) -> None:
        for scope in dict.fromkeys(doc.scope for doc in docs):
            self._append(scope, [doc for doc in docs if doc.scope == scope])

    def append(self, doc: Doc) -> None:
        self._append(doc.scope, [doc])

    def search(self, scope: str, text: str, amount: int, variant: str) -> list[str]:
        body = {"query": text, "conversation": scope, "recipe": variant, "limit": amount}
        found = self._connection.json("POST", "/v1/search", body)
        if found["degraded"]:
            raise RuntimeError(f"the search was degraded: {found['degraded']}")
        hits = (inner for hit in found["results"] for inner in [hit, *hit["inside"]])
        return [self._turns[hit["id"]] for hit in hits if hit["kind"] == "message"]

    def settle(self) -> None:
        """Wait for the worker: in bulk for the vectors alone, else for all that it does."""
        if self._from_cache:
            self._stop()
            self._cluster.start()
            asyncio.run(self._index())
            self._cluster.stop()
            self._start(worker=True)
        looks, deadline = 0, time.monotonic() + PATIENCE_SECONDS
        while looks < (1 if self._phase == "bulk" else IDLE_LOOKS) and time.monotonic() < deadline:
            looks = looks + 1 if self._is_idle() else 0
            time.sleep(0.2 if self._phase == "bulk" else 1)

    def told(self, docs: list[Doc]) -> dict[str, float]:
        """Tell how long after its append a message has its deep vector."""
        taken = []
        with migrate.owner(self._cluster.conninfo) as conn:
            for doc in docs[:FRESH]:
                started = time.perf_counter()
                (stored,) = self._append(doc.scope, [doc])
                while not conn.execute(_IS_DEEP, (DEEP_SPACE, stored)).fetchone():
                    time.sleep(0.002)
                taken.append(time.perf_counter() - started)
        return {"deep_ms": statistics.median(taken) * 1e3}

    def memory_mb(self) -> float:
        return memory_mb(self._process.pid, self._cluster.postmaster_pid())

    def disk_mb(self) -> float:
        with migrate.owner(self._cluster.conninfo) as conn:
            (size,) = conn.execute("SELECT pg_database_size(current_database())").fetchone()
        return size / 1024**2

    def close(self) -> None:
        self._stop()
        self._cluster.stop()

    def _start(self, *, worker: bool) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith("KEEPWORD_")}
        env |= {"KEEPWORD_HOME": str(self._home), "KEEPWORD_PORT": "0", "KEEPWORD_WORKER": str(worker).lower()}
        log = (self._bench.folder / "log").open("a")
        self._process = subprocess.Popen(
            [KEEPWORD, "serve"], env=env, cwd="/", stdout=subprocess.PIPE, stderr=log, text=True
        )
        self._url = self._process.stdout.readline().split()[-1]
        host, port = self._url.removeprefix("http://").split(":")
        self._connection = Connection(host, int(port))

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)

    def _append(self, scope: str, docs: list[Doc]) -> list[str]:
        self._prepare(scope, {doc.speaker for doc in docs})
        told = [{"role": "user", "user": doc.speaker, "content": doc.said, "created_at": doc.at} for doc in docs]
        stored = self._connection.json("POST", f"/v1/conversations/{quote(scope)}/messages", told)["messages"]
        ids = [message["id"] for message in stored]
        self._turns |= {id_: doc.id for id_, doc in zip(ids, docs, strict=True)}
        return ids

    def _prepare(self, scope: str, speakers: set[str]) -> None:
        if scope not in self._rooms:
            self._rooms.add(scope)
            self._put(f"/v1/rooms/{scope}")
            self._put(f"/v1/agents/{AGENT}")
            self._put(f"/v1/rooms/{scope}/participants/agents/{AGENT}")
            self._put(f"/v1/conversations/{scope}", {"room": scope, "agent": AGENT})
        for speaker in {name for name in speakers if (scope, name) not in self._members}:
            self._members.add((scope, speaker))
            self._put(f"/v1/users/{quote(speaker)}")
            self._put(f"/v1/rooms/{scope}/participants/users/{quote(speaker)}")

    def _put(self, path: str, body: dict[str, str] | None = None) -> None:
        httpx.put(self._url + path, json=body or {}).raise_for_status()

    def _is_idle(self) -> bool:
        queues = self._connection.json("GET", "/v1/stats")["queues"]
        spaces = {name: queue for name, queue in queues.items() if "pending" not in queue}
        busy = sum(queue["waiting"] + queue.get("running", 0) for queue in queues.values())
        print(
            f"  in the background: {json.dumps({name: queue['waiting'] for name, queue in queues.items()})}",
            file=sys.stderr,
        )
        return not (sum(queue["waiting"] for queue in spaces.values()) if self._phase == "bulk" else busy)

    async def _index(self) -> None:
        """Do the worker's work for the instant space, and give the deep one the vectors of the cache."""
        pool = Pool(self._cluster.conninfo, Limits(2, 3600))
        await pool.open()
        with migrate.owner(self._cluster.conninfo) as conn:
            definitions = drop_indexes(conn)
            settle(conn)
            entries = conn.execute(_ENTRIES).fetchall()
            for start in range(0, len(entries), PORTION):
                some = entries[start : start + PORTION]
                made = Vectors(
                    pack_vector(vector) for vector in self._bench.embedder.embed([text for *_, text in some])
                )
                values = {"tenants": [tenant for tenant, *_ in some], "ids": [id_ for _, id_, _ in some]}
                await pool.fetch(_STORE, values | {"parts": [0] * len(some), "vectors": made})
            build(conn, definitions)
        await pool.close()


def open_system(bench: Bench, phase: str) -> Keepword:
    return Keepword(bench, phase)


def versions() -> dict[str, str]:
    return {"keepword": version("keepword")}
