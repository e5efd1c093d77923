"""Appending stays as quick as it was, however much is there, on connections that planned when little was."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from keepword import transcript
from keepword.access import Viewer, everything_in, grant
from keepword.embedding import TextIndexer
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.backlog import PostgresBacklog
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Pool
from keepword.postgres.recall import PostgresIndex
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import NewConversation
from patience import PATIENT

pytestmark = pytest.mark.anyio

READ = """
SELECT sum(idx_tup_read) + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = %(table)s)
FROM pg_stat_user_indexes WHERE relname = %(table)s
"""


@dataclass
class Talk:
    """A conversation in an empty database, by one connection; `owner` sees all of it."""

    owner: Any
    pool: Pool
    viewer: Viewer
    place: Any

    async def say(self, batches: int, events: str | None = None) -> None:
        store, opened = PostgresTranscript(self.pool), grant(self.viewer, self.place)
        for batch in range(batches):
            drafts = [
                Draft("assistant", f"message {number}", event_id=events and f"{events}-{batch}-{number}")
                for number in range(100)
            ]
            await transcript.append(store, TextIndexer(), opened, self.viewer, self.place, drafts)

    async def rows_read(self, table: str = "messages") -> int:
        """Return how many rows of a table were read so far."""
        async with self.pool.connection() as conn:
            await conn.execute("SELECT pg_stat_force_next_flush()")
        return int(self.owner.execute(READ, {"table": table}).fetchone()[0])


@asynccontextmanager
async def talk_in(conninfo: str) -> AsyncIterator[Talk]:
    migrate.migrate(conninfo)
    with migrate.owner(conninfo) as owner:
        (tenant_id,) = owner.execute("SELECT id FROM tenants").fetchone()
        pool = Pool(conninfo, replace(PATIENT, connections=1))
        await pool.open()
        lookup, viewer = PostgresPlaceLookup(pool), Viewer(tenant_id, "admin")
        await transcript.put(lookup, PostgresConversations(pool), viewer, "c", NewConversation("session"))
        yield Talk(owner, pool, viewer, await lookup.place(tenant_id, "c"))
        await pool.close()


async def test_each_new_entry_looks_its_message_up_by_the_key(make_database):
    """A plan made for an empty table and kept by the connection would read all messages again with each batch."""
    async with talk_in(make_database()) as talk:
        await talk.say(10)
        # each message is read once, for its entry; were all read with each batch, these would be 5,500
        assert 1_000 <= await talk.rows_read() < 2_000


async def test_each_event_looks_for_itself_by_the_key(make_database):
    """A first import on connections that planned before it read all messages again for each of its events."""
    async with talk_in(make_database()) as talk:
        await talk.say(10, "event")
        assert 1_000 <= await talk.rows_read() < 2_000
        before = await talk.rows_read()
        await talk.say(10, "event")
        # none is stored again, and each is read once to be told from one with other content
        assert await talk.rows_read() - before <= 1_000


async def test_connections_plan_again_as_soon_as_a_worker_has_come_by(make_database):
    """What refers to an entry is checked by a plan of PostgreSQL's own, which read all entries of the tenant."""
    conninfo = make_database()
    async with talk_in(conninfo) as talk:
        await talk.say(5)
        # of the tables that are new, one at a time
        for _ in range(5):
            await PostgresBacklog(talk.pool, conninfo).settle(1)
        before = await talk.rows_read("entries")
        await talk.say(10)
        # each entry is read for its two rows of the backlog; were all read, these would be over 1,000,000
        assert await talk.rows_read("entries") - before <= 2 * 1_000


async def test_hits_are_read_by_their_keys_on_a_connection_that_planned_when_little_was_there(make_database):
    """A search of a whole tenant read all messages for each hit while a history came in: 9 s at 13,000 messages."""
    async with talk_in(make_database()) as talk:
        index, everything = PostgresIndex(talk.pool), everything_in(talk.viewer.tenant_id)

        async def read() -> None:
            ids = [id_ for (id_,) in talk.owner.execute("SELECT id FROM entries ORDER BY id LIMIT 20").fetchall()]
            assert len(await index.show(everything, ids)) == len(ids)
            await index.around(everything, ids, 2)
            await index.uses(everything, ids)

        await talk.say(3)
        await read()
        await talk.say(10)
        before = await talk.rows_read()
        await read()
        # 20 hits and up to 4 turns beside each; all messages for each hit were 20,000
        assert await talk.rows_read() - before <= 20 + 20 * 4
