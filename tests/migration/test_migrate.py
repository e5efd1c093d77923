"""From any state that a database may be in to the newest schema, or to an error that says what is missing."""

import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from keepword.errors import UnfitDatabase
from keepword.postgres import migrate, schema
from keepword.postgres.embedded import Cluster, running
from keepword.postgres.pool import APP_ROLE, OWNER_ROLE
from patience import HANG_SECONDS

MIGRATE = "import sys; from keepword.postgres.migrate import migrate; migrate(sys.argv[1])"
# dies between a step and the note that it ran
MIGRATE_AND_DIE = """
import os, signal, sys
import psycopg
from keepword.postgres import migrate, schema

execute = psycopg.Connection.execute

def die_before_the_note(self, query, params=None, **options):
    if query == schema._NOTE and params[0] == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(self, query, params, **options)

psycopg.Connection.execute = die_before_the_note
migrate.migrate(sys.argv[1])
"""
NAMES = (*(file.name for file in schema.tables()), schema.CODE)
OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
WALL_LESS = """
SELECT relname FROM pg_class
WHERE relnamespace = 'keepword'::regnamespace AND relkind = 'r' AND NOT relrowsecurity
"""


SHAPE = (
    """SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
    WHERE table_schema = 'keepword' ORDER BY 1, 2""",
    """SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'keepword'::regnamespace ORDER BY 1, 2""",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'keepword' ORDER BY 1",
    "SELECT tablename, policyname, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2",
    "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
    """SELECT pg_get_functiondef(oid), proacl::text FROM pg_proc
    WHERE pronamespace = 'keepword'::regnamespace AND prokind IN ('f', 'p') ORDER BY 1""",
    "SELECT viewname, definition FROM pg_views WHERE schemaname = 'keepword' ORDER BY 1",
    """SELECT grantee, table_name, privilege_type FROM information_schema.role_table_grants
    WHERE table_schema = 'keepword' ORDER BY 1, 2, 3""",
)


def start_migrating(conninfo):
    return subprocess.Popen([sys.executable, "-c", MIGRATE, conninfo], stderr=subprocess.PIPE, text=True)


def url_of(conninfo, user):
    values = conninfo_to_dict(conninfo)
    return f"postgresql://{user}@/{values['dbname']}?host={values['host']}"


@pytest.fixture
def make_login(cluster, conninfo):  # noqa: ARG001, the roles exist once a database was migrated
    """Make a role that may log in and nothing more; the answer is its name."""

    def make(*grants: str) -> str:
        name = f"login_{uuid4().hex[:12]}"
        with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
            conn.execute(f"CREATE ROLE {name} LOGIN")
            for grant in grants:
                conn.execute(f"GRANT {grant} TO {name}")
        return name

    return make


def shape(conninfo):
    """Describe all tables, columns, constraints, indexes, policies, triggers, functions, views and privileges."""
    with psycopg.connect(conninfo) as conn:
        return [conn.execute(query).fetchall() for query in SHAPE]


def test_an_empty_database_gets_everything(make_database):
    conninfo = make_database()
    before = migrate.status(conninfo)
    assert (before.applied, before.pending) == ((), NAMES)
    after = migrate.migrate(conninfo)
    assert (after.applied, after.pending) == (before.pending, ())
    assert migrate.status(conninfo) == after


def test_a_second_run_changes_nothing(make_database):
    conninfo = make_database()
    first = migrate.migrate(conninfo)
    made = shape(conninfo)
    assert migrate.migrate(conninfo) == first
    assert shape(conninfo) == made


def test_many_at_once_on_one_database_all_come_up(make_database, conninfo):
    fresh = make_database()
    processes = [start_migrating(fresh) for _ in range(4)]
    for process in processes:
        _, said = process.communicate(timeout=HANG_SECONDS)
        assert process.returncode == 0, said
    assert shape(fresh) == shape(conninfo)


def test_many_at_once_on_databases_of_one_server_all_come_up(make_home):
    """The roles belong to the server, not to the database: its lock does not keep others from making them."""
    cluster = Cluster(make_home())
    cluster.start()
    with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
        for number in range(6):
            conn.execute(f"CREATE DATABASE many{number}")
    conninfos = [make_conninfo(cluster.conninfo, dbname=f"many{number}") for number in range(6)]
    with ThreadPoolExecutor(6) as threads:
        assert len(set(threads.map(migrate.migrate, conninfos))) == 1
    cluster.stop()


def test_a_run_killed_at_any_moment_is_finished_by_the_next(make_database, conninfo):
    chance = random.Random()
    whole = shape(conninfo)
    for _ in range(3):
        fresh = make_database()
        for _ in range(3):
            process = start_migrating(fresh)
            with psycopg.connect(fresh, autocommit=True) as conn:
                deadline = time.monotonic() + HANG_SECONDS
                while conn.execute(OTHERS).fetchone() == (0,) and process.poll() is None:
                    assert time.monotonic() < deadline
                    time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.25))
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=HANG_SECONDS)
        assert migrate.migrate(fresh).pending == ()
        assert shape(fresh) == whole


def test_a_run_killed_after_each_step_leaves_all_of_the_step_or_nothing(make_database, conninfo):
    fresh = make_database()
    for number, name in enumerate(NAMES):
        process = subprocess.Popen([sys.executable, "-c", MIGRATE_AND_DIE, fresh, name])
        assert process.wait(timeout=HANG_SECONDS) == -signal.SIGKILL
        wait_until_alone(fresh)
        assert migrate.status(fresh).applied == NAMES[:number]
        assert was_left(fresh, name) == []
    assert migrate.migrate(fresh).pending == ()
    assert shape(fresh) == shape(conninfo)


def was_left(conninfo, name) -> list[str]:
    """Return what is there of a step that was not noted: tables of a schema file, or policies of the code."""
    with psycopg.connect(conninfo) as conn:
        if name == schema.CODE:
            return [found for (found,) in conn.execute("SELECT policyname FROM pg_policies").fetchall()]
        (file,) = (file for file in schema.tables() if file.name == name)
        made = re.findall(r"^CREATE TABLE (\w+)", file.text.decode(), re.MULTILINE)
        query = "SELECT relname FROM pg_class WHERE relname = ANY (%s) AND relkind = 'r'"
        return [found for (found,) in conn.execute(query, (made,)).fetchall()]


def wait_until_alone(conninfo) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    with psycopg.connect(conninfo, autocommit=True) as conn:
        while conn.execute(OTHERS).fetchone() != (0,):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_code_that_changed_is_replaced_whole_and_what_no_file_names_goes(make_migrated_database, conninfo):
    changed = make_migrated_database()
    with migrate.owner(changed) as conn:
        conn.execute(
            "DROP VIEW profile_lines; DROP POLICY readable ON messages; DROP TRIGGER messages_are_noted ON messages"
        )
        conn.execute("CREATE POLICY open ON messages FOR SELECT TO keepword_app USING (true)")
        conn.execute("CREATE OR REPLACE FUNCTION granted_everything() RETURNS boolean LANGUAGE sql AS 'SELECT true'")
        conn.execute("CREATE FUNCTION granted_everything(text) RETURNS boolean LANGUAGE sql AS 'SELECT true'")
        conn.execute("CREATE FUNCTION forgotten() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
        conn.execute("CREATE TRIGGER forgotten AFTER INSERT ON messages EXECUTE FUNCTION forgotten()")
        conn.execute("GRANT EXECUTE ON FUNCTION make_space TO keepword_app")
        conn.execute("UPDATE schema_files SET checksum = 'another' WHERE name = 'code'")
    assert migrate.status(changed).pending == (schema.CODE,)
    assert migrate.migrate(changed).pending == ()
    assert shape(changed) == shape(conninfo)


def test_code_of_a_newer_version_is_left_alone(make_migrated_database):
    newer = make_migrated_database()
    with migrate.owner(newer) as conn:
        conn.execute("CREATE FUNCTION newer() RETURNS integer LANGUAGE sql AS 'SELECT 1'")
        conn.execute("UPDATE schema_files SET checksum = 'another', version = '999.0' WHERE name = 'code'")
    assert migrate.migrate(newer).pending == ()
    with migrate.owner(newer) as conn:
        assert conn.execute("SELECT newer()").fetchone() == (1,)


def test_code_is_replaced_when_a_long_read_ends(make_migrated_database, monkeypatch):
    changed = make_migrated_database()
    monkeypatch.setattr(schema, "LOCK_SECONDS", 0.05)
    monkeypatch.setattr(schema, "PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(schema, "TRIES", 3)
    with migrate.owner(changed) as conn:
        conn.execute("UPDATE schema_files SET checksum = 'another' WHERE name = 'code'")
    with migrate.owner(changed) as reader, reader.transaction():
        reader.execute("SELECT count(*) FROM messages")
        with pytest.raises(UnfitDatabase, match="in use"):
            migrate.migrate(changed)
    assert migrate.migrate(changed).pending == ()


def test_a_schema_file_that_was_changed_after_it_ran_is_refused(make_migrated_database):
    changed = make_migrated_database()
    with migrate.owner(changed) as conn:
        conn.execute("UPDATE schema_files SET checksum = 'another' WHERE name = '0003_transcript'")
    with pytest.raises(UnfitDatabase, match="0003_transcript was changed"):
        migrate.migrate(changed)


ENTRY_OF_THE_OLD_MODEL = """
INSERT INTO entries (tenant_id, kind, source_id, run_id, visibility, created_at, searchable, words, instant)
SELECT t, 'memory', t, 'user:u', 'public', now(), true, '', array_fill(0, ARRAY[256])::public.halfvec
FROM (VALUES (gen_random_uuid())) AS one (t);
INSERT INTO vectors (tenant_id, entry_id, space_id, part, run_id, visibility, vector)
SELECT tenant_id, id, 2, 0, run_id, visibility, array_fill(1, ARRAY[384])::public.halfvec FROM entries
"""


def after_the_old_model(conninfo, monkeypatch, setup):
    """Migrate without the file of the new model's space, set something up, migrate; return what came of the spaces."""
    with monkeypatch.context() as patch:
        older = tuple(file for file in schema.tables() if file.name != "0017_conversation_space")
        patch.setattr(schema, "tables", lambda: older)
        migrate.migrate(conninfo)
    with migrate.owner(conninfo) as conn:
        conn.execute(setup)
        migrate.migrate(conninfo)
        spaces = conn.execute("SELECT name, serving, filling FROM spaces WHERE NOT is_instant ORDER BY id").fetchall()
        queued = "SELECT s.name FROM backlog b JOIN spaces s ON s.id = b.space_id WHERE NOT s.is_instant"
        vectors = conn.execute("SELECT count(*) FROM vectors").fetchone()
        return spaces, [name for (name,) in conn.execute(queued)], vectors


def test_the_new_models_space_serves_at_once_and_everything_is_embedded_again(make_database, monkeypatch):
    old, new = "minilm-l6-v2-int8", "minilm-conversation-v1"
    assert after_the_old_model(make_database(), monkeypatch, "SELECT") == ([(new, True, True)], [], (0,))
    spaces, queued, vectors = after_the_old_model(make_database(), monkeypatch, ENTRY_OF_THE_OLD_MODEL)
    assert spaces == [(old, False, False), (new, True, True)]
    assert (queued, vectors) == ([new], (0,))


def test_the_new_models_space_waits_where_a_remote_one_serves(make_database, monkeypatch):
    remote = """
    UPDATE spaces SET serving = false WHERE NOT is_instant;
    INSERT INTO spaces (name, dimensions, serving) VALUES ('far-8', 8, true);
    """
    spaces, queued, _ = after_the_old_model(make_database(), monkeypatch, remote + ENTRY_OF_THE_OLD_MODEL)
    assert spaces == [
        ("minilm-l6-v2-int8", False, False), ("far-8", True, True), ("minilm-conversation-v1", False, False),
    ]  # fmt: skip
    assert queued == ["far-8"]


def test_a_database_of_before_the_first_release_is_refused_with_the_way_out(make_database):
    older = prepared(make_database, "CREATE SCHEMA keepword", "CREATE TABLE keepword.yoyo_lock (locked integer)")
    with pytest.raises(UnfitDatabase, match="keepword export") as refused:
        migrate.migrate(older)
    assert "keepword import" in str(refused.value)


def test_the_application_role_owns_nothing_and_bypasses_nothing(conninfo):
    with psycopg.connect(conninfo) as conn:
        rights = (
            "SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolcanlogin FROM pg_roles WHERE rolname = %s"
        )
        assert conn.execute(rights, (APP_ROLE,)).fetchone() == (False,) * 5
        assert conn.execute(rights, (OWNER_ROLE,)).fetchone() == (False,) * 5
        owned = "SELECT relname FROM pg_class WHERE relowner = %s::regrole"
        assert conn.execute(owned, (APP_ROLE,)).fetchall() == []
        member = "SELECT pg_has_role(%s, %s, 'MEMBER')"
        assert conn.execute(member, (APP_ROLE, OWNER_ROLE)).fetchone() == (False,)
        # the queue's rows hold ids only
        open_tables = {name for (name,) in conn.execute(WALL_LESS) if not name.startswith("procrastinate_")}
        readable = "SELECT has_table_privilege(%s, format('keepword.%%I', %s::text), 'SELECT')"
        assert [name for name in open_tables if conn.execute(readable, (APP_ROLE, name)).fetchone() == (True,)] == []


def test_an_application_role_that_bypasses_the_walls_is_refused(make_database, conninfo):
    fresh = make_database()
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(f"ALTER ROLE {APP_ROLE} BYPASSRLS")
        try:
            with pytest.raises(UnfitDatabase, match="NOBYPASSRLS"):
                migrate.migrate(fresh)
        finally:
            conn.execute(f"ALTER ROLE {APP_ROLE} NOBYPASSRLS")


def prepared(make_database, *commands):
    fresh = make_database()
    with psycopg.connect(fresh, autocommit=True) as conn:
        for command in commands:
            conn.execute(command)
    return fresh


EXTENSIONS = ("CREATE EXTENSION vector", "CREATE EXTENSION pg_trgm")


def test_a_login_without_the_roles_is_told_what_to_grant(make_database, make_login):
    login = make_login()
    with pytest.raises(UnfitDatabase, match=f"GRANT {OWNER_ROLE} TO {login}"):
        migrate.migrate(make_conninfo(make_database(), user=login))


def test_a_login_that_may_not_make_extensions_is_told_which_to_make(make_database, make_login):
    login = make_login(OWNER_ROLE, APP_ROLE)
    fresh = make_database()
    with pytest.raises(UnfitDatabase, match="CREATE EXTENSION vector SCHEMA public"):
        migrate.migrate(make_conninfo(fresh, user=login))


def test_a_login_that_may_not_make_the_schema_is_told_how_and_that_is_enough(make_database, make_login):
    login = make_login(OWNER_ROLE, APP_ROLE)
    fresh = prepared(make_database, *EXTENSIONS)
    with pytest.raises(UnfitDatabase) as caught:
        migrate.migrate(make_conninfo(fresh, user=login))
    advice = str(caught.value).partition("run: ")[2]
    assert "CREATE SCHEMA" in advice
    with psycopg.connect(fresh, autocommit=True) as conn:
        conn.execute(advice)
    assert migrate.migrate(make_conninfo(fresh, user=login)).pending == ()
    assert migrate.migrate(make_conninfo(fresh, user=login)).pending == ()


@pytest.mark.parametrize("text", ["host=/nowhere dbname=x", "host=127.0.0.1 port=1", "nonsense", "postgresql://%%%"])
def test_a_database_that_is_not_there_is_named(text):
    with pytest.raises(UnfitDatabase, match="can't connect to the database"):
        migrate.migrate(text)


@pytest.mark.parametrize(
    "password", ["unter2", "unter2 x", "unter2%zz", "unter2/x", "unter2#x", "unter2@x", "h:unter2"]
)
def test_no_part_of_a_password_shows_in_an_error(password):
    with pytest.raises(UnfitDatabase) as refused:
        migrate.migrate(f"postgresql://me:{password}@127.0.0.1:1/x")
    assert "unter2" not in str(refused.value)


def test_a_newer_schema_is_refused_with_the_version_to_install(make_migrated_database):
    newer = make_migrated_database()
    with migrate.owner(newer) as conn:
        conn.execute("INSERT INTO schema_files (name, checksum, version) VALUES ('9999_future', 'x', '7.5.0')")
        conn.execute("UPDATE schema_files SET checksum = 'another' WHERE name = 'code'")
    before = shape(newer)
    with pytest.raises(UnfitDatabase, match=r"9999_future, of version 7\.5\.0"):
        migrate.migrate(newer)
    assert migrate.status(newer).unknown == ("9999_future",)
    assert shape(newer) == before


def test_an_application_role_with_the_owner_s_rights_is_refused(make_home):
    with running(make_home()) as cluster:
        migrate.migrate(cluster.conninfo)
        with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
            conn.execute(f"GRANT {OWNER_ROLE} TO {APP_ROLE}")
        with pytest.raises(UnfitDatabase, match=f"REVOKE {OWNER_ROLE} FROM {APP_ROLE}"):
            migrate.migrate(cluster.conninfo)


def test_the_doctor_notices_what_makes_the_walls_or_the_disk_unsafe(make_migrated_home, cli):
    home = make_migrated_home()
    with running(home) as cluster, psycopg.connect(cluster.conninfo, autocommit=True) as conn:
        conn.execute(f"GRANT {OWNER_ROLE} TO {APP_ROLE}")
        for name in ("fsync", "synchronous_commit"):
            conn.execute(f"ALTER SYSTEM SET {name} = off")
        with migrate.owner(cluster.conninfo) as owner:
            owner.execute("INSERT INTO schema_files (name, checksum, version) VALUES ('9999_new', 'x', '7.5.0')")
        conn.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
    found = cli(home, "doctor")
    assert found.returncode == 1
    said = " ".join(found.stdout.split())
    assert f"REVOKE {OWNER_ROLE} FROM {APP_ROLE}" in said
    assert "fsync, synchronous_commit off" in said
    assert "9999_new" in said
    assert "REVOKE CREATE ON SCHEMA public FROM PUBLIC" in said


def test_the_service_runs_on_a_foreign_server_as_an_ordinary_login(
    make_database, make_login, make_service, make_home, cli
):
    login = make_login(OWNER_ROLE, APP_ROLE)
    fresh = prepared(make_database, *EXTENSIONS)
    with psycopg.connect(fresh, autocommit=True) as conn:
        conn.execute(f'GRANT CREATE ON DATABASE "{conn.info.dbname}" TO {login}')
    url = url_of(fresh, login)
    services = [make_service(make_home(), database_url=url) for _ in range(2)]
    for service in services:
        service.start()
        assert not (service.home / "postgres").exists()
        assert "another PostgreSQL" in service.log()
    with services[0].client() as client:
        assert client.put("/v1/conversations/c", json={}).status_code == 201
        assert client.post("/v1/conversations/c/messages", json={"role": "user", "content": "x"}).status_code == 201
    with services[1].client() as client:
        assert client.get("/v1/conversations/c").json()["message_count"] == 1
    doctor = cli(services[0].home, "doctor", database_url=url)
    bad = [line for line in doctor.stdout.splitlines() if line.startswith("bad")]
    # the tests' own server runs without fsync
    assert all("durability" in line for line in bad), doctor.stdout
    assert login not in doctor.stdout.partition("Settings")[2]
    for service in services:
        assert service.stop() == 0
    with psycopg.connect(fresh) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)


def test_the_command_migrates_and_tells_the_status(make_home, cli):
    home = make_home()
    before = cli(home, "db", "status")
    assert before.returncode == 1
    assert "pending  0001_tenants" in before.stdout
    done = cli(home, "db", "migrate")
    assert done.returncode == 0
    assert "applied  0001_tenants" in done.stdout
    assert " 0 pending" in done.stdout
    after = cli(home, "db", "status")
    assert after.returncode == 0
    assert "pending" not in after.stdout


def test_the_doctor_finds_what_is_wrong_and_says_what_to_do(make_home, cli):
    home = make_home()
    sick = cli(home, "doctor")
    assert sick.returncode == 1
    assert "fix: run: keepword db migrate" in sick.stdout
    away = cli(home, "doctor", database_url="postgresql://me:hunter2@127.0.0.1:1/x")
    assert away.returncode == 1
    assert "KEEPWORD_DATABASE_URL" in away.stdout
    assert "hunter2" not in away.stdout + away.stderr
    assert "Traceback" not in away.stderr
    cli(home, "db", "migrate")
    well = cli(home, "doctor")
    assert well.returncode == 0, well.stdout
    for part in ("disk", "database", "extension vector", "extension pg_trgm", "role", "migrations", "model"):
        assert part in well.stdout
