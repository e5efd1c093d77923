"""What is erased is nowhere: not in an answer, not in a row, not in a file of the database."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from integration.erasure.test_retract import everything, say, wait_until
from keepword import Client
from keepword.erasure.tables import ERASED, WORDLESS
from keepword.errors import NotFound
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.personal import personal_data
from patience import HANG_SECONDS


@pytest.fixture(params=["postgres", "redis"])
def service_of(request, make_worker):
    found = request.getfixturevalue("keyed_service" if request.param == "postgres" else "redis_keyed_service")
    make_worker(found.home)
    return found


@pytest.fixture
def tenant():
    return f"tenant-{uuid4().hex[:8]}"


@pytest.fixture
def owner(service_of, tenant):
    with service_of.client(service_of.make_key(tenant)) as found:
        for user in ("ann", "bob"):
            found.put(f"/v1/users/{user}", json={"name": user})
        for agent in ("ada", "bix"):
            found.put(f"/v1/agents/{agent}", json={"name": agent})
        yield found


@pytest.fixture
def marker():
    return f"Xq{uuid4().hex[:12]}"


def fill(owner, name, marker, **place):
    """Put the marker wherever a conversation of ann's with ada keeps words."""
    made = owner.put(
        f"/v1/conversations/{name}",
        json={"user": "ann", "agent": "ada", "title": f"on {marker}", "settings": {"of": marker}} | place,
    )
    assert made.status_code == 201, made.text
    (message, *_) = say(
        owner, name, f"Decision: I live in {marker} Street.", f"I like {marker} tea.", "I am allergic to walnuts.",
        metadata={"of": marker}, attachments=[{"name": marker}],
    )  # fmt: skip
    said = [
        {"role": "user", "content": f"My dog is called {marker}.", "event_id": f"event {marker}"},
        {"role": "assistant", "content": "", "tool_name": "look", "tool_args": {"for": marker}},
        {"role": "tool", "content": "", "tool_name": "look", "tool_result": f"found {marker}" * 400},
    ]
    kept = [
        owner.post(f"/v1/conversations/{name}/messages", json=said),
        owner.put("/v1/facts/user/ann/code", json={"value": f"hand {marker}"}),
        owner.post(
            "/v1/landmarks",
            json={"message": message["id"], "kind": "pin", "text": f"{marker} Street", "conversation": name},
        ),
        owner.put(f"/working-memory/{name}", json={"data": {"note": f"she said {marker}"}}),
        owner.post(f"/ledger/{name}/mark", json={"item_key": f"seen {marker}", "value": marker}),
        owner.post(
            "/v1/semantic",
            json={"content": f"Ann collects {marker} stamps.", "conversation": name, "metadata": {"of": marker}},
        ),
        owner.post(
            "/episodic/store",
            json={"conversation_id": name, "summary": f"All about {marker}.", "agent_id": "ada", "user_id": "ann"},
        ),
    ]
    if place.get("kind") != "direct":
        fact = {"value": marker, "source": message["id"]}
        kept.append(owner.put(f"/v1/facts/user/ann/{marker.lower()}?conversation={name}", json=fact))
    assert [answer.text for answer in kept if answer.status_code not in {200, 201, 204}] == []
    owner.patch(f"/v1/conversations/{name}", json={"active": False})
    wait_until(lambda: marker in owner.get(f"/v1/conversations/{name}/summaries").text)
    wait_until(lambda: marker in owner.get(f"/v1/semantic?conversation={name}").text)
    for _ in range(3):  # so that the scope is cached
        assert marker in everything(owner, name, marker, **{"Keepword-Agent": "ada"})
    owner.post("/v1/compose", json={"conversation": name, "message": f"what of {marker}?"})
    return message


def done(owner, erasure):
    return wait_until(lambda: owner.get(f"/v1/erasures/{erasure['id']}").json()["state"] == "done")


def files_with(home, *words):
    """Return the files of the database, but for its log of changes, that hold one of the words."""
    with psycopg.connect(Cluster(home).conninfo, autocommit=True) as conn:
        conn.execute("CHECKPOINT")
    paths = [path for path in home.rglob("*") if path.is_file() and "pg_wal" not in path.parts]
    found = []
    for path in paths:
        with suppress(FileNotFoundError):  # a file that was just written anew
            content = path.read_bytes()
            found += [str(path.relative_to(home)) for word in words if word.encode() in content]
    return found


def erased(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_erased_message_is_nowhere_not_even_in_the_files_and_a_retry_does_not_bring_it_back(
    service_of, owner, marker
):
    name = f"desk-{uuid4().hex[:8]}"
    owner.put(f"/v1/conversations/{name}", json={"user": "ann", "agent": "ada"})
    said = {"role": "user", "content": f"Decision: I live in {marker} Street.", "event_id": f"of {marker}"}
    path = f"/v1/conversations/{name}/messages"
    say(owner, name, "I like tea with milk.")
    assert owner.post(path, json=[said]).status_code == 201
    say(owner, name, "I am allergic to walnuts.")
    owner.patch(f"/v1/conversations/{name}", json={"active": False})
    wait_until(lambda: marker in owner.get(f"/v1/conversations/{name}/summaries").text)
    wait_until(lambda: marker in owner.get(f"/v1/semantic?conversation={name}").text)
    counted = erased(owner.delete(f"{path}/2?dry_run=true"))
    assert (counted["id"], counted["state"], counted["counts"]["messages"]) == (None, "dry run", 1)
    assert marker in owner.get(path).text
    erasure = erased(owner.delete(f"{path}/2"))
    assert erasure["erased_messages"] == 1
    assert marker not in everything(owner, name, marker, **{"Keepword-Agent": "ada"})
    wait_until(lambda: "tea with milk" in owner.get(f"/v1/conversations/{name}/summaries").text)
    # the frame stays: number and time, for the owner
    frame = owner.get(path).json()["messages"][1]
    assert (frame["seq"], frame["content"], frame["user"]) == (2, "", None)
    assert frame["retracted"]["erased_at"]
    # a retry is known, and stores nothing
    again = owner.post(path, json=[said])
    assert again.status_code == 200, again.text
    assert again.json()["messages"][0]["id"] == frame["id"]
    assert owner.delete(f"{path}/2").status_code == 404
    assert owner.delete(f"{path}/2/retract").status_code == 409
    done(owner, erasure)
    assert files_with(service_of.home, marker) == []


def test_an_erased_conversation_is_nowhere_and_its_name_is_free(service_of, owner, marker):
    name, other = f"desk-{uuid4().hex[:8]}", f"other-{uuid4().hex[:8]}"
    fill(owner, name, marker)
    owner.put(f"/v1/conversations/{other}", json={"user": "ann", "agent": "ada"})
    say(owner, other, "I like coffee.")
    assert files_with(service_of.home, marker) != []
    counted = erased(owner.delete(f"/v1/conversations/{name}?dry_run=true"))["counts"]
    assert counted["messages"] == 6
    assert counted["memories"] >= 1
    erasure = erased(owner.delete(f"/v1/conversations/{name}"))
    assert owner.get(f"/v1/conversations/{name}").status_code == 404
    assert owner.delete(f"/v1/conversations/{name}").status_code == 404
    done(owner, erasure)
    assert marker not in owner.get("/v1/browse?limit=200").text
    assert "coffee" in owner.get(f"/v1/conversations/{other}/messages").text
    (row,) = owner.get("/v1/audit?action=conversation.erased").json()["events"]
    assert row["ids"]["name"] == name
    assert marker not in owner.get("/v1/audit?limit=200").text
    # what is kept about ann by hand is not of that conversation
    owner.delete("/v1/facts/user/ann/code")
    assert owner.put(f"/v1/conversations/{name}", json={"user": "ann", "agent": "ada"}).status_code == 201
    assert owner.get(f"/v1/conversations/{name}/messages").json()["messages"] == []


def test_an_erased_user_is_nowhere_and_others_stay(service_of, owner, marker):
    owner.put("/v1/rooms/hall", json={"name": "Hall"})
    for path in ("users/ann", "users/bob", "agents/ada"):
        owner.put(f"/v1/rooms/hall/participants/{path}")
    owner.put("/v1/conversations/hall-1", json={"room": "hall", "agent": "ada"})
    say(owner, "hall-1", f"I am Ann and I live in {marker} Street.", user="ann")
    say(owner, "hall-1", "I am Bob and I like tea.", user="bob")
    say(owner, "hall-1", f"My cat is called {marker}.", user="ann")
    name, private = f"desk-{uuid4().hex[:8]}", f"dm-{uuid4().hex[:8]}"
    fill(owner, name, marker)
    fill(owner, private, marker, kind="direct")
    owner.post("/v1/memories", json={"memory": f"Ann is {marker}.", "type": "user", "user": "ann"})
    theirs = service_of.make_key(owner_tenant(owner), role="agent", user="ann")
    trees = [{"scope": "user", "id": user, "agent": "ada"} for user in ("ann", "bob")]
    for tree, word in zip(trees, (marker, "tea"), strict=True):
        file = tree | {"path": f"/memories/{word}.md"}
        assert owner.put("/v1/file", params=file, json={"content": f"likes {word}"}).status_code == 200
    counts = erased(owner.delete("/v1/users/ann?dry_run=true"))["counts"]
    assert (counts["conversations"], counts["messages"]) == (2, 14)
    with service_of.client(theirs) as ann:
        assert ann.delete("/v1/users/bob").status_code == 404
        erasure = erased(ann.delete("/v1/users/ann"))
        assert ann.get("/v1/whoami").status_code == 401
    assert owner.get(f"/v1/conversations/{private}").status_code == 404
    assert marker not in owner.get("/v1/browse?limit=200").text
    assert marker not in owner.get("/v1/facts").text
    assert marker not in owner.get("/v1/conversations/hall-1/buffer").text
    done(owner, erasure)
    assert owner.get("/v1/users/ann").status_code == 404
    assert owner.delete("/v1/users/ann").status_code == 404
    assert [one["path"] for one in owner.get("/v1/files", params=trees[1]).json()["files"]] == ["/memories/tea.md"]
    left = owner.get("/v1/conversations/hall-1/messages").json()["messages"]
    assert [one["content"] for one in left] == ["", "I am Bob and I like tea.", ""]
    assert marker not in owner.get("/v1/audit?limit=200").text
    assert files_with(service_of.home, marker) == []
    # the same id may be somebody again
    assert owner.put("/v1/users/ann", json={"name": "Ann"}).status_code == 201
    assert owner.get("/v1/facts/user/ann").json()["facts"] == []
    assert owner.get("/v1/files", params=trees[0]).json()["files"] == []


def owner_tenant(owner):
    return owner.get("/v1/whoami").json()["tenant"]


def rows_of(home, tenant_id):
    """Count the rows of a tenant in each table."""
    with migrate.owner(Cluster(home).conninfo) as conn:
        tables = conn.execute(
            "SELECT table_name FROM information_schema.columns JOIN information_schema.tables "
            "USING (table_schema, table_name) "
            "WHERE table_schema = 'keepword' AND column_name = 'tenant_id' AND table_type = 'BASE TABLE'"
        ).fetchall()
        counts = {
            name: conn.execute(f"SELECT count(*) FROM keepword.{name} WHERE tenant_id = %s", (tenant_id,)).fetchone()[0]
            for (name,) in tables
        }
    return {name: count for name, count in counts.items() if count}


def test_an_erased_tenant_leaves_who_did_what_and_revoked_keys(service_of, owner, marker, tenant):
    fill(owner, f"desk-{uuid4().hex[:8]}", marker)
    owner.put("/v1/agents/ada/files/SOUL.md", json={"content": f"You know {marker}."})
    owner.put("/v1/projects/work", json={"name": f"of {marker}"})
    with migrate.owner(Cluster(service_of.home).conninfo) as conn:
        (tenant_id,) = conn.execute("SELECT id FROM tenants WHERE name = %s", (tenant,)).fetchone()
    assert erased(owner.delete("/v1/tenant?dry_run=true"))["counts"]["messages"] == 6
    erasure = erased(owner.delete("/v1/tenant"))
    assert owner.get("/v1/whoami").status_code == 401

    def state():
        with migrate.owner(Cluster(service_of.home).conninfo) as conn:
            return conn.execute("SELECT state FROM erasures WHERE id = %s", (erasure["id"],)).fetchone()[0]

    wait_until(lambda: state() == "done")
    assert set(rows_of(service_of.home, tenant_id)) <= {"audit", "erasures", "keys"}
    assert files_with(service_of.home, marker) == []
    # its name is free
    with service_of.client(service_of.make_key(tenant)) as anew:
        assert anew.get("/v1/browse").json()["messages"] == []


def test_who_may_erase(service_of, owner, tenant):
    name = f"desk-{uuid4().hex[:8]}"
    owner.put(f"/v1/conversations/{name}", json={"user": "ann", "agent": "ada"})
    say(owner, name, "I like tea.")
    paths = (f"/v1/conversations/{name}", "/v1/users/ann", f"/v1/conversations/{name}/messages/1")
    for words, refused in (
        ({"role": "reader"}, 403),
        ({"role": "agent", "user": "bob"}, 404),
        ({"role": "agent", "agent": "bix"}, 404),
    ):
        with service_of.client(service_of.make_key(tenant, **words)) as other:
            assert [other.delete(path).status_code for path in paths] == [refused] * 3
            assert other.delete("/v1/tenant").status_code == 403
    with service_of.client(service_of.make_key(tenant, role="agent", agent="ada")) as agent:
        assert agent.delete(paths[0]).status_code == 404
        assert agent.delete(paths[1]).status_code == 404
    absent = ("/v1/conversations/none", "/v1/users/none", f"/v1/conversations/{name}/messages/9")
    assert [owner.delete(path).status_code for path in absent] == [404] * 3
    for bad in ("/v1/users/a%00b", "/v1/conversations/a%00b", f"/v1/conversations/{name}/messages/0"):
        assert owner.delete(bad).status_code in {404, 422}
    assert owner.get("/v1/erasures/none").status_code == 422
    assert "tea" in owner.get(f"/v1/conversations/{name}/messages").text
    with service_of.client(service_of.make_key(tenant, role="agent", user="ann")) as ann:
        erasure = erased(ann.delete(paths[2]))
        assert ann.get(f"/v1/erasures/{erasure['id']}").json()["kind"] == "message"
        assert erased(ann.delete(paths[0]))["kind"] == "conversation"


def test_an_import_that_runs_keeps_what_it_brings(service_of, owner, tenant):
    owner.put("/v1/conversations/one", json={"user": "ann", "agent": "ada"})
    with migrate.owner(Cluster(service_of.home).conninfo) as conn:
        (tenant_id,) = conn.execute("SELECT id FROM tenants WHERE name = %s", (tenant,)).fetchone()
        with conn.transaction(force_rollback=True):
            conn.execute("INSERT INTO imports VALUES (%s, '', 0, '')", (tenant_id,))
            with pytest.raises(psycopg.errors.ObjectInUse):
                conn.execute("SELECT refuse_erasing_import(%s)", (tenant_id,))


def test_every_table_is_erased_or_named_as_wordless(service_of):
    with migrate.owner(Cluster(service_of.home).conninfo) as conn:
        rows = conn.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'keepword'::regnamespace AND relkind IN ('r', 'p')"
        ).fetchall()
    tables = {name for (name,) in rows}
    told = ERASED.keys() | WORDLESS.keys()
    assert tables - told == set(), "say in src/keepword/erasure/tables.py how these are erased"
    assert told - tables == set()
    assert ERASED.keys() & WORDLESS.keys() == set()


def test_messages_expire_after_the_days_of_their_tenant(service_of, owner):
    name = f"desk-{uuid4().hex[:8]}"
    owner.put(f"/v1/conversations/{name}", json={"user": "ann", "agent": "ada"})
    for days, content in ((40, "I like tea."), (10, "I like coffee."), (0, "I like milk.")):
        say(owner, name, content, created_at=(datetime.now(UTC) - timedelta(days=days)).isoformat())
    assert owner.patch("/v1/settings", json={"retention_days": 0}).status_code == 422
    assert owner.patch("/v1/settings", json={"retention_days": 30}).json()["retention_days"] == 30

    def expire(days_later):
        with migrate.owner(Cluster(service_of.home).conninfo) as conn:
            query = "SELECT erased_messages FROM erase_expired(now() + %s * interval '1 day', 500)"
            return [row[0] for row in conn.execute(query, (days_later,))]

    def said():
        return [one["content"] for one in owner.get(f"/v1/conversations/{name}/messages").json()["messages"]]

    # a worker looks at the same time, now and then: one of both does it, and the other is told of nothing
    wait_until(lambda: expire(0) is not None and said() == ["", "I like coffee.", "I like milk."])
    wait_until(lambda: expire(25) is not None and said() == ["", "", "I like milk."])
    assert expire(25) == []
    assert said() == ["", "", "I like milk."]
    row = owner.get("/v1/audit?action=message.expired").json()["events"][0]
    assert (row["actor"], row["ids"]["messages"]) in {("command line", 1), ("background", 1)}
    assert owner.patch("/v1/settings", json={"retention_days": None}).json()["retention_days"] is None
    assert expire(4000) == []


def test_all_that_is_kept_of_a_user_is_exported_and_nothing_of_others(service_of, owner, marker, tenant):
    name = f"desk-{uuid4().hex[:8]}"
    fill(owner, name, marker)
    owner.put("/v1/conversations/of-bob", json={"user": "bob", "agent": "ada"})
    say(owner, "of-bob", "I am Bob and I like secrets.")
    with migrate.owner(Cluster(service_of.home).conninfo) as conn, personal_data(conn, tenant, "ann") as lines:
        rows = [json.loads(line) for line in lines]
    kinds = {row["kind"] for row in rows}
    assert {"user", "introduction", "conversation", "message", "landmark", "memory", "fact", "audit"} <= kinds
    assert sum(row["kind"] == "message" for row in rows) == 6
    told = json.dumps(rows)
    assert told.count(marker) > 10
    assert "secrets" not in told
    assert "digest" not in told
    with (
        migrate.owner(Cluster(service_of.home).conninfo) as conn,
        pytest.raises(NotFound),
        personal_data(conn, tenant, "nobody"),
    ):
        pass


def exported(client, user="ann"):
    answer = client.get(f"/v1/users/{user}/export")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_the_route_exports_what_the_command_does(service_of, owner, marker, tenant):
    fill(owner, f"desk-{uuid4().hex[:8]}", marker)
    with migrate.owner(Cluster(service_of.home).conninfo) as conn, personal_data(conn, tenant, "ann") as lines:
        by_command = [json.loads(line) for line in lines]
    assert exported(owner) == by_command
    assert json.dumps(by_command).count(marker) > 10
    assert owner.get("/v1/users/nobody/export").status_code == 404
    key = owner.headers["Authorization"].removeprefix("Bearer ")
    with Client.sync(service_of.url, key, timeout_seconds=HANG_SECONDS) as client:
        assert [json.loads(line) for line in client.users.export("ann").splitlines()] == by_command


def test_a_users_own_key_exports_them_and_nobody_else_and_not_what_was_taken_back(service_of, owner, marker, tenant):
    name = f"desk-{uuid4().hex[:8]}"
    fill(owner, name, marker)
    owner.put("/v1/users/bob", json={})
    with (
        service_of.client(service_of.make_key(tenant, "reader", user="ann")) as ann,
        service_of.client(service_of.make_key(tenant, "agent", user="bob")) as bob,
        service_of.client(service_of.make_key(tenant, "agent", agent="ada")) as agent,
    ):
        assert exported(ann) == exported(owner)
        for other in (bob, agent):
            answer = other.get("/v1/users/ann/export")
            assert (answer.status_code, marker in answer.text) == (404, False)
        before = sum(row["kind"] == "message" for row in exported(ann))
        owner.post(f"/v1/conversations/{name}/messages/1/retract", json={}).raise_for_status()
        after = exported(ann)
    assert sum(row["kind"] == "message" for row in after) == before - 1
    assert not [row for row in after if row["kind"] == "landmark" and row["seq"] == 1]
    assert sum(row["kind"] == "message" for row in exported(owner)) == before


def test_no_user_is_exported_while_something_is_erased(keyed_service, tenant):
    with keyed_service.client(keyed_service.make_key(tenant)) as owner:
        owner.put("/v1/users/ann", json={}).raise_for_status()
        with migrate.owner(keyed_service.conninfo) as conn:
            # no worker is there to go on with it
            conn.execute(
                "INSERT INTO erasures (tenant_id, kind) SELECT id, 'conversation' FROM tenants WHERE name = %s",
                (tenant,),
            )
        answer = owner.get("/v1/users/ann/export")
        assert answer.status_code == 409, answer.text
        assert "being erased" in answer.text
        with migrate.owner(keyed_service.conninfo) as conn:
            conn.execute("DELETE FROM erasures WHERE state = 'running'")


@pytest.mark.parametrize(
    "path", ["/v1/tenant", "/v1/users/ann", "/v1/conversations/desk", "/v1/conversations/desk/messages/1"]
)
@pytest.mark.parametrize("query", ["dryrun=true", "dry_run=true&yes=1", "dry_run=perhaps"])
def test_a_misspelt_dry_run_erases_nothing(keyed_service, tenant, path, query):
    with keyed_service.client(keyed_service.make_key(tenant)) as owner:
        owner.put("/v1/users/ann", json={}).raise_for_status()
        owner.put("/v1/conversations/desk", json={"user": "ann"}).raise_for_status()
        owner.post(
            "/v1/conversations/desk/messages", json={"role": "user", "content": "I like tea."}
        ).raise_for_status()
        answer = owner.delete(f"{path}?{query}")
        assert answer.status_code == 422, answer.text
        assert "tea" in owner.get("/v1/conversations/desk/messages").text
