"""A database of an older release, in which a profile was one text: what was written by hand stays, word for word."""

from uuid import UUID

import pytest

from keepword.access import Grant, TenantSettings, everything_in
from keepword.postgres import migrate
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.profiles import PostgresProfiles
from keepword.profiles import Selection

LAST = "0022_arms_first"
FILL = """
INSERT INTO users (tenant_id, id) SELECT id, unnest(ARRAY['ann', 'bob']) FROM tenants;
INSERT INTO conversations (tenant_id, id, external_id, kind, agent, user_id)
SELECT id, gen_random_uuid(), 'alone', 'session', 'ada', 'ann' FROM tenants;
INSERT INTO messages (tenant_id, id, conversation_id, seq, run_id, visibility, role, content, attachments, metadata,
    created_at)
SELECT tenant_id, gen_random_uuid(), id, 1, run_id, visibility, 'user', 'said', '[]', '{}', now() FROM conversations;
INSERT INTO memories (tenant_id, id, conversation_id, run_id, visibility, user_id, agent, type, content, digest,
    importance, confidence, valid_from, said_at, model, pipeline_version)
SELECT tenant_id, gen_random_uuid(), id, run_id, visibility, 'ann', 'ada', 'fact', 'ann earns 92,000 euros.',
    sha256('a'), 0.6, 1, now(), now(), 'rules', 1 FROM conversations;
INSERT INTO memory_sources (tenant_id, memory_id, message_id, run_id, visibility, digest)
SELECT m.tenant_id, m.id, s.id, m.run_id, m.visibility, 'x' FROM memories m CROSS JOIN messages s;
INSERT INTO profiles (tenant_id, type, user_id, memory, source_time, updated_at)
SELECT id, 'user'::memory_type_enum, 'ann', E'Ann.\n\n- ann earns 92,000 euros.\nSails. ', now(), now() FROM tenants
UNION ALL SELECT id, 'user', 'bob', 'made of memories', now() - interval '1 day', now() FROM tenants
UNION ALL SELECT id, 'workspace', NULL, 'We ship on Fridays.', now(), now() FROM tenants;
INSERT INTO facts (tenant_id, scope_kind, scope_id, key, value, version)
SELECT id, 'user', 'ann', 'size', '1', 1 FROM tenants;
INSERT INTO facts (tenant_id, scope_kind, scope_id, key, value, version, source_id)
SELECT tenant_id, 'user', 'ann', 'source', '1', 1, id FROM messages;
"""


@pytest.fixture
def conninfo(make_database, monkeypatch):
    """Return a database of the older release, filled and then migrated to this one."""
    made = make_database()
    older = migrate._migrations().filter(lambda migration: migration.id <= LAST)
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "_migrations", lambda: older)
        migrate.migrate(made)
    with migrate.owner(made) as conn:
        conn.execute(FILL)
    migrate.migrate(made)
    return made


@pytest.mark.anyio
async def test_what_was_written_by_hand_stays_and_shares_no_line_that_it_repeats(conninfo):
    with migrate.owner(conninfo) as conn:
        (tenant,) = conn.execute("SELECT id FROM tenants").fetchone()
    room = Grant(
        tenant, frozenset({"room:hall", "profile:ann", "global"}), visibilities=frozenset({"public", "shared"})
    )
    owned, shown = await read(conninfo, everything_in(tenant)), await read(conninfo, room)
    assert owned == {"ann": "Ann.\n\n- ann earns 92,000 euros.\nSails. ", None: "We ship on Fridays."}
    assert shown == {"ann": "Ann.\n\nSails. ", None: "We ship on Fridays."}
    with migrate.owner(conninfo) as conn:
        assert conn.execute("SELECT count(*) FROM profile_versions").fetchone() == (2,)


def test_a_fact_of_which_nobody_knows_where_it_was_set_is_not_for_rooms(conninfo):
    with migrate.owner(conninfo) as conn:
        rows = conn.execute("SELECT key, said_in = ARRAY[%s::uuid] FROM facts ORDER BY 1", (UUID(int=0),)).fetchall()
        versions = conn.execute("SELECT count(*) FROM fact_versions WHERE said_in <> '{}'").fetchone()
    assert rows == [("size", True), ("source", False)]
    assert versions == (2,)


def test_settings_begin_as_the_defaults(conninfo):
    with migrate.owner(conninfo) as conn:
        (settings,) = conn.execute("SELECT find_settings(id) FROM tenants").fetchone()
    assert TenantSettings.stored(settings) == TenantSettings()


async def read(conninfo: str, grant: Grant) -> dict[str | None, str]:
    pool = Pool(conninfo, Limits())
    await pool.open()
    try:
        page, _ = await PostgresProfiles(pool).page(grant, Selection())
        return {profile.user: profile.memory for profile in page}
    finally:
        await pool.close()
