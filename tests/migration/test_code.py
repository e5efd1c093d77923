"""The code in the database is written once, where it is found by its name, and is what the database runs."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from keepword.postgres import migrate, schema

ROOT = Path(__file__).parents[2]
FUNCTION = re.compile(r"^CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) (\w+)", re.MULTILINE)
POLICY = re.compile(r"^CREATE POLICY (\w+) ON (\w+)", re.MULTILINE)
TRIGGER = re.compile(r"^CREATE (?:OR REPLACE )?TRIGGER (\w+)(?s:.*?) ON (\w+)", re.MULTILINE)
OURS = [file for file in (*schema.tables(), *schema.code()) if file.name != "0010_job_queue"]


@pytest.fixture
def owner(conninfo):
    with migrate.owner(conninfo) as conn:
        yield conn


@pytest.mark.parametrize("kind", [FUNCTION, POLICY, TRIGGER], ids=["functions", "policies", "triggers"])
def test_nothing_is_defined_twice(kind, show):
    counts = Counter(found for file in OURS for found in kind.findall(file.text.decode()))
    show(f"{sum(counts.values())} definitions, {sum(count > 1 for count in counts.values())} of them twice")
    assert len(counts) > 10
    assert {name: count for name, count in counts.items() if count > 1} == {}


def test_the_database_has_the_functions_of_the_files_and_no_other(owner):
    query = "SELECT proname FROM pg_proc WHERE pronamespace = 'keepword'::regnamespace"
    found = [name for (name,) in owner.execute(query) if not name.startswith("procrastinate_")]
    assert sorted(found) == sorted(name for file in OURS for name in FUNCTION.findall(file.text.decode()))


def test_no_file_of_sql_lies_where_nothing_reads_it():
    folder = ROOT / "src" / "keepword" / "postgres" / "sql"
    assert {path.parent.name for path in folder.rglob("*.sql")} == {"sql", "schema", "code", "queries"}


def test_no_function_is_dead():
    """Each is called by a query, by Python, by a trigger, a policy or another function."""
    folder = ROOT / "src" / "keepword"
    callers = [path.read_text() for path in (*folder.rglob("*.py"), *folder.glob("postgres/sql/queries/*.sql"))]
    privileges = "99_privileges"
    callers += [file.text.decode() for file in OURS if file.name != privileges]
    text = re.sub(r"--.*|^CREATE (?:OR REPLACE )?FUNCTION \w+", "", "\n".join(callers), flags=re.MULTILINE)
    called = set(re.findall(r"\b(\w+)\(", text))
    assert {name for file in OURS for name in FUNCTION.findall(file.text.decode())} - called == set()


def test_every_body_is_valid(owner):
    """They are replaced unchecked, because some call others of later files; now all are there."""
    with owner.transaction(force_rollback=True):
        for drop in schema._policies_and_views(owner):
            owner.execute(drop)
        for file in schema.code():
            owner.execute(file.text)


def test_code_replaces_and_drops_nothing():
    text = "\n".join(re.sub(r"--.*", "", file.text.decode()) for file in schema.code())
    # when a trigger fires is a part of it that CREATE TRIGGER has no words for
    text = re.sub(r"^ALTER TABLE \w+ ENABLE REPLICA TRIGGER \w+;", "", text, flags=re.MULTILINE)
    assert (
        re.findall(r"^(?:DROP|ALTER|CREATE (?:FUNCTION|TRIGGER|VIEW|TABLE|INDEX|TYPE))\b.*", text, re.MULTILINE) == []
    )


def test_no_extension_is_looked_up_by_a_bare_name():
    """Types, functions and operators of extensions carry their schema, which is in no search path."""
    bare = re.compile(
        r"(?<![\w.])(?:halfvec\w*|word_similarity|similarity|vector_dims|gin_trgm_ops)\b|\s(?:<#>|<%|<->|<=>)\s"
    )
    text = "\n".join(re.sub(r"--.*", "", file.text.decode()) for file in OURS)
    assert bare.findall(text) == []


def test_nobody_but_the_application_and_the_owner_may_call_anything(owner):
    query = """
    SELECT proname FROM pg_proc
    WHERE pronamespace = 'keepword'::regnamespace AND has_function_privilege('public', oid, 'EXECUTE')
    """
    assert owner.execute(query).fetchall() == []


def test_files_that_repeat_one_text_are_as_the_script_writes_them(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    import generate_sql  # noqa: PLC0415, a script, not a package

    templates = sorted(generate_sql.TEMPLATES.glob("*.sql"))
    assert len(templates) == 3
    for template in templates:
        assert (generate_sql.CODE / template.name).read_text() == generate_sql.generate(template), (
            "run: python scripts/generate_sql.py"
        )


def test_keys_begin_with_the_tenant(owner):
    """Whole tenants can be moved: a row is found by its tenant first."""
    query = """
    SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
    WHERE c.relnamespace = 'keepword'::regnamespace AND i.indisprimary
        AND EXISTS (SELECT FROM pg_attribute t WHERE t.attrelid = c.oid AND t.attname = 'tenant_id')
    """
    rows = owner.execute(query).fetchall()
    assert len(rows) > 20
    # a key's id is what a caller shows before anybody knows its tenant; its place is the directory's, and does not move
    assert {table for table, column in rows if column != "tenant_id"} == {"keys", "key_places"}


def test_every_table_has_a_primary_key(owner):
    """Logical replication names the row that was changed by its key, and sends no generated column."""
    query = """
    SELECT c.relname, array_agg(a.attname) FILTER (WHERE a.attgenerated <> '') FROM pg_class c
    LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
    WHERE c.relnamespace = 'keepword'::regnamespace AND c.relkind IN ('r', 'p')
    GROUP BY c.relname, i.indexrelid
    HAVING i.indexrelid IS NULL OR bool_or(a.attgenerated <> '')
    """
    assert owner.execute(query).fetchall() == []


def test_what_is_retracted_keeps_every_column_of_its_entries(owner):
    """An undone retraction brings an entry back whole; nothing keeps the two tables alike by itself."""
    query = """
    SELECT a.attname FROM pg_attribute a
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    """
    entries, retracted = (
        {name for (name,) in owner.execute(query, (f"keepword.{table}",))} for table in ("entries", "retracted_entries")
    )
    assert entries - retracted == set()
