"""A sample of the matrix on a real replica: the primary's walls stand there, too."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial

import pytest
from psycopg.conninfo import conninfo_to_dict

from keepword.access import Grant
from keepword.http.app import create_app
from keepword.metrics import REPLICA_READS
from keepword.postgres.log_position import replica_reads
from keepword.postgres.pool import Pool
from keepword.postgres.replicas import Replicas
from leaks.conftest import PATIENT_LIMITS, client_maker, services_of
from leaks.kinds import KINDS, Stores
from leaks.test_matrix import play, read_all, request_all
from leaks.viewers import viewers
from patience import PATIENT
from standby import Standby

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def standby(worlds, cluster, make_home) -> Iterator[Standby]:
    assert worlds  # they are made before they are copied
    made = Standby(cluster, make_home())
    made.catch_up()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def replica_url(standby, leaks_conninfo) -> str:
    return standby.url(str(conninfo_to_dict(leaks_conninfo)["dbname"]))


@pytest.fixture(scope="module")
async def replica_pool(replica_url) -> AsyncIterator[Pool]:
    made = Pool(replica_url, PATIENT)
    await made.open()
    yield made
    await made.close()


@pytest.fixture(scope="module")
async def reading_pool(leaks_conninfo, replica_url) -> AsyncIterator[Pool]:
    """Return the primary's pool, whose reads the replica answers."""
    replicas = Replicas([replica_url], PATIENT)
    made = Pool(leaks_conninfo, PATIENT, replicas)
    await made.open()
    await replicas.look(made)
    yield made
    await replicas.close()
    await made.close()


def answered() -> float:
    (family,) = REPLICA_READS.collect()
    totals = [sample for sample in family.samples if sample.name.endswith("_total")]
    return sum(total.value for total in totals if total.labels["outcome"] == "answered")


async def test_raw_sql_on_a_replica_shows_what_the_design_says_and_no_more(worlds, replica_pool, leaks_pool, tally):
    known: dict[Grant, list[set[str]]] = {}

    async def read(opened: Grant) -> list[set[str]]:
        key = replace(opened, writes=None, vouches=False, shares=frozenset())
        if key not in known:
            async with replica_pool.granted(opened) as conn:
                cursors = [await conn.execute(kind.sql) for kind in KINDS]
            known[key] = [{marker for (marker,) in await cursor.fetchall()} for cursor in cursors]
        return known[key]

    await play(worlds, worlds[0], Stores(leaks_pool), KINDS, read, tally)


async def test_the_stores_show_by_a_replica_what_the_design_says(worlds, reading_pool, tally, show):
    before = answered()
    await Stores(reading_pool).lookup.settings(worlds[1].id)
    with replica_reads():
        await read_all(worlds, worlds[1], Stores(reading_pool), tally)
    show(f"reads that the replica answered: {answered() - before:,.0f}")
    assert answered() > before


async def test_http_shows_by_a_replica_what_the_design_says(worlds, reading_pool, owner, tally, show):
    before = answered()
    stores = Stores(reading_pool, first_wall=False)
    services = replace(services_of(reading_pool, stores), replica_reads=replica_reads)
    make_client = client_maker({True: create_app(services, PATIENT_LIMITS)}, owner)
    those = viewers(worlds[0], ("reader",), bound=True)
    await request_all(worlds, worlds[0], partial(make_client, worlds[0]), tally, those)
    show(f"reads that the replica answered: {answered() - before:,.0f}")
    assert answered() > before
