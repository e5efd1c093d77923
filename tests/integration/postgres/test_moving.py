"""A tenant moves between two real servers, whole, while nobody can see two of it."""

import time
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from conftest import Service
from keepword.errors import Conflict, NotFound, UnfitDatabase
from keepword.postgres import directory, migrate, moving
from keepword.postgres.keys import open_tenant
from keepword.postgres.memories import unread
from keepword.postgres.moving import fence, tables
from keepword.postgres.moving.servers import connected
from keepword.postgres.pool import APP_ROLE
from keepword.postgres.queries import Queries
from keepword.postgres.queue import backfill_sentences, queue_status, recompact, retry_failed
from moving import Pair, make_server
from patience import HANG_SECONDS

VECTORS = "SELECT entry_id, space_id, part, vector::text FROM vectors WHERE tenant_id = %s"


@pytest.fixture(scope="module")
def pair(make_migrated_home):
    made = Pair({name: make_server(make_migrated_home()) for name in ("north", "south")})
    yield made
    made.stop()


@pytest.fixture(scope="module")
def services(pair, make_home):
    started = {}
    for name in pair.clusters:
        settings = {"database_url": pair.url(name), "worker": "true", "embedding": "local"}
        started[name] = Service(make_home(), **settings).start()
    yield started
    for service in started.values():
        service.stop()


@pytest.fixture
def told():
    return []


def client(service, key):
    return httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {key}"}, timeout=HANG_SECONDS)


def fill(kw, messages=60):
    """Store something of most kinds; one message is retracted, one erased."""
    kw.put("/v1/users/ann", json={}).raise_for_status()
    kw.put("/v1/conversations/talk", json={"user": "ann"}).raise_for_status()
    said = [{"role": "user", "content": f"Pump {n} is painted {'blue' if n % 2 else 'red'}."} for n in range(messages)]
    said[7]["content"] = "The secret word is xylophone."
    said[9]["content"] = "The other word is bassoon."
    kw.post("/v1/conversations/talk/messages", json=said).raise_for_status()
    kw.put("/v1/facts/user/ann/colour", json={"value": "green"}).raise_for_status()
    kw.post("/v1/semantic", json={"conversation": "talk", "content": "Ann likes blue pumps."}).raise_for_status()
    kw.put("/working-memory/talk", json={"data": {"step": 1}}).raise_for_status()
    kw.post("/v1/conversations/talk/messages/8/retract", json={}).raise_for_status()
    kw.delete("/v1/conversations/talk/messages/10").raise_for_status()


def wait_until(done):
    deadline = time.monotonic() + HANG_SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def settle(pair, tenant, server="north"):
    """Wait until the worker has nothing to do for the tenant."""
    left = """SELECT (SELECT count(*) FROM backlog WHERE tenant_id = %s)
        + (SELECT count(*) FROM erasures WHERE tenant_id = %s AND state <> 'done')
        + (SELECT count(*) FROM outbox WHERE tenant_id = %s)"""
    wait_until(lambda: pair.ask(server, left, tenant, tenant, tenant) == [(0,)])


def search(kw, query):
    answer = kw.post("/v1/search", json={"query": query}).raise_for_status().json()
    return [hit["text"] for hit in answer["results"]]


def test_every_table_of_tenants_is_known_to_move_or_to_stay(conninfo):
    with migrate.owner(conninfo) as conn:
        found = set(tables.find_tables(conn))
    assert found - tables.STAYS.keys() == tables.MOVED
    assert not tables.MOVED & tables.STAYS.keys()


def test_a_move_refuses_a_table_that_it_does_not_know(make_migrated_database):
    with migrate.owner(make_migrated_database()) as conn:
        conn.execute("CREATE TABLE novelties (tenant_id uuid, id bigint)")
        with pytest.raises(UnfitDatabase, match="novelties"):
            tables.tables_of(conn)


def test_every_table_that_moves_can_be_changed_while_a_tenant_is_published(conninfo):
    with migrate.owner(conninfo) as conn:
        tables.refuse_unfit(conn, tables.tables_of(conn), "here")
        conn.execute("ALTER TABLE keys REPLICA IDENTITY DEFAULT")
        with pytest.raises(UnfitDatabase, match="rows of keys"):
            tables.refuse_unfit(conn, tables.tables_of(conn), "here")
        conn.execute("ALTER TABLE keys REPLICA IDENTITY USING INDEX keys_of_tenant")


def test_what_a_server_numbers_is_known(conninfo):
    numbered = """
        SELECT c.relname, a.attname, a.atttypid = 'xid8'::regtype
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relname = ANY (%s) AND a.attnum > 0 AND (a.attidentity <> '' OR a.atttypid = 'xid8'::regtype
            OR EXISTS (SELECT FROM pg_attrdef d WHERE d.adrelid = c.oid AND d.adnum = a.attnum
                AND pg_get_expr(d.adbin, d.adrelid) LIKE '%%nextval%%'))"""
    with migrate.owner(conninfo) as conn:
        rows = conn.execute(numbered, (sorted(tables.MOVED),)).fetchall()
    assert {(table, column) for table, column, is_xid in rows if not is_xid} == tables.NUMBERED
    # entries that were retracted keep it and compare it with nothing
    assert {(t, c) for t, c, is_xid in rows if is_xid} == tables.RENUMBERED | {("retracted_entries", "created_xid")}


# functions of the worker that go through the rows of all tenants
THROUGH_ALL = (
    r"^(sweep|claim|enqueue|queue_missing|queue_item_parts|index_instant|expire|advance_erasure|find_erased|may_expire"
    r"|note_process)"
)
ASKING = ("is_resting", "find_waiting_tenants", "expire_memories")


def test_background_work_leaves_tenants_alone_that_rest(conninfo):
    with migrate.owner(conninfo) as conn:
        found = dict(conn.execute(
            "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'keepword'::regnamespace AND proname ~ %s",
            (THROUGH_ALL,),
        ).fetchall())  # fmt: skip
    assert len(found) > 15
    assert [name for name, source in found.items() if not any(word in source for word in ASKING)] == []


# what commands and workers ask of all tenants at once, in functions and in queries
OF_ALL_FUNCTIONS = ("count_backlog", "count_background", "retry_jobs", "serve_space")
OF_ALL_QUERIES = {
    "embedding.sql": ("failures",),
    "keys.sql": ("list", "revoke"),
    "memories.sql": ("backfill", "waiting"),
    "queue.sql": ("backfill", "count_outdated", "count_undescribed", "recompact", "status"),
}


def test_what_is_asked_of_all_tenants_leaves_out_those_that_live_elsewhere(conninfo):
    with migrate.owner(conninfo) as conn:
        texts = dict(conn.execute(
            "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'keepword'::regnamespace AND proname = ANY (%s)",
            (list(OF_ALL_FUNCTIONS),),
        ).fetchall())  # fmt: skip
    assert texts.keys() == set(OF_ALL_FUNCTIONS)
    texts |= {f"{file}: {name}": Queries(file)[name] for file, names in OF_ALL_QUERIES.items() for name in names}
    asking = ("is_resting", "moved_tenants")
    assert [name for name, text in texts.items() if not any(word in text for word in asking)] == []


OLD_COPY = """
INSERT INTO conversations (tenant_id, id, external_id, kind, agent, last_seq)
VALUES (%(t)s, %(talk)s, 'talk', 'session', 'ada', 1);
INSERT INTO messages (tenant_id, id, conversation_id, seq, run_id, visibility, role, content, tool_name, attachments,
    metadata, created_at)
VALUES (%(t)s, gen_random_uuid(), %(talk)s, 1, 'session:talk', 'public', 'tool', '', 'look', '[]', '{}', now());
INSERT INTO summaries (tenant_id, id, conversation_id, run_id, visibility, tier, pipeline_version, first_seq, last_seq,
    earliest_at, latest_at, message_count, message_tokens, content, model, share, agent)
VALUES (%(t)s, gen_random_uuid(), %(talk)s, 'session:talk', 'public', 'thread', 0, 1, 1, now(), now(), 1, 1, 'x', 'x',
    1, 'ada');
INSERT INTO outbox (tenant_id, conversation_id, task, seq, attempts) VALUES (%(t)s, %(talk)s, 'landmark', 1, 3);
INSERT INTO extractions (tenant_id, conversation_id, done_seq, waiting) VALUES (%(t)s, %(talk)s, 0, true);
INSERT INTO backlog (tenant_id, space_id, entry_id) SELECT %(t)s, id, 1 FROM spaces;
INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, status)
VALUES ('keepword', 'landmark', 'l', 'l', %(job)s, 'failed')
"""


def fill_old_copy(conn, tenant):
    """Give a tenant rows that commands and workers change in all tenants; what they refer to is not there."""
    talk = uuid4()
    values = {"t": tenant, "talk": talk, "job": f'{{"tenant_id": "{tenant}", "conversation_id": "{talk}"}}'}
    conn.execute("SET ROLE NONE")
    conn.execute("SET session_replication_role = replica")
    for statement in OLD_COPY.split(";"):
        conn.execute(statement, values)
    conn.execute("SET session_replication_role = origin")
    conn.execute("SET ROLE keepword_owner")
    return talk


def test_commands_over_all_tenants_neither_fail_for_an_old_copy_nor_count_it(make_migrated_database):
    address = moving.ServerAddress("north", make_migrated_database())
    with migrate.owner(address.conninfo) as conn:
        tenant, other = open_tenant(conn, "moved"), open_tenant(conn, "other")
        conn.execute("INSERT INTO spaces (name, dimensions) VALUES ('retired', 8)")
        talk = fill_old_copy(conn, tenant)
        with connected(address, tenant) as server:
            fence.build(server, tenant, tables.tables_of(server.owner))
        directory.give_away(conn, tenant, "south")
        before = Pair.digests_of(conn, tenant)
        assert backfill_sentences(conn, dry_run=True) == backfill_sentences(conn, dry_run=False) == 0
        assert recompact(conn, 99, dry_run=False) == 0
        assert (tenant, talk) not in unread(conn, backfill=True)
        assert retry_failed(conn, None, None, dry_run=True) == retry_failed(conn, None, None, dry_run=False) == 0
        assert {line.task: line.pending for line in queue_status(conn)}["landmark"] == 0
        assert conn.execute("SELECT sum(waiting) FROM count_backlog()").fetchone() == (0,)
        conn.execute("SELECT serve_space(id) FROM spaces WHERE serving AND NOT is_instant")
        conn.execute("SELECT count_background(%s, current_date, '{5, 7}', 1000)", ([tenant, other],))
        assert conn.execute("SELECT tenant_id, background_ms FROM usage_by_day").fetchall() == [(other, 7)]
        assert Pair.digests_of(conn, tenant) == before


def test_a_program_does_not_open_the_old_copy_of_a_tenant(make_migrated_database):
    with migrate.owner(make_migrated_database()) as conn:
        tenant = open_tenant(conn, "acme")
        directory.give_away(conn, tenant, "south")
        with pytest.raises(Conflict, match=r"'acme' lives on the server 'south'"):
            open_tenant(conn, "acme")


def test_nothing_is_claimed_or_swept_of_a_tenant_that_lives_elsewhere(conninfo, make_tenant):
    def swept() -> tuple[int, ...]:
        with migrate.owner(conninfo) as conn:
            conn.execute("SELECT sweep_working(clock_timestamp()), enqueue_due(clock_timestamp(), 50, '1 hour', 1000)")
            return conn.execute(
                "SELECT (SELECT count(*) FROM working_memories WHERE tenant_id = %(t)s), "
                "(SELECT count(*) FROM procrastinate_jobs WHERE args ->> 'tenant_id' = %(t)s::text)", {"t": tenant.id}
            ).fetchone()  # fmt: skip

    tenant = make_tenant()
    talk = uuid4()
    with migrate.owner(conninfo) as conn:
        conn.execute(
            "INSERT INTO conversations (tenant_id, id, external_id, kind, agent) "
            "VALUES (%s, %s, 'talk', 'session', 'ada')",
            (tenant.id, talk),
        )
        conn.execute(
            "INSERT INTO working_memories "
            "VALUES (%s, %s, 'session:talk', 'public', NULL, %s, 1, now() - interval '1 day')",
            (tenant.id, talk, '{"a": 1}'),
        )
        conn.execute("INSERT INTO outbox VALUES (%s, %s, 'describe', 1)", (tenant.id, talk))
        directory.give_away(conn, tenant.id, "south")
    assert swept() == (1, 0)
    with migrate.owner(conninfo) as conn:
        directory.take_in(conn, tenant.id)
    assert swept() == (0, 1)


def test_a_closed_tenant_refuses_writes_waits_for_none_that_comes_later_and_opens_by_itself(pair):
    name = f"closing-{uuid4().hex[:8]}"
    tenant, _ = pair.make_tenant(name)
    other, _ = pair.make_tenant(f"other-{name}")
    write = "INSERT INTO users (tenant_id, id) VALUES (%s, %s)"
    address = pair.servers.named("north")
    with connected(address, tenant) as server, migrate.owner(address.conninfo) as writer:
        known = tables.tables_of(server.owner)
        fence.build(server, tenant, known)
        rows = server.owner.execute("SELECT count(*) FROM pg_trigger WHERE starts_with(tgname, 'moving_')").fetchone()
        assert rows == (2 * len(known),)
        writer.execute("BEGIN")
        writer.execute(write, (tenant, "early"))
        assert not fence.close(server, tenant, 0.2)
        server.owner.execute("SELECT close_tenant(%s, '10 s')", (tenant,))
        with migrate.owner(address.conninfo) as late, pytest.raises(errors.LockNotAvailable, match="Try again"):
            late.execute(write, (tenant, "late"))
        writer.execute("COMMIT")
        assert fence.close(server, tenant, 5)
        writer.execute(write, (other, "ann"))
        with pytest.raises(errors.LockNotAvailable):
            writer.execute("DELETE FROM users WHERE tenant_id = %s", (tenant,))
        server.owner.execute("SELECT close_tenant(%s, '300 ms')", (tenant,))
        time.sleep(0.5)
        # too late to give it away: somebody may have written
        assert not fence.give(server, tenant, "south")
        writer.execute(write, (tenant, "later"))
        # a migration in between leaves the fence alone
        server.owner.execute("UPDATE schema_files SET checksum = 'older' WHERE name = 'code'")
        migrate.migrate(address.conninfo)
        assert (
            rows
            == server.owner.execute("SELECT count(*) FROM pg_trigger WHERE starts_with(tgname, 'moving_')").fetchone()
        )
        fence.remove(server, tenant)


def test_a_process_begins_while_a_tenant_arrives_whose_erasure_is_not_forgotten(pair):
    tenant, _ = pair.make_tenant(f"arriving-{uuid4().hex[:8]}")
    erased = (
        "INSERT INTO erasures (tenant_id, kind, state, erased_at, done_at) "
        "VALUES (%s, 'message', 'done', now() - interval '1 hour', now() - interval '1 hour') RETURNING id"
    )
    note = "SELECT note_process(%s, 0, 0, true)"
    forgotten = "SELECT forgotten_at IS NOT NULL FROM erasures WHERE tenant_id = %s"
    address = pair.servers.named("north")
    with connected(address, tenant) as server:
        server.owner.execute(erased, (tenant,))
        fence.build(server, tenant, tables.tables_of(server.owner))
        directory.give_away(server.owner, tenant, "south")
        # the fence refused the row, and with it the process
        assert pair.ask("north", note, uuid4()) == [(False,)]
        assert pair.ask("north", forgotten, tenant) == [(False,)]
        directory.take_in(server.owner, tenant)
        pair.ask("north", note, uuid4())
        assert pair.ask("north", forgotten, tenant) == [(True,)]
        fence.remove(server, tenant)


USE = "SELECT keepword.take_quota(%s, current_date, 1, 1, NULL, NULL)"


def test_only_the_owner_passes_the_fence(pair):
    tenant, _ = pair.make_tenant(f"passing-{uuid4().hex[:8]}")
    address = pair.servers.named("north")
    with connected(address, tenant) as server, psycopg.connect(address.conninfo, autocommit=True) as stranger:
        fence.build(server, tenant, tables.tables_of(server.owner))
        directory.give_away(server.owner, tenant, "south")
        stranger.execute(f"SET ROLE {APP_ROLE}")
        stranger.execute("SELECT set_config('keepword.fence_pass', %s, false)", (str(tenant),))
        with pytest.raises(errors.LockNotAvailable):
            stranger.execute(USE, (tenant,))
        with fence.passed(server, tenant):
            server.owner.execute(USE, (tenant,))
        with pytest.raises(errors.LockNotAvailable):
            server.owner.execute(USE, (tenant,))
        fence.remove(server, tenant)


@pytest.mark.parametrize("has_fence", [True, False])
def test_nobody_writes_to_an_old_copy_while_it_is_dropped(pair, told, has_fence):
    name = f"dropping-{uuid4().hex[:8]}"
    tenant, _ = pair.make_tenant(name)
    address = pair.servers.named("north")
    pair.ask("north", "INSERT INTO users (tenant_id, id) VALUES (%s, 'ann') RETURNING 1", tenant)
    moving.move(pair.servers, name, "south", 7, told.append)
    if not has_fence:
        with connected(address, tenant) as server:
            fence.remove(server, tenant)
    dropped, refused = [], []

    def write_late(line):
        dropped.append(line)
        with psycopg.connect(address.conninfo, autocommit=True) as conn:
            conn.execute(f"SET ROLE {APP_ROLE}")
            try:
                conn.execute(USE, (tenant,))
            except errors.LockNotAvailable:
                refused.append(line)

    assert moving.clean(pair.servers, name, now=True, report=write_late) == 1
    assert dropped
    assert refused == dropped
    assert {digest.split()[0] for digest in pair.digests("north", tenant).values()} == {"0"}
    fences = "SELECT tgname FROM pg_trigger WHERE starts_with(tgname, %s)"
    assert pair.ask("north", fences, f"moving_{tenant.hex}") == []


OLDER_FENCE = """
CREATE OR REPLACE FUNCTION refuse_while_moving() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'it is being moved' USING ERRCODE = 'lock_not_available';
END
$$
"""


def test_an_old_copy_on_a_server_of_an_older_version_stays_until_that_is_migrated(pair, told):
    name = f"older-{uuid4().hex[:8]}"
    pair.make_tenant(name)
    moving.move(pair.servers, name, "south", 7, told.append)
    address = pair.servers.named("north")
    with migrate.owner(address.conninfo) as conn:
        conn.execute(OLDER_FENCE)
        with pytest.raises(UnfitDatabase, match=r"'north'.*keepword db migrate"):
            moving.clean(pair.servers, name, now=True, report=told.append)
        conn.execute("UPDATE schema_files SET checksum = 'older' WHERE name = 'code'")
        migrate.migrate(address.conninfo)
    assert moving.clean(pair.servers, name, now=True, report=told.append) == 1


def test_what_can_not_be_moved_is_refused_with_what_to_do(pair, told):
    name = f"refused-{uuid4().hex[:8]}"
    tenant, _ = pair.make_tenant(name)
    with pytest.raises(Conflict, match="default"):
        moving.move(pair.servers, "default", "south", 7, told.append)
    with pytest.raises(NotFound, match="north, south"):
        moving.move(pair.servers, name, "west", 7, told.append)
    with pytest.raises(NotFound, match="no tenant 'nobody'"):
        moving.move(pair.servers, "nobody", "south", 7, told.append)
    with pytest.raises(NotFound, match="not being moved"):
        moving.undo(pair.servers, name, told.append)
    assert moving.move(pair.servers, name, "north", 7, told.append) is None
    pair.ask("north", "INSERT INTO imports (tenant_id, header, digest) VALUES (%s, '', '') RETURNING 1", tenant)
    with pytest.raises(Conflict, match="being imported"):
        moving.move(pair.servers, name, "south", 7, told.append)
    moving.undo(pair.servers, name, told.append)
    assert pair.ask("south", "SELECT id FROM tenants WHERE name = %s", name) == []


def test_a_new_server_that_can_not_reach_the_old_one_is_told_how(pair, told):
    name = f"unreached-{uuid4().hex[:8]}"
    pair.make_tenant(name)
    through = "postgresql:///keepword?host=/nowhere&user=postgres&password=of-the-house"
    addresses = [moving.ServerAddress(one, cluster.conninfo, through) for one, cluster in pair.clusters.items()]
    with pytest.raises(UnfitDatabase, match="--through") as refused:
        moving.move(moving.make_servers(addresses), name, "south", 7, told.append)
    assert "of-the-house" not in str(refused.value)
    moving.undo(pair.servers, name, told.append)


def test_a_server_that_keeps_no_logical_log_is_refused_with_the_setting(pair, make_migrated_home, told):
    plain = make_server(make_migrated_home(), wal_level="replica")
    servers = Pair({"plain": plain, "south": pair.clusters["south"]})
    name = f"plain-{uuid4().hex[:8]}"
    servers.make_tenant(name, "plain")
    with pytest.raises(UnfitDatabase, match="ALTER SYSTEM SET wal_level = logical"):
        moving.move(servers.servers, name, "south", 7, told.append)
    moving.undo(servers.servers, name, told.append)
    plain.stop()


def test_a_tenant_moves_whole_and_its_old_server_says_where(pair, services, told, show):
    name = f"moving-{uuid4().hex[:8]}"
    tenant, key = pair.make_tenant(name)
    with client(services["north"], key) as kw:
        fill(kw)
        settle(pair, tenant)
        before = search(kw, "which pump is blue?")
        assert before
    closed_seconds = moving.move(pair.servers, name, "south", 7, told.append)
    # the old server's vectors are there, byte for byte: none was computed again
    old, new = (set(pair.ask(server, VECTORS, tenant)) for server in ("north", "south"))
    show(f"a move of an idle tenant: closed to writes for {closed_seconds:.3f} s, {len(old)} vectors carried, "
         f"{len(old - new)} computed again")  # fmt: skip
    assert old
    assert old <= new
    with client(services["north"], key) as kw:
        answer = kw.get("/v1/conversations/talk")
        assert answer.status_code == 503
        assert "south" in answer.text
    with client(services["south"], key) as kw:
        assert search(kw, "which pump is blue?") == before
        assert not any("xylophone" in text for text in search(kw, "xylophone"))
        assert not any("bassoon" in text for text in search(kw, "bassoon"))
        assert kw.get("/v1/facts/user/ann/colour").json()["value"] == "green"
        said = kw.post("/v1/conversations/talk/messages", json={"role": "user", "content": "The crane is yellow."})
        assert said.status_code == 201
        assert said.json()["messages"][0]["seq"] == 61
        assert "The crane is yellow." in search(kw, "what colour is the crane?")
    ((lowest,),) = pair.ask("south", "SELECT max(id) FROM entries WHERE tenant_id = %s", tenant)
    assert lowest >= tables.RANGE
    with psycopg.connect(pair.clusters["south"].conninfo) as conn:
        conn.execute(f"SET ROLE {APP_ROLE}; SET search_path = keepword")
        assert conn.execute("SELECT count(*) FROM keepword.messages").fetchone() == (0,)
    # the old copy is there until it is dropped, and then goes with all its rows
    assert pair.digests("north", tenant)["messages"].startswith("60 ")
    assert moving.clean(pair.servers, None, now=False, report=told.append) == 0
    assert moving.clean(pair.servers, name, now=True, report=told.append) == 1
    assert {digest.split()[0] for digest in pair.digests("north", tenant).values()} == {"0"}
    assert pair.ask("north", "SELECT server FROM moved_tenants WHERE tenant_id = %s", tenant) == [("south",)]
    # and back again, into the range of ids of the first
    moving.move(pair.servers, name, "north", 0, told.append)
    with client(services["north"], key) as kw:
        assert "The crane is yellow." in search(kw, "what colour is the crane?")
    assert {digest.split()[0] for digest in pair.digests("south", tenant).values()} == {"0"}
    for server in pair.clusters:
        assert pair.ask(server, "SELECT slot_name FROM pg_replication_slots") == []
        assert pair.ask(server, "SELECT pubname FROM pg_publication") == []
        assert pair.ask(server, "SELECT tgname FROM pg_trigger WHERE starts_with(tgname, 'moving_')") == []


def with_login(cluster, grants):
    """Let somebody log in who is no superuser, with a password; return how they connect."""
    rules = cluster.data / "pg_hba.conf"
    if "mover" not in rules.read_text():
        rules.write_text(f"local all mover scram-sha-256\n{rules.read_text()}")
        with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
            conn.execute("CREATE ROLE mover LOGIN PASSWORD 'of the house' NOSUPERUSER")
            conn.execute("GRANT keepword_owner, keepword_app TO mover")
            conn.execute("SELECT pg_reload_conf()")
    with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
        for grant in grants:
            conn.execute(grant)
    host = conninfo_to_dict(cluster.conninfo)["host"]
    return make_conninfo(host=host, user="mover", password="of the house", dbname="keepword")


def test_a_login_that_is_no_superuser_moves_a_tenant_once_it_has_what_the_errors_ask_for(pair, told):
    name = f"granted-{uuid4().hex[:8]}"
    tenant, _ = pair.make_tenant(name)
    clusters = pair.clusters

    def move(**grants):
        addresses = [moving.ServerAddress(one, with_login(clusters[one], grants.get(one, ()))) for one in clusters]
        return moving.move(moving.make_servers(addresses), name, "south", 0, told.append)

    with pytest.raises(UnfitDatabase, match=r"on the server 'north'.*GRANT CREATE ON DATABASE keepword TO mover"):
        move()
    with pytest.raises(UnfitDatabase, match="ALTER ROLE mover REPLICATION"):
        move(north=["GRANT CREATE ON DATABASE keepword TO mover"])
    with pytest.raises(UnfitDatabase, match=r"on the server 'south'.*GRANT pg_create_subscription TO mover"):
        move(north=["ALTER ROLE mover REPLICATION"])
    move(south=["GRANT pg_create_subscription TO mover", "GRANT CREATE ON DATABASE keepword TO mover"])
    assert pair.ask("south", "SELECT name FROM tenants WHERE id = %s", tenant) == [(name,)]
    assert pair.digests("south", tenant)["keys"].startswith("1 ")
