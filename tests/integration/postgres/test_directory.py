"""The directory of tenants, and a server's own word about those that live elsewhere."""

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg import errors

from keepword.access import Grant
from keepword.errors import TenantMoved, Unavailable
from keepword.postgres import directory, migrate
from keepword.postgres.driver_errors import translate
from keepword.postgres.keys import NewKey, PostgresKeys, make_key
from keepword.postgres.personal import PostgresPersonalData
from keepword.postgres.pool import Pool
from patience import PATIENT

pytestmark = pytest.mark.anyio


@pytest.fixture
def owner(conninfo):
    with migrate.owner(conninfo) as conn:
        yield conn


def test_the_directory_names_one_server_for_a_tenant(owner, tenant):
    assert directory.place_of(owner, tenant.id) is None
    directory.set_place(owner, tenant.id, "north")
    directory.set_place(owner, tenant.id, "north")
    assert directory.place_of(owner, tenant.id) == "north"
    directory.set_place(owner, tenant.id, "south")
    assert directory.place_of(owner, tenant.id) == "south"


async def test_a_server_refuses_the_keys_of_a_tenant_that_lives_elsewhere(owner, pool, tenant, make_tenant):
    keys, other = PostgresKeys(pool), make_tenant()
    mine, theirs = (make_key(owner, NewKey(one.name, "admin")) for one in (tenant, other))
    directory.give_away(owner, tenant.id, "south")
    assert directory.moved_to(owner, tenant.id) == "south"
    with pytest.raises(TenantMoved) as moved:
        await keys.find(mine.id, None)
    assert moved.value.server == "south"
    assert "KEEPWORD_SERVERS" in str(moved.value)
    assert await keys.find(theirs.id, None) is not None
    directory.give_away(owner, tenant.id, "west")
    assert directory.moved_to(owner, tenant.id) == "west"
    directory.take_in(owner, tenant.id)
    assert directory.moved_to(owner, tenant.id) is None
    assert await keys.find(mine.id, None) is not None


async def test_a_key_that_nobody_made_is_unknown_and_not_moved(pool):
    assert await PostgresKeys(pool).find("0" * 16, None) is None


async def test_a_users_data_is_handed_out_without_a_connection(owner, conninfo, tenant, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    owner.execute("INSERT INTO users (tenant_id, id) VALUES (%s, 'ann')", (tenant.id,))
    owner.execute(
        "INSERT INTO items (tenant_id, id, user_id, path, key, value, created_at, updated_at) "
        "SELECT %s, gen_random_uuid(), 'ann', 'a.', n, jsonb_build_object('a', repeat('x', 1000)), now(), now() "
        "FROM generate_series(1, 500) n",
        (tenant.id,),
    )
    pool = Pool(conninfo, replace(PATIENT, connections=1, checkout_seconds=2))
    await pool.open()
    chunks = PostgresPersonalData(pool).chunks(Grant(tenant.id, everything=True, owner=True), "ann")
    first = await anext(chunks)
    assert len(open_files(tmp_path)) == 1
    # whoever reads slowly keeps nobody from the database
    assert (await pool.fetch("SELECT 1 AS one", {}))[0].one == 1
    rest = b"".join([chunk async for chunk in chunks])
    assert (first + rest).count(b"\n") == 501
    assert open_files(tmp_path) == []
    await pool.close()


async def test_a_reader_who_goes_away_leaves_no_file_of_a_users_data(owner, pool, tenant, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    owner.execute("INSERT INTO users (tenant_id, id) VALUES (%s, 'ann')", (tenant.id,))
    chunks = PostgresPersonalData(pool).chunks(Grant(tenant.id, everything=True, owner=True), "ann")
    assert await anext(chunks)
    assert len(open_files(tmp_path)) == 1
    await chunks.aclose()
    assert open_files(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


async def test_a_users_data_that_finds_no_room_on_the_disk_says_where(pool, tenant, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(Unavailable, match=r"gone.*TMPDIR"):
        await anext(PostgresPersonalData(pool).chunks(Grant(tenant.id, everything=True, owner=True), "ann"))


@pytest.mark.parametrize("kind", [errors.ReadOnlySqlTransaction, errors.IdleInTransactionSessionTimeout])
def test_a_database_that_takes_no_write_right_now_is_unavailable(kind):
    assert isinstance(translate(kind()), Unavailable)


def open_files(folder):
    """Return the files in the folder that this process has open, also those without a name."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()))
    return [path for path in found if path.startswith(str(folder))]
