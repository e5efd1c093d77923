"""A turn whose window fills up compacts the oldest messages, once, and never waits long for a model."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from conftest import admin_of
from keepword import transcript
from keepword.access import everything_in, grant, make_viewer
from keepword.compaction.compact import Compactor
from keepword.compose import InlineCompactor
from keepword.embedding import TextIndexer
from keepword.llm.port import Answer
from keepword.model import Draft
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Pool
from keepword.postgres.recall import PostgresIndex
from keepword.postgres.summaries import PostgresSummaries
from keepword.postgres.transcript import PostgresTranscript
from keepword.recall.ports import Filter
from patience import PATIENT, stretched

TEXT = "We talked about part {n} of the harbour plan, and Ann wants {n} boats from Oslo to stay there until Friday."


@pytest.fixture
def talk(service):
    """A conversation of forty messages whose agent has a small window."""
    name = f"talk-{uuid4().hex[:8]}"
    with service.client() as client:
        client.put(f"/v1/agents/{name}", json={"context_window": 2_400})
        client.put(f"/v1/conversations/{name}", json={"agent": name})
        messages = [{"role": "user", "content": TEXT.format(n=n)} for n in range(40)]
        assert client.post(f"/v1/conversations/{name}/messages", json=messages).status_code == 201
    return name


def compose(service, talk, **more):
    with service.client() as client:
        body = {"conversation": talk, "message": "How many boats?", "budget_tokens": 800, **more}
        answer = client.post("/v1/compose", json=body | {"sections": ["summary", "transcript"]})
        assert answer.status_code == 200, answer.text
        return answer.json()


def leaves(service, talk):
    with service.client() as client:
        return client.get(f"/v1/conversations/{talk}/summaries").json()["summaries"]


def test_a_full_window_lets_a_summary_stand_for_the_oldest_messages(service, talk):
    # so that the transcript alone fills the window
    room = {"landmark_tokens": 0, "workspace_tokens": 0, "budget_tokens": 500}
    before = compose(service, talk, dry_run=True, **room)
    assert before["share"] > 0.7
    assert before["compacted"] == 0
    assert leaves(service, talk) == []
    made = compose(service, talk, **room)
    assert made["compacted"] == 30, made["degraded"]
    assert made["share"] < before["share"]
    by_name = {section["name"]: section for section in made["sections"]}
    assert len(by_name["transcript"]["lines"]) == 10
    assert by_name["summary"]["lines"][0]["reason"] == "thread summary of 30 messages"
    assert [leaf["summary"]["message_count"] for leaf in leaves(service, talk)] == [30]


def test_turns_at_once_compact_once(service, talk):
    room = {"landmark_tokens": 0, "workspace_tokens": 0, "budget_tokens": 500}
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: compose(service, talk, **room), range(8)))
    assert sum(one["compacted"] for one in made) == 30
    assert len(leaves(service, talk)) == 1


class SlowModel:
    context_tokens = 8_000

    async def ask(self, _):
        await asyncio.sleep(60)


class QuickModel:
    name = "quick"
    context_tokens = 8_000

    async def ask(self, _):
        return Answer("Ann wants boats from Oslo to stay there until Friday.", "quick")


@pytest.fixture
async def said(pool, tenant):
    """Return what says messages in a conversation of the tenant, and its place."""
    viewer, lookup = make_viewer(admin_of(tenant)), PostgresPlaceLookup(pool)
    await transcript.put(lookup, PostgresConversations(pool), viewer, "talk", transcript.NewConversation())
    place = await lookup.place(tenant.id, "talk")

    async def say(many):
        opened = grant(viewer, place)
        drafts = [Draft("user", TEXT.format(n=n)) for n in range(many)]
        await transcript.append(PostgresTranscript(pool), TextIndexer(), opened, viewer, place, drafts)
        return opened, place

    return say


def inline(pool, model=None):
    return InlineCompactor(Compactor(PostgresSummaries(pool, TextIndexer()), model), model_seconds=0.2)


@pytest.mark.anyio
async def test_the_models_version_of_what_was_quoted_in_a_turn_is_made_later(pool, tenant, said):
    opened, place = await said(30)
    started = time.monotonic()
    assert await inline(pool, SlowModel()).compact(opened, place, 0) == 20
    assert time.monotonic() - started < stretched(30)
    owner, store = everything_in(tenant.id), PostgresSummaries(pool, TextIndexer())
    (quoted,) = await store.tops(owner, place, 10)
    assert quoted.model == "extractive"
    assert "took longer than 0.2 s" in quoted.reason
    now = datetime.now(UTC)
    await Compactor(store, QuickModel()).compact(owner, place.conversation_id, now)
    (better,) = await store.tops(owner, place, 10)
    assert (better.id, better.model, better.reason) == (quoted.id, "quick+extractive", None)
    assert "Ann wants boats" in better.content
    assert (better.first_seq, better.last_seq) == (quoted.first_seq, quoted.last_seq)
    shown = await PostgresIndex(pool).matching(owner, "stay there until Friday", "trigram", Filter(("summary",)), 5)
    assert len(shown) == 1
    assert await store.late(owner, place.conversation_id, 1) == []


@pytest.mark.anyio
async def test_two_processes_compact_once(pool, conninfo, tenant, said):
    opened, place = await said(90)
    other = Pool(conninfo, PATIENT)
    await other.open()
    try:
        taken = await asyncio.gather(*(inline(one).compact(opened, place, 0) for one in (pool, other)))
        # who began before the other had stored its leaf does not go on to the next window
        assert await inline(other).compact(opened, place, 0) == 0
    finally:
        await other.close()
    assert sorted(taken) == [0, 50]
    store = PostgresSummaries(pool, TextIndexer())
    assert len(await store.tops(everything_in(tenant.id), place, 10)) == 1
    assert await inline(pool).compact(opened, place, 50) == 30
