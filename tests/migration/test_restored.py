"""A dump that is restored on another server is used as it is: the service notices that the numbers are another's."""

import subprocess

import psycopg
import pytest
from psycopg import errors

from keepword.postgres import directory, migrate, moving
from keepword.postgres.embedded import running
from keepword.postgres.embedded.programs import binaries
from keepword.postgres.keys import open_tenant
from keepword.postgres.moving import fence, tables
from keepword.postgres.moving.servers import connected
from patience import HANG_SECONDS

FAR = "UPDATE entries SET created_xid = ((pg_current_xact_id()::text::bigint + 1000000)::text)::xid8"
FAR_ENTRIES = """
INSERT INTO entries (tenant_id, kind, source_id, run_id, visibility, created_at, searchable, created_xid)
SELECT t, 'message', gen_random_uuid(), 'session:talk', 'public', now(), false,
    ((pg_current_xact_id()::text::bigint + 1000000)::text)::xid8
FROM unnest(%s::uuid[]) AS t
"""
TO_COME = "SELECT count(*), count(*) FILTER (WHERE created_xid >= pg_current_xact_id()) FROM keepword.entries"


def say(service, *texts):
    with service.client() as client:
        client.put("/v1/conversations/c", json={})
        for text in texts:
            assert (
                client.post("/v1/conversations/c/messages", json={"role": "user", "content": text}).status_code == 201
            )


def search(service, query):
    with service.client() as client:
        found = client.post("/v1/search", json={"query": query, "conversation": "c", "recipe": "fast"}).json()
    return [hit["text"] for hit in found["results"]]


def test_a_dump_restored_on_another_server_needs_no_update_by_hand(make_service, make_home, tmp_path):
    first = make_service().start()
    say(first, "The harbour pilot came.", "Nobody painted the gate.")
    with migrate.owner(first.conninfo) as conn:
        conn.execute(FAR)  # as on a server that has counted for years
    dump = tmp_path / "keepword.pg"
    run("pg_dump", "-Fc", "-f", dump, "-d", first.conninfo)
    first.stop()
    home = make_home()
    with running(home) as cluster:
        migrate.migrate(cluster.conninfo)  # makes the roles, which are in no dump
        with psycopg.connect(cluster.conninfo, dbname="postgres", autocommit=True) as conn:
            conn.execute("DROP DATABASE keepword")
            conn.execute("CREATE DATABASE keepword")
        run("pg_restore", "--exit-on-error", "-d", cluster.conninfo, dump)
        with psycopg.connect(cluster.conninfo) as conn:
            assert conn.execute(TO_COME).fetchone() == (2, 2)
    second = make_service(home).start()
    with psycopg.connect(second.conninfo) as conn:
        assert conn.execute(TO_COME).fetchone() == (2, 0)
    first_look = search(second, "harbour pilot")
    assert first_look[0] == "The harbour pilot came."
    assert search(second, "harbour pilot") == first_look
    say(second, "The harbour closed.")
    assert len(search(second, "harbour pilot")) == len(first_look) + 1


def test_a_restored_server_with_the_old_copy_of_a_moved_tenant_is_repaired_whole(make_migrated_database):
    """A tenant that changes over may be served here again: its entries are made old as those of all others."""
    address = moving.ServerAddress("north", make_migrated_database())
    with migrate.owner(address.conninfo) as conn:
        moved, other = open_tenant(conn, "moved"), open_tenant(conn, "other")
        conn.execute(FAR_ENTRIES, ([moved, other],))
        with connected(address, moved) as server:
            fence.build(server, moved, tables.tables_of(server.owner))
        directory.give_away(conn, moved, "south")
        conn.execute("UPDATE home_server SET database_oid = 1")
    migrate.migrate(address.conninfo)
    with migrate.owner(address.conninfo) as conn:
        assert conn.execute(TO_COME).fetchone() == (2, 0)
        with pytest.raises(errors.LockNotAvailable):
            conn.execute("DELETE FROM entries WHERE tenant_id = %s", (moved,))


def test_on_its_own_server_nothing_is_repaired_twice(make_migrated_database):
    made = make_migrated_database()
    migrate.migrate(made)
    with migrate.owner(made) as conn:
        before = conn.execute("SELECT xmin::text FROM home_server").fetchone()
    migrate.migrate(made)
    with migrate.owner(made) as conn:
        assert conn.execute("SELECT xmin::text FROM home_server").fetchone() == before


def run(program, *arguments):
    command = [str(binaries() / program), *map(str, arguments)]
    subprocess.run(command, check=True, timeout=HANG_SECONDS, capture_output=True)
