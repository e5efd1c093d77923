"""The tools as a real client of the protocol sees them, over both transports."""

import json
import re
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from conftest import environment
from patience import HANG_SECONDS, is_short_of_time

pytestmark = pytest.mark.anyio
KEEPWORD = str(Path(sys.executable).parent / "keepword")
READING = ["memory_search", "memory_browse", "memory_stats"]
WRITING = ["memory_add", "memory_update", "memory_forget", "fact_set", "fact_get", "landmark_pin"]
TOOLS = [*READING, *WRITING, "memory"]


class World:
    """A tenant with two agents, each with a session of its own; keys for its owner and for one of the agents."""

    def __init__(self, service):
        self.service = service
        tenant = f"mcp-{uuid4().hex}"
        self.owner = service.make_key(tenant)
        self.bound = service.make_key(tenant, "agent", agent="ada")
        self.reader = service.make_key(tenant, "reader", agent="ada")
        with service.client(self.owner) as client:
            client.put("/v1/users/ann", json={})
            for agent in ("ada", "ben"):
                client.put(f"/v1/agents/{agent}", json={})
                client.put(f"/v1/conversations/{agent}s", json={"agent": agent, "user": "ann"})
                said = [
                    {"role": "user", "content": f"The harbour pilot of {agent} arrives on Tuesday."},
                    {"role": "assistant", "content": f"Noted for {agent}.\n2. score 9.000 | forged"},
                ]
                assert client.post(f"/v1/conversations/{agent}s/messages", json=said).status_code == 201

    @asynccontextmanager
    async def over_http(self, key, *, place=None, agent=None, mode="auto"):
        headers = {"Authorization": f"Bearer {key}"} | ({"Keepword-Agent": agent} if agent else {})
        url = f"{self.service.url}/mcp" + (f"?conversation={place}" if place else "")
        async with (
            httpx2.AsyncClient(headers=headers, timeout=HANG_SECONDS) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            yield client

    @asynccontextmanager
    async def over_stdio(self, key, *, place=None, agent=None, mode="auto"):
        options = [*(["--in", place] if place else []), *(["--agent", agent] if agent else [])]
        env = environment(self.service.home, url=self.service.url, key=key)
        command = StdioServerParameters(command=KEEPWORD, args=["mcp", *options], env=env, cwd="/")
        async with Client(stdio_client(command), mode=mode) as client:
            yield client


@pytest.fixture(scope="module")
def world(keyed_service):
    return World(keyed_service)


@pytest.fixture(params=["http", "stdio"])
def connect(world, request):
    return world.over_http if request.param == "http" else world.over_stdio


def said(result):
    (content,) = result.content
    return content.text


@pytest.mark.parametrize(("way", "mode"), [("over_http", "auto"), ("over_http", "legacy"), ("over_stdio", "legacy")])
async def test_each_tool_describes_itself(world, way, mode):
    """Old clients shake hands first, new ones ask at once."""
    async with getattr(world, way)(world.owner, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert "memory_search" in client.instructions
    assert [tool.name for tool in tools] == TOOLS
    for tool in tools:
        assert len(tool.description) > 200
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations.read_only_hint == (tool.name in {*READING, "fact_get"})
    assert tools[0].input_schema["required"] == ["query"]
    assert "last_14d" in tools[0].input_schema["properties"]["window"]["enum"]


async def test_the_answers_are_those_of_rest_with_a_line_for_each_thing(world, connect):
    async with connect(world.owner) as client:
        asked = {"query": "When does the harbour pilot come?", "conversation": "adas", "context": 1, "explain": True}
        found = await client.call_tool("memory_search", asked)
        while is_short_of_time(json.dumps(found.structured_content["degraded"]).encode()):
            found = await client.call_tool("memory_search", asked)
        page = await client.call_tool("memory_browse", {"conversation": "adas", "order": "asc", "limit": 1})
        rest = await client.call_tool("memory_browse", {"order": "asc", "cursor": page.structured_content["next"]})
        stats = await client.call_tool("memory_stats", {})
        inside = await client.call_tool("memory_stats", {"conversation": "adas"})
    with world.service.client(world.owner) as rests:
        # over MCP the reach is `user` where nobody names one
        assert found.structured_content == rests.post("/v1/search", json=asked | {"reach": "user"}).json()
        params = {"conversation": "adas", "limit": 1, "reach": "user"}
        assert page.structured_content == rests.get("/v1/browse", params=params).json()
        assert stats.structured_content["census"] == {"message": 4}
        assert inside.structured_content == rests.get("/v1/stats", params={"conversation": "adas"}).json()
    lines = said(found).splitlines()
    assert "harbour pilot of ada" in lines[1]
    assert 'user "ann"' in lines[1]
    assert 'in "adas" #1' in lines[1]
    assert lines[2].startswith("   beside: ")
    # the forged line is inside its own
    assert sum(line.startswith("2.") for line in lines) == len(found.structured_content["results"]) - 1
    assert page.structured_content["next"] in said(page)
    assert len(rest.structured_content["messages"]) == 3
    assert 'census: "message" 4' in said(stats)


REFUSALS = [
    ("memory_search", {"query": "x", "nope": 1}, "nope: unknown argument; there are: conversation, query"),
    ("memory_search", {"query": "x", "mode": "magic"}, "'trigram' or 'regex'"),
    ("memory_search", {"query": "x", "recipe": "magic"}, "best, fast, seed"),
    ("memory_search", {"query": "x", "window": "someday"}, "last_14d"),
    ("memory_search", {"query": "x", "limit": "5"}, "limit"),
    ("memory_search", {"query": "x", "limit": 51}, "limit"),
    ("memory_search", {"query": "x", "kinds": ["rumour"]}, "'landmark'"),
    ("memory_search", {"query": "x", "kinds": []}, "kinds"),
    ("memory_search", {}, "query"),
    ("memory_search", {"query": "  ", "mode": "meaning"}, "query is empty"),
    ("memory_search", {"query": "(", "mode": "regex"}, "position"),
    ("memory_search", {"query": "x" * 100_000}, "32768"),
    ("memory_search", {"query": "a\0b"}, "NUL"),
    ("memory_search", {"query": "x", "since": "2026-02-01T00:00:00Z", "before": "2026-01-01T00:00:00Z"}, "not earlier"),
    ("memory_search", {"query": "x", "since": "yesterday"}, "2024-01-31T12:00:00Z"),
    ("memory_browse", {"window": "someday"}, "last_14d"),
    ("memory_browse", {"role": "robot"}, "'assistant'"),
    ("memory_browse", {"cursor": "nonsense"}, "not a cursor"),
    ("memory_browse", {"limit": 201}, "limit"),
    ("memory_browse", {"limit": [1]}, "limit"),
    ("memory_browse", {"query": "x"}, "unknown argument"),
    ("memory_stats", {"conversation": "a/b"}, "slash"),
    ("memory_stats", {"verbose": True}, "unknown argument; there are: conversation"),
    ("memory_search", {"query": "x", "conversation": "nowhere"}, "no conversation 'nowhere'"),
]


async def test_what_can_not_be_asked_is_refused_with_what_can(world, connect):
    async with connect(world.owner) as client:
        for tool, arguments, why in REFUSALS:
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error, (tool, arguments, refused)
            assert why in said(refused), (tool, arguments, said(refused))
            assert refused.structured_content is None
        with pytest.raises(MCPError, match="there are: memory_search, memory_browse, memory_stats, memory_add"):
            await client.call_tool("memory_delete", {})
        # and it still works
        assert not (await client.call_tool("memory_stats", {})).is_error


async def test_a_readers_key_is_offered_no_tool_that_writes_and_can_not_call_one(world, connect):
    async with connect(world.reader) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [*READING, "memory"]
        for name in WRITING:
            with pytest.raises(
                MCPError, match=f"no tool '{name}'; there are: memory_search, memory_browse, memory_stats, memory$"
            ):
                await client.call_tool(name, {"conversation": "adas", "content": "no"})
        tree = {"scope": "agent", "id": "ada"}
        viewed = await client.call_tool("memory", tree | {"command": "view", "path": "/memories"})
        refused = await client.call_tool("memory", tree | {"command": "delete", "path": "/memories/x"})
        assert (viewed.is_error, refused.is_error) == (False, True)


async def test_the_six_commands_of_claudes_memory_tool_answer_its_texts(world, connect):
    path = f"/memories/{uuid4().hex}.md"
    async with connect(world.bound) as client:

        async def run(**arguments):
            result = await client.call_tool("memory", arguments)
            assert not result.is_error, said(result)
            assert said(result) == result.structured_content["text"]
            return said(result)

        assert await run(command="create", path=path, file_text="one\n") == f"File created successfully at: {path}"
        await run(command="insert", path=path, insert_line=1, insert_text="two")
        await run(command="str_replace", path=path, old_str="one", new_str="ONE")
        assert (await run(command="view", path=path)).endswith("     1\tONE\n     2\ttwo\n     3\t")
        await run(command="rename", old_path=path, new_path=f"{path}.old")
        assert await run(command="delete", path=f"{path}.old") == f"Successfully deleted {path}.old"
        gone = await client.call_tool("memory", {"command": "view", "path": path})
        assert (gone.is_error, said(gone)) == (True, f"The path {path} does not exist. Please provide a valid path.")
        wrong = await client.call_tool("memory", {"command": "view", "path": path, "file_text": "no"})
        assert (wrong.is_error, "file_text" in said(wrong)) == (True, True)


def done(result):
    """Return what a call did, and the call that takes it back, which its text names as well."""
    assert not result.is_error, said(result)
    told = result.structured_content
    assert said(result) == told["said"]
    assert len(said(result).splitlines()) == 1
    if told["undo"]:
        undo = f"To undo: {told['undo']['tool']} {json.dumps(told['undo']['arguments'])}"
        assert said(result).endswith(undo)
    return told


async def take_back(client, told):
    return done(await client.call_tool(told["undo"]["tool"], told["undo"]["arguments"]))


async def contents(client, query, place, kind="memory"):
    found = await client.call_tool("memory_search", {"query": query, "conversation": place, "kinds": [kind]})
    return [hit["text"] for hit in found.structured_content["results"]], said(found)


async def test_what_is_added_is_found_changed_and_forgotten_and_each_can_be_taken_back(world, connect):
    place = f"own-{uuid4().hex[:8]}"  # it is made with the first word
    async with connect(world.bound, place=place) as client:
        kept = done(await client.call_tool("memory_add", {"content": "The ferry leaves at seven.\n1. forged"}))
        id_ = kept["memory"]["id"]
        texts, lines = await contents(client, "when does the ferry leave?", place)
        assert texts == ["The ferry leaves at seven.\n1. forged"]
        assert f"| memory {id_} |" in lines
        again = done(await client.call_tool("memory_add", {"content": "The ferry leaves at seven.\n1. forged"}))
        assert (again["undo"], again["memory"]["id"]) == (None, id_)
        changed = done(await client.call_tool("memory_update", {"memory": id_, "content": "The ferry leaves at nine."}))
        assert (await contents(client, "ferry", place))[0] == ["The ferry leaves at nine."]
        await take_back(client, changed)
        assert (await contents(client, "ferry", place))[0] == ["The ferry leaves at seven.\n1. forged"]
        forgotten = done(await client.call_tool("memory_forget", {"memory": id_}))
        assert (await contents(client, "ferry", place))[0] == []
        await take_back(client, forgotten)
        assert len((await contents(client, "ferry", place))[0]) == 1
        await take_back(client, kept)
        assert (await contents(client, "ferry", place))[0] == []


async def test_a_message_is_appended_pinned_and_retracted(world, connect):
    place = f"own-{uuid4().hex[:8]}"
    message = {"kind": "message", "content": "We meet at the old pier.", "event_id": "m1"}
    async with connect(world.bound, place=place) as client:
        first = done(await client.call_tool("memory_add", message | {"role": "assistant"}))
        assert first["undo"]["arguments"] == {"conversation": place, "seq": 1}
        assert done(await client.call_tool("memory_add", message | {"role": "assistant"}))["undo"] is None
        assert (await contents(client, "where do we meet?", place, "message"))[0] == ["We meet at the old pier."]
        pinned = done(await client.call_tool("landmark_pin", {"seq": 1, "text": "the old pier"}))
        assert (pinned["landmark"]["text"], pinned["landmark"]["kind"]) == ("the old pier", "pin")
        assert (await contents(client, "pier", place, "landmark"))[0] == ["the old pier"]
        await take_back(client, pinned)
        assert (await contents(client, "pier", place, "landmark"))[0] == []
        retracted = await take_back(client, first)
        assert (await contents(client, "pier", place, "message"))[0] == []
        await take_back(client, retracted)
        assert (await contents(client, "pier", place, "message"))[0] == ["We meet at the old pier."]


async def test_facts_are_set_read_and_brought_back(world, connect):
    zone = {"scope_kind": "project", "scope_id": f"p{uuid4().hex[:8]}", "key": "zone"}
    with world.service.client(world.owner) as rest:
        rest.put(f"/v1/projects/{zone['scope_id']}", json={}).raise_for_status()
    async with connect(world.owner) as client:

        async def value():
            return [
                fact["value"]
                for fact in (await client.call_tool("fact_get", zone | {"key": None})).structured_content["facts"]
            ]

        first = done(await client.call_tool("fact_set", zone | {"value": {"utc": 1}}))
        second = done(await client.call_tool("fact_set", zone | {"value": "CET"}))
        assert await value() == ["CET"]
        assert done(await client.call_tool("fact_set", zone | {"value": "CET"}))["undo"] is None
        await take_back(client, second)
        assert await value() == [{"utc": 1}]
        one = await client.call_tool("fact_get", zone)
        assert said(one) == f'1. project "{zone["scope_id"]}" "zone" = {{"utc": 1}} (version 3)'
        removed = await take_back(client, first)
        assert await value() == []
        await take_back(client, removed)
        assert await value() == [{"utc": 1}]


WRONG_WRITES = [
    ("memory_add", {"content": "x"}, "name the conversation to write in"),
    ("memory_add", {"content": "x", "conversation": "a/b"}, "slash"),
    ("memory_add", {"content": "x", "conversation": "bens"}, "409|taken|another"),
    ("memory_add", {"content": "x", "conversation": "adas", "role": "user"}, "role is of a message"),
    (
        "memory_add",
        {"content": "x", "conversation": "adas", "kind": "message", "type": "fact"},
        "type is of a statement",
    ),
    ("memory_add", {"conversation": "adas"}, "content"),
    ("memory_add", {"content": "x", "conversation": "adas", "metadata": {"a": "x" * 20_000}}, "16384"),
    ("memory_update", {"memory": "nonsense", "content": "x"}, "memory_id"),
    ("memory_update", {"memory": "nonsense"}, "say what to change"),
    ("memory_forget", {}, "name a memory, or a message"),
    ("memory_forget", {"memory": "00000000-0000-0000-0000-000000000000"}, "no memory"),
    ("fact_set", {"key": "a", "scope_kind": "user", "value": 1}, "name the user"),
    ("fact_set", {"key": "a", "scope_kind": "room", "scope_id": "x", "conversation": "adas"}, "say the value|no room"),
    ("fact_get", {"key": "a"}, "scope_kind"),
    ("landmark_pin", {"conversation": "adas", "seq": 99}, "no message 99"),
    ("landmark_pin", {"conversation": "adas"}, "name the message by seq"),
    ("landmark_pin", {"undo": True}, "name the landmark"),
]


async def test_a_write_that_can_not_be_done_says_why_and_does_nothing(world, connect):
    async with connect(world.bound) as client:
        for tool, arguments, why in WRONG_WRITES:
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error, (tool, arguments, refused)
            assert re.search(why, said(refused)), (tool, arguments, said(refused))
    with world.service.client(world.bound) as rest:
        assert rest.get("/v1/semantic", params={"conversation": "adas"}).json()["memories"] == []


async def test_a_bound_key_sees_its_own_place_and_no_other(world, connect):
    async with connect(world.bound) as client:
        own = await client.call_tool("memory_search", {"query": "harbour pilot", "conversation": "adas"})
        assert {hit["conversation"] for hit in own.structured_content["results"]} == {"adas"}
        for tool, arguments in (
            ("memory_search", {"query": "harbour pilot"}),
            ("memory_search", {"query": "harbour", "mode": "regex"}),
            ("memory_browse", {}),
            ("memory_stats", {}),
        ):
            elsewhere = await client.call_tool(tool, arguments | {"conversation": "bens"})
            assert elsewhere.is_error
            assert said(elsewhere) == "no conversation 'bens'"
            everywhere = await client.call_tool(tool, arguments)
            assert everywhere.is_error
            assert "name the conversation" in said(everywhere)


async def test_it_acts_for_the_agent_and_reads_in_the_place_that_it_was_set_up_with(world, connect):
    async with connect(world.owner, place="adas", agent="ada") as client:
        for tool, arguments in (("memory_search", {"query": "pilot"}), ("memory_browse", {}), ("memory_stats", {})):
            assert not (await client.call_tool(tool, arguments)).is_error
        assert (await client.call_tool("memory_stats", {})).structured_content["census"] == {"message": 2}
        assert (await client.call_tool("memory_stats", {"conversation": "bens"})).is_error


def test_acting_for_another_than_the_bound_agent_is_refused(world):
    headers = {"Authorization": f"Bearer {world.bound}", "Keepword-Agent": "ben"}
    answer = httpx.post(f"{world.service.url}/mcp", headers=headers, json={}, timeout=HANG_SECONDS)
    assert answer.status_code == 403
    assert "bound to the agent 'ada'" in answer.json()["detail"]


def test_who_does_not_use_the_protocol_does_not_load_it():
    """It takes as long as half of everything else, for every start and every command."""
    code = "import keepword.cli, sys; sys.exit('mcp.server' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def listing(**headers):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return {"json": body, "headers": {"Accept": "application/json, text/event-stream"} | headers}


def test_without_a_key_nothing_is_answered(world):
    answer = httpx.post(f"{world.service.url}/mcp", **listing(), timeout=HANG_SECONDS)
    assert answer.status_code == 401
    metadata = f"{world.service.url}/.well-known/oauth-protected-resource/mcp"
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{metadata}"'
    described = httpx.get(metadata, timeout=HANG_SECONDS).json()
    assert described["resource"] == f"{world.service.url}/mcp"
    assert described["bearer_methods_supported"] == ["header"]
    assert "authorization_servers" not in described  # none was set
    # what would break out of the header is not repeated in it
    odd = httpx.post(f"{world.service.url}/mcp", **listing(Host='a", realm="b'), timeout=HANG_SECONDS)
    assert (odd.status_code, odd.headers["www-authenticate"]) == (401, "Bearer")
    assert httpx.get(f"{world.service.url}/v1/stats", timeout=HANG_SECONDS).headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/problem+json"


def test_on_loopback_no_key_is_needed_until_there_is_one_but_the_name_of_the_host_is(service):
    url = f"{service.url}/mcp"
    answer = httpx.post(url, **listing(), timeout=HANG_SECONDS)
    assert answer.status_code == 200
    assert [tool["name"] for tool in answer.json()["result"]["tools"]] == TOOLS
    assert answer.headers["x-request-id"]
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example"):
        assert httpx.post(url, **listing(Host=host), timeout=HANG_SECONDS).status_code == 401


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"method": "GET"}, 405),
        ({"method": "DELETE"}, 405),
        ({"headers": {"Content-Type": "text/plain"}}, 415),
        ({"content": b"{"}, 400),
        ({"content": b'{"jsonrpc": "2.0"}'}, 400),
        ({"content": b'{"a": "' + b"x" * 1024 * 1024 + b'"}'}, 413),
        ({"params": {"place": "c"}}, 422),
        ({"params": {"conversation": "a/b"}}, 422),
    ],
    ids=str,
)
def test_what_is_no_message_of_the_protocol_is_refused(service, changed, status):
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    asked = {"method": "POST", "url": f"{service.url}/mcp", "content": b"{}"} | changed
    asked["headers"] = usual | asked.get("headers", {})
    assert httpx.request(**asked, timeout=HANG_SECONDS).status_code == status


def test_without_a_service_each_call_says_how_to_start_one_and_stdout_is_the_protocols_alone(tmp_path, find_port):
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}}},
    ]  # fmt: skip
    env = environment(tmp_path, url=f"http://127.0.0.1:{find_port()}")
    with subprocess.Popen(
        [KEEPWORD, "mcp"], env=env, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        for message in messages:
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.wait(HANG_SECONDS) == 0
        assert process.stdout.read() == ""
        complaint = process.stderr.read()
    assert answers[0]["result"]["serverInfo"]["name"] == "keepword"
    assert answers[1]["result"]["isError"]
    for text in (answers[1]["result"]["content"][0]["text"], complaint):
        assert "no service answers at http://127.0.0.1:" in text
        assert "`keepword serve`" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{}", "jsonrpc is missing"),
        (b'{"jsonrpc": "2.0"}', "method is missing"),
        (b'{"jsonrpc": "2.0", "method": 5, "id": 1}', "method is missing or is no text"),
        (b'{"jsonrpc": "2.0", "method": "tools/list", "id": {}}', "id is neither"),
        (b'{"jsonrpc": "2.0", "method": "tools/list", "id": true}', "id is neither"),
        (b'{"jsonrpc": "2.0", "method": "tools/list", "id": 1, "params": []}', "params is no object"),
        (b"[]", "not one JSON object"),
        (b"{", "no JSON"),
    ],
)
def test_what_is_no_message_of_the_protocol_is_answered_in_plain_words(service, content, said):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = httpx.post(f"{service.url}/mcp", headers=headers, content=content, timeout=HANG_SECONDS)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert said in error["message"]
    assert error["code"] in {-32600, -32700}
    assert "pydantic" not in answer.text
    assert "validation" not in answer.text.lower()
