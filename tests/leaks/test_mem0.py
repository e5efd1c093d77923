"""What a key reaches through the routes of mem0's client, compared with the oracle, viewer by viewer."""

from functools import partial
from itertools import product

import pytest

from keepword.access import Viewer
from leaks import oracle
from leaks.kinds import KINDS
from leaks.oracle import Where
from leaks.viewers import ROLES, half_bound, viewers
from leaks.world import BOTS, PEOPLE

pytestmark = pytest.mark.anyio


async def test_lists_by_user_and_agent_show_what_the_design_says_and_no_more(worlds, make_client, tally):
    world, client_of = worlds[0], partial(make_client, worlds[0])
    # what an agent said is of no user, so no list of a user's has it
    of = {
        world.mark("semantic", name): (talk.user or world.speakers.get(name), talk.agent)
        for name, talk in world.talks.items()
        if name not in world.agents_word
    }
    things = [thing for kind in KINDS if kind.table == "memories" for each in worlds for thing in kind.things(each)]
    for viewer in (*viewers(world, ROLES, bound=True), *half_bound(world, ("agent",))):
        async with client_of(viewer) as client:
            for agent, user in product(BOTS, PEOPLE):
                tree = {"AND": [{"agent_id": agent}, {"user_id": user}]}
                answer = await client.post("/v3/memories/?page_size=200", json={"filters": tree})
                found = {one["memory"] for one in answer.json().get("results", ())}
                reach = oracle.reach(world, viewer, _where(viewer, agent, user))
                seen = oracle.seen(world, reach, things) if reach.enters else set()
                expected = {mark for mark in seen if of.get(mark) == (user, agent)}
                tally.compare(f"mem0's list of {user} and {agent} for {viewer}", len(things), found, expected)
                if answer.status_code not in ({200} if reach.enters else {200, 403, 404}):
                    tally.wrong.append(f"mem0's list for {viewer}: status {answer.status_code}")


async def test_single_memories_and_histories_open_as_the_semantic_routes_open_them(worlds, make_client, tally):
    world, client_of = worlds[0], partial(make_client, worlds[0])
    # all roles read alike: test_matrix compares them
    for viewer in (*viewers(world, ("agent",), bound=True), *half_bound(world, ("agent",))):
        async with client_of(viewer) as client:
            for name, id_ in world.memories.items():
                own = await client.get(f"/v1/semantic/{id_}")
                theirs = await client.get(f"/v1/memories/{id_}/")
                versions = await client.get(f"/v1/memories/{id_}/history/")
                expected = {own.json()["content"]} if own.status_code == 200 else set()
                for what, answer in (("memory", theirs), ("history", versions)):
                    told = answer.json() if isinstance(answer.json(), list) else [answer.json()]
                    found = {one.get("memory") or one["new_memory"] for one in told if answer.status_code == 200}
                    tally.compare(f"mem0's {what} of {name} for {viewer}", 1, found, expected)
                    if answer.status_code != own.status_code:
                        tally.wrong.append(f"mem0's {what} of {name} for {viewer}: status {answer.status_code}")


async def test_events_open_with_the_conversations_of_their_messages(worlds, make_client, tally):
    world, client_of = worlds[0], partial(make_client, worlds[0])
    async with client_of(Viewer(world.id, "admin")) as owner:
        said = {name: await _last_message(owner, name) for name in world.talks}
    for viewer in (*viewers(world, ("agent",), bound=True), *half_bound(world, ("agent",))):
        async with client_of(viewer) as client:
            for name, message in said.items():
                place = await client.get(f"/v1/conversations/{name}")
                event = await client.get(f"/v1/event/{message}/")
                found = {event.json()["id"]} if event.status_code == 200 else set()
                expected = {message} if place.status_code == 200 else set()
                tally.compare(f"mem0's event of {name} for {viewer}", 1, found, expected)


async def _last_message(client, name: str) -> str:
    page = await client.get(f"/v1/conversations/{name}/messages?retracted=false&order=desc&limit=1")
    return page.json()["messages"][0]["id"]


def _where(viewer: Viewer, agent: str, user: str) -> Where:
    """Return where a list is read: the owner's everywhere, others' in the sessions of whom they act for."""
    if viewer.role == "admin" and viewer.agent is None and viewer.user is None:
        return Where("everywhere")
    return Where("across", agent=viewer.agent or agent, user=viewer.user or user)
