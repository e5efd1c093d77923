"""The service, or its database, is killed in the middle of a migration; the next start finishes it."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress

import psycopg
import pytest

from conftest import KEEPWORD, environment
from faults.matrix import LONG, PARTS, count_leaks, settle_worlds
from keepword.postgres import migrate, schema
from keepword.postgres.embedded import Cluster, running
from keepword.postgres.preparation import prepare
from migration.test_migrate import shape
from patience import HANG_SECONDS

CUTS = 12
OLD = 5  # schema files that an older release had
_AT_WORK = """
SELECT count(*) FROM pg_stat_activity WHERE datname = 'keepword' AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL
"""


@pytest.fixture
def old_home(make_home):
    """A data folder of a release that knew fewer tables, with a tenant in it."""
    home = make_home()
    with running(home) as cluster, migrate.connect(cluster.conninfo) as conn:
        prepare(conn, cluster.conninfo)
        with migrate.owner(cluster.conninfo) as owner:
            owner.execute(schema._MAKE_NOTES)
            for file in schema.tables()[:OLD]:
                schema._run(owner, file)
            owner.execute("INSERT INTO tenants (name) VALUES ('before')")
    return home


def start(home) -> subprocess.Popen:
    env = environment(home, port="0", worker="false")
    return subprocess.Popen([KEEPWORD, "serve"], env=env, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_until_migrating(home, process) -> bool:
    """Return whether a migration is under way; it may be over already."""
    conninfo, deadline = Cluster(home).conninfo, time.monotonic() + HANG_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(psycopg.Error), psycopg.connect(conninfo, autocommit=True) as conn:
            while process.poll() is None and time.monotonic() < deadline:
                if conn.execute(_AT_WORK).fetchone() != (0,):
                    return True
                if not migrate.status(conninfo).pending:
                    return False
        time.sleep(0.005)
    return False


@pytest.mark.skipif(not LONG, reason="FAULTS=long; tests/migration kills migrations in every run")
def test_a_migration_that_is_cut_short_is_finished_by_the_next_start(old_home, make_service, conninfo, show_row):
    chance, hits = random.Random(), 0
    for number in range(CUTS):
        process = start(old_home)
        hits += wait_until_migrating(old_home, process)
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.wait()
        if number % 2 == 0:
            pid = Cluster(old_home).postmaster_pid()
            with suppress(ProcessLookupError, TypeError):
                os.kill(pid, signal.SIGKILL)
    assert hits
    began = time.monotonic()
    service = make_service(old_home).start()
    took = time.monotonic() - began
    assert migrate.status(service.conninfo).pending == ()
    assert shape(service.conninfo) == shape(conninfo)
    with migrate.owner(service.conninfo) as owner:
        assert owner.execute("SELECT count(*) FROM tenants WHERE name = 'before'").fetchone() == (1,)
    with service.client() as client:
        assert client.put("/v1/conversations/c", json={}).status_code == 201
        assert client.post("/v1/conversations/c/messages", json={"role": "user", "content": "a"}).status_code == 201
    cells, leaks = count_leaks(service.conninfo, settle_worlds(service.conninfo), 0, PARTS)
    assert leaks == []
    show_row(f"migration cut {hits} times", *[""] * 5, f"{cells:,}", len(leaks), f"{took:.2f} s", "")
