"""A turn whose window fills up compacts the oldest messages, once, and never waits long for a model."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from conftest import admin_of
from keepword import transcript
from keepword.access import everything_in, grant, view
from keepword.compaction.compact import Compactor
from keepword.compose import Inline
from keepword.embedding import Reader
from keepword.model import Draft
from keepword.postgres.places import PostgresConversations, PostgresDoors
from keepword.postgres.summaries import PostgresSummaries
from keepword.postgres.transcript import PostgresTranscript

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
    assert made["compacted"] == 30
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


@pytest.mark.anyio
async def test_a_model_that_is_slow_is_not_waited_for(pool, tenant):
    viewer, doors = view(admin_of(tenant)), PostgresDoors(pool)
    await transcript.put(doors, PostgresConversations(pool), viewer, "talk", transcript.NewConversation())
    place = await doors.place(tenant.id, "talk")
    opened = grant(viewer, place)
    drafts = [Draft("user", TEXT.format(n=n)) for n in range(30)]
    await transcript.append(PostgresTranscript(pool), Reader(), opened, viewer, place, drafts)
    started = time.monotonic()
    taken = await Inline(Compactor(PostgresSummaries(pool, Reader()), SlowModel()), model_seconds=0.2).compact(
        opened, place
    )
    assert taken == 20
    assert time.monotonic() - started < 30
    (summary,) = await PostgresSummaries(pool, Reader()).tops(everything_in(tenant.id), place, 10)
    assert summary.model == "extractive"
