"""A tenant goes into a file and out of it again: byte for byte, also when it is interrupted."""

import asyncio
import io
import json
import re
import resource
import signal
import subprocess
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb
from typer.testing import CliRunner

from conftest import KEEPWORD, environment
from keepword import archive, facts, transcript
from keepword.access import TenantSettings, Viewer, everything_in, grant
from keepword.cli import make_app
from keepword.compaction.compact import Compactor
from keepword.compaction.plan import CompactionPolicy
from keepword.compaction.ports import AgentSummary
from keepword.embedding import TextIndexer
from keepword.erasure.erase import EraseStores, advance
from keepword.errors import BrokenArchive, Conflict, KeepwordError, NotFound, Unavailable
from keepword.facts import FactSubject
from keepword.files import Tree, TreeLimits
from keepword.memories import operations as memories
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.archive import PostgresImport, snapshot
from keepword.postgres.keys import NewKey, make_key
from keepword.postgres.pool import Pool
from keepword.profiles import Profile, Selection
from keepword.transcript import NewConversation
from leaks.kinds import Stores
from leaks.settling import settle
from leaks.world import fill
from patience import HANG_SECONDS, PATIENT

READER = TextIndexer()
LATER = datetime.now(UTC) + timedelta(days=30)
NOW = datetime.now(UTC)
# what can be made again, or says only what is being done at the moment
REBUILT = {
    "entries", "vectors", "backlog", "document_frequencies", "entry_counts", "memory_revisions", "job_errors",
    "retracted_entries",
    "imports", "uses", "keys", "deleted_entries",
    # in the line of its profile; the view is made of other tables
    "profile_texts", "profile_lines",
    # what was used on a day counts for the quotas of the service that it was used on
    "usage_by_day",
    # what is searched of items
    "item_parts", "item_vectors", "item_backlog",
    # ids of what was shown in a turn, kept for days; an importing service shows turns of its own
    "composed_turns",
    # an address outside is told by the service that it was given to; its secret leaves no database
    "webhooks", "webhook_deliveries",
    # what an import made is in the transcript; its upload and its report are of the service that ran it
    "history_imports", "history_import_parts",
    "erasures",
    # where the tenant lives among the servers that it is exported from
    "tenant_places", "moved_tenants", "tenant_moves", "server_numbers", "closed_tenants",
    "key_places",
}  # fmt: skip
TABLES = {
    "user": "users", "agent": "agents", "agent_file": "agent_files", "project": "projects", "room": "rooms",
    "participant": "participants", "conversation": "conversations", "introduction": "introductions",
    "alias": "conversation_aliases", "assignment": "session_assignments", "message": "messages",
    "sentence": "tool_sentences", "summary": "summaries", "landmark": "landmarks", "memory": "memories",
    "retraction": "retractions",
    "memory_source": "memory_sources", "memory_version": "memory_versions", "fact": "facts",
    "fact_version": "fact_versions", "profile": "profiles", "profile_version": "profile_versions",
    "working_memory": "working_memories",
    "ledger_mark": "ledger_marks", "item": "items", "file_version": "file_versions", "audit": "audit", "task": "outbox",
    "compaction": "compactions", "extraction": "extractions",
}  # fmt: skip
# a place is its conversation's, message's or memory's; the rest has another name in the file, or a line of its own
ELSEWHERE = {"tenant_id", "run_id", "visibility", "private_to"}
RENAMED = {"conversations": {"kind"}, "landmarks": {"kind"}, "memories": {"superseded_by"}}
# jobs are not exported: what was given up is tried again where it is imported
# and so are numbers that only tell rows apart, and columns that repeat others
COUNTED_ANEW = {"outbox": {"attempts"}, "session_assignments": {"id"}, "participants": {"member"}}
# the versions of facts, profiles and files belong to a scope, which is theirs alone
OWN_SCOPES = {"fact_version", "profile_version", "file_version"}


SETTINGS = {"profile_per_agent": False, "profiles_in_rooms": "all"}


def exported(conninfo, name) -> bytes:
    with migrate.owner(conninfo) as conn, snapshot(conn, name) as (tenant, records):
        return b"".join(archive.write(tenant, records))


def imported(conninfo, content, tenant=None, without=()) -> archive.ImportResult:
    with migrate.owner(conninfo) as conn:
        return archive.import_archive(io.BytesIO(content), PostgresImport(conn, READER), tenant, without)


def kinds_in(content) -> dict[str, int]:
    return archive.check(io.BytesIO(content)).records


def url_of(conninfo) -> str:
    values = conninfo_to_dict(conninfo)
    return f"postgresql://{values['user']}@/{values['dbname']}?host={values['host']}"


def records_in(content) -> list[bytes]:
    return [line for line in content.splitlines() if line.startswith(b'{"kind"')]


@dataclass(frozen=True)
class Full:
    """A tenant with every kind of thing, and its export."""

    conninfo: str
    name: str
    id: UUID
    content: bytes


@pytest.fixture(scope="module")
def full(make_migrated_database) -> Full:
    conninfo = make_migrated_database()
    name = f"full {uuid4().hex[:8]}"
    with migrate.owner(conninfo) as conn:
        (id_,) = conn.execute("INSERT INTO tenants (name) VALUES (%s) RETURNING id", (name,)).fetchone()
        make_key(conn, NewKey(name, "admin"))
        make_key(conn, NewKey(name, "agent", "ada", "ann", NOW + timedelta(days=90)))
    asyncio.run(furnish(conninfo, name, id_))
    return Full(conninfo, name, id_, exported(conninfo, name))


async def furnish(conninfo: str, name: str, tenant_id: UUID) -> None:
    pool = Pool(conninfo, PATIENT)
    await pool.open()
    stores = Stores(pool)
    await settle(fill(name, tenant_id), stores)
    # the world has a conversation in mid-erasure, and so long nothing is exported
    with pytest.raises(Conflict, match="is being erased"):
        exported(conninfo, name)
    erasing = EraseStores(stores.erasures, stores.erasure_queue, stores.memories, stores.reader)
    while await advance(erasing, None, 100, None) is not None:
        pass
    await live(stores, tenant_id)
    with migrate.owner(conninfo) as conn:
        conn.execute("UPDATE tenants SET settings = %s WHERE id = %s", (Jsonb(SETTINGS), tenant_id))
        conn.execute("UPDATE rooms SET retention_days = 3650 WHERE tenant_id = %s", (tenant_id,))
        conn.execute("UPDATE conversations SET retention_days = 7300 WHERE tenant_id = %s", (tenant_id,))
        conn.execute("SELECT index_instant_vectors(10000)")
        entries = [row[0] for row in conn.execute("SELECT id FROM entries ORDER BY id")]
    await stores.index.count_uses(everything_in(tenant_id), dict.fromkeys(entries[::3], 1))
    await stores.index.count_uses(everything_in(tenant_id), dict.fromkeys(entries[::6], 1))
    await pool.close()


async def live(stores: Stores, tenant_id: UUID) -> None:
    """Let a conversation have all that the leaks' world has not: histories, tools, tiers, what was taken back."""
    owner, whole = Viewer(tenant_id, "admin"), everything_in(tenant_id)
    await transcript.put(stores.lookup, stores.conversations, owner, "long", NewConversation(user="ann", agent="ada"))
    place = await stores.lookup.place(tenant_id, "long")
    opened = grant(owner, place)
    drafts = [
        Draft(
            "user", "Decision: we use PostgreSQL.\nReally.", event_id="e1", metadata={"n": 1.50, "ü": ["\u2028", None]}
        ),
        Draft(
            "assistant", tool_name="shell", tool_args={"b": [1, 2.5, 1e30], "a": "ls \\u0000"}, tool_result="a\tb\\n"
        ),
        Draft("user", "See this.", attachments=[{"name": "a.png", "bytes": "aGVsbG8="}], event_id="e2"),
        Draft(
            "user", "x" * 20_000 + "\r\n" + "\x01\x7f\ufeff\U0010ffff", created_at=datetime(1999, 12, 31, tzinfo=UTC)
        ),
        *(Draft("user", f"The bearing of pump {number} was changed.") for number in range(20)),
    ]
    said = await transcript.append(stores.transcript, READER, opened, owner, place, drafts)
    for version in (1, 2):
        await Compactor(stores.summaries, None, CompactionPolicy(5, 2), version).compact(
            whole, place.conversation_id, LATER
        )
    await stores.summaries.tell(opened, place, AgentSummary(uuid4(), "told", ["d"], None, {"t": 1}, "ada", None, NOW))
    pinned, _ = await stores.landmarks.pin(opened, place, said[0].id, "decision", "Decision: we use PostgreSQL.", "ann")
    assert await stores.landmarks.unpin(opened, pinned, "ann")
    for text in ("Ann lives in Ulm.", "Ann lives in Bern.", "Ann likes tea."):
        draft = memories.MemoryDraft(text, "fact", user="ann", sources=[said[0].id])
        kept, _ = await memories.add(stores.memories, READER, opened, place, draft, datetime.now(UTC), "ann")
    await memories.delete(stores.memories, opened, kept.id, None, "ann")
    for value in ('{"b": 1,\n "a": 1.500}', "[1e2]"):
        await stores.facts.put(
            whole, FactSubject("user", "ann"), "odd", facts.FactDraft(value, source=said[0].id, confidence=0.1)
        )
    await stores.facts.put(
        whole, FactSubject("global", None), "typed", facts.FactDraft("7", "integer", keeps_type=False)
    )
    await stores.facts.put(whole, FactSubject("global", None), "gone", facts.FactDraft("true"))
    await stores.facts.delete(whole, FactSubject("global", None), "gone", None)
    await stores.files.put(whole, "ada", "SOUL.md", "Be brief.")
    await stores.files.put(whole, "ada", "SOUL.md", None)
    tree, path = Tree("user", "files:ann:ada"), "/memories/żółw/notes.md"
    for content in ("She sails.\n", "She sails on Fridays.\n", "She sails.\n"):
        await stores.trees.put(whole, tree, path, content, "agent:ada", None, TreeLimits())
    assert await stores.trees.redact(whole, tree, path, 2, "owner")
    assert await stores.trees.rename(whole, tree, path, "/memories/notes.md", "agent:ada") == "moved"


def test_an_import_gives_the_same_export_byte_for_byte(full, make_migrated_database, show):
    other = make_migrated_database()
    taken = imported(other, full.content)
    again = exported(other, full.name)
    amount = sum(taken.records.values())
    show(f"round trip: {len(full.content):,} bytes, {amount:,} records of {len(taken.records)} kinds")
    assert again.splitlines() == full.content.splitlines()
    assert again == full.content
    assert taken.tenant_id == full.id
    # every kind was there to be compared
    assert kinds_in(full.content).keys() == set(archive.KINDS)


def test_what_can_be_searched_is_the_same_as_before(full, make_migrated_database):
    other = make_migrated_database()
    imported(other, full.content)
    entries = """
        SELECT kind, source_id, part, run_id, visibility, private_to, conversation_id, seq, role, user_id, agent,
            created_at, importance, searchable, text, words, pieces, lexemes, instant::text
        FROM entries WHERE source_id NOT IN (SELECT id FROM memories WHERE content LIKE '%/semantic/%')
            -- JSON keeps no order of keys in the database, so that the words of a call may come in another
            AND NOT (text LIKE '%shell%')
        ORDER BY source_id, part
    """
    found = []
    for conninfo in (full.conninfo, other):
        with migrate.owner(conninfo) as conn:
            found.append(conn.execute(entries).fetchall())
            queued = conn.execute("SELECT count(*) FROM entries e JOIN backlog b ON b.entry_id = e.id").fetchone()
    assert found[0] == found[1]
    assert {row[0] for row in found[1]} == {"message", "summary", "landmark", "memory"}
    assert queued[0] > len(found[1])  # for both spaces, where a worker finds them


def test_every_table_is_exported_or_made_again(full):
    lines = [json.loads(line) for line in full.content.splitlines()]
    fields = {line["kind"]: set(line) for line in lines if "kind" in line}
    with migrate.owner(full.conninfo) as conn:
        rows = conn.execute(
            """
            SELECT c.table_name, c.column_name FROM information_schema.columns c
            JOIN information_schema.columns t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
            WHERE c.table_schema = 'keepword' AND t.column_name = 'tenant_id' AND c.is_generated = 'NEVER'
            """
        ).fetchall()
    assert {table for table, _ in rows} - REBUILT == set(TABLES.values()), "say whether a new table is exported"
    for kind, table in TABLES.items():
        columns = {column for owner, column in rows if owner == table} - ELSEWHERE - RENAMED.get(table, set())
        columns -= COUNTED_ANEW.get(table, set())
        assert columns <= fields[kind], f"the export leaves out columns of {table}"
        assert kind not in OWN_SCOPES or "run_id" in fields[kind]


def test_profiles_and_settings_are_read_after_an_import_as_before(full, make_migrated_database):
    other = make_migrated_database()
    imported(other, full.content)
    before, after = (asyncio.run(profiles_of(conninfo, full)) for conninfo in (full.conninfo, other))
    assert before == after
    assert after[0] == TenantSettings(**SETTINGS)
    assert any(len(profile.memory.splitlines()) > 2 for profile in after[1])


async def profiles_of(conninfo: str, full: Full) -> tuple[TenantSettings, list[Profile]]:
    """Read the settings, and the profiles as the owner and as a room see them."""
    pool = Pool(conninfo, PATIENT)
    await pool.open()
    try:
        stores = Stores(pool)
        hall = grant(Viewer(full.id, "agent"), await stores.lookup.place(full.id, "in-hall"))
        pages = [await stores.profiles.page(opened, Selection(size=200)) for opened in (everything_in(full.id), hall)]
        return await stores.lookup.settings(full.id), [profile for page, _ in pages for profile in page]
    finally:
        await pool.close()


def test_a_profile_from_an_older_file_is_its_text_if_somebody_wrote_it(make_migrated_database):
    """Then a profile was one text, and one that was made from memories had an older source than its writing."""
    conninfo, id_, at = make_migrated_database(), uuid4(), "2026-01-02T00:00:00+00:00"
    shape = {"kind": "profile", "type": "user", "created_at": at, "updated_at": at}
    written = shape | {"id": str(uuid4()), "user_id": "ann", "memory": "Ann.\nTea.", "source_time": at}
    derived = shape | {
        "id": str(uuid4()),
        "user_id": "bob",
        "memory": "- gone",
        "source_time": "2026-01-01T00:00:00+00:00",
    }
    users = [{"kind": "user", "id": user, "name": None, "created_at": at} for user in ("ann", "bob")]
    fact = {
        "kind": "fact", "scope_kind": "user", "scope_id": "ann", "key": "size", "value": "1", "type": None,
        "version": 1, "source_id": None, "confidence": None, "created_at": at, "updated_at": at,
    }  # fmt: skip
    lines = {"user": users, "fact": [fact], "profile": [written, derived]}
    imported(conninfo, written_file(lines, at, id_))
    with migrate.owner(conninfo) as conn:
        assert conn.execute("SELECT content FROM profile_texts ORDER BY line").fetchall() == [("Ann.",), ("Tea.",)]
        unknown = conn.execute("SELECT said_in FROM facts").fetchone()
    assert unknown == ([UUID(int=0)],)


def written_file(lines, at, id_) -> bytes:
    records = [
        (kind, [json.dumps(one, separators=(",", ":")).encode() for one in some]) for kind, some in lines.items()
    ]
    return b"".join(archive.write({"id": str(id_), "name": "old", "created_at": at}, records))


def test_a_file_from_before_introductions_introduces_who_has_a_conversation(make_migrated_database):
    """Its facts are the owner's where only the owner could have written them."""
    conninfo, at = make_migrated_database(), "2026-01-02T00:00:00+00:00"
    users = [{"kind": "user", "id": user, "name": None, "created_at": at} for user in ("ann", "bob")]
    shape = {
        "kind": "conversation", "place": "session", "user_id": "ann", "agent": "ada", "room_id": None,
        "project_id": None, "channel": "api", "channel_id": None, "bot_identity": None, "title": None, "settings": {},
        "active": True, "last_seq": 0, "created_at": at, "updated_at": at,
    }  # fmt: skip
    talks = [
        shape | {"id": str(uuid4()), "external_id": name, "user_id": user}
        for name, user in (("a", "ann"), ("b", "ann"), ("c", None))
    ]
    fact = {
        "kind": "fact", "scope_kind": "global", "scope_id": None, "key": "size", "value": "1", "type": None,
        "version": 1, "source_id": None, "confidence": None, "created_at": at, "updated_at": at,
    }  # fmt: skip
    told = fact | {"scope_kind": "user", "scope_id": "ann"}
    imported(conninfo, written_file({"user": users, "conversation": talks, "fact": [fact, told]}, at, uuid4()))
    with migrate.owner(conninfo) as conn:
        assert conn.execute("SELECT agent, user_id, withdrawn_at FROM introductions").fetchall() == [
            ("ada", "ann", None)
        ]
        assert conn.execute("SELECT scope_kind FROM facts WHERE by_owner").fetchall() == [("global",)]


def test_no_secret_is_in_an_export(full, make_migrated_database):
    other = make_migrated_database()
    imported(other, full.content)
    with migrate.owner(other) as conn:
        secret = make_key(conn, NewKey(full.name, "reader"))
    content = exported(other, full.name).decode()
    assert secret.id in content
    assert secret.text not in content
    assert secret.text.rpartition("_")[2] not in content


def test_a_tenant_is_closed_until_its_import_is_complete(full, make_migrated_database):
    other = make_migrated_database()
    with migrate.owner(other) as conn:
        mine = make_key(conn, NewKey(full.name, "admin"))
        store = PostgresImport(conn, READER)
        header, blocks = archive.read(io.BytesIO(full.content))
        so_far = store.begin(header, full.name)
        for block in blocks:
            store.put(so_far.tenant_id, block)
            assert conn.execute("SELECT count(*) FROM find_key(%s)", (mine.id,)).fetchone() == (0,)
        assert conn.execute("SELECT count(*) FROM keys").fetchone() == (3,)
        store.finish(so_far.tenant_id)
        assert conn.execute("SELECT tenant_id FROM find_key(%s)", (mine.id,)).fetchone() == (full.id,)


def test_the_tenant_that_needs_no_key_is_closed_as_well(make_migrated_database):
    conninfo = make_migrated_database()
    content = exported(conninfo, "default")
    with migrate.owner(conninfo) as conn:
        store = PostgresImport(conn, READER)
        header, blocks = archive.read(io.BytesIO(content))
        so_far = store.begin(header, "default")
        assert list(blocks) == []
        assert conn.execute("SELECT count(*) FROM keyless_tenant()").fetchone() == (0,)
        with pytest.raises(Conflict, match="not complete"):
            exported(conninfo, "default")
        store.finish(so_far.tenant_id)
        assert conn.execute("SELECT count(*) FROM keyless_tenant()").fetchone() == (1,)


def test_a_tenant_that_is_not_empty_is_left_alone(full):
    with pytest.raises(Conflict, match="not empty: it has users, agents, files of agents, projects"):
        imported(full.conninfo, full.content)
    assert exported(full.conninfo, full.name) == full.content


def test_a_copy_under_another_name_has_an_id_of_its_own(full):
    with pytest.raises(Conflict, match="--with-keys"):
        imported(full.conninfo, full.content, "copy")
    # it stopped at the keys, and goes on without them
    taken = imported(full.conninfo, full.content, "copy", {"key"})
    assert taken.tenant_id != full.id
    assert taken.resumed_after > 0
    kept = [line for line in records_in(full.content) if not line.startswith(b'{"kind":"key"')]
    assert records_in(exported(full.conninfo, "copy")) == kept


def test_a_full_disk_is_told_and_the_import_goes_on_later(full, make_migrated_database):
    conninfo = make_migrated_database()
    with migrate.owner(conninfo) as conn:
        conn.execute(
            """
            CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
            CREATE TRIGGER no_space BEFORE INSERT ON landmarks EXECUTE FUNCTION no_space()
            """
        )
    with pytest.raises(Unavailable, match=r"disk is full.*run the same import again"):
        imported(conninfo, full.content)
    with migrate.owner(conninfo) as conn:
        conn.execute("DROP TRIGGER no_space ON landmarks")
    assert imported(conninfo, full.content).resumed_after > 0
    assert exported(conninfo, full.name) == full.content


def test_an_unfinished_import_can_be_dropped_and_another_file_taken(full, make_migrated_database):
    conninfo = make_migrated_database()
    broken = full.content[: len(full.content) * 4 // 5]
    with pytest.raises(BrokenArchive, match="cut off"):
        imported(conninfo, broken, "default")
    with pytest.raises(Conflict, match="another file"):
        imported(conninfo, exported(full.conninfo, "default"), "default")
    with migrate.owner(conninfo) as conn:
        with pytest.raises(psycopg.errors.RestrictViolation):
            conn.execute("UPDATE messages SET content = 'forged'")
        assert PostgresImport(conn, READER).drop("default")
        assert not PostgresImport(conn, READER).drop("default")
        left = {
            table: conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in {*TABLES.values(), *REBUILT} - {"deleted_entries", "audit"}
        }
        assert set(left.values()) == {0}
        told = conn.execute("SELECT action, actor FROM audit").fetchall()
        assert told == [("tenant.import_dropped", "command line")]
    imported(conninfo, full.content)
    assert exported(conninfo, full.name) == full.content
    with migrate.owner(conninfo) as conn, pytest.raises(psycopg.errors.RestrictViolation):
        conn.execute("DELETE FROM messages")


def test_records_that_refer_to_nothing_are_refused(full, make_migrated_database):
    """Somebody cut lines out and made the checksums anew."""
    header, blocks = archive.read(io.BytesIO(full.content))
    kept = [(block.kind, [line[:-1] for line in block.lines]) for block in blocks if block.kind != "conversation"]
    tenant = {"id": str(header.tenant_id), "name": header.tenant, "created_at": header.created_at}
    with pytest.raises(BrokenArchive, match=r"records \(message\) refer to something"):
        imported(make_migrated_database(), b"".join(archive.write(tenant, kept)))


def test_an_unknown_tenant_is_told_with_those_that_there_are(full):
    with pytest.raises(NotFound, match="'default'"):
        exported(full.conninfo, "nobody")


def test_an_export_shows_one_moment(full, make_migrated_database):
    conninfo = make_migrated_database()
    imported(conninfo, full.content)
    pieces = []
    with migrate.owner(conninfo) as conn, snapshot(conn, full.name) as (tenant, records):
        for line in archive.write(tenant, records):
            pieces.append(line)
            if len(pieces) == 5:
                with migrate.owner(conninfo) as other:
                    other.execute("UPDATE users SET name = 'changed'")
                    other.execute("DELETE FROM landmarks")
    assert b"".join(pieces) == full.content
    assert exported(conninfo, full.name) != full.content


TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=300),
    st.sampled_from(
        ["\\u0000", "\\x00", "\\N", "\\.", "\r\n\t", "\u2028\u2029\x85", "\ufeff", '{"kind":"end"}', "\\ud800",
         "x" * 50_000, "\U0010ffff" * 9, "\x01\x02\x1f\x7f", '"""', "'", "%s %(tenant_id)s", "٣", "e\u0301"]
    ),
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.anyio
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.lists(st.tuples(TEXTS, JSON, TEXTS), min_size=1, max_size=5))
async def test_strange_texts_survive(pool, conninfo, make_tenant, said):
    tenant = make_tenant()
    owner = Viewer(tenant.id, "admin")
    stores = Stores(pool)
    await transcript.put(stores.lookup, stores.conversations, owner, "odd", NewConversation(agent="ada"))
    place = await stores.lookup.place(tenant.id, "odd")
    drafts = [
        Draft("tool", text, tool_name="t", tool_args={"a": value}, tool_result=result, metadata={"m": value})
        for text, value, result in said
    ]
    await transcript.append(stores.transcript, READER, grant(owner, place), owner, place, drafts)
    content = exported(conninfo, tenant.name)
    imported(conninfo, content, f"{tenant.name} copy")
    copied = exported(conninfo, f"{tenant.name} copy")
    assert records_in(copied) == records_in(content)
    page = await transcript.read(stores.transcript, grant(owner, place), place, transcript.PageRequest(50))
    assert [message.content for message in page.messages] == [text for text, _, _ in said]
    assert [json.loads(line)["content"] for line in copied.splitlines() if b'"kind":"message"' in line] == [
        text for text, _, _ in said
    ]


@pytest.fixture
def long_file(full, tmp_path):
    """Return a file of an export with some thousand messages, so that an import can be met in the middle."""
    header, blocks = archive.read(io.BytesIO(full.content))
    tenant = {"id": str(header.tenant_id), "name": header.tenant, "created_at": header.created_at}
    kinds: dict[str, list[bytes]] = {}
    for block in blocks:
        kinds.setdefault(block.kind, []).extend(line[:-1] for line in block.lines)
    model = json.loads(kinds["message"][0])
    for number in range(6000):
        at = (datetime(2027, 1, 1, tzinfo=UTC) + timedelta(seconds=number)).isoformat()
        more = {"id": str(UUID(int=number + 1)), "seq": 1000 + number, "content": f"line {number}", "created_at": at}
        kinds["message"].append(json.dumps(model | more, separators=(",", ":")).encode())
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"".join(archive.write(tenant, kinds.items())))
    return path


def test_a_killed_import_goes_on_where_it_was(full, long_file, make_service, cli):
    """The service runs meanwhile: what is half there is not shown, and what is whole is, with the keys of before."""
    service = make_service().start()
    env = environment(service.home)
    command = [KEEPWORD, "import", str(long_file), "--with-keys"]
    process = subprocess.Popen(command, env=env, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with migrate.owner(service.conninfo) as conn:
        deadline = time.monotonic() + HANG_SECONDS
        # in the middle of the messages
        while (conn.execute("SELECT max(block) FROM imports").fetchone()[0] or 0) < 10:
            assert process.poll() is None, "it was too fast to be killed"
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = conn.execute("SELECT block FROM imports").fetchone()[0]
        assert conn.execute("SELECT count(*) FROM find_key((SELECT min(id) FROM keys))").fetchone() == (0,)
    refused = cli(service.home, "export", "/dev/null", "--force", "--tenant", full.name)
    assert "not complete" in refused.stderr
    done = cli(service.home, "import", str(long_file), "--with-keys")
    assert done.returncode == 0, done.stderr
    assert int(re.search(r"went on after block (\d+)", done.stderr)[1]) >= kept
    assert exported(service.conninfo, full.name) == long_file.read_bytes()


def test_a_restored_service_knows_its_keys_and_finds_what_was_said(make_service, cli, tmp_path):
    first = make_service().start()
    key = first.make_key("shop")
    with first.client(key) as client:
        client.put("/v1/conversations/demo", json={}).raise_for_status()
        for text in ("The blue bicycle is in the shed.", "Nobody paints the fence."):
            client.post("/v1/conversations/demo/messages", json={"role": "user", "content": text}).raise_for_status()
    done = cli(first.home, "export", str(tmp_path / "shop.jsonl"), "--tenant", "shop")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "shop.jsonl").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["shop.jsonl"]

    second = make_service()
    done = cli(second.home, "import", "-", "--with-keys", stdin=(tmp_path / "shop.jsonl").read_text())
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr
    second.start()
    with second.client(key) as client:
        found = client.post("/v1/search", json={"query": "where is the bicycle?"}).json()["results"]
        assert found[0]["text"].endswith("The blue bicycle is in the shed.")
        said = {"role": "user", "content": "It goes on."}
        assert client.post("/v1/conversations/demo/messages", json=said).json()["messages"][0]["seq"] == 3


def test_an_import_makes_no_key_of_the_file_work_unless_it_is_asked_to(make_service, cli, tmp_path):
    first = make_service().start()
    stranger = first.make_key("shop")
    assert cli(first.home, "export", str(tmp_path / "shop.jsonl"), "--tenant", "shop").returncode == 0
    second = make_service()
    done = cli(second.home, "import", str(tmp_path / "shop.jsonl"))
    assert done.returncode == 0, done.stderr
    assert "keys were left out" in done.stderr
    second.start()
    with second.client(stranger) as client:
        assert client.get("/v1/conversations").status_code == 401
    with second.client() as client:  # and the owner of the default tenant needs none still
        assert client.get("/v1/conversations").status_code == 200


def test_the_command_says_what_is_wrong_and_leaves_nothing(make_migrated_database, tmp_path):
    env = {"KEEPWORD_HOME": str(tmp_path), "KEEPWORD_DATABASE_URL": url_of(make_migrated_database())}
    file = tmp_path / "a.jsonl"

    def run(*arguments):
        return CliRunner(env=env).invoke(make_app(), arguments)

    assert run("export", str(file)).exit_code == 0
    whole = file.read_bytes()
    for arguments, says in {
        ("export", str(file)): "--force",
        ("export", str(tmp_path / "none" / "a.jsonl")): "No such file",
        ("export", "-", "--tenant", "nobody"): "no tenant 'nobody'",
        ("import", str(tmp_path / "none.jsonl")): "can't read",
        ("import",): "name the file",
        ("import", "--drop-unfinished"): "--tenant",
        ("import", "--drop-unfinished", "--tenant", "default"): "no unfinished import",
    }.items():
        done = run(*arguments)
        assert isinstance(done.exception, KeepwordError), arguments
        assert says in str(done.exception), arguments
        assert done.stdout == ""
    assert run("export", str(file), "--force").exit_code == 0
    assert file.read_bytes() == whole
    file.write_bytes(whole[:-20])
    for arguments in (("import", str(file)), ("import", str(file), "--check")):
        assert "cut off" in str(run(*arguments).exception)
    # nothing was begun
    assert "no unfinished" in str(run("import", "--drop-unfinished", "--tenant", "default").exception)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_an_export_onto_a_full_disk_is_told_and_leaves_no_file(full, tmp_path):
    limit = (resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    done = subprocess.run(
        [KEEPWORD, "export", str(tmp_path / "a.jsonl"), "--tenant", full.name],
        env=environment(tmp_path, database_url=url_of(full.conninfo)), cwd="/", capture_output=True, text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(*limit),
    )  # fmt: skip
    assert done.returncode == 1
    assert "can't write" in done.stderr
    assert list(tmp_path.iterdir()) == []
