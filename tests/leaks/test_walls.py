"""The second wall is complete: no table without one, no way around it for the application role."""

from dataclasses import replace

import psycopg
import pytest

from keepword.access import Grant
from keepword.postgres.grants import dump
from keepword.postgres.pool import APP_ROLE, SCHEMA
from leaks.kinds import KINDS

pytestmark = pytest.mark.anyio

# bookkeeping of migrations, without a tenant; the application role has no privilege on any of them
UNSCOPED = {"schema_files", "home_server", "draining_servers", "server_numbers", "placed_names", "processes"}
# the job queue: its rows hold ids of tenants and conversations, and never a word
QUEUE = {"procrastinate_jobs", "procrastinate_workers", "procrastinate_events", "procrastinate_periodic_defers"}
# only through functions that return no secret, or ids of what is still to be done
CLOSED = {
    "tenants", "keys", "backlog", "document_frequencies", "entry_counts", "uses", "worker_wakeups", "outbox",
    "compactions", "job_errors", "memory_revisions", "extractions", "deleted_entries", "imports", "usage_by_day",
    "session_assignments", "conversation_aliases", "retracted_entries", "history_import_parts", "item_backlog",
    "tenant_places", "moved_tenants", "tenant_moves", "closed_tenants", "key_places",
}  # fmt: skip
# these apply the grant themselves; the matrix shows that they do
VIEWS = {"profile_lines"}
# the same for everybody
SHARED = {"spaces"}


def _tables(owner) -> set[str]:
    rows = owner.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')",
        (SCHEMA,),
    )
    return {name for (name,) in rows} - UNSCOPED - QUEUE - {"marks"}  # which entry holds which marker, for these tests


def test_every_table_with_a_scope_is_walled_in(owner):
    rows = owner.execute(
        """
        SELECT c.relname, c.relrowsecurity, count(p.polname) FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid
        WHERE c.relnamespace = %s::regnamespace AND c.relname = ANY(%s) GROUP BY 1, 2
        """,
        (SCHEMA, list(_tables(owner) - VIEWS)),
    )
    open_ = {name for name, walled, policies in rows if not walled or (policies == 0 and name not in CLOSED)}
    assert open_ == set()


def test_a_view_applies_the_grant_before_anything_else(owner):
    """A view has its owner's rights: it is a wall itself, and no function of a query may look behind it."""
    rows = owner.execute(
        "SELECT relname, reloptions FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('v', 'm')",
        (SCHEMA,),
    ).fetchall()
    assert {name for name, _ in rows} == VIEWS
    assert all(options == ["security_barrier=true"] for _, options in rows)


def test_every_table_but_the_bookkeeping_has_a_tenant(owner):
    rows = owner.execute(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = %s AND column_name = 'tenant_id'",
        (SCHEMA,),
    )
    assert _tables(owner) - {name for (name,) in rows} == {"tenants", "spaces", "worker_wakeups"}


def test_every_walled_table_is_in_the_leak_matrix(owner):
    assert _tables(owner) - CLOSED - SHARED == {kind.table for kind in KINDS}


def test_the_application_role_owns_nothing_and_bypasses_nothing(owner):
    role = owner.execute(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin FROM pg_roles WHERE rolname = %s",
        (APP_ROLE,),
    ).fetchone()
    assert role == (False, False, False, False, False)
    member_of = owner.execute("SELECT count(*) FROM pg_auth_members WHERE member = %s::regrole", (APP_ROLE,)).fetchone()
    assert member_of == (0,)
    owned = owner.execute(
        """
        SELECT count(*) FROM pg_shdepend
        WHERE refclassid = 'pg_authid'::regclass AND refobjid = %s::regrole AND deptype = 'o'
        """,
        (APP_ROLE,),
    ).fetchone()
    assert owned == (0,)


def test_the_application_role_may_do_no_more_than_it_needs(owner):
    rows = owner.execute(
        "SELECT table_name, privilege_type FROM information_schema.role_table_grants WHERE grantee = ANY(%s)",
        ([APP_ROLE, "PUBLIC"],),
    ).fetchall()
    granted = {(table, privilege) for table, privilege in rows if table in _tables(owner) | UNSCOPED}
    assert {privilege for table, privilege in granted if table == "messages"} == {"SELECT", "INSERT"}
    assert {table for table, privilege in granted if privilege == "DELETE"} == {
        "participants", "working_memories", "ledger_marks", "facts", "webhooks",
    }  # fmt: skip
    assert not {privilege for _, privilege in granted} & {"TRUNCATE", "TRIGGER", "REFERENCES"}
    assert not {table for table, _ in granted} & (CLOSED | UNSCOPED)


def test_functions_that_see_past_the_wall_are_few_and_closed_to_the_public(owner):
    rows = owner.execute(
        """
        SELECT p.proname, has_function_privilege('public', p.oid, 'EXECUTE'), p.proconfig
        FROM pg_proc p WHERE p.pronamespace = %s::regnamespace AND p.prosecdef
        """,
        (SCHEMA,),
    ).fetchall()
    # each tells ids only, or a key's digest to who names the key
    assert {name for name, _, _ in rows} == {
        # how far what was added was read, and the ids of what was found, inside the grant
        "find_mem0_adds",
        # numbers of what a tenant used on a day
        "take_quota", "count_background", "is_over_background",
        # names of servers
        "find_moved_key", "find_key_place",
        # corrects the directory by ids and names of servers: a hint, which no server obeys
        "note_key_place",
        "find_key", "keyless_tenant", "find_project", "find_room", "find_conversation", "find_direct", "is_user",
        "is_introduced",
        "find_entered_places", "find_agent_sessions", "granted_sessions", "find_buffer_version",
        # frees what expired, in all tenants; it tells how much that was
        "sweep_working", "sweep_turns",
        # keeps a composed turn for a grant that opens its place; test_access shows it those that do not
        "keep_turn",
        # keeps what a fact was, from the row that was just written
        "keep_fact_version",
        # apply the grant that they are given; test_working_leaks plays them against every place
        "get_working", "put_working", "delete_working", "mark_items",
        # let name whose a session is, a direct conversation and a user, under the grant that they are given
        "assign_session", "make_alias", "make_user",
        # keeps a conversation from getting a name that is an alias
        "refuse_alias",
        # a trigger, on the rows of a tenant that is being moved
        "refuse_while_moving",
        # notes that the user and the agent of a conversation that is made are introduced
        "introduce_pair",
        # the worker's: ids and counts; what is stored takes its scope from the entry
        "queue_entries", "request_wakeup", "index_instant_vectors", "flush_pending_lexemes", "analyze_new_table",
        "is_importing",
        "claim_backlog", "store_vectors", "give_up_backlog", "release_backlog", "count_backlog",
        # the arms of a search: ids in the scope that they are handed; the rows are read behind the wall
        "find_scope_size", "find_frequencies", "find_by_words", "find_neighbours", "find_nearest_fresh",
        "find_nearest_in_runs",
        "find_nearest_in_tenant", "find_nearest_instant", "find_nearest_deep", "find_literals", "find_resembling",
        "find_deleted_entries",
        "find_uses", "count_uses", "find_queues", "find_coverage", "find_compaction", "find_jobs",
        "count_messages_by_day",
        # tells the name of the conversation that a summary, landmark or memory belongs to
        "find_derived",
        # for jobs, which have the grant of a whole tenant, and refuse any other; they store what is derived
        "find_tasks", "fail_task", "store_summary", "store_sentence", "store_landmarks", "schedule_compaction",
        "replace_summaries",
        "wake_compaction", "improve_summary",
        # let write in the place that the grant they are given lets write
        "store_agent_summary", "pin_landmark", "unpin_landmark",
        # the same for memories, and for jobs, which have the grant of a whole tenant
        "find_project_scope", "store_project_memories",
        "find_extraction", "store_memories", "change_memory", "delete_memory", "finish_extraction",
        "restore_memory", "rate_memory", "delete_memories", "expire_memories", "sweep_memories",
        # the tenant's settings; for the owner's grant alone what changes them and what writes profiles
        "find_settings", "change_settings", "find_profile_user", "write_profile", "delete_profile",
        # the conversations that a fact comes from, whether they are open to the grant, and a fact's last number
        "set_fact_origin", "opens_fact_origins", "last_fact_version",
        # note what was done, from the row that was just written, and a read of whom the grant names
        "audit_key", "audit_settings", "audit_participant", "audit_introduction", "audit_project", "audit_room_move",
        "audit_conversation", "audit_deleted_fact", "audit_deleted_file", "audit_redacted_file", "note_read",
        # note which addresses are to be told, as ids, from the rows that were just written; the worker delivers them
        "tell_of_memories", "tell_of_facts", "tell_of_profiles", "tell_of_summaries", "tell_of_summary",
        "audit_webhook",
        "claim_deliveries", "finish_delivery", "sweep_deliveries",
        # for the owner's grant alone: a trial of a webhook, keys without their digests, failed work
        "test_webhook", "find_keys", "make_key", "open_demo", "revoke_key", "find_failed_jobs", "retry_failed_work",
        # note what is to be done, as ids, in all tenants
        "note_messages", "enqueue_due", "note_job", "note_exchange", "enqueue_extractions",
        "note_deleted_entries",
        # what an event was stored as, for who writes in its place; and messages without their words
        "find_event", "find_outlines",
        # take messages back and give them back, where the grant lets write; who did tells the owner alone
        "retract_message", "restore_message", "index_revived", "find_retraction",
        # imports of histories: for the grant of a whole tenant, and for whoever holds the lease of one
        "make_history_import", "put_history_part", "start_history_import", "cancel_history_import",
        "delete_history_import", "claim_history_import", "read_history_part", "is_history_import_held",
        "note_history_import", "finish_history_import", "release_history_import", "is_being_imported",
        "sweep_history_imports",
        # erase where the grant lets, each by its own question, and go on with it as ids, in all tenants
        "erase_message", "begin_conversation_erasure", "begin_user_erasure", "begin_tenant_erasure", "advance_erasure",
        "find_erased", "finish_erasure", "show_erasure", "last_erasure", "erase_expired",
        "find_retention", "change_retention",
        # numbers and times of processes, without a tenant
        "note_process",
        # all that is kept of a user, for the grant of a whole tenant and for the user's own key
        "export_personal",
        # a job's, as the others above
        "remake_summary",
            # write items where the grant lets, and begin their lifetime anew where it opens; expiry in all tenants
            "write_items", "refresh_items", "sweep_items",
            # ids of parts of items in all tenants, and their vectors
            "claim_item_parts", "store_item_vectors", "give_up_item_parts", "release_item_parts", "queue_item_parts",
    }  # fmt: skip
    assert not any(public for _, public, _ in rows)
    # nowhere that others may make names, and temporary tables last
    assert [name for name, _, config in rows if "search_path=keepword, pg_temp" not in config] == []


@pytest.mark.parametrize("table", [kind.table for kind in KINDS])
async def test_without_a_grant_there_are_no_rows(worlds, leaks_pool, owner, table):
    assert worlds
    assert owner.execute(f"SELECT count(*) > 0 FROM {table}").fetchone() == (True,)
    async with leaks_pool.connection() as conn:
        cursor = await conn.execute(f"SELECT count(*) FROM {table}")
        assert await cursor.fetchone() == (0,)


@pytest.mark.parametrize("table", [kind.table for kind in KINDS])
async def test_a_grant_does_not_outlive_its_transaction(worlds, leaks_pool, table):
    async with leaks_pool.connection() as conn:
        async with conn.transaction():
            whole = dump(Grant(worlds[0].id, everything=True))
            await conn.execute("SELECT set_config('keepword.grant', %s, true)", (whole,))
            inside = await (await conn.execute(f"SELECT count(*) FROM {table}")).fetchone()
        after = await (await conn.execute(f"SELECT count(*) FROM {table}")).fetchone()
    assert inside > (0,)
    assert after == (0,)


async def test_what_was_taken_back_opens_to_the_owner_who_asks_for_it_and_to_nobody_else(worlds, leaks_pool):
    world = worlds[0]
    whole = Grant(world.id, everything=True, retracted=True)
    here = Grant(world.id, frozenset(world.run_ids()), visibilities=frozenset({"public", "shared"}), retracted=True)
    sql = "SELECT content, find_retraction(tenant_id, id) IS NOT NULL FROM messages"
    seen = []
    for opened in (whole, here, replace(here, owner=True)):
        async with leaks_pool.granted(opened) as conn:
            seen.append({content for content, told in await (await conn.execute(sql)).fetchall() if told})
    marks = {world.mark("retracted", name) for name in world.talks}
    # of what was erased the frame, without a word
    seen = [contents - {""} for contents in seen]
    assert seen == [marks, set(), {mark for mark in marks if "-and-" not in mark}]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with leaks_pool.granted(whole) as conn:
            await conn.execute("SELECT reason FROM retractions")


@pytest.mark.parametrize("statement", ["UPDATE messages SET content = ''", "DELETE FROM messages", "TRUNCATE messages"])
async def test_the_application_role_can_not_change_what_was_said(worlds, leaks_pool, statement):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with leaks_pool.granted(Grant(worlds[0].id, everything=True)) as conn:
            await conn.execute(statement)


@pytest.mark.parametrize(
    "statement", ["UPDATE messages SET content = ''", "DELETE FROM messages", "TRUNCATE messages CASCADE"]
)
def test_not_even_the_owner_can_change_what_was_said(worlds, owner, statement):
    assert worlds
    with pytest.raises(psycopg.errors.RestrictViolation):
        owner.execute(statement)
