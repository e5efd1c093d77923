"""Two tenants that share every name, in a database of their own, with a table of what later steps may store."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import httpx
import pytest

from keepword.access import Viewer
from keepword.compose import Composer, TemplateLoader, TurnStores
from keepword.compose.kept_turns import TurnLog
from keepword.compose.shown_turn import TurnReader
from keepword.http.admission import Limits
from keepword.http.app import create_app
from keepword.http.services import Services
from keepword.items import Items
from keepword.period import Calendar
from keepword.postgres import migrate
from keepword.postgres.backlog import PostgresBacklog
from keepword.postgres.keys import NewKey, PostgresKeys, make_key
from keepword.postgres.pool import OWNER_ROLE, Connection, Pool
from keepword.postgres.queue import PostgresFailedWork
from keepword.recall import Recall, Uses
from keepword.stats import StatsReader
from leaks.kinds import READER, Stores
from leaks.settling import make_world
from leaks.viewers import Tally
from leaks.world import World
from patience import HANG_SECONDS, PATIENT

CALENDAR = Calendar(lambda: datetime.now(UTC), ZoneInfo("UTC"))
PROBES = """
CREATE TABLE marks (entry_id bigint PRIMARY KEY, marker text NOT NULL);
GRANT SELECT ON marks TO keepword_app;
CREATE TABLE probes (
    tenant_id uuid NOT NULL, run_id text NOT NULL, visibility text NOT NULL, private_to text, marker text NOT NULL
);
ALTER TABLE probes ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON probes TO keepword_app;
"""
POLICIES_OF_MESSAGES = """
SELECT string_agg(format('CREATE POLICY %I ON probes FOR %s TO keepword_app %s', policyname, cmd,
    COALESCE('USING (' || qual || ')', 'WITH CHECK (' || with_check || ')')), '; ')
FROM pg_policies WHERE schemaname = 'keepword' AND tablename = 'messages' AND permissive = 'PERMISSIVE'
"""


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}  # as the service does, and it is faster


def make_probes(owner) -> None:
    """Make a table that has nothing but a scope, with the policies of messages."""
    owner.execute(PROBES)
    (statements,) = owner.execute(POLICIES_OF_MESSAGES).fetchone()
    owner.execute(statements)


@pytest.fixture(scope="session")
def leaks_conninfo(make_migrated_database) -> str:
    made = make_migrated_database()
    with migrate.owner(made) as conn:
        make_probes(conn)
    return made


@pytest.fixture(scope="session")
def owner(leaks_conninfo) -> Iterator:
    with migrate.owner(leaks_conninfo) as conn:
        yield conn


@pytest.fixture(scope="session")
async def leaks_pool(leaks_conninfo) -> AsyncIterator[Pool]:
    made = Pool(leaks_conninfo, PATIENT)
    await made.open()
    yield made
    await made.close()


class UnwalledPool(Pool):
    """Connections as the owner of the tables, for whom there is no row-level security."""

    @staticmethod
    def _login(conninfo: str) -> str:
        return conninfo  # the application's login can't become the owner

    async def _configure(self, conn: Connection) -> None:
        await super()._configure(conn)
        await conn.execute("SELECT set_config('role', %s, false)", (OWNER_ROLE,))


@pytest.fixture(scope="session")
async def unwalled_pool(leaks_conninfo) -> AsyncIterator[Pool]:
    made = UnwalledPool(leaks_conninfo, PATIENT)
    await made.open()
    yield made
    await made.close()


@pytest.fixture(scope="session")
async def worlds(owner, leaks_pool) -> list[World]:
    # the second tenant chose otherwise what sessions and direct conversations read
    settings = ({}, {"session_reach": "user", "direct_reads_rooms": False})
    return [await make_world(owner, leaks_pool, **each) for each in settings]


@pytest.fixture
def tally(request, show) -> Iterator[Tally]:
    """Count the cells, show how many there were, and fail with those that differ."""
    made = Tally()
    yield made
    show(f"{request.node.name}: {made.cells:,} cells, {len(made.wrong)} mismatches")
    assert made.cells > 0
    assert made.wrong == []


class PatientTransport(httpx.ASGITransport):
    """Asks again when a busy machine refused: a 503 says nothing about leaks."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        content = await request.aread()
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            asked = httpx.Request(request.method, request.url, headers=request.headers, content=content)
            response = await super().handle_async_request(asked)
            if response.status_code != httpx.codes.SERVICE_UNAVAILABLE or time.monotonic() > deadline:
                return response
            # all in one loop: whoever asks again at once keeps those that are served from going on
            await asyncio.sleep(0.1)


# nobody is refused for coming with many others
PATIENT_LIMITS = Limits(at_once=1000, waiting=1000, wait_seconds=HANG_SECONDS, per_tenant=1000, per_key=1000)


@pytest.fixture(scope="session")
def make_client(leaks_pool, owner):
    apps = {
        wall: create_app(services_of(leaks_pool, Stores(leaks_pool, first_wall=wall)), PATIENT_LIMITS)
        for wall in (True, False)
    }
    return client_maker(apps, owner)


def client_maker(apps, owner):
    """Make HTTP clients of the application, without a network, that come as a viewer: by a bound key or by headers."""
    keys: dict[NewKey, str] = {}

    def make(world: World, viewer: Viewer, *, first_wall: bool = True) -> httpx.AsyncClient:
        agent = viewer.agent if viewer.bound_to in {"agent", "both"} else None
        user = viewer.user if viewer.bound_to in {"user", "both"} else None
        new = NewKey(world.tenant, viewer.role, agent, user)
        if new not in keys:
            keys[new] = make_key(owner, new).text
        asked = {"Keepword-Agent": viewer.agent, "Keepword-User": viewer.user}
        headers = {name: value for name, value in asked.items() if value not in {None, agent, user}}
        headers["Authorization"] = f"Bearer {keys[new]}"
        transport = PatientTransport(apps[first_wall])
        return httpx.AsyncClient(transport=transport, base_url="http://keepword.test", headers=headers)

    return make


def services_of(pool: Pool, stores: Stores) -> Services:
    recall = Recall(stores.index, READER.table, None, CALENDAR)
    uses = Uses(stores.index)
    layers = TurnStores(
        recall,
        stores.facts,
        stores.profiles,
        stores.landmarks,
        stores.summaries,
        stores.working,
        stores.registry,
        stores.files,
    )
    return Services(
        keys=PostgresKeys(pool),
        managed_keys=PostgresKeys(pool),
        failed_work=PostgresFailedWork(pool),
        lookup=stores.lookup,
        transcript=stores.transcript,
        reader=stores.reader,
        conversations=stores.conversations,
        registry=stores.registry,
        audit=stores.audit,
        webhooks=stores.webhooks,
        working=stores.working,
        recall=recall,
        stats=StatsReader(stores.counts),
        uses=uses,
        sources=stores.sources,
        turns=stores.turns,
        turn_log=TurnLog(stores.turns),
        turn_reader=TurnReader(layers, stores.sources),
        facts=stores.facts,
        profiles=stores.profiles,
        summaries=stores.summaries,
        memories=stores.memories,
        retractions=stores.retractions,
        erasures=stores.erasures,
        erasure_queue=stores.erasure_queue,
        processes=stores.processes,
        personal=stores.personal,
        landmarks=stores.landmarks,
        files=stores.files,
        trees=stores.trees,
        imports=stores.imports,
        items=Items(stores.items, READER.table, None),
        # a layer that is left out for lack of time would hide what it leaks
        composer=Composer(
            layers, TemplateLoader(), uses.note, lambda: datetime.now(UTC), ZoneInfo("UTC"), layer_seconds=HANG_SECONDS
        ),
        clock=CALENDAR.now,
        calendar=CALENDAR,
        is_ready=pool.is_ready,
        pool_stats=pool.stats,
        depths=PostgresBacklog(pool, "").depths,
        keyless=False,
        request_timeout_seconds=HANG_SECONDS,
    )
