"""A database of an older release, in which an agent's key acted with any user: who has a conversation goes on."""

import pytest

from keepword.postgres import migrate, schema

FIRST = "0032_introductions"
FILL = """
INSERT INTO users (tenant_id, id) SELECT id, unnest(ARRAY['ann', 'bob', 'cyd']) FROM tenants;
INSERT INTO rooms (tenant_id, id) SELECT id, 'hall' FROM tenants;
INSERT INTO participants (tenant_id, room_id, user_id) SELECT id, 'hall', 'cyd' FROM tenants;
INSERT INTO conversations (tenant_id, id, external_id, kind, agent, user_id, room_id)
SELECT t.id, gen_random_uuid(), c.* FROM tenants t CROSS JOIN (VALUES
    ('s1', 'session', 'ada', 'ann', NULL), ('s2', 'session', 'ada', 'ann', NULL), ('d', 'direct', 'ada', 'bob', NULL),
    ('s3', 'session', 'ada', NULL, NULL), ('r', 'room', 'ada', NULL, 'hall')) AS c;
INSERT INTO messages (tenant_id, id, conversation_id, seq, run_id, visibility, role, content, attachments, metadata,
    created_at)
SELECT tenant_id, gen_random_uuid(), id, 1, run_id, visibility, 'user', 'said', '[]', '{}', now() FROM conversations
WHERE external_id = 's1';
INSERT INTO facts (tenant_id, scope_kind, scope_id, key, value, version, said_in)
SELECT t.id, f.* FROM tenants t CROSS JOIN (VALUES
    ('global', NULL, 'a', '1'::json, 1, '{}'::uuid[]), ('user', 'ann', 'b', '1', 1, '{}'),
    ('user', 'ann', 'c', '1', 1, ARRAY['00000000-0000-0000-0000-000000000000'::uuid]),
    ('room', 'hall', 'd', '1', 1, '{}')
) AS f;
"""


@pytest.fixture
def conninfo(make_database, monkeypatch):
    """Return a database of the older release, filled and then migrated to this one."""
    made = make_database()
    older = tuple(file for file in schema.tables() if file.name < FIRST)
    with monkeypatch.context() as patched:
        patched.setattr(schema, "tables", lambda: older)
        # this code knows the newer tables
        patched.setattr(schema, "_replace_code_when_idle", lambda _: None)
        migrate.migrate(made)
    with migrate.owner(made) as conn:
        conn.execute(FILL)
    migrate.migrate(made)
    return made


def test_whoever_has_a_conversation_of_their_own_is_introduced_and_what_was_said_stays_theirs(conninfo):
    with migrate.owner(conninfo) as conn:
        pairs = conn.execute("SELECT agent, user_id, withdrawn_at FROM introductions ORDER BY 2").fetchall()
        vouched = conn.execute("SELECT vouched FROM messages").fetchall()
        by_bound_key = conn.execute("SELECT DISTINCT by_bound_key, made_by FROM conversations").fetchall()
        owned = conn.execute("SELECT key FROM facts WHERE by_owner ORDER BY 1").fetchall()
    assert pairs == [("ada", "ann", None), ("ada", "bob", None)]
    assert (vouched, by_bound_key) == ([(True,)], [(False, None)])
    # facts of a room may be an agent's, and of one whose origin nobody knows nobody knows the writer
    assert owned == [("a",), ("b",)]
