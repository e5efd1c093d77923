"""Repairs a database that was restored from a dump of another server, which counted other transactions."""

from typing import Any

import psycopg

_HERE = """
SELECT c.system_identifier, d.oid FROM pg_control_system() AS c, pg_database d WHERE d.datname = current_database()
"""
# a number of a transaction that is still to come would make an entry new for every search until it comes
_REPAIR = """
UPDATE entries SET created_xid = '3' WHERE created_xid >= pg_current_xact_id();
DELETE FROM deleted_entries;
"""
# a dump has the fence around moved tenants as well. A tenant that was given away may be taken back: it is repaired too
_MOVED = "SELECT tenant_id::text FROM moved_tenants UNION SELECT tenant_id::text FROM closed_tenants"
_OPEN_FENCE = "SELECT set_config('keepword.fence_pass', %s, true)"
_REPAIR_BEHIND_FENCE = """
UPDATE entries SET created_xid = '3' WHERE tenant_id = %s::uuid AND created_xid >= pg_current_xact_id()
"""


def repair(conn: psycopg.Connection[Any]) -> None:
    """Let entries of another server count as old, once. As the owner; one transaction."""
    with conn.transaction():
        here = conn.execute(_HERE).fetchone()
        if conn.execute("SELECT system_identifier, database_oid FROM home_server").fetchone() == here:
            return
        for (tenant,) in conn.execute(_MOVED).fetchall():
            conn.execute(_OPEN_FENCE, (tenant,))
            conn.execute(_REPAIR_BEHIND_FENCE, (tenant,))
        conn.execute(_REPAIR)
        conn.execute("DELETE FROM home_server")
        conn.execute("INSERT INTO home_server (system_identifier, database_oid) VALUES (%s, %s)", here)
