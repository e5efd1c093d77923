"""The command line over several servers: where tenants are, where new ones are made, and what each command asks."""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest
from pydantic import SecretStr

from keepword.cli import server_list
from keepword.cli.doctor import examine
from keepword.cli.server_list import connected, doubled, find_tenant, home_of, place, tenants_of
from keepword.config import Settings, read_settings
from keepword.errors import Conflict, InvalidInput, NotFound, StartError, Unavailable
from keepword.many_servers import prepare_any
from keepword.postgres import directory, migrate, moving
from keepword.postgres.keys import open_tenant
from keepword.postgres.moving import fence, tables
from keepword.postgres.moving.servers import connected as connected_to_move
from several import setting, settle, url_of

NAMES = ("north", "south")


@pytest.fixture
def conninfos(make_migrated_database) -> dict[str, str]:
    return {name: make_migrated_database() for name in NAMES}


@pytest.fixture
def settings(conninfos, tmp_path) -> Settings:
    return read_settings({"KEEPWORD_SERVERS": setting(conninfos), "KEEPWORD_HOME": str(tmp_path)}, tmp_path).settings


@pytest.fixture
def keepword(cli, tmp_path, conninfos):
    return partial(cli, tmp_path, servers=setting(conninfos))


def without_south(settings: Settings) -> Settings:
    north, south = settings.servers
    gone = south.model_copy(update={"url": SecretStr(south.url.get_secret_value() + "&port=1")})
    return settings.model_copy(update={"servers": (north, gone)})


def make(settings: Settings, tenant: str) -> str:
    """Do what `keys create` does, and return the server."""
    with home_of(settings, tenant) as server:
        settle(server.url.get_secret_value(), server.name, [tenant])
    return server.name


def where(settings: Settings, tenant: str) -> list[str]:
    with connected(settings) as servers:
        return [one.server for one in tenants_of(servers) if one.tenant.name == tenant]


def test_new_tenants_are_made_on_the_emptiest_server_that_is_not_drained(settings):
    assert [make(settings, name) for name in ("a", "b", "c", "d")] == ["north", "south", "north", "south"]
    with connected(settings) as servers:
        directory.drain(servers.first, "north")
    assert [make(settings, name) for name in ("e", "f")] == ["south", "south"]
    with connected(settings) as servers:
        directory.drain(servers.first, "south")
    with pytest.raises(Unavailable, match="--undo"):
        make(settings, "g")
    with connected(settings) as servers:
        directory.undrain(servers.first, "north")
    assert make(settings, "g") == "north"


def test_a_tenant_that_is_there_keeps_its_server(settings):
    assert make(settings, "a") == "north"
    with connected(settings) as servers:
        directory.drain(servers.first, "north")
        assert directory.place_of(servers.first, find_tenant(settings, "a")[1]) == "north"
    assert make(settings, "a") == "north"
    assert where(settings, "a") == ["north"]


def test_a_tenant_is_made_where_it_was_placed(settings):
    assert place(settings, "a", "south") == "south"
    assert place(settings, "b", None) == "north"
    assert make(settings, "a") == "south"
    with connected(settings) as servers:
        assert directory.placed_names(servers.first) == [("b", "north")], "a is made, so its note is gone"
    with pytest.raises(Conflict, match="on south already"):
        place(settings, "a", "north")
    with pytest.raises(NotFound, match="there are: north, south"):
        place(settings, "c", "west")
    with pytest.raises(InvalidInput, match="first server"):
        place(settings, "default", "south")


def test_two_who_make_the_same_tenant_at_once_make_one(settings):
    with ThreadPoolExecutor(4) as pool:
        homes = list(pool.map(lambda _: make(settings, "a"), range(4)))
    assert len(set(homes)) == 1
    assert len(where(settings, "a")) == 1


def test_no_tenant_is_made_while_a_server_is_away_that_may_have_it(settings):
    assert make(settings, "a") == "north"
    partly = without_south(settings)
    assert make(partly, "a") == "north"
    with pytest.raises(Unavailable, match=r"may be on a server that is away \(south\)"):
        make(partly, "b")
    with pytest.raises(Unavailable, match="may be on a server"):
        find_tenant(partly, "b")
    with pytest.raises(NotFound, match="no tenant 'b'"):
        find_tenant(settings, "b")


def test_the_default_tenant_is_that_of_the_first_server(settings):
    assert find_tenant(settings, "default")[0].name == "north"
    assert where(settings, "default") == ["north"]


def test_a_tenant_that_was_given_away_is_where_it_went(settings, conninfos):
    (moved,) = settle(conninfos["north"], "north", ["a"])
    with migrate.owner(conninfos["north"]) as old, migrate.owner(conninfos["south"]) as new:
        new.execute("INSERT INTO tenants (id, name) VALUES (%s, 'a')", (moved.id,))
        with connected(settings) as servers:
            assert doubled(tenants_of(servers)) == ["a"]
        assert {check.name: check.ok for check in examine(settings) if check.name == "tenants"} == {"tenants": False}
        directory.give_away(old, moved.id, "south")
    assert where(settings, "a") == ["south"]
    assert find_tenant(settings, "a")[0].name == "south"


def test_without_servers_the_commands_say_so():
    with pytest.raises(InvalidInput, match="KEEPWORD_SERVERS"), connected(Settings()):
        pass
    assert server_list.DEFAULT == "default"


def test_keys_are_made_listed_and_revoked_over_all_servers(keepword, conninfos):
    first = keepword("keys", "create", "--tenant", "a", "--role", "admin")
    second = keepword("keys", "create", "--tenant", "b", "--role", "admin")
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    key_id = second.stdout.split("_")[1]
    listed = keepword("keys", "list")
    assert re.search(r"│ a .*│ north", listed.stdout)
    assert re.search(r"│ b .*│ south", listed.stdout)
    assert keepword("keys", "revoke", key_id).returncode == 0
    with psycopg.connect(conninfos["south"]) as conn:
        assert conn.execute("SELECT revoked_at IS NOT NULL FROM keepword.keys").fetchall() == [(True,)]
    assert keepword("keys", "revoke", "0" * 16).returncode == 1


def move_by_hand(conninfos, name, key_id):
    """Leave a tenant as a move does: served by south, with a fenced copy on north."""
    address = moving.ServerAddress("north", conninfos["north"])
    with migrate.owner(conninfos["north"]) as old, migrate.owner(conninfos["south"]) as new:
        tenant = open_tenant(old, name)
        new.execute("INSERT INTO tenants (id, name) VALUES (%s, %s)", (tenant, name))
        ((digest,),) = old.execute("SELECT digest FROM keys WHERE id = %s", (key_id,)).fetchall()
        new.execute(
            "INSERT INTO keys (id, tenant_id, role, digest) VALUES (%s, %s, 'admin', %s)", (key_id, tenant, digest)
        )
        with connected_to_move(address, tenant) as server:
            fence.build(server, tenant, tables.tables_of(server.owner))
        directory.give_away(old, tenant, "south")
    return tenant


def test_a_key_is_revoked_where_its_tenant_lives_while_an_old_copy_is_kept(keepword, conninfos):
    (resident,) = settle(conninfos["north"], "north", ["a"])
    tenant = move_by_hand(conninfos, "a", resident.key_id)
    listed = keepword("keys", "list").stdout
    assert re.findall(r"│ a .*│ (north|south)", listed) == ["south"]
    revoked = keepword("keys", "revoke", resident.key_id)
    assert revoked.returncode == 0, revoked.stderr
    assert "No key works any more" in revoked.stderr
    with migrate.owner(conninfos["south"]) as conn:
        assert conn.execute("SELECT revoked_at IS NOT NULL FROM keys").fetchall() == [(True,)]
        # as when whoever moved it was killed between the old server and the new one
        directory.give_away(conn, tenant, "north")
    refused = keepword("keys", "revoke", resident.key_id)
    assert refused.returncode == 1
    assert "is on its way to another server" in refused.stderr


def test_a_server_that_can_only_be_read_is_told_and_the_others_are_changed(keepword, conninfos):
    settle(conninfos["north"], "north", ["a"])
    (resident,) = settle(conninfos["south"], "south", ["b"])
    with psycopg.connect(conninfos["north"], autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {conn.info.dbname} SET default_transaction_read_only = on")
    revoked = keepword("keys", "revoke", resident.key_id)
    assert revoked.returncode == 0, revoked.stderr
    assert "server north: the database can only be read" in revoked.stderr


def test_a_tenant_that_no_server_serves_yet_is_not_made_a_second_time(settings, conninfos):
    (resident,) = settle(conninfos["north"], "north", ["a"])
    move_by_hand(conninfos, "a", resident.key_id)
    assert find_tenant(settings, "a")[0].name == "south"
    with migrate.owner(conninfos["south"]) as conn, migrate.owner(conninfos["north"]) as first:
        directory.give_away(conn, resident.id, "north")
        first.execute(
            "INSERT INTO tenant_moves (tenant_id, source, target, step, keep_days) "
            "VALUES (%s, 'north', 'south', 'copied', 7)",
            (resident.id,),
        )
        for ask in (make, find_tenant, lambda settings, name: place(settings, name, "south")):
            with pytest.raises(Conflict, match=r"keepword tenants move a --to south.*--undo"):
                ask(settings, "a")
        # its name is free once it was erased on its new server, but for the copy
        directory.take_in(conn, resident.id)
        conn.execute("UPDATE tenants SET name = 'erased 1' WHERE id = %s", (resident.id,))
    with pytest.raises(Conflict, match=r"north has an old copy .* keepword tenants clean a --now"):
        make(settings, "a")


def test_a_server_that_can_not_be_migrated_keeps_no_other_from_starting(settings, conninfos):
    with psycopg.connect(conninfos["north"], autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {conn.info.dbname} SET default_transaction_read_only = on")
        conn.execute("UPDATE keepword.schema_files SET checksum = 'older' WHERE name = 'code'")
    prepare_any(settings.servers)
    with psycopg.connect(conninfos["south"], autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {conn.info.dbname} SET default_transaction_read_only = on")
        conn.execute("UPDATE keepword.schema_files SET checksum = 'older' WHERE name = 'code'")
    with pytest.raises(StartError, match=r"north: .*read-only.*south: .*read-only|south: .*north: "):
        prepare_any(settings.servers)


def test_servers_and_tenants_are_shown_placed_and_drained(keepword):
    shown = keepword("servers", "status")
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"north .*│ up .*│ newest", shown.stdout)
    placed = keepword("tenants", "place", "a", "--on", "south")
    assert placed.stdout == "a will be made on south\n"
    assert keepword("keys", "create", "--tenant", "a", "--role", "admin").returncode == 0
    listed = keepword("tenants", "list")
    assert listed.returncode == 0, listed.stderr
    assert re.search(r"│ a .*│ south .*│ 1 ", listed.stdout)
    drained = keepword("servers", "drain", "south")
    assert drained.stdout == "a\n"
    assert "1 tenants are still there" in drained.stderr
    assert re.search(r"south .*│ draining", keepword("servers", "status").stdout)
    assert "again" in keepword("servers", "drain", "south", "--undo").stdout


def test_a_server_that_is_away_is_told_and_the_others_are_served(cli, tmp_path, conninfos, make_database):
    away = url_of(conninfos["south"]) + "&port=1"
    some = partial(cli, tmp_path, servers=f"north={url_of(make_database())} south={away}")
    migrated = some("db", "migrate")
    assert migrated.returncode == 1
    assert re.search(r"north  \d+ migrations applied, 0 pending", migrated.stdout)
    assert "server south: can't connect" in migrated.stderr
    shown = some("servers", "status")
    assert shown.returncode == 1
    assert re.search(r"south .*│ away", shown.stdout)
    assert some("tenants", "list").returncode == 1
    refused = some("keys", "create", "--tenant", "a", "--role", "admin")
    assert refused.returncode == 1
    assert "may be on a server that is away (south)" in refused.stderr
    settle(conninfos["north"], "north", ["b"])
    made = partial(cli, tmp_path, servers=f"north={url_of(conninfos['north'])} south={away}")
    assert made("keys", "create", "--tenant", "b", "--role", "reader").returncode == 0
