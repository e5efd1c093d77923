"""The worker gives parts of items their deep vectors, and a search uses them."""

import asyncio
import time

import numpy as np
import pytest

from keepword.access import ItemOwner, Viewer, grant
from keepword.embedding import TextIndexer
from keepword.embedding.ports import Space
from keepword.embedding.worker import Worker, WorkerTiming
from keepword.items import GetItem, Items, PutItem, SearchItems
from keepword.postgres import migrate
from keepword.postgres.items import PostgresItemBacklog, PostgresItems
from keepword.recall.ports import DeepQuery
from patience import HANG_SECONDS

pytestmark = pytest.mark.anyio

READER = TextIndexer()
QUICK = WorkerTiming(sweep_seconds=0.1, retry_seconds=0.01, trouble_seconds=0.01, max_trouble_seconds=1)
LEFT = (
    "SELECT count(*) FILTER (WHERE NOT failed), count(*) FILTER (WHERE failed) FROM item_backlog WHERE tenant_id = %s"
)


class Colours:
    """An embedder that knows which words are colours, and one text that it refuses."""

    async def split(self, texts):
        return [[text] for text in texts]

    async def space(self) -> Space:
        return Space("minilm-conversation-v1", 384, is_tuned=True)

    async def embed(self, texts):
        return [np.eye(384, dtype=np.float32)[int("crimson" in text or "azure" in text)] for text in texts]

    async def close(self) -> None:
        return


class Model:
    """Answers every question with the vector of a colour."""

    async def space(self) -> int:
        return 2

    async def ask(self, _: str) -> DeepQuery:
        return DeepQuery(2, np.eye(384, dtype=np.float32)[1], is_tuned=True)


class Meter:
    def embedded(self, _: str, texts: int) -> None:
        """Count nothing."""

    def failed(self, _: str, entries: int) -> None:
        """Count nothing."""


async def settled(conninfo, tenant_id) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    with migrate.owner(conninfo) as owner:
        while owner.execute(LEFT, (tenant_id,)).fetchone() != (0, 0):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)


async def test_parts_get_deep_vectors_and_a_search_uses_them(conninfo, pool, tenant):
    items = Items(PostgresItems(pool), READER.table, Model())
    mine = grant(Viewer(tenant.id, "agent", "ada"), ItemOwner("ada", None))
    for key, text in {"car": "a crimson van", "tree": "an oak in the park"}.items():
        await items.put(mine, [PutItem(("notes",), key, {"text": text})])
    backlog = PostgresItemBacklog(pool, conninfo)
    running = asyncio.create_task(Worker(backlog, [Colours()], Meter(), QUICK).run())
    try:
        await settled(conninfo, tenant.id)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    best, other = (await items.search(mine, SearchItems(("notes",), query="hue"))).items
    assert best.key == "car"
    assert best.score > other.score
    # what was put anew waits again, and what was deleted does not
    await items.put(mine, [PutItem(("notes",), "car", {"text": "an azure van"}), PutItem(("notes",), "tree", None)])
    with migrate.owner(conninfo) as owner:
        assert owner.execute(LEFT, (tenant.id,)).fetchone() == (1, 0)
        for table in ("item_parts", "item_vectors"):
            left = owner.execute(f"SELECT count(*) FROM {table} WHERE tenant_id = %s", (tenant.id,)).fetchone()
            assert left == (int(table == "item_parts"),)
    assert (await items.get(mine, GetItem(("notes",), "tree"))) is None
