"""Locks of one conversation: an equal id in another tenant (two imports of one file) waits for none."""

import json
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest

from keepword.postgres import migrate

INSERT = """
INSERT INTO conversations (tenant_id, id, external_id, kind, agent)
VALUES (%s, %s, 'talk', 'session', 'ada')
"""
PUT = "SELECT stored FROM put_working(%s, %s, %s, 'session:talk', 'public', NULL, %s, NULL, 60, 999, 9, %s)"
REPLACE = "SELECT replace_summaries(%s, %s, %s, 2, NULL)"


def put_working(conn, tenant, conversation):
    grant = {"tenant": str(tenant), "run_ids": ["session:talk"], "visibilities": "{public}", "writes": "session:talk"}
    return conn.execute(PUT, (json.dumps(grant), tenant, conversation, '{"a": "1"}', datetime.now(UTC)))


def replace_summaries(conn, tenant, conversation):
    return conn.execute(REPLACE, (json.dumps({"tenant": str(tenant), "everything": True}), tenant, conversation))


@pytest.mark.parametrize("write", [put_working, replace_summaries])
def test_equal_conversation_ids_of_two_tenants_do_not_wait_for_each_other(conninfo, make_tenant, write):
    mine, theirs, conversation = make_tenant().id, make_tenant().id, uuid4()
    with migrate.owner(conninfo) as one, migrate.owner(conninfo) as other:
        for tenant in (mine, theirs):
            one.execute(INSERT, (tenant, conversation))
        other.execute("SET lock_timeout = '1s'")
        with one.transaction():
            write(one, mine, conversation)
            write(other, theirs, conversation)
            # and there is a lock: the same conversation does wait
            with pytest.raises(psycopg.errors.LockNotAvailable):
                write(other, mine, conversation)
