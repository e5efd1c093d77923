"""A layer that is stuck or broken costs its own section, never the turn: with a real lock and a real lost privilege."""

import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from conftest import admin_of
from keepword import transcript
from keepword.access import grant, view
from keepword.compose import Request
from keepword.config import Settings
from keepword.embedding import Reader
from keepword.main import services
from keepword.model import Draft
from keepword.postgres import migrate, together
from keepword.postgres.places import PostgresConversations, PostgresDoors
from keepword.postgres.transcript import PostgresTranscript

SECONDS = 1.0

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
    monkeypatch.setattr(together, "SECONDS", 0.3)
    viewer, doors = view(admin_of(tenant)), PostgresDoors(pool)
    name = f"talk-{uuid4().hex[:8]}"
    await transcript.put(doors, PostgresConversations(pool), viewer, name, transcript.NewConversation())
    place = await doors.place(tenant.id, name)
    opened = grant(viewer, place)
    drafts = [Draft("user", "The ferry to Oslo leaves at nine")]
    await transcript.append(PostgresTranscript(pool), Reader(), opened, viewer, place, drafts)
    async with services(Settings(home=Path("/nonexistent"), worker=False, embedding="none"), conninfo) as made:
        composer = replace(made.composer, layer_seconds=SECONDS)

        async def compose():
            started = time.monotonic()
            composed = await composer.compose(opened, place, Request("When does the ferry leave?", place.agent))
            return composed, time.monotonic() - started

        # what a process does once is none of the turn's time
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
        "facts: it took longer than 1 s and was left out"
    ]
    assert names(composed) == ["facts"]
    assert seconds < SECONDS + 2
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
    assert seconds < SECONDS + 2
    assert "The ferry to Oslo leaves at nine" in composed.text


async def test_a_search_that_is_stuck_leaves_the_rest(turn, conninfo):
    with locked(conninfo, "entries"):
        composed, seconds = await turn()
    # landmarks look up there how often they were used
    assert sorted(names(composed)) == ["landmarks", "recall"]
    assert seconds < SECONDS + 2
    assert [section.name for section in composed.sections] == ["session", "transcript", "invocation"]


async def test_all_is_well_again_when_the_trouble_is_over(turn, conninfo):
    with locked(conninfo, "facts"):
        await turn()
    composed, seconds = await turn()
    assert names(composed) == []
    assert seconds < SECONDS
