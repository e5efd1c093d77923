"""What may be written where: only into the place that one is in, whatever the statement says."""

from itertools import product

import psycopg
import pytest

from keepword.access import Grant, Viewer
from leaks import oracle
from leaks.kinds import KINDS, Stores, label, noted_facts, scopes
from leaks.oracle import Where
from leaks.viewers import look, look_everywhere
from leaks.world import World

pytestmark = pytest.mark.anyio

# each attempt is undone by the error that ends its block, so that one query can make them all
_ATTEMPTS = """
CREATE FUNCTION may_insert_probe(tenant uuid, run_id text, visibility text, private_to text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO probes VALUES (tenant, run_id, visibility, private_to, 'attempt');
    RAISE EXCEPTION 'undo';
EXCEPTION
    WHEN insufficient_privilege THEN RETURN false;
    WHEN raise_exception THEN RETURN true;
END $$;

CREATE FUNCTION may_insert_message(tenant uuid, conversation uuid, run_id text, visibility text, private_to text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO messages (tenant_id, id, conversation_id, seq, run_id, visibility, private_to, role, content,
                          attachments, metadata, created_at)
    VALUES (tenant, gen_random_uuid(), conversation, 1000, run_id, visibility, private_to, 'system', 'attempt',
            '[]', '{}', now());
    RAISE EXCEPTION 'undo';
EXCEPTION
    WHEN insufficient_privilege OR foreign_key_violation OR check_violation THEN RETURN false;
    WHEN raise_exception THEN RETURN true;
END $$;

CREATE FUNCTION may_write_fact(tenant uuid, kind text, scope text, run text, wanted text, how text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    CASE how
        WHEN 'insert' THEN
            INSERT INTO facts (tenant_id, scope_kind, scope_id, run_id, key, value, version)
            VALUES (tenant, kind, scope, run, 'new', '1', 1);
        WHEN 'update' THEN
            UPDATE facts SET value = '1', version = version + 1
            WHERE tenant_id = tenant AND run_id = run AND key = wanted;
        WHEN 'delete' THEN
            DELETE FROM facts WHERE tenant_id = tenant AND run_id = run AND key = wanted;
    END CASE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    RAISE EXCEPTION 'undo';
EXCEPTION
    WHEN insufficient_privilege THEN RETURN false;
    WHEN raise_exception THEN RETURN true;
END $$;

CREATE FUNCTION may_name(tenant uuid, conversation uuid, how text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    g text := granted()::text;
    done boolean;
BEGIN
    CASE how
        WHEN 'assign' THEN done := assign_session(g, tenant, conversation, NULL, 'ann', true, NULL);
        WHEN 'alias' THEN done := make_alias(g, tenant, conversation, 'a further name');
        WHEN 'user' THEN PERFORM make_user(g, tenant, 'a new user'); done := true;
    END CASE;
    IF NOT done THEN
        RETURN false;
    END IF;
    RAISE EXCEPTION 'undo';
EXCEPTION
    WHEN insufficient_privilege THEN RETURN false;
    WHEN raise_exception THEN RETURN true;
END $$;

CREATE FUNCTION may_insert_session(tenant uuid, name text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO conversations (tenant_id, id, external_id, kind, agent)
    VALUES (tenant, gen_random_uuid(), name, 'session', 'ada') ON CONFLICT DO NOTHING;
    RAISE EXCEPTION 'undo';
EXCEPTION
    WHEN insufficient_privilege THEN RETURN false;
    WHEN raise_exception THEN RETURN true;
END $$;
"""
_NAMINGS = """
SELECT tenant_id::text, conversation, how
FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::text[]) AS a (tenant_id, id, conversation, how)
WHERE may_name(tenant_id, id, how)
"""
_PROBES = """
SELECT tenant_id::text, run_id, visibility, private_to
FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[]) AS a (tenant_id, run_id, visibility, private_to)
WHERE may_insert_probe(tenant_id, run_id, visibility, private_to)
"""
_MESSAGES = """
SELECT tenant_id::text, conversation, run_id
FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[])
    AS a (tenant_id, id, conversation, run_id, visibility, private_to)
WHERE may_insert_message(tenant_id, id, run_id, visibility, private_to)
"""
_FACTS = """
SELECT tenant_id::text, run_id, key, how
FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[])
    AS a (tenant_id, kind, scope, run_id, key, how)
WHERE may_write_fact(tenant_id, kind, scope, run_id, key, how)
"""
_SESSIONS = """
SELECT tenant_id::text, name FROM unnest(%s::uuid[], %s::text[]) AS a (tenant_id, name)
WHERE may_insert_session(tenant_id, name)
"""


@pytest.fixture(scope="module", autouse=True)
def attempts(owner) -> None:
    owner.execute(_ATTEMPTS)


async def play(worlds, pool, tally, attempt, cells: int, expected) -> None:
    """Make the same attempts under the grant of every viewer in every place."""
    stores, known = Stores(pool), {}
    for world in worlds:
        async for viewer, where, opened in look_everywhere(stores, world):
            if opened not in known:
                known[opened] = await attempt(opened)
            reach = oracle.reach(world, viewer, where)
            tally.compare(f"{viewer} in {where}", cells, known[opened], expected(world, reach))


def _attempter(pool, query: str, rows: list[tuple]):
    columns = [list(column) for column in zip(*rows, strict=True)]

    async def attempt(opened: Grant) -> set[tuple]:
        async with pool.granted(opened) as conn:
            cursor = await conn.execute(query, columns)
        return set(await cursor.fetchall())

    return attempt


async def test_a_row_can_be_written_into_the_own_place_alone(worlds, leaks_pool, tally):
    (probes,) = (kind for kind in KINDS if kind.table == "probes")
    things = [(world, thing) for world in worlds for thing in probes.things(world)]
    rows = [(world.id, thing.run_id, thing.visibility, thing.private_to) for world, thing in things]

    def expected(here: World, reach: oracle.Reach) -> set[tuple]:
        return {
            (str(world.id), thing.run_id, thing.visibility, thing.private_to)
            for world, thing in things
            if reach.writes == thing.run_id and oracle.sees(here, reach, thing)
        }

    await play(worlds, leaks_pool, tally, _attempter(leaks_pool, _PROBES, rows), len(rows), expected)


async def test_a_message_can_be_written_into_the_own_place_alone_and_can_claim_no_other(worlds, leaks_pool, tally):
    """Into every conversation, with its own run_id and with that of one conversation of each kind."""
    rows = []
    for world in worlds:
        for name, other in product(world.talks, (None, "in-hall", "ann-and-ada", "ann-with-ada-in-sealed")):
            claimed = other or name
            place = await Stores(leaks_pool).lookup.place(world.id, name)
            direct = world.talks[claimed].kind == "direct"
            scope = ("private", world.talks[claimed].user) if direct else ("public", None)
            rows.append((world.id, place.conversation_id, name, world.run_id(claimed), *scope))

    def expected(here: World, reach: oracle.Reach) -> set[tuple]:
        inside = {name for name in here.talks if here.run_id(name) == reach.writes}
        return {(str(here.id), name, here.run_id(name)) for name in inside}

    await play(worlds, leaks_pool, tally, _attempter(leaks_pool, _MESSAGES, rows), len(rows), expected)


async def test_facts_can_be_written_where_the_place_shares_them_and_by_the_owner(worlds, leaks_pool, tally):
    """What the owner wrote is the owner's, wherever they stand; what was noted in a place is the place's."""
    rows = [
        (world.id, scope.kind, scope.id, label(scope), key, how)
        for world, how in product(worlds, ("insert", "update", "delete"))
        for scope, key in (
            *((scope, "note") for scope in scopes(world)),
            *((scope, "noted") for _, scope in noted_facts(world) if how != "insert"),
        )
    ]

    def may(reach: oracle.Reach, run_id: str, key: str, how: str) -> bool:
        if how != "insert" and key == "note" and not reach.owns:
            return False
        return reach.owner or run_id in reach.shares | {reach.writes}

    def expected(here: World, reach: oracle.Reach) -> set[tuple]:
        return {
            (str(tenant), run_id, key, how)
            for tenant, _, _, run_id, key, how in rows
            if tenant == here.id and may(reach, run_id, key, how)
        }

    await play(worlds, leaks_pool, tally, _attempter(leaks_pool, _FACTS, rows), len(rows), expected)


async def test_a_session_can_be_made_under_its_own_name_alone(worlds, leaks_pool, tally):
    rows = [(world.id, name) for world in worlds for name in (*world.talks, "new")]

    def expected(here: World, reach: oracle.Reach) -> set[tuple]:
        return {(str(here.id), name) for name in here.talks if reach.writes == f"session:{name}"}

    await play(worlds, leaks_pool, tally, _attempter(leaks_pool, _SESSIONS, rows), len(rows), expected)


async def test_names_are_given_in_the_own_place_alone(worlds, leaks_pool, tally):
    """Who writes in a place names its user, gives it a further name, and makes users; nobody else does."""
    lookup = Stores(leaks_pool).lookup
    rows = [
        (world.id, (await lookup.place(world.id, name)).conversation_id, name, how)
        for world in worlds
        for name, how in product(world.talks, ("assign", "alias", "user"))
    ]

    def may(here: World, reach: oracle.Reach, name: str, how: str) -> bool:
        if how == "user":
            return reach.writes is not None
        talk = here.talks[name]
        lacks = {"assign": talk.kind == "session" and talk.user is None, "alias": talk.kind == "direct"}
        return lacks[how] and here.run_id(name) == reach.writes

    def expected(here: World, reach: oracle.Reach) -> set[tuple]:
        mine = [(name, how) for tenant, _, name, how in rows if tenant == here.id]
        return {(str(here.id), name, how) for name, how in mine if may(here, reach, name, how)}

    await play(worlds, leaks_pool, tally, _attempter(leaks_pool, _NAMINGS, rows), len(rows), expected)


_CHANGES = {
    "a place": "UPDATE conversations SET kind = 'direct'",
    "a user": "UPDATE conversations SET user_id = 'bob'",
    "an agent": "UPDATE conversations SET agent = 'bix'",
    "a name": "UPDATE conversations SET external_id = 'other'",
    "a room": "UPDATE conversations SET room_id = 'attic'",
    "a tenant": "UPDATE conversations SET tenant_id = gen_random_uuid()",
    "a project": "UPDATE conversations SET project_id = 'open'",
    "no project": "UPDATE conversations SET project_id = NULL",
}


@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
async def test_who_writes_in_a_place_can_not_give_it(worlds, leaks_pool, change):
    opened = await look(Stores(leaks_pool), Viewer(worlds[0].id, "admin"), Where("in", "ann-with-ada-in-sealed"))
    assert opened.writes is not None
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with leaks_pool.granted(opened) as conn:
            await conn.execute(change)


async def test_who_writes_in_a_place_changes_no_other(worlds, leaks_pool):
    """Even within a project, whose other sessions are read, only the own row can be changed."""
    for name in worlds[0].talks:
        where = Where("in", name)
        for role in ("agent", "reader"):
            viewer = Viewer(worlds[0].id, role)
            async with leaks_pool.granted(await look(Stores(leaks_pool), viewer, where)) as conn:
                cursor = await conn.execute("UPDATE conversations SET active = true RETURNING external_id")
            writes = oracle.reach(worlds[0], viewer, where).writes
            changed = {external_id for (external_id,) in await cursor.fetchall()}
            assert changed == {name for name in worlds[0].talks if worlds[0].run_id(name) == writes}


@pytest.mark.parametrize("table", ["users", "agents", "projects", "rooms", "participants"])
async def test_only_the_owner_changes_who_and_what_there_is(worlds, leaks_pool, owner, table):
    """Under every grant but the owner's, no row can be added, changed or taken away."""
    columns = {"users": "id", "agents": "slug", "projects": "id", "rooms": "id", "participants": "room_id, user_id"}
    new = {"participants": "'empty', 'ann'"}.get(table, "'new'")
    insert = f"INSERT INTO {table} (tenant_id, {columns[table]}) VALUES (%s, {new})"
    change = "DELETE FROM participants" if table == "participants" else f"UPDATE {table} SET name = name"
    before = owner.execute(f"SELECT count(*) FROM {table}").fetchone()
    for name in worlds[0].talks:
        opened = await look(Stores(leaks_pool), Viewer(worlds[0].id, "admin"), Where("in", name))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with leaks_pool.granted(opened) as conn:
                await conn.execute(insert, (worlds[0].id,))
        async with leaks_pool.granted(opened) as conn:
            cursor = await conn.execute(f"{change} RETURNING 1")
        assert await cursor.fetchall() == []
    assert owner.execute(f"SELECT count(*) FROM {table}").fetchone() == before


_PROFILE_CHANGES = {
    "a new one": "INSERT INTO profiles (tenant_id, user_id) VALUES (gen_random_uuid(), 'ann')",
    "whose it is": "UPDATE profiles SET user_id = 'bob'",
    "none": "DELETE FROM profiles",
    "what it says": "UPDATE profile_texts SET content = 'mine'",
    "nothing": "DELETE FROM profile_texts",
}


@pytest.mark.parametrize("change", _PROFILE_CHANGES.values(), ids=_PROFILE_CHANGES)
async def test_profiles_are_changed_by_no_statement_of_the_application_whatever_its_grant(worlds, leaks_pool, change):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with leaks_pool.granted(Grant(worlds[0].id, everything=True)) as conn:
            await conn.execute(change)
