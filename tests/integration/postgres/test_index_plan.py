"""Appending stays as quick as it was, however much is there, on connections that planned when nothing was."""

from dataclasses import replace

import pytest

from keepword import transcript
from keepword.access import Viewer, grant
from keepword.embedding import TextIndexer
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Pool
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import NewConversation
from patience import PATIENT

pytestmark = pytest.mark.anyio

READ = """
SELECT sum(idx_tup_read) + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = 'messages')
FROM pg_stat_user_indexes WHERE relname = 'messages'
"""


async def test_each_new_entry_looks_its_message_up_by_the_key(make_database):
    """A plan made for an empty table and kept by the connection would read all messages again with each batch."""
    conninfo = make_database()
    migrate.migrate(conninfo)
    with migrate.owner(conninfo) as owner:
        (tenant_id,) = owner.execute("SELECT id FROM tenants").fetchone()
        pool = Pool(conninfo, replace(PATIENT, connections=1))
        await pool.open()
        lookup, store, viewer = PostgresPlaceLookup(pool), PostgresTranscript(pool), Viewer(tenant_id, "admin")
        await transcript.put(lookup, PostgresConversations(pool), viewer, "c", NewConversation("session"))
        place = await lookup.place(tenant_id, "c")
        drafts = [Draft("assistant", f"message {number}") for number in range(100)]
        for _ in range(10):
            await transcript.append(store, TextIndexer(), grant(viewer, place), viewer, place, drafts)
        async with pool.connection() as conn:
            await conn.execute("SELECT pg_stat_force_next_flush()")
        (read,) = owner.execute(READ).fetchone()
        await pool.close()
    # each message is read once, for its entry; were all read with each batch, these would be 5,500
    assert 1_000 <= read < 2_000
