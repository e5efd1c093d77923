"""What is stored can't be changed by anyone, the database's superuser included."""

from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from keepword.postgres.migrate import owner
from keepword.postgres.pool import APP_ROLE, Pool
from patience import PATIENT

CHANGES = (
    "UPDATE keepword.messages SET content = 'forged'",
    "UPDATE keepword.messages SET tenant_id = gen_random_uuid()",
    "DELETE FROM keepword.messages",
    "TRUNCATE keepword.messages CASCADE",
    "TRUNCATE keepword.conversations CASCADE",
)


@pytest.fixture
def stored(service):
    with service.client() as client:
        path = f"/v1/conversations/{uuid4().hex}"
        client.put(path, json={})
        client.post(f"{path}/messages", json={"role": "user", "content": "kept"})
        yield service.conninfo
        assert client.get(f"{path}/messages").json()["messages"][0]["content"] == "kept"


@pytest.mark.parametrize("change", CHANGES)
def test_the_superuser_is_refused(stored, change):
    with psycopg.connect(stored) as conn, pytest.raises(errors.RestrictViolation, match="immutable"):
        conn.execute(change)


@pytest.mark.parametrize("change", CHANGES)
def test_the_owner_is_refused(stored, change):
    with owner(stored) as conn, pytest.raises(errors.RestrictViolation, match="immutable"):
        conn.execute(change)


@pytest.mark.parametrize(
    "change", [*CHANGES, "DROP TABLE keepword.messages", "ALTER TABLE keepword.messages DISABLE TRIGGER ALL"]
)
def test_the_application_role_has_no_right_to_it(stored, change):
    with psycopg.connect(stored) as conn:
        conn.execute(f"SET ROLE {APP_ROLE}")
        with pytest.raises(errors.InsufficientPrivilege):
            conn.execute(change)


@pytest.mark.anyio
async def test_every_pooled_connection_is_the_application_role(stored):
    pool = Pool(stored, PATIENT)
    await pool.open()
    try:
        async with pool.connection() as conn:
            row = await (
                await conn.execute(
                    "SELECT current_user, rolsuper, rolbypassrls, current_setting('synchronous_commit'),"
                    " current_setting('fsync') FROM pg_roles WHERE rolname = current_user"
                )
            ).fetchone()
    finally:
        await pool.close()
    assert row == (APP_ROLE, False, False, "on", "on")


def test_upserts_can_not_change_a_message_either(stored):
    with psycopg.connect(stored) as conn:
        columns = (
            "tenant_id, id, conversation_id, seq, run_id, visibility, role, content, attachments, metadata, created_at"
        )
        with pytest.raises(errors.RestrictViolation):
            conn.execute(
                f"INSERT INTO keepword.messages ({columns}) SELECT {columns} FROM keepword.messages"
                " WHERE content = 'kept' LIMIT 1"
                " ON CONFLICT (tenant_id, conversation_id, seq) DO UPDATE SET content = 'forged'"
            )
