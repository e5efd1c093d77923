"""Names that the owner's functions look up are ours: nobody else can put a function of their own in the way."""

from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from keepword.errors import UnfitDatabase
from keepword.postgres import migrate

# an exact match for `count(*)::real / cardinality(...)`, which PostgreSQL prefers to its own operators
TRAP = """
CREATE TABLE public.taken (content text);
GRANT ALL ON public.taken TO PUBLIC;
CREATE FUNCTION public.divide(real, integer) RETURNS real LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.taken SELECT content FROM keepword.messages;
    RETURN $1::double precision / $2;
END
$$;
CREATE OPERATOR public./ (FUNCTION = public.divide, LEFTARG = real, RIGHTARG = integer);
"""
FILL = """
INSERT INTO conversations (tenant_id, id, external_id, kind, agent)
SELECT id, gen_random_uuid(), 'c', 'session', 'ada' FROM tenants;
INSERT INTO messages (tenant_id, id, conversation_id, seq, run_id, visibility, role, content, attachments, metadata,
    created_at)
SELECT tenant_id, gen_random_uuid(), id, 1, run_id, visibility, 'user', 'the code is 4711', '[]', '{}', now()
FROM conversations;
INSERT INTO entries (tenant_id, kind, source_id, run_id, visibility, created_at, searchable)
SELECT tenant_id, 'message', id, run_id, visibility, created_at, false FROM messages;
"""
# what one search for a literal asks
SEARCH = """
SELECT count(*) FROM find_literals(
    ROW((SELECT id FROM keyless_tenant()), false, ARRAY['session:c'], ARRAY['public'], NULL)::scope,
    NULL::search_filter, ARRAY['%4711%'], false, 10)
"""


@pytest.fixture
def other(cluster, conninfo):  # noqa: ARG001, the roles exist once a database was migrated
    """Return a login that has nothing of Keepword's."""
    name = f"other_{uuid4().hex[:12]}"
    with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
        conn.execute(f"CREATE ROLE {name} LOGIN")
    return name


def test_a_search_never_runs_an_operator_that_somebody_else_made(make_migrated_database, other):
    shared = make_migrated_database()
    with psycopg.connect(shared, autocommit=True) as conn:
        conn.execute(f"GRANT CREATE ON SCHEMA public TO {other}")
        with psycopg.connect(make_conninfo(shared, user=other), autocommit=True) as stranger:
            stranger.execute(TRAP)
        conn.execute(f"REVOKE CREATE ON SCHEMA public FROM {other}")
        with migrate.owner(shared) as owner:
            owner.execute(FILL)
        conn.execute("SET ROLE keepword_app")
        conn.execute("SET search_path = keepword, pg_temp")
        assert conn.execute(SEARCH).fetchone() == (1,)
        conn.execute("RESET ROLE")
        assert conn.execute("SELECT count(*) FROM public.taken").fetchone() == (0,)


def test_a_database_where_others_may_make_names_is_refused_with_what_to_revoke(make_migrated_database, other):
    shared = make_migrated_database()
    for schema, role in (("public", "PUBLIC"), ("public", other), ("keepword", other)):
        with psycopg.connect(shared, autocommit=True) as conn:
            conn.execute(f"GRANT CREATE ON SCHEMA {schema} TO {role}")
            with pytest.raises(UnfitDatabase) as refused:
                migrate.migrate(shared)
            advice = str(refused.value).partition("run: ")[2]
            assert advice == f"REVOKE CREATE ON SCHEMA {schema} FROM {role}"
            conn.execute(advice)
        assert migrate.migrate(shared).pending == ()


def test_an_extension_that_is_elsewhere_is_refused_with_what_to_run(make_database):
    fresh = make_database()
    with psycopg.connect(fresh, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA extensions; CREATE EXTENSION pg_trgm SCHEMA extensions")
        with pytest.raises(UnfitDatabase, match="ALTER EXTENSION pg_trgm SET SCHEMA public"):
            migrate.migrate(fresh)
        conn.execute("ALTER EXTENSION pg_trgm SET SCHEMA public")
    assert migrate.migrate(fresh).pending == ()
