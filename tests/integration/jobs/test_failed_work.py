"""What failed in the background, over HTTP: its owner lists it and lets it run again; nobody else does."""

from uuid import uuid4

import pytest

from keepword.postgres import migrate

FAILED = "/v1/jobs/failed"
RETRY = "/v1/jobs/retry"


def fail_job(conn, tenant: str, conversation: str, task: str, error: str) -> int:
    """Do to a conversation's work what a worker does that gave it up."""
    ids = conn.execute(
        "SELECT c.tenant_id, c.id FROM conversations c JOIN tenants t ON t.id = c.tenant_id "
        "WHERE t.name = %s AND c.external_id = %s",
        (tenant, conversation),
    ).fetchone()
    conn.execute("SELECT note_job(%s, %s, %s, %s)", (*ids, task, error))
    lock = f"{task}:{ids[0]}:{ids[1]}:{uuid4()}"
    row = conn.execute(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, status, attempts) "
        "VALUES ('keepword', %s, %s, %s, jsonb_build_object('tenant_id', %s::uuid, 'conversation_id', %s::uuid), "
        "'failed', 3) RETURNING id",
        (task, lock, lock, *ids),
    )
    return row.fetchone()[0]


@pytest.fixture
def world(keyed_service):
    """Two tenants with a conversation each, and a connection as the database's owner."""
    names = [f"failed-{uuid4().hex}" for _ in range(2)]
    clients = [keyed_service.client(keyed_service.make_key(name)) for name in names]
    for client in clients:
        client.put("/v1/conversations/talk", json={}).raise_for_status()
        client.post("/v1/conversations/talk/messages", json={"role": "user", "content": "Hi there."}).raise_for_status()
    with migrate.owner(keyed_service.conninfo) as conn:
        yield names, clients, conn
    for client in clients:
        client.close()


def test_failed_jobs_are_listed_counted_and_run_again(world):
    (mine, theirs), (owner, other), conn = world
    ids = [fail_job(conn, mine, "talk", task, f"Away: {task} failed") for task in ("compact", "extract", "describe")]
    foreign = fail_job(conn, theirs, "talk", "compact", "secret of others")
    first = owner.get(FAILED, params={"limit": 2}).json()
    rest = owner.get(FAILED, params={"limit": 2, "cursor": first["next"]}).json()
    listed = first["jobs"] + rest["jobs"]
    assert [one["id"] for one in listed] == ids[::-1]
    assert (listed[0]["task"], listed[0]["conversation"], listed[0]["attempts"]) == ("describe", "talk", 3)
    assert listed[0]["error"] == "Away: describe failed"
    assert "secret of others" not in str(listed)

    assert owner.post(RETRY, json={"dry_run": True}).json() == {"retried": 3, "dry_run": True}
    assert owner.post(RETRY, json={"task": "compact", "dry_run": True}).json()["retried"] == 1
    assert owner.post(RETRY, json={"error": "EXTRACT", "dry_run": True}).json()["retried"] == 1
    assert owner.post(RETRY, json={"job": foreign}).json()["retried"] == 0
    assert len(owner.get(FAILED).json()["jobs"]) == 3
    assert owner.post(RETRY, json={"job": ids[0]}).json()["retried"] == 1
    assert owner.post(RETRY, json={}).json()["retried"] == 2
    assert owner.get(FAILED).json()["jobs"] == []
    states = conn.execute(
        "SELECT status::text, attempts FROM procrastinate_jobs WHERE id = ANY (%s)", (ids,)
    ).fetchall()
    assert states == [("todo", 0)] * 3
    assert [one["id"] for one in other.get(FAILED).json()["jobs"]] == [foreign]


def test_entries_that_could_not_be_embedded_are_tried_again(world):
    (mine, _), (owner, other), conn = world
    fail = "UPDATE backlog SET failed = true, attempts = 5, error = 'model is away'"
    assert conn.execute(fail).rowcount >= 2
    count = owner.post(RETRY, json={"task": "embed", "dry_run": True}).json()["retried"]
    assert count >= 1
    assert owner.post(RETRY, json={"task": "embed", "error": "no such"}).json()["retried"] == 0
    assert owner.post(RETRY, json={"task": "compact"}).json()["retried"] == 0
    assert owner.post(RETRY, json={"task": "embed"}).json()["retried"] == count
    left = conn.execute(
        "SELECT t.name = %s, bool_or(b.failed), max(b.attempts) FROM backlog b JOIN tenants t ON t.id = b.tenant_id "
        "GROUP BY 1 ORDER BY 1", (mine,),
    ).fetchall()  # fmt: skip
    assert left[-1] == (True, False, 0)
    assert other.post(RETRY, json={"task": "embed", "dry_run": True}).json()["retried"] >= 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"task": "sleep"}, "task"), ({"task": 7}, "task"), ({"error": ""}, "error"), ({"error": "a\0"}, "error"),
        ({"job": -1}, "job"), ({"job": 2**63}, "job"), ({"job": "1"}, "job"), ({"dry_run": "no"}, "dry_run"),
        ({"conversation": "x"}, "conversation"),
    ],
)  # fmt: skip
def test_a_wrong_body_says_which_field(world, body, field):
    _, (owner, _), _ = world
    answer = owner.post(RETRY, json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "٣", "9" * 19, "9" * 5_000, "\0", "1; --"])
def test_a_wrong_cursor_is_refused(world, cursor):
    _, (owner, _), _ = world
    assert owner.get(FAILED, params={"cursor": cursor}).status_code == 422
