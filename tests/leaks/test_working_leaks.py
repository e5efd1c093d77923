"""Working memory, ledger and buffer are readable exactly by those who may read the conversation, on both engines."""

from dataclasses import dataclass
from uuid import uuid4

import httpx
import psycopg
import pytest

from keepword.access import Grant, Place, Viewer, grant
from keepword.postgres.grants import dump

SECRET = "the-launch-is-on-friday"


@dataclass
class World:
    """A tenant with a room, direct conversations, sessions in and out of projects, and a second tenant."""

    service: object
    tenant: str
    other: str

    def client(self, role="agent", agent=None, user=None, tenant=None) -> httpx.Client:
        return self.service.client(self.service.make_key(tenant or self.tenant, role, agent, user))


PLACES = ["room", "direct-alice", "direct-bob", "session-alice", "session-bob", "session-nobody", "secret-alice"]


def _make_world(service) -> World:
    made = World(service, f"t-{uuid4().hex[:12]}", f"t-{uuid4().hex[:12]}")
    with made.client("admin") as admin:
        for user in ("alice", "bob", "carol"):
            admin.put(f"/v1/users/{user}", json={}).raise_for_status()
        admin.put("/v1/projects/secret", json={"isolated": True}).raise_for_status()
        admin.put("/v1/rooms/hall", json={}).raise_for_status()
        for member in ("users/alice", "users/bob", "agents/helper"):
            admin.put(f"/v1/rooms/hall/participants/{member}").raise_for_status()
        for name, body in {
            "room": {"room": "hall"},
            "direct-alice": {"kind": "direct", "user": "alice"},
            "direct-bob": {"kind": "direct", "user": "bob"},
            "session-alice": {"user": "alice"},
            "session-bob": {"user": "bob"},
            "session-nobody": {},
            "secret-alice": {"user": "alice", "project": "secret"},
        }.items():
            admin.put(f"/v1/conversations/{name}", json=body | {"agent": "helper"}).raise_for_status()
            _fill(admin, name)
    return made


@pytest.fixture(scope="module")
def postgres_world(keyed_service):
    return _make_world(keyed_service)


@pytest.fixture(scope="module")
def redis_world(redis_keyed_service):
    return _make_world(redis_keyed_service)


@pytest.fixture(scope="module", params=["postgres_world", "redis_world"])
def world(request):
    return request.getfixturevalue(request.param)


def _fill(client, name):
    client.put(f"/working-memory/{name}", json={"data": {"note": SECRET}}).raise_for_status()
    client.post(f"/ledger/{name}/mark", json={"item_key": SECRET}).raise_for_status()
    message = {"role": "user", "content": SECRET}
    client.post(f"/v1/conversations/{name}/messages", json=message).raise_for_status()
    client.get(f"/v1/conversations/{name}/buffer").raise_for_status()


VIEWERS = {
    "an admin": ({"role": "admin"}, set(PLACES)),
    "an unbound agent key": ({}, set(PLACES)),
    "a reader": ({"role": "reader"}, set(PLACES)),
    "helper": ({"agent": "helper"}, set(PLACES)),
    "another agent": ({"agent": "stranger"}, set()),
    "alice": ({"user": "alice"}, {"room", "direct-alice", "session-alice", "secret-alice"}),
    "alice with helper": (
        {"user": "alice", "agent": "helper"},
        {"room", "direct-alice", "session-alice", "secret-alice"},
    ),
    "alice with another agent": ({"user": "alice", "agent": "stranger"}, set()),
    "bob": ({"user": "bob"}, {"room", "direct-bob", "session-bob"}),
    "carol, who is nowhere": ({"user": "carol"}, set()),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("viewer", VIEWERS)
def test_who_reads_the_conversation_reads_its_working_memory_and_nobody_else(world, viewer, place):
    key, seen = VIEWERS[viewer]
    with world.client(**key) as client:
        reads = client.get(f"/v1/conversations/{place}/messages").status_code == 200
        assert reads is (place in seen)
        memory, ledger = client.get(f"/working-memory/{place}"), client.get(f"/ledger/{place}")
        check = client.post(f"/ledger/{place}/check", json={"item_key": SECRET})
        buffer = client.get(f"/v1/conversations/{place}/buffer")
        if reads:
            assert memory.json() == {"note": SECRET}
            assert ledger.json() == {SECRET: "injected"}
            assert check.json()["injected"]
            assert [entry["text"] for entry in buffer.json()["messages"]] == [SECRET]
        else:
            assert (memory.status_code, memory.json()) == (200, {})
            assert (ledger.status_code, ledger.json()) == (200, {})
            assert check.json() == {"injected": False, "value": None}
            assert buffer.status_code == 404
            assert SECRET not in buffer.text


@pytest.mark.parametrize("place", ["direct-bob", "session-bob", "secret-alice"])
def test_who_may_not_read_can_not_write_and_changes_nothing(world, place):
    outsider = {"user": "alice" if place.endswith("bob") else "bob"}
    with world.client(**outsider) as client, world.client("admin") as admin:
        assert client.put(f"/working-memory/{place}", json={"data": {"note": "mine"}}).status_code == 409
        assert client.post(f"/ledger/{place}/mark", json={"item_key": "k"}).status_code == 409
        assert client.post(f"/ledger/{place}/evict", json={"item_key": SECRET}).json() == {"evicted": False}
        assert client.delete(f"/working-memory/{place}").status_code == 204
        deleted = client.request("DELETE", f"/working-memory/{place}", json={"fields": ["note"]})
        assert deleted.status_code == 204  # as for a conversation that nobody made
        assert admin.get(f"/working-memory/{place}").json() == {"note": SECRET}
        assert admin.get(f"/ledger/{place}").json() == {SECRET: "injected"}


def test_another_tenant_s_conversation_of_the_same_name_is_another(world):
    with world.client(tenant=world.other) as client, world.client("admin") as admin:
        for place in PLACES:
            assert client.get(f"/working-memory/{place}").json() == {}
            assert client.get(f"/ledger/{place}").json() == {}
        client.put("/working-memory/room", json={"data": {"own": 1}}).raise_for_status()
        assert client.get("/working-memory/room").json() == {"own": 1}
        assert admin.get("/working-memory/room").json() == {"note": SECRET}


def test_leaving_a_room_takes_effect_on_the_next_read(world):
    with world.client("admin") as admin, world.client(user="bob") as bob:
        assert bob.get("/working-memory/room").json() == {"note": SECRET}
        admin.delete("/v1/rooms/hall/participants/users/bob").raise_for_status()
        try:
            assert bob.get("/working-memory/room").json() == {}
            assert bob.get("/ledger/room").json() == {}
            assert bob.get("/v1/conversations/room/buffer").status_code == 404
        finally:
            admin.put("/v1/rooms/hall/participants/users/bob").raise_for_status()


class Wall:
    """The application role's own connection: queries without any filter, under a grant."""

    def __init__(self, conninfo: str) -> None:
        self.conn = psycopg.connect(conninfo, autocommit=True)
        self.conn.execute("SELECT set_config('search_path', 'keepword, pg_temp', false)")
        self.conn.execute("SET ROLE keepword_app")

    def rows(self, opened: Grant | None, query: str) -> list[tuple]:
        with self.conn.transaction(force_rollback=True):
            if opened:
                self.conn.execute("SELECT set_config('keepword.grant', %s, true)", (dump(opened),))
            return self.conn.execute(query).fetchall()

    def call(self, query: str, *values: object) -> list[tuple]:
        with self.conn.transaction(force_rollback=True):
            return self.conn.execute(query, values).fetchall()


@pytest.fixture
def wall(keyed_service):
    made = Wall(keyed_service.conninfo)
    yield made
    made.conn.close()


@pytest.fixture
def places(postgres_world, keyed_service):
    """Return the tenant and its places as the database tells them; the second wall is PostgreSQL's."""
    world = postgres_world
    with psycopg.connect(keyed_service.conninfo) as conn:
        tenant_id = conn.execute("SELECT id FROM keepword.tenants WHERE name = %s", (world.tenant,)).fetchone()[0]
        rows = conn.execute(
            "SELECT external_id, kind, agent, user_id, room_id, id FROM keepword.conversations WHERE tenant_id = %s",
            (tenant_id,),
        ).fetchall()
    users, agents = frozenset({"alice", "bob"}), frozenset({"helper"})
    found = {}
    for name, kind, agent, user, room, id_ in rows:
        within = {"users": users, "agents": agents} if kind == "room" else {}
        found[name] = Place(kind, name, agent, user, room, conversation_id=id_, **within)
    return tenant_id, found


@pytest.mark.parametrize("name", PLACES)
def test_a_reader_s_transaction_changes_nothing(wall, places, name):
    tenant_id, found = places
    place = found[name]
    opened = grant(Viewer(tenant_id, "reader"), place).only(place.run_id)
    assert wall.rows(opened, "DELETE FROM working_memories RETURNING 1") == []
    assert wall.rows(opened, "DELETE FROM ledger_marks RETURNING 1") == []
    for statement in (
        "UPDATE working_memories SET expires_at = now() RETURNING 1",
        "UPDATE ledger_marks SET value = 'x' RETURNING 1",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            wall.rows(opened, statement)


@pytest.mark.parametrize("name", PLACES)
def test_the_functions_of_working_memory_serve_no_grant_but_the_place_s_own(wall, places, name):
    tenant_id, found = places
    place = found[name]
    label = (place.run_id, place.visibility, place.user if place.visibility == "private" else None)
    where = (tenant_id, place.conversation_id)
    get = "SELECT get_working(%s, %s, %s, %s, now()) IS NOT NULL"
    put = "SELECT stored FROM put_working(%s, %s, %s, %s, %s, %s, %s, NULL, 60, 65536, 1000, now())"
    for other in found.values():
        for role in ("reader", "agent"):
            opened = grant(Viewer(tenant_id, role), other)
            may_read, may_write = opened.opens(place), opened.writes == place.run_id
            assert wall.call(get, dump(opened), *where, place.run_id) == [(may_read,)]
            if may_write:
                assert wall.call(put, dump(opened), *where, *label, '{"note": "mine"}') == [(True,)]
            else:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    wall.call(put, dump(opened), *where, *label, '{"note": "stolen"}')
    for nothing in ("{}", dump(Grant(tenant_id)), dump(Grant(uuid4(), frozenset({place.run_id}), everything=True))):
        assert wall.call(get, nothing, *where, place.run_id) == [(False,)]


def test_a_writer_can_not_store_under_another_place(wall, places):
    tenant_id, found = places
    mine, other = found["session-alice"], found["session-bob"]
    opened = grant(Viewer(tenant_id, "agent"), mine).only(mine.run_id)
    for conversation, run_id in ((other.conversation_id, other.run_id), (mine.conversation_id, other.run_id)):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            wall.rows(
                opened,
                "INSERT INTO ledger_marks (tenant_id, conversation_id, item_key, run_id, visibility, value) "
                f"VALUES ('{tenant_id}', '{conversation}', 'x', '{run_id}', 'public', '1') RETURNING 1",
            )
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        wall.rows(
            opened,
            "INSERT INTO ledger_marks (tenant_id, conversation_id, item_key, run_id, visibility, value) "
            f"VALUES ('{tenant_id}', '{other.conversation_id}', 'x', '{mine.run_id}', 'public', '1') RETURNING 1",
        )
