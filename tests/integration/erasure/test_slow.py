"""Where the database is slow, an erasure goes on in smaller batches, and a request to erase does not fail."""

from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from integration.erasure.test_retract import say
from keepword.access import everything_in
from keepword.embedding.text_indexer import text_indexer
from keepword.erasure.erase import EraseStores
from keepword.erasure.eraser import Eraser
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.erasures import PostgresErasureQueue, PostgresErasures
from keepword.postgres.memories import PostgresMemories
from keepword.postgres.pool import Limits, Pool

pytestmark = pytest.mark.anyio
EACH_SECONDS = 0.02
MESSAGES = 120


@contextmanager
def slowed(home, table, event):
    """Let each row of a table take its time."""
    name = f"slow_{uuid4().hex[:8]}"
    with migrate.owner(Cluster(home).conninfo) as conn:
        conn.execute(
            f"CREATE FUNCTION keepword.{name}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN PERFORM pg_sleep({EACH_SECONDS}); RETURN COALESCE(NEW, OLD); END $$"
        )
        conn.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON keepword.{table} FOR EACH ROW EXECUTE FUNCTION keepword.{name}()"
        )
    try:
        yield
    finally:
        with migrate.owner(Cluster(home).conninfo) as conn:
            conn.execute(f"DROP FUNCTION keepword.{name} CASCADE")


@pytest.fixture
async def pool(keyed_service):
    made = Pool(Cluster(keyed_service.home).conninfo, Limits(4, statement_seconds=1))
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def owner(keyed_service):
    with keyed_service.client(keyed_service.make_key(f"tenant-{uuid4().hex[:8]}")) as found:
        found.put("/v1/users/ann", json={"name": "ann"})
        found.put("/v1/agents/ada", json={"name": "ada"})
        yield found


def tenant_of(service, owner):
    with migrate.owner(Cluster(service.home).conninfo) as conn:
        name = owner.get("/v1/whoami").json()["tenant"]
        return conn.execute("SELECT id FROM keepword.tenants WHERE name = %s", (name,)).fetchone()[0]


async def test_a_batch_over_the_statement_limit_is_made_smaller(keyed_service, owner, pool):
    owner.put("/v1/conversations/long", json={"user": "ann", "agent": "ada"})
    say(owner, "long", *(f"I like tea number {number}." for number in range(MESSAGES)))
    stores = EraseStores(PostgresErasures(pool), PostgresErasureQueue(pool), PostgresMemories(pool), text_indexer())
    grant = everything_in(tenant_of(keyed_service, owner))

    async def rewrite():
        return True

    eraser = Eraser(stores, rewrite, clock=lambda: datetime.now(UTC))
    with slowed(keyed_service.home, "messages", "DELETE"):
        start = await stores.erasures.begin_user(grant, "ann", dry_run=False)
        assert start.counts["messages"] == MESSAGES
        assert await eraser.work_off() >= 1
        assert eraser.pace.messages < 50
    found = await stores.erasures.find(grant, start.id)
    assert (found.state, found.erased_messages) == ("done", MESSAGES)


async def test_a_request_that_hides_for_longer_than_a_statement_may_take_does_not_fail(keyed_service, owner, pool):
    for number in range(60):
        fact = owner.put(f"/v1/facts/user/ann/code-{number}", json={"value": f"hand {number}"})
        assert fact.status_code in {200, 201}, fact.text
    erasures = PostgresErasures(pool)
    grant = everything_in(tenant_of(keyed_service, owner))
    with slowed(keyed_service.home, "facts", "DELETE"):
        start = await erasures.begin_user(grant, "ann", dry_run=False)
    assert start.counts["facts"] == 60
    assert start.id is not None
