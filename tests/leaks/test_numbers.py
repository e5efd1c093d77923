"""No number that a tenant is shown counts what another tenant does."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

MCP = {"Accept": "application/json, text/event-stream"}
JSONAPI = {"Content-Type": "application/vnd.api+json"}
# differ from request to request, whatever others do
CHANGING = {"date", "x-request-id", "content-length"}
OTHERS_MESSAGES = 17


def numbers(found: Any, path: str = "") -> Iterator[tuple[str, int]]:
    """Yield every whole number of an answer, with where it stands."""
    if isinstance(found, dict):
        for name, value in found.items():
            yield from numbers(value, f"{path}.{name}")
    elif isinstance(found, list):
        for place, value in enumerate(found):
            yield from numbers(value, f"{path}[{place}]")
    elif isinstance(found, int):
        yield path, found


def shown(answer: httpx.Response) -> tuple[int, dict[str, int], dict[str, str]]:
    headers = {name: value for name, value in answer.headers.items() if name not in CHANGING}
    return answer.status_code, dict(numbers(answer.json())) if answer.content else {}, headers


def story(client: httpx.Client, meanwhile: Callable[[], None]) -> dict[str, Any]:
    """Write something of every kind, with `meanwhile` between any two writes, then read all of it."""
    made: dict[str, Any] = {}

    def call(method: str, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
        meanwhile()
        answer = client.request(method, path, json=body, headers=headers)
        assert answer.status_code < 400, answer.text
        made[f"{method} {path} {len(made)}"] = shown(answer)
        return answer.json() if answer.content and "json" in answer.headers["content-type"] else {}

    call("PUT", "/v1/users/ann", {})
    call("PUT", "/v1/agents/ada", {})
    call("PUT", "/v1/agents/ada/files/SOUL.md", {"content": "Be kind."})
    call("PUT", "/v1/conversations/talk", {"user": "ann", "agent": "ada"})
    said = [
        call("POST", "/v1/conversations/talk/messages", {"role": "user", "content": f"The boat number {n} leaves."})
        for n in range(3)
    ]
    message = said[0]["messages"][0]["id"]
    call("PUT", "/v1/facts/user/ann/seat", {"value": "window"})
    call("POST", "/v1/landmarks", {"conversation": "talk", "message": message, "kind": "decision"})
    call("POST", "/episodic/store", {"agent_id": "ada", "conversation_id": "talk", "summary": "Boats leave."})
    call("POST", "/v1/semantic", {"conversation": "talk", "content": "Ann likes boats.", "type": "preference"})
    call("PUT", "/working-memory/talk", {"data": {"note": "boats"}})
    call("POST", "/ledger/talk/mark", {"item_key": "memory:1", "value": "x"})
    body = {"query": "when does the boat leave?", "conversation": "talk", "context": 2, "explain": True}
    for search in (body, body | {"mode": "trigram", "query": "boat number"}, body | {"mode": "words"}):
        found = call("POST", "/v1/search", search)
        assert found["results"]
    call("POST", "/v1/compose", {"conversation": "talk", "message": "which boat?", "ledger": True})
    call("POST", "/episodic/search", {"agent_id": "ada", "query": "boats", "user_id": "ann"})
    call("POST", "/v1/search/semantic", {"query": "boats", "filter": {"run_id": "session:talk"}})
    for path in (
        "/v1/conversations", "/v1/conversations/talk", "/v1/conversations/talk/messages?limit=2", "/v1/browse?limit=2",
        "/v1/conversations/talk/buffer", "/v1/conversations/talk/summaries", "/v1/landmarks?conversation=talk",
        "/v1/facts?conversation=talk", "/v1/facts/user/ann/seat", "/v1/facts/user/ann/seat/history",
        "/v1/semantic?conversation=talk", "/v1/memories", "/episodic/talk", "/v1/stats", "/v1/stats?conversation=talk",
        "/v1/agents/ada/files/SOUL.md/history", "/v1/users", "/v1/agents", "/v1/rooms", "/v1/projects", "/ledger/talk",
    ):  # fmt: skip
        call("GET", path)
    arguments = {"name": "memory_search", "arguments": {"query": "boat", "conversation": "talk"}}
    call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}, **MCP)
    return made


@pytest.fixture
def other(keyed_service):
    with keyed_service.client(keyed_service.make_key(f"other-{uuid4().hex}")) as client:
        client.put("/v1/conversations/busy", json={}).raise_for_status()
        yield client


def test_seventeen_messages_of_another_tenant_change_no_number_that_is_shown(keyed_service, other):
    def say() -> None:
        messages = [{"role": "user", "content": f"Another boat, {number}."} for number in range(OTHERS_MESSAGES)]
        other.post("/v1/conversations/busy/messages", json=messages).raise_for_status()

    told = []
    for meanwhile in (lambda: None, say):
        with keyed_service.client(keyed_service.make_key(f"quiet-{uuid4().hex}")) as client:
            told.append(story(client, meanwhile))
    quiet, busy = told
    assert quiet.keys() == busy.keys()
    assert {name: busy[name] for name in busy if quiet[name] != busy[name]} == {}
    assert sum(len(counted) for _, counted, _ in busy.values()) > 100


def test_metrics_of_all_tenants_are_for_this_machine_alone(keyed_service):
    with keyed_service.client(None) as client:
        assert client.get("/metrics").status_code == 200
        refused = client.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"})
    assert refused.status_code == 403
    assert "KEEPWORD_METRICS=anyone" in refused.json()["detail"]


def test_metrics_are_for_anyone_where_the_settings_say_so(make_service):
    with make_service(metrics="anyone").start().client() as client:
        assert client.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 200
