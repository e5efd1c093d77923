"""A layer that is stuck or broken costs its own section, never the turn: with a real lock and a real lost privilege."""

import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from conftest import admin_of
from keepword import transcript
from keepword.access import grant, make_viewer
from keepword.compose import ComposeRequest
from keepword.config import Settings
from keepword.embedding import TextIndexer
from keepword.model import Draft
from keepword.postgres import migrate, statement_batch
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.transcript import PostgresTranscript
from keepword.wiring import services
from patience import stretched

SECONDS = 5.0  # the layers without trouble need it on a busy machine

pytestmark = pytest.mark.anyio


@contextmanager
def locked(conninfo, table):
    """Let another session hold a table so that nobody can read it."""
    with migrate.owner(conninfo) as holder, holder.transaction():
        holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def revoked(conninfo, table):
    with migrate.owner(conninfo) as owner:
        owner.execute(f"REVOKE SELECT ON {table} FROM keepword_app")
        try:
            yield
        finally:
            owner.execute(f"GRANT SELECT ON {table} TO keepword_app")


@pytest.fixture
async def turn(pool, conninfo, tenant, monkeypatch):
    """Return what composes a turn of a conversation with little patience, and tells how long that took."""
    monkeypatch.setattr(statement_batch, "SECONDS", 0.3)
    viewer, lookup = make_viewer(admin_of(tenant)), PostgresPlaceLookup(pool)
    name = f"talk-{uuid4().hex[:8]}"
    await transcript.put(lookup, PostgresConversations(pool), viewer, name, transcript.NewConversation())
    place = await lookup.place(tenant.id, name)
    opened = grant(viewer, place)
    drafts = [Draft("user", "The ferry to Oslo leaves at nine")]
    await transcript.append(PostgresTranscript(pool), TextIndexer(), opened, viewer, place, drafts)
    async with services(Settings(home=Path("/nonexistent"), worker=False, embedding="none"), conninfo) as made:
        composer = replace(made.composer, layer_seconds=SECONDS)

        async def compose(said=(), **more):
            drafts = [Draft("user", text) for text in said]
            if drafts:
                await transcript.append(PostgresTranscript(pool), TextIndexer(), opened, viewer, place, drafts)
            started = time.monotonic()
            request = ComposeRequest("When does the ferry leave?", place.agent, **more)
            return await composer.compose(opened, place, request), time.monotonic() - started

        # what a process does once is none of the turn's time; a lock below would also wait for it, in this very thread
        await made.loaded.wait()
        await compose()
        yield compose


def names(composed):
    return [line.split(":")[0] for line in composed.degraded if not line.startswith("deep")]


async def test_a_turn_without_trouble_names_nothing(turn):
    composed, _ = await turn()
    assert names(composed) == []
    assert "The ferry to Oslo leaves at nine" in composed.text


async def test_a_layer_that_is_stuck_is_left_out_and_named_in_time(turn, conninfo):
    with locked(conninfo, "facts"):
        composed, seconds = await turn()
    assert [line for line in composed.degraded if line.startswith("facts")] == [
        "facts: it took longer than 5 s and was left out"
    ]
    assert names(composed) == ["facts"]
    assert seconds < SECONDS + stretched(2)
    assert "The ferry to Oslo leaves at nine" in composed.text


async def test_a_layer_that_fails_is_left_out_and_named_at_once(turn, conninfo):
    with revoked(conninfo, "agent_files"):
        composed, seconds = await turn()
    assert names(composed) == ["workspace"]
    assert "nobody foresaw" in composed.degraded[0]
    assert "agent_files" not in composed.degraded[0]
    assert seconds < SECONDS
    assert "The ferry to Oslo leaves at nine" in composed.text


async def test_one_stuck_and_one_failing_layer_cost_only_their_own_sections(turn, conninfo):
    with locked(conninfo, "profiles"), revoked(conninfo, "landmarks"):
        composed, seconds = await turn()
    assert sorted(names(composed)) == ["landmarks", "profile"]
    assert seconds < SECONDS + stretched(2)
    assert "The ferry to Oslo leaves at nine" in composed.text


async def test_a_search_that_is_stuck_leaves_the_rest(turn, conninfo):
    with locked(conninfo, "entries"):
        composed, seconds = await turn()
    # landmarks look up there how often they were used
    assert sorted(names(composed)) == ["landmarks", "recall"]
    assert seconds < SECONDS + stretched(2)
    assert [section.name for section in composed.sections] == ["session", "transcript", "invocation"]


@contextmanager
def unwritable(conninfo, table):
    """Let every new row of a table fail, as a full disk would."""
    with migrate.owner(conninfo) as owner:
        owner.execute(f"ALTER TABLE {table} ADD CONSTRAINT full_disk CHECK (false) NOT VALID")
        try:
            yield
        finally:
            owner.execute(f"ALTER TABLE {table} DROP CONSTRAINT full_disk")


async def test_a_turn_goes_on_where_compaction_fails(turn, conninfo):
    said = [f"Ferry {number} to Oslo was late on Friday, and nobody in the harbour knew why" for number in range(40)]
    with unwritable(conninfo, "summaries"):
        composed, _ = await turn(said, window_tokens=1_000)
    assert names(composed) == ["compaction"]
    assert "full_disk" not in composed.degraded[0]
    assert composed.tokens <= 1_000
    missing = sum(one.count for one in composed.left_out if one.section == "transcript")
    (transcript_,) = [section for section in composed.sections if section.name == "transcript"]
    shown = [line for line in transcript_.lines if line.kind == "message"]
    assert missing + len(shown) == 40 + 1
    better, _ = await turn(window_tokens=1_000)
    while "compaction: it took longer" in str(better.degraded):
        better, _ = await turn(window_tokens=1_000)
    assert (names(better), better.compacted > 0) == ([], True)


async def test_all_is_well_again_when_the_trouble_is_over(turn, conninfo):
    with locked(conninfo, "facts"):
        await turn()
    composed, seconds = await turn()
    assert names(composed) == []
    assert seconds < SECONDS
