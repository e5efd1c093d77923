"""What moves with a tenant and what does not: a test compares these lists with the database."""

from collections.abc import Sequence

import psycopg

from keepword.errors import UnfitDatabase
from keepword.postgres.queries import Queries

_SQL = Queries("moves.sql")

# of a new table: does its key begin with tenant_id, does anything in it count this server's transactions or rows, and
# does the worker leave its rows alone while the tenant rests (`is_resting`)?
MOVED = frozenset(
    {
        "agent_files", "agents", "audit", "backlog", "compactions", "composed_turns", "conversation_aliases",
        "conversations", "document_frequencies", "entries", "entry_counts", "erasures", "extractions", "fact_versions",
        "facts", "file_versions", "history_import_parts", "history_imports", "imports", "introductions",
        "item_backlog", "item_parts", "item_vectors", "items", "job_errors", "keys", "landmarks", "ledger_marks",
        "memories", "memory_revisions", "memory_sources", "memory_versions", "messages", "outbox", "participants",
        "profile_texts", "profile_versions", "profiles", "projects", "retracted_entries", "retractions", "rooms",
        "session_assignments", "summaries", "tenants", "tool_sentences", "usage_by_day", "users", "uses", "vectors",
        "webhook_deliveries", "webhooks", "working_memories",
    }
)  # fmt: skip
STAYS: dict[str, str] = {
    "deleted_entries": "tells this server's cached scopes what went, by this server's transactions",
    "tenant_places": "the directory",
    "key_places": "the directory",
    "moved_tenants": "this server's own word",
    "closed_tenants": "this server's own word: the new one would be closed as well",
    "tenant_moves": "how far moves are",
}
# rows that this server numbers: each server has a range of its own
NUMBERED = frozenset({("entries", "id"), ("item_parts", "id"), ("session_assignments", "id")})
# transactions of this server: `arrivals_are_renumbered` gives replicated rows one of the server that takes them in
RENUMBERED = frozenset({("entries", "created_xid")})
# beyond them a script that reads an id as a floating-point number would round it
RANGE = 2**44


def find_tables(conn: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    """Return the tables of tenants, those that others refer to first."""
    return [str(name) for (name,) in conn.execute(_SQL["tables"])]


def tables_of(conn: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    """Return the tables that move, those that others refer to first; refuses a database with one that is not known."""
    found = find_tables(conn)
    unknown = sorted(set(found) - MOVED - STAYS.keys())
    if unknown:
        raise UnfitDatabase(
            f"this Keepword can't move the tables {', '.join(unknown)}; install the version that made them"
        )
    return [name for name in found if name in MOVED]


def refuse_unfit(conn: psycopg.Connection[tuple[object, ...]], tables: Sequence[str], server: str) -> None:
    unfit = [str(name) for (name,) in conn.execute(_SQL["unfit_tables"], {"tables": list(tables)})]
    if unfit:
        raise UnfitDatabase(
            f"on the server {server!r}, rows of {', '.join(unfit)} could not be changed by anyone during a move: "
            "their replica identity lacks the tenant; run: keepword db migrate"
        )
