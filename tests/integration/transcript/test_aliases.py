"""A second direct conversation of the same two is the first one under a further name, on every route."""

import asyncio
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

OF = "keepword-alias-of"
WORDS = "The tent is in the cellar."


@pytest.fixture(scope="module", params=["postgres", "redis"])
def keyed(request, keyed_service, redis_keyed_service):
    return {"postgres": keyed_service, "redis": redis_keyed_service}[request.param]


@pytest.fixture
def tenant_name() -> str:
    return f"t-{uuid4().hex[:12]}"


@pytest.fixture
def admin(keyed, tenant_name):
    with keyed.client(keyed.make_key(tenant_name)) as client:
        client.put("/v1/users/ann", json={}).raise_for_status()
        client.put("/v1/users/bob", json={}).raise_for_status()
        client.put("/v1/conversations/först", json=DIRECT).raise_for_status()
        yield client


DIRECT = {"kind": "direct", "user": "ann", "agent": "ada"}
FIRST = quote("först")


def test_a_second_put_answers_with_the_first_conversation_and_says_so(admin):
    made = admin.put("/v1/conversations/second", json=DIRECT | {"title": "Trip"})
    assert made.status_code == 200
    assert {part: made.json()[part] for part in ("external_id", "alias", "title")} == {
        "external_id": "först", "alias": "second", "title": "Trip",
    }  # fmt: skip
    again = admin.put("/v1/conversations/second", json={})
    assert (again.json()["external_id"], again.headers[OF]) == ("först", FIRST)
    first = admin.get("/v1/conversations/först")
    assert (first.json()["alias"], OF in first.headers) == (None, False)
    assert [one["external_id"] for one in admin.get("/v1/conversations").json()["conversations"]] == ["först"]


@pytest.fixture
def second(admin):
    """Return a further name under which something was said."""
    admin.put("/v1/conversations/second", json=DIRECT).raise_for_status()
    said = admin.post("/v1/conversations/second/messages", json={"role": "user", "content": WORDS})
    assert (said.status_code, said.headers[OF]) == (201, FIRST)
    return "second"


def test_every_route_that_takes_a_conversation_takes_its_further_name(admin, second):
    path = f"/v1/conversations/{second}"
    assert admin.put(f"/working-memory/{second}", json={"data": {"a": 1}}).status_code == 200
    assert admin.post(f"/ledger/{second}/mark", json={"item_key": "k"}).json()["first"] is True
    assert admin.post("/ledger/först/mark", json={"item_key": "k"}).json()["first"] is False
    assert admin.patch(path, json={"title": "T"}).json()["alias"] == second
    for there in (second, "först"):
        where = {"conversation": there}
        for answer in (
            admin.get(f"/v1/conversations/{there}/messages"),
            admin.get(f"/v1/conversations/{there}/buffer"),
            admin.get("/v1/browse", params=where),
            admin.post("/v1/search", json={"query": "tent"} | where),
            admin.post("/v1/compose", json={"message": "Where is the tent?"} | where),
        ):
            assert answer.status_code == 200
            assert WORDS in answer.text
            assert answer.headers.get(OF) == (FIRST if there == second else None)
        assert admin.get(f"/working-memory/{there}").json() == {"a": 1}
        assert admin.get(f"/ledger/{there}").json() == {"k": "injected"}
        assert admin.get(f"/v1/conversations/{there}/summaries").status_code == 200
        assert admin.get("/v1/landmarks", params=where).status_code == 200
        assert admin.get("/v1/semantic", params=where).status_code == 200
        assert admin.get("/v1/facts", params=where).status_code == 200
        assert admin.get("/v1/stats", params=where).status_code == 200
    (message,) = admin.get(f"{path}/messages").json()["messages"]
    assert message["conversation"] == "först"
    call = {"name": "memory_search", "arguments": {"query": "tent", "conversation": second}}
    answer = admin.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={"Accept": "application/json, text/event-stream"},
    )
    assert WORDS in answer.text


def test_a_further_name_moves_into_a_project_and_out_of_it(admin, second):
    admin.put("/v1/projects/p", json={}).raise_for_status()
    member = f"/v1/projects/p/members/conversations/{second}"
    assert admin.put(member).status_code == 204
    assert admin.get("/v1/projects/p/members").json()["conversations"] == ["först"]
    assert admin.delete(member).status_code == 204
    assert admin.get("/v1/projects/p/members").json()["conversations"] == []


@pytest.mark.parametrize("bound", [{"user": "bob"}, {"agent": "bix"}, {"agent": "ada", "user": "bob"}])
def test_who_may_not_enter_gets_of_a_further_name_what_they_get_of_the_first(keyed, tenant_name, second, bound):
    with keyed.client(keyed.make_key(tenant_name, "agent", **bound)) as other:
        for there in ("först", second, "nothing"):
            path, where = f"/v1/conversations/{there}", {"conversation": there}
            answers = [
                other.get(path),
                other.get(f"{path}/messages"),
                other.get(f"{path}/buffer"),
                other.post(f"{path}/messages", json={"role": "assistant", "content": "x"}),
                other.get("/v1/browse", params=where),
                other.post("/v1/search", json={"query": "tent"} | where),
                other.post("/v1/compose", json={"message": "tent?"} | where),
            ]
            assert [answer.status_code for answer in answers] == [404] * len(answers)
            assert not any(OF in answer.headers or "först" in answer.text.replace(there, "") for answer in answers)
            assert other.get(f"/working-memory/{there}").json() == {}
        for there in ("först", second):
            assert other.put(f"/v1/conversations/{there}", json={}).status_code == 409
            assert other.put(f"/working-memory/{there}", json={"data": {"a": 1}}).status_code == 409


def test_a_name_is_a_conversation_s_or_a_further_one_never_both(admin):
    admin.put("/v1/conversations/session", json={}).raise_for_status()
    assert admin.put("/v1/conversations/session", json=DIRECT).status_code == 409
    admin.put("/v1/conversations/second", json=DIRECT).raise_for_status()
    assert admin.put("/v1/conversations/second", json={"kind": "session"}).status_code == 409
    other = admin.put("/v1/conversations/second", json=DIRECT | {"agent": "bix"})
    assert other.status_code == 409


@pytest.mark.anyio
@pytest.mark.usefixtures("admin")
async def test_a_name_that_many_want_at_once_goes_to_one(keyed, tenant_name):
    """Half of them make a session, half a further name: all who succeed are told of the same conversation."""
    headers = {"Authorization": f"Bearer {keyed.make_key(tenant_name)}"}
    async with httpx.AsyncClient(base_url=keyed.url, headers=headers, timeout=60) as client:
        for number in range(8):
            path = f"/v1/conversations/wanted-{number}"
            bodies = [DIRECT, {"kind": "session"}] * 4
            answers = await asyncio.gather(*(client.put(path, json=body) for body in bodies))
            assert {answer.status_code for answer in answers} <= {200, 201, 409}
            taken = [answer.json()["id"] for answer in answers if answer.is_success]
            assert len(set(taken)) == 1
            assert (await client.get(path)).json()["id"] == taken[0]
