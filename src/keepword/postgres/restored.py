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


def repair(conn: psycopg.Connection[Any]) -> None:
    """Let entries of another server count as old, once. As the owner; one transaction."""
    with conn.transaction():
        here = conn.execute(_HERE).fetchone()
        if conn.execute("SELECT system_identifier, database_oid FROM home_server").fetchone() == here:
            return
        conn.execute(_REPAIR)
        conn.execute("DELETE FROM home_server")
        conn.execute("INSERT INTO home_server (system_identifier, database_oid) VALUES (%s, %s)", here)
