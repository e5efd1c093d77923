"""One user, many threads: what thread one said is answered in thread two, and in nobody else's."""

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from mcp.client.client import Client as McpClient
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from conftest import environment
from keepword import Client
from patience import HANG_SECONDS

pytestmark = pytest.mark.anyio
KEEPWORD = str(Path(sys.executable).parent / "keepword")
SAID = "The Passat broke down near Kassel, towed by a guy named Rudi, invoice 4711."
QUESTION = "Who towed my car?"


class Threads:
    """Nils has two threads with the helper and one with another agent; Olga has a thread with the helper."""

    def __init__(self, service, *, reach: str | None = None) -> None:
        self.service = service
        self.tenant = f"threads-{uuid4().hex}"
        self.owner = service.make_key(self.tenant)
        with service.client(self.owner) as client:
            for user in ("nils", "olga"):
                client.put(f"/v1/users/{user}", json={}).raise_for_status()
            for name, user, agent in (
                ("one", "nils", "helper"), ("two", "nils", "helper"), ("other", "nils", "clerk"),
                ("third", "olga", "helper"),
            ):  # fmt: skip
                body = {"user": user, "agent": agent} | ({"reach": reach} if reach else {})
                client.put(f"/v1/conversations/{name}", json=body).raise_for_status()
            client.post("/v1/conversations/one/messages", json={"role": "user", "content": SAID}).raise_for_status()

    @asynccontextmanager
    async def mcp_over_http(self, place):
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.owner}"}, timeout=HANG_SECONDS) as http,
            McpClient(
                streamable_http_client(f"{self.service.url}/mcp?conversation={place}", http_client=http)
            ) as client,
        ):
            yield client

    @asynccontextmanager
    async def mcp_over_stdio(self, place):
        env = environment(self.service.home, url=self.service.url, key=self.owner)
        command = StdioServerParameters(command=KEEPWORD, args=["mcp", "--in", place], env=env, cwd="/")
        async with McpClient(stdio_client(command)) as client:
            yield client


def texts(client, place, **more):
    # by words alone: no deep vector has to be waited for
    body = {"query": "Who towed the Passat?", "conversation": place, "recipe": "fast"} | more
    answer = client.post("/v1/search", json=body)
    assert answer.status_code == 200, answer.text
    return {hit["text"] for hit in answer.json()["results"] if hit["kind"] == "message"}


def composed(client, place, **more):
    answer = client.post("/v1/compose", json={"conversation": place, "message": QUESTION, "dry_run": True} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_thread_two_answers_what_thread_one_said_over_http(keyed_service):
    threads = Threads(keyed_service, reach="user")
    for key in (threads.owner, keyed_service.make_key(threads.tenant, "agent", "helper")):
        with keyed_service.client(key) as client:
            assert texts(client, "two") == {SAID}
            assert texts(client, "third") == set()
            turn = composed(client, "two")
            assert SAID in turn["text"]
            assert turn["reach"] == "user"
            assert "Rudi" not in composed(client, "third")["text"]
    with keyed_service.client(threads.owner) as client:
        assert texts(client, "other") == set()


def test_a_session_reads_itself_alone_unless_a_reach_is_chosen(keyed_service):
    threads = Threads(keyed_service)
    with keyed_service.client(threads.owner) as client:
        assert texts(client, "two") == set()
        assert "Rudi" not in composed(client, "two")["text"]
        assert texts(client, "two", reach="user") == {SAID}
        found = client.post("/v1/search", json={"query": "car", "conversation": "two", "reach": "user"}).json()
        assert found["searched"]["reach"] == "user"
        assert SAID in composed(client, "two", reach="user")["text"]
        # AEGIS' memory node shows past conversations of the same user and agent
        turn = composed(client, "two", template="aegis")
        assert turn["reach"] == "user"
        assert SAID in turn["text"]
        assert "Rudi" not in composed(client, "third", template="aegis")["text"]
        assert "Rudi" not in composed(client, "two", template="aegis", reach="own")["text"]


async def test_thread_two_answers_what_thread_one_said_in_python(keyed_service):
    threads = Threads(keyed_service)
    async with Client(keyed_service.url, key=threads.owner) as kw:
        for name, user in (("three", "nils"), ("fourth", "olga")):
            made = await kw.conversations.put(name, user=user, agent="helper", reach="user")
            assert made.reach == "user"
        found = await kw.search("Who towed the Passat?", conversation="three")
        assert SAID in {hit.text for hit in found.results}
        assert SAID in (await kw.compose("three", QUESTION)).text
        assert SAID in {message.content for message in (await kw.browse("three")).messages}
        assert (await kw.search("Who towed the Passat?", conversation="fourth")).results == ()
        assert "Rudi" not in (await kw.compose("fourth", QUESTION)).text


@pytest.mark.parametrize("way", ["mcp_over_http", "mcp_over_stdio"])
async def test_thread_two_answers_what_thread_one_said_over_mcp(keyed_service, way):
    """Where nobody names a reach, MCP asks for that of the user."""
    threads = Threads(keyed_service)
    for place, expected in (("two", {SAID}), ("third", set())):
        async with getattr(threads, way)(place) as client:
            found = await client.call_tool("memory_search", {"query": "Who towed the Passat?", "kinds": ["message"]})
            assert {hit["text"] for hit in found.structured_content["results"]} == expected
            page = await client.call_tool("memory_browse", {})
            assert {message["content"] for message in page.structured_content["messages"]} == expected
            own = await client.call_tool("memory_search", {"query": "Who towed the Passat?", "reach": "own"})
            assert own.structured_content["results"] == []


@pytest.fixture(params=["keyed_service", "redis_keyed_service"])
def either_service(request):
    return request.getfixturevalue(request.param)


def test_a_change_of_reach_counts_from_the_next_call_on(either_service):
    """Each state is asked three times, so that the scope would be cached when the next change comes."""
    threads = Threads(either_service)
    with either_service.client(threads.owner) as client:

        def expect(expected: bool) -> None:
            for _ in range(3):
                assert texts(client, "two") == ({SAID} if expected else set())
                assert (SAID in composed(client, "two")["text"]) == expected
                page = client.get("/v1/browse", params={"conversation": "two"}).json()
                assert {message["content"] for message in page["messages"]} == ({SAID} if expected else set())

        def change(path, body) -> None:
            assert client.patch(path, json=body).status_code == 200

        expect(expected=False)
        change("/v1/conversations/two", {"reach": "user"})
        expect(expected=True)
        change("/v1/conversations/two", {"reach": None})
        expect(expected=False)
        change("/v1/settings", {"session_reach": "user"})
        expect(expected=True)
        change("/v1/conversations/two", {"reach": "own"})
        expect(expected=False)
        change("/v1/conversations/two", {"reach": None})
        # what moves into an isolated project is nobody's but the project's
        client.put("/v1/projects/sealed", json={"isolated": True}).raise_for_status()
        client.put("/v1/projects/sealed/members/conversations/one").raise_for_status()
        expect(expected=False)
        client.delete("/v1/projects/sealed/members/conversations/one").raise_for_status()
        expect(expected=True)
        # in a project a session has the project's reach
        client.put("/v1/projects/open", json={}).raise_for_status()
        client.put("/v1/projects/open/members/conversations/two").raise_for_status()
        expect(expected=False)
        client.delete("/v1/projects/open/members/conversations/two").raise_for_status()
        expect(expected=True)


def test_a_session_without_a_user_gets_one_once_and_then_reads_that_users_threads(keyed_service):
    threads = Threads(keyed_service)
    with keyed_service.client(threads.owner) as client:
        client.put("/v1/conversations/demo", json={"agent": "helper", "reach": "user"}).raise_for_status()
        client.post("/v1/conversations/demo/messages", json={"role": "user", "content": "Hi."}).raise_for_status()
        assert texts(client, "demo") == set()
        bound = keyed_service.make_key(threads.tenant, "agent", user="nils")
        with keyed_service.client(bound) as nils:
            assert nils.put("/v1/conversations/demo", json={"user": "nils"}).status_code == 409
        assert client.put("/v1/conversations/demo", json={"user": "nils"}).status_code == 200
        assert texts(client, "demo") == {SAID}
        assert client.put("/v1/conversations/demo", json={"user": "olga"}).status_code == 409


def test_a_direct_conversation_reads_the_rooms_of_both_and_no_room_reads_the_reverse(keyed_service):
    threads = Threads(keyed_service)
    with keyed_service.client(threads.owner) as client:
        client.put("/v1/rooms/garage", json={}).raise_for_status()
        for who in ("users/nils", "agents/helper"):
            client.put(f"/v1/rooms/garage/participants/{who}").raise_for_status()
        client.put("/v1/conversations/talk", json={"room": "garage", "agent": "helper"}).raise_for_status()
        for user in ("nils", "olga"):
            body = {"kind": "direct", "user": user, "agent": "helper"}
            client.put(f"/v1/conversations/dm-{user}", json=body).raise_for_status()
        # a second one of the same two is the first under a further name, wherever it is named
        client.put(
            "/v1/conversations/dm-too", json={"kind": "direct", "user": "nils", "agent": "helper"}
        ).raise_for_status()
        said = "The winch of the tow truck costs 800 euros."
        message = {"role": "user", "user": "nils", "content": said}
        client.post("/v1/conversations/talk/messages", json=message).raise_for_status()
        secret = {"role": "user", "content": "I sell the tow truck, winch and all."}
        client.post("/v1/conversations/dm-too/messages", json=secret).raise_for_status()

        def found(place):
            body = {"query": "tow truck winch", "conversation": place, "recipe": "fast", "kinds": ["message"]}
            return {hit["text"] for hit in client.post("/v1/search", json=body).json()["results"]}

        assert found("dm-nils") == found("dm-too") == {said, secret["content"]}
        assert said in composed(client, "dm-too")["text"]
        assert found("dm-olga") == set()
        assert found("talk") == {said}
        client.delete("/v1/rooms/garage/participants/users/nils").raise_for_status()
        assert found("dm-nils") == {secret["content"]}
        client.put("/v1/rooms/garage/participants/users/nils").raise_for_status()
        client.patch("/v1/settings", json={"direct_reads_rooms": False}).raise_for_status()
        assert found("dm-nils") == {secret["content"]}


def test_only_a_session_chooses_a_reach(keyed_service):
    threads = Threads(keyed_service)
    with keyed_service.client(threads.owner) as client:
        body = {"kind": "direct", "user": "nils", "agent": "helper", "reach": "user"}
        refused = client.put("/v1/conversations/dm", json=body)
        assert refused.status_code == 422
        assert "only a session chooses one" in refused.text
        assert client.put("/v1/conversations/two", json={"reach": "project"}).status_code == 422
        assert client.post("/v1/search", json={"query": "x", "reach": "user"}).status_code == 422
        assert client.post("/v1/search", json={"query": "x", "conversation": "two", "reach": "all"}).status_code == 422
