"""What a connection can do that forgot its role: nothing; and what the database's server is told of our settings."""

from pathlib import Path

import psycopg
import pytest

from keepword.postgres.embedded import Cluster
from keepword.postgres.logins import APP_LOGIN

pytestmark = pytest.mark.anyio


async def test_a_pooled_connection_without_its_role_reads_nothing_and_becomes_nobody(pool):
    async with pool.connection() as conn:
        await conn.execute("RESET ROLE")
        found = await conn.execute("SELECT current_user, session_user, pg_has_role('keepword_owner', 'MEMBER')")
        assert await found.fetchone() == (APP_LOGIN, APP_LOGIN, False)
        for statement in (
            "SELECT * FROM keepword.messages",
            "SELECT * FROM keepword.tenants",
            "SET ROLE keepword_owner",
            "SET ROLE postgres",
            "SELECT pg_read_file('PG_VERSION')",
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "CREATE TABLE public.mine (id int)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await conn.execute(statement)
        await conn.execute("SET ROLE keepword_app")


def test_the_login_of_requests_has_no_right_of_its_own(conninfo):
    with psycopg.connect(conninfo) as conn:
        row = conn.execute(
            "SELECT rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication FROM pg_roles"
            " WHERE rolname = %s",
            (APP_LOGIN,),
        ).fetchone()
        assert row == (False, False, False, False, False, False)
        member_of = conn.execute(
            "SELECT g.rolname FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid"
            " JOIN pg_roles l ON l.oid = m.member WHERE l.rolname = %s",
            (APP_LOGIN,),
        ).fetchall()
        assert member_of == [("keepword_app",)]


def test_the_server_s_programs_get_no_setting_and_no_key_of_ours(make_migrated_home, monkeypatch):
    monkeypatch.setenv("KEEPWORD_LLM_KEY", "a-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "another-secret")
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=1")
    cluster = Cluster(make_migrated_home())
    cluster.start()
    try:
        found = Path(f"/proc/{cluster.postmaster_pid()}/environ").read_bytes()
        assert b"PGDATA=" in found
        assert b"secret" not in found
        assert b"PGOPTIONS" not in found
    finally:
        cluster.stop()
