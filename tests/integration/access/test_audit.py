"""The audit: what changes rights or removes something is noted with it, for the tenant's owner, and never changed."""

from uuid import uuid4

import psycopg
import pytest

from keepword.client import Client
from keepword.errors import Forbidden
from keepword.postgres import migrate

SECRET = "the vault opens at noon"
DONE = 200, 201, 204


@pytest.fixture
def tenant_name():
    return f"audit-{uuid4().hex[:8]}"


@pytest.fixture
def owner_key(keyed_service, tenant_name):
    return keyed_service.make_key(tenant_name)


@pytest.fixture
def owner(keyed_service, owner_key):
    with keyed_service.client(owner_key) as client:
        yield client


def events(owner, **query):
    answer = owner.get("/v1/audit", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()["events"]


def told(owner, **query):
    """Return what was done, oldest first."""
    return [(event["action"], event["place"], event["ids"]) for event in reversed(events(owner, **query))]


def do(client, method, path, body=None, **headers):
    answer = client.request(method, path, json=body, headers=headers)
    assert answer.status_code in DONE, answer.text
    return answer.json() if answer.content else None


def test_each_change_of_rights_is_told_with_its_key_actor_place_and_ids(owner, owner_key):
    key = owner_key.split("_")[1]
    for path in ("users/ann", "users/bob", "agents/ada", "rooms/hall"):
        do(owner, "PUT", f"/v1/{path}", {})
    do(owner, "PUT", "/v1/projects/bakery", {"isolated": True})
    do(owner, "PUT", "/v1/projects/bakery", {"name": "Bakery"})  # no right changes
    do(owner, "PUT", "/v1/projects/bakery", {"isolated": False})
    do(owner, "PUT", "/v1/rooms/hall/participants/users/ann")
    do(owner, "PUT", "/v1/rooms/hall/participants/agents/ada")
    do(owner, "DELETE", "/v1/rooms/hall/participants/users/ann")
    do(owner, "PUT", "/v1/projects/bakery/members/rooms/hall")
    do(owner, "PUT", "/v1/conversations/a", {"user": "ann", "agent": "ada"})
    do(owner, "PATCH", "/v1/conversations/a", {"reach": "user"})
    do(owner, "PUT", "/v1/projects/bakery/members/conversations/a")
    do(owner, "DELETE", "/v1/agents/ada/users/ann")
    do(owner, "PUT", "/v1/agents/ada/users/ann")
    do(owner, "PUT", "/v1/conversations/open", {})
    do(owner, "PUT", "/v1/conversations/open", {"user": "bob"})
    do(owner, "PATCH", "/v1/settings", {"session_reach": "user", "profile_per_agent": True})
    do(owner, "PATCH", "/v1/settings", {"session_reach": "user"})
    pair = {"agent": "ada", "user": "ann"}
    assert told(owner) == [
        ("key.made", None, {"key": key, "role": "admin"}),
        ("project.made", "project:bakery", {"project": "bakery", "isolated": True}),
        ("project.changed", "project:bakery", {"project": "bakery", "isolated": False}),
        ("participant.added", "room:hall", {"room": "hall", "user": "ann"}),
        ("participant.added", "room:hall", {"room": "hall", "agent": "ada"}),
        ("participant.removed", "room:hall", {"room": "hall", "user": "ann"}),
        ("room.moved", "room:hall", {"room": "hall", "to_project": "bakery"}),
        ("introduction.made", None, pair),
        ("conversation.reach_changed", "session:a", {"conversation": "a", "reach": "user"}),
        ("conversation.moved", "session:a", {"conversation": "a", "to_project": "bakery"}),
        ("introduction.withdrawn", None, pair),
        ("introduction.made", None, pair),
        ("introduction.made", None, {"agent": "default", "user": "bob"}),
        ("session.assigned", "session:open", {"conversation": "open", "user": "bob"}),
        ("settings.changed", None, {"settings": ["profile_per_agent", "session_reach"]}),
    ]
    made, *done = reversed(events(owner))
    assert (made["key"], made["actor"]) == (None, "command line")
    assert {(event["key"], event["actor"]) for event in done} == {(key, "owner")}


def test_what_removes_or_replaces_something_is_told_without_a_word_of_it(owner, keyed_service, tenant_name):
    do(owner, "PUT", "/v1/users/ann", {})
    do(owner, "PUT", "/v1/conversations/a", {"user": "ann", "agent": "ada"})
    said = do(owner, "POST", "/v1/conversations/a/messages", {"role": "user", "content": SECRET})["messages"][0]
    keep = {"conversation": "a", "content": f"Ann knows that {SECRET}."}
    with keyed_service.client(keyed_service.make_key(tenant_name, "agent", "ada")) as ada:
        memory = do(ada, "POST", "/v1/semantic", keep)["id"]
        do(ada, "PATCH", f"/v1/semantic/{memory}", {"content": f"Ann says: {SECRET}."})
        do(ada, "DELETE", f"/v1/semantic/{memory}", **{"Keepword-User": "ann"})
    with keyed_service.client(keyed_service.make_key(tenant_name, "agent", None, "ann")) as ann:
        do(ann, "POST", f"/v1/semantic/{memory}/restore")
    do(owner, "POST", "/v1/delete/semantic", {"filters": {"user": "ann"}})
    do(owner, "PUT", "/v1/facts/user/ann/vault", {"value": SECRET})
    do(owner, "DELETE", "/v1/facts/user/ann/vault")
    do(owner, "PUT", "/v1/agents/ada/files/SOUL.md", {"content": SECRET})
    do(owner, "DELETE", "/v1/agents/ada/files/SOUL.md")
    mark = do(owner, "POST", "/v1/landmarks", {"conversation": "a", "message": said["id"], "kind": "pin"})["id"]
    do(owner, "DELETE", f"/v1/landmarks/{mark}")
    ids = {"memory": memory}
    seen = [(event["actor"], event["action"], event["place"], event["ids"]) for event in reversed(events(owner))]
    assert [one for one in seen if one[1].partition(".")[0] not in {"key", "introduction"}] == [
        ("agent:ada", "memory.changed", "session:a", ids),
        ("agent:ada", "memory.deleted", "session:a", ids),
        ("user:ann", "memory.restored", "session:a", ids),
        ("owner", "memory.deleted", "session:a", ids),
        ("owner", "fact.deleted", "profile:ann", {"scope": "user", "id": "ann", "key": "vault", "version": 1}),
        ("owner", "file.deleted", None, {"agent": "ada", "file": "SOUL.md", "version": 2}),
        ("owner", "landmark.unpinned", "session:a", {"landmark": mark, "seq": 1}),
    ]
    assert "vault opens" not in owner.get("/v1/audit").text


def test_what_is_refused_is_not_told(owner):
    do(owner, "PUT", "/v1/users/ann", {})
    before = events(owner)
    assert owner.delete(f"/v1/semantic/{uuid4()}").status_code == 404
    assert owner.delete("/v1/facts/user/ann/vault").status_code == 404
    assert owner.delete("/v1/agents/ada/users/ann").status_code == 404
    assert owner.patch("/v1/settings", json={"session_reach": "none"}).status_code == 422
    assert events(owner) == before


def test_pages_go_back_in_time_and_filters_choose(owner):
    for number in range(7):
        do(owner, "PUT", f"/v1/projects/p{number}", {})
    do(owner, "PUT", "/v1/projects/p1", {"isolated": True})
    whole, paged, cursor = events(owner), [], None
    while True:
        page = owner.get("/v1/audit", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        paged += page["events"]
        cursor = page["next"]
        if cursor is None:
            break
        do(owner, "PUT", f"/v1/projects/later{uuid4().hex}", {})  # what comes later moves no page
    assert paged == whole
    assert [event["ids"]["project"] for event in events(owner, action="project.changed")] == ["p1"]
    assert {event["action"] for event in events(owner, action="project")} == {"project.made", "project.changed"}
    assert [event["action"] for event in events(owner, actor="command line")] == ["key.made"]
    assert events(owner, actor="user:ann") == events(owner, action="proj") == events(owner, before="2020-01-01") == []
    assert events(owner, since=whole[0]["at"])[-1] == whole[0]
    for query, said in ({"limit": 0}, "limit"), ({"cursor": "x"}, "cursor"), ({"who": "ann"}, "who"):
        answer = owner.get("/v1/audit", params=query)
        assert (answer.status_code, said in answer.text) == (422, True)


def test_only_the_owner_reads_it(keyed_service, tenant_name, owner):
    for role, bound in (("reader", {}), ("agent", {}), ("admin", {"user": "ann"}), ("admin", {"agent": "ada"})):
        with keyed_service.client(keyed_service.make_key(tenant_name, role, **bound)) as other:
            assert other.get("/v1/audit").status_code == 403
    assert owner.get("/v1/audit", headers={"Keepword-User": "ann"}).status_code == 403
    assert {event["ids"]["role"] for event in events(owner)} == {"admin", "agent", "reader"}


def test_reads_are_told_where_the_tenant_wants_it_and_before_they_are_answered(owner, keyed_service, tenant_name):
    do(owner, "PUT", "/v1/users/ann", {})
    do(owner, "PUT", "/v1/conversations/a", {"user": "ann", "agent": "ada"})
    with keyed_service.client(keyed_service.make_key(tenant_name, "reader", None, "bob")) as bob:
        owner.get("/v1/conversations/a/messages")
        assert told(owner, action="read") == []
        do(owner, "PATCH", "/v1/settings", {"audit_reads": True})
        owner.post("/v1/search", json={"conversation": "a", "query": SECRET})
        do(owner, "POST", "/v1/conversations/a/messages", {"role": "user", "content": SECRET})
        assert bob.get("/v1/conversations/a/messages").status_code == 404
        do(owner, "PATCH", "/v1/settings", {"audit_reads": False})
    reads = [(event["actor"], event["place"], event["ids"]) for event in reversed(events(owner, action="read"))]
    assert reads == [
        ("owner", "session:a", {"route": "POST /v1/search", "conversation": "a"}),
        ("user:bob", "session:a", {"route": "GET /v1/conversations/{external_id}/messages", "conversation": "a"}),
    ]


@pytest.mark.anyio
async def test_python_and_the_command_line_list_it(owner, owner_key, keyed_service, cli):
    do(owner, "PUT", "/v1/projects/bakery", {})
    base = str(owner.base_url)
    async with Client(base, owner_key) as kw:
        page = await kw.audit.list(action="project", limit=1)
        assert [(event.action, event.ids["project"]) for event in page.events] == [("project.made", "bakery")]
        with pytest.raises(Forbidden):
            await kw.acting(user="ann").audit.list()
    shown = cli(keyed_service.home, "audit", "--action", "project", KEY=owner_key, URL=base)
    assert '"action": "project.made"' in shown.stdout, shown.stderr
    key = owner_key.split("_")[1]
    assert cli(keyed_service.home, "keys", "revoke", key).returncode == 0
    with migrate.owner(keyed_service.conninfo) as conn:
        last = conn.execute(
            "SELECT action, actor, ids FROM audit WHERE ids ->> 'key' = %s ORDER BY at DESC LIMIT 1", (key,)
        ).fetchone()
    assert last == ("key.revoked", "command line", {"key": key, "role": "admin"})


@pytest.mark.parametrize("statement", ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "TRUNCATE audit"])
def test_nobody_changes_it(owner, keyed_service, statement):
    assert events(owner)
    with (
        migrate.owner(keyed_service.conninfo) as conn,
        pytest.raises(psycopg.errors.RestrictViolation, match="append-only"),
    ):
        conn.execute(statement)


def test_a_change_that_fails_after_its_event_leaves_none(owner, keyed_service, tenant_name):
    """The event is of the change's own transaction."""
    revoke = "UPDATE keys SET revoked_at = now() WHERE tenant_id = (SELECT id FROM tenants WHERE name = %s)"
    with migrate.owner(keyed_service.conninfo) as conn, conn.transaction(force_rollback=True):
        before = conn.execute("SELECT count(*) FROM audit").fetchone()
        conn.execute(revoke, (tenant_name,))
        assert conn.execute("SELECT count(*) FROM audit").fetchone() > before
    assert told(owner, action="key.revoked") == []
