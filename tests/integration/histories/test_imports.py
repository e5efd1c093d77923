"""`/v1/imports` against a real service: uploaded in parts, stored once whatever is killed, refused with the reason."""

import io
import json
import os
import signal
import time
import zipfile
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from keepword.postgres import migrate
from patience import HANG_SECONDS
from unit.histories.made import chatgpt_conversation, node, slack_zip, write_json

KILLS = int(os.environ.get("KILLS", "2"))
ENDED = {"checked", "done", "failed", "cancelled"}


@pytest.fixture(scope="module")
def importing_service(service_type, make_migrated_home):
    """Return a service with keys and a worker."""
    made = service_type(make_migrated_home(), worker="true").start()
    made.make_key("first")
    yield made
    made.stop()


@pytest.fixture
def tenant():
    return f"t-{uuid4().hex[:12]}"


@pytest.fixture
def owner(importing_service, tenant):
    with importing_service.client(importing_service.make_key(tenant)) as client:
        yield client


def make(client, kind, file="export.zip", **options):
    answer = client.post("/v1/imports", json={"kind": kind, "file": file, "user": "tom"} | options)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def put(client, id_, number, content):
    headers = {"Content-Type": "application/octet-stream"}
    return client.put(f"/v1/imports/{id_}/parts/{number}", content=content, headers=headers)


def started(client, id_, **body):
    answer = client.post(f"/v1/imports/{id_}/start", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def until(client, id_, is_reached):
    deadline = time.monotonic() + HANG_SECONDS
    while time.monotonic() < deadline:
        if is_reached(one := client.get(f"/v1/imports/{id_}").json()):
            return one
        time.sleep(0.1)
    raise AssertionError(f"not reached: {one}")


def ended(client, id_):
    return until(client, id_, lambda one: one["state"] in ENDED)


def imported(client, kind, content, file="export.zip", **options):
    id_ = make(client, kind, file, **options)
    assert put(client, id_, 1, content).status_code == 204
    started(client, id_)
    return ended(client, id_)


def count(client):
    listed = client.get("/v1/conversations?limit=200").json()["conversations"]
    return sum(one["message_count"] for one in listed)


def export(conversations=1, messages=4):
    """Return a ChatGPT export of straight talks."""
    made = []
    for number in range(conversations):
        nodes = {"r": {"id": "r", "parent": None, "children": ["0"], "message": None}}
        for turn in range(messages):
            name, role = f"{number}-{turn}", ("user", "assistant")[turn % 2]
            nodes[str(turn)] = node(name, "r" if turn == 0 else str(turn - 1), [str(turn + 1)], role, f"word {name}")
            nodes[str(turn)]["id"] = str(turn)
        nodes[str(messages - 1)]["children"] = []
        made.append({"id": f"c{number}", "title": f"Talk {number}", "create_time": 1.7e9, "mapping": nodes,
                     "current_node": str(messages - 1)})  # fmt: skip
    return json.dumps(made).encode()


def processes(service):
    """Return the processes that import for this service, by what they were started from."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if b"keepword.importer" in command and parent == service.process.pid:
            found.append(int(path.name))
    return found


def test_a_history_is_counted_then_stored_and_stored_once(owner):
    content = export(conversations=3)
    id_ = make(owner, "chatgpt", "conversations.json", agent="gpt")
    # in any order, and again
    assert put(owner, id_, 2, content[1000:]).status_code == 204
    assert owner.post(f"/v1/imports/{id_}/start").status_code == 422
    assert put(owner, id_, 1, content[:10]).status_code == 204
    assert put(owner, id_, 1, content[:1000]).status_code == 204
    assert owner.get(f"/v1/imports/{id_}").json()["uploaded_bytes"] == len(content)

    started(owner, id_, dry_run=True)
    checked = ended(owner, id_)
    assert (checked["state"], checked["report"]["messages"], checked["report"]["stored"]) == ("checked", 12, 0)
    assert count(owner) == 0
    started(owner, id_)
    done = ended(owner, id_)
    assert (done["state"], done["report"]["stored"], done["report"]["known"]) == ("done", 12, 0)
    assert done["read_bytes"] == done["total_bytes"] == len(content)
    assert count(owner) == 12
    (first,) = owner.get("/v1/conversations/chatgpt:c0/messages?limit=1").json()["messages"]
    assert (first["content"], first["user"], first["agent"]) == ("word 0-0", "tom", "gpt")

    again = imported(owner, "chatgpt", content, "conversations.json", agent="gpt")
    assert (again["report"]["stored"], again["report"]["known"], count(owner)) == (0, 12, 12)
    assert [one["id"] for one in owner.get("/v1/imports").json()["imports"]] == [again["id"], id_]
    page = owner.get("/v1/imports?limit=1").json()
    assert owner.get(f"/v1/imports?limit=1&cursor={page['next']}").json()["imports"][0]["id"] == id_
    assert owner.delete(f"/v1/imports/{id_}").status_code == 204
    assert owner.get(f"/v1/imports/{id_}").status_code == 404


def test_people_become_users_and_what_was_left_out_is_named(owner, tmp_path):
    content = slack_zip(tmp_path / "slack.zip").read_bytes()
    report = imported(owner, "slack", content, user="ana", map={"U1": "ana"})["report"]
    assert {one["user"] for one in report["people"]} >= {"ana", "slack:U2"}
    assert any(one["what"].startswith("a message of a direct conversation of others") for one in report["left_out"])
    assert owner.get("/v1/audit?action=import.started").json()["events"][0]["ids"]["kind"] == "slack"


def test_killed_and_resumed_is_stored_once(make_service, show):
    """Kill the importing process, and in the end the whole service, in the middle of an import."""
    service = make_service(worker="true").start()
    messages = 100 * KILLS
    content = export(conversations=100, messages=KILLS)
    kills = 0
    with service.client() as client:
        id_ = make(client, "chatgpt", "conversations.json")
        put(client, id_, 1, content)
        started(client, id_)
        for _ in range(KILLS - 1):
            before = count(client)
            until(client, id_, lambda one, before=before: one["state"] in ENDED or count(client) > before)
            for pid in processes(service):
                os.kill(pid, signal.SIGKILL)
                kills += 0 < count(client) < messages
        service.process.kill()
        service.process.wait()
    service.start()
    with service.client() as client:
        done = ended(client, id_)
        assert (done["state"], count(client)) == ("done", messages)
        assert done["report"]["stored"] + done["report"]["known"] == messages
        stored = {one["external_id"] for one in client.get("/v1/conversations?limit=200").json()["conversations"]}
        assert stored == {f"chatgpt:c{number}" for number in range(100)}
    assert kills >= (KILLS - 1) // 2, "the others came after the end"
    folders = list((service.home / "imports").glob("*"))
    assert folders == []
    show(
        f"an import over HTTP: {kills} kills of its process in its middle and one of the service, "
        f"{messages:,} of {messages:,} messages once"
    )


def test_cancelling_ends_it_and_removes_the_upload(importing_service, owner):
    id_ = make(owner, "chatgpt", "conversations.json")
    put(owner, id_, 1, export(conversations=200))
    started(owner, id_)
    until(owner, id_, lambda one: one["state"] in ENDED or one["report"].get("stored", 0) > 0)
    assert owner.post(f"/v1/imports/{id_}/start").status_code == 409
    assert owner.delete(f"/v1/imports/{id_}").status_code in {204, 409}
    owner.post(f"/v1/imports/{id_}/cancel")
    assert ended(owner, id_)["state"] in {"cancelled", "done"}
    assert put(owner, id_, 2, b"more").status_code == 409
    with migrate.owner(importing_service.conninfo) as conn:
        left = conn.execute("SELECT count(*) FROM history_import_parts WHERE import_id = %s", (id_,)).fetchone()
    assert left == (0,)


def slip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("../conversations.json", "[]")


def bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", b"0" * (60 << 20))


@pytest.mark.parametrize(
    ("kind", "write", "reason"),
    [
        ("claude", lambda path: write_json(path, [chatgpt_conversation()]), "looks like ChatGPT: import it as chatgpt"),
        ("chatgpt", lambda path: path.write_bytes(b"\x00\x01 nothing"), "holds no history of ChatGPT; expected:"),
        ("chatgpt", slip, "leads out of it"),
        ("chatgpt", bomb, "times as much"),
    ],
)  # fmt: skip
def test_what_can_not_be_read_fails_with_the_reason(owner, tmp_path, kind, write, reason):
    path = tmp_path / "upload"
    write(path)
    found = imported(owner, kind, path.read_bytes(), "conversations.json")
    assert found["state"] == "failed"
    assert reason in found["error"]
    # where the service keeps its copy is nobody's business
    assert "imports" not in found["error"]
    assert count(owner) == 0


def test_a_torn_end_and_times_that_can_not_be_are_said(owner):
    lines = [
        {"type": role, "uuid": f"u{number}", "sessionId": "s1", "timestamp": at,
         "message": {"role": role, "content": "x"}}
        for number, (role, at) in enumerate([("user", "2026-01-02T04:00:00Z"), ("assistant", "9999-01-01T00:00:00Z")])
    ]  # fmt: skip
    content = "".join(json.dumps(line) + "\n" for line in lines) + '{"type": "user", "uu'
    found = imported(owner, "claude-code", content.encode(), "s1.jsonl")
    what = " ".join(one["what"] for one in found["report"]["left_out"])
    assert (found["state"], found["report"]["stored"]) == ("done", 2)
    assert "time that can't be" in what
    assert "torn" in what or "cut off" in what, what


def test_a_history_of_too_many_people_is_refused_with_the_way_out(owner):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        users = [{"id": f"U{number}", "name": f"n{number}"} for number in range(3_000)]
        file.writestr("users.json", json.dumps(users))
        file.writestr("channels.json", json.dumps([{"id": "C1", "name": "all", "members": ["U1"]}]))
        said = [
            {"type": "message", "user": one["id"], "text": "hi", "ts": f"{1.7e9 + n}"} for n, one in enumerate(users)
        ]
        file.writestr("all/2026-01-02.json", json.dumps(said))
    found = imported(owner, "slack", packed.getvalue(), max_people=1_000)
    assert found["state"] == "failed"
    assert "over 1,000 people" in found["error"]


def test_an_upload_has_limits(owner, importing_service):
    id_ = make(owner, "chatgpt")
    assert put(owner, id_, 1, b"").status_code == 422
    assert put(owner, id_, 0, b"x").status_code == 422
    assert put(owner, id_, 100_001, b"x").status_code == 422
    assert put(owner, id_, 1, b"x" * (8 << 20) + b"x").status_code == 413
    assert owner.put(f"/v1/imports/{id_}/parts/1", json={}).status_code == 415
    assert (
        owner.post("/v1/imports", json={"kind": "chatgtp", "file": "x", "user": "tom"})
        .json()["detail"]
        .startswith("'chatgtp' is no kind of history; did you mean chatgpt?")
    )
    odd = owner.post("/v1/imports", json={"kind": "chatgpt", "file": "../../e\u202etc/.pass wd", "user": "tom"})
    assert odd.json()["file"] == "pass_wd"
    for path in (f"/v1/imports/{uuid4()}", "/v1/imports/a%00b", "/v1/imports?cursor=a%00b"):
        assert owner.get(path).status_code in {404, 422}, path
    with migrate.owner(importing_service.conninfo) as conn:
        conn.execute("UPDATE history_imports SET uploaded_bytes = 2::bigint << 30 WHERE id = %s", (id_,))
    full = put(owner, id_, 1, b"x")
    assert (full.status_code, "KEEPWORD_IMPORTS_MB" in full.json()["detail"]) == (413, True)


def test_it_is_the_owner_s_alone(importing_service, owner, tenant):
    id_ = make(owner, "chatgpt")
    put(owner, id_, 1, export())
    calls = [
        ("GET", "/v1/imports"), ("GET", f"/v1/imports/{id_}"), ("POST", f"/v1/imports/{id_}/start"),
        ("POST", f"/v1/imports/{id_}/cancel"), ("DELETE", f"/v1/imports/{id_}"),
    ]  # fmt: skip
    for role, agent, user in (("admin", "bot", None), ("admin", None, "tom"), ("agent", None, None)):
        with importing_service.client(importing_service.make_key(tenant, role, agent, user)) as client:
            assert [client.request(*call).status_code for call in calls] == [403] * len(calls)
            assert put(client, id_, 2, b"x").status_code == 403
    with importing_service.client(importing_service.make_key(f"other-{tenant}")) as other:
        assert [other.request(*call).status_code for call in calls] == [200] + [404] * (len(calls) - 1)
        assert put(other, id_, 2, b"x").status_code == 404
    assert owner.get(f"/v1/imports/{id_}").json()["state"] == "uploading"


def test_a_revoked_key_s_import_does_not_begin(make_service):
    """No worker takes it up before the key is revoked: none runs."""
    service = make_service().start()
    key = service.make_key("default")
    with service.client(key) as client:
        id_ = make(client, "chatgpt", "conversations.json")
        put(client, id_, 1, export())
        started(client, id_)
    with migrate.owner(service.conninfo) as conn:
        conn.execute("UPDATE keys SET revoked_at = now()")
        assert conn.execute("SELECT count(*) FROM claim_history_import(60, 3)").fetchone() == (0,)
        state = conn.execute("SELECT state, error FROM history_imports").fetchone()
    assert state[0] == "failed"
    assert "revoked" in state[1]


def test_a_process_that_dies_at_the_same_place_three_times_fails(conninfo, make_tenant):
    tenant = make_tenant()
    with migrate.owner(conninfo) as conn:
        assert not is_importing(conn, tenant, "chatgpt:c1")
        id_ = conn.execute(
            "INSERT INTO history_imports (tenant_id, kind, file, options, state, key_id) "
            "VALUES (%s, 'chatgpt', 'x', '{}', 'waiting', 'none') RETURNING id",
            (tenant.id,),
        ).fetchone()[0]
        for attempt in range(4):
            claimed = conn.execute("SELECT id, lease FROM claim_history_import(60, 3)").fetchall()
            assert [one[0] for one in claimed] == ([id_] if attempt < 3 else [])
            assert is_importing(conn, tenant, "chatgpt:c1") == (attempt < 3)
            assert not is_importing(conn, tenant, "slack:c1")
            if claimed:
                release = "SELECT release_history_import(%s, %s, %s, NULL, 'code -9', true)"
                conn.execute(release, (tenant.id, id_, claimed[0][1]))
        state, error = conn.execute("SELECT state, error FROM history_imports WHERE id = %s", (id_,)).fetchone()
    assert state == "failed"
    assert "3 times at the same place" in error


def is_importing(conn: psycopg.Connection, tenant, conversation):
    return conn.execute("SELECT is_being_imported(%s, %s)", (tenant.id, conversation)).fetchone()[0]


def test_what_an_upload_may_bring_is_erased_after_it_alone(importing_service, owner, tenant):
    owner.put("/v1/users/mira", json={"name": "Mira"})
    for name in ("chatgpt:mine", "other"):
        owner.put(f"/v1/conversations/{name}", json={"user": "mira", "agent": "ada"})
    options = {"user": "mira", "map": {"U1": "mira", "U2": "tom"}}
    id_ = make(owner, "chatgpt", "conversations.json", **options)
    refused = owner.delete("/v1/conversations/chatgpt:mine")
    assert (refused.status_code, "import" in refused.json()["detail"]) == (409, True)
    assert owner.delete("/v1/users/mira").status_code == 409
    assert owner.delete("/v1/conversations/other").status_code == 200

    put(owner, id_, 1, export())
    with migrate.owner(importing_service.conninfo) as conn:
        row = "INSERT INTO erasures (tenant_id, kind) SELECT id, 'message' FROM tenants WHERE name = %s RETURNING id"
        (erasure,) = conn.execute(row, (tenant,)).fetchone()
        assert owner.post(f"/v1/imports/{id_}/start").status_code == 409
        conn.execute("DELETE FROM erasures WHERE id = %s", (erasure,))
        people = '{"people": [{"user": "mira", "name": "Mira K"}, {"user": "tom", "name": "Tom"}]}'
        conn.execute("UPDATE history_imports SET report = %s WHERE id = %s", (people, id_))
    owner.post(f"/v1/imports/{id_}/cancel")
    assert owner.delete("/v1/users/mira").status_code == 200
    told = owner.get(f"/v1/imports/{id_}").json()
    assert [one["name"] for one in told["report"]["people"]] == ["Tom"]
    assert told["options"] == {"map": {"U2": "tom"}}
