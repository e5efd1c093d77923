-- Imports: a tenant is closed until its import is complete.

-- What there is in a tenant besides its keys, by name.
CREATE OR REPLACE FUNCTION find_contents(in_tenant uuid) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT array_remove(ARRAY[
        CASE WHEN EXISTS (SELECT FROM users WHERE tenant_id = in_tenant) THEN 'users' END,
        CASE WHEN EXISTS (SELECT FROM agents WHERE tenant_id = in_tenant) THEN 'agents' END,
        CASE WHEN EXISTS (SELECT FROM agent_files WHERE tenant_id = in_tenant) THEN 'files of agents' END,
        CASE WHEN EXISTS (SELECT FROM projects WHERE tenant_id = in_tenant) THEN 'projects' END,
        CASE WHEN EXISTS (SELECT FROM rooms WHERE tenant_id = in_tenant) THEN 'rooms' END,
        CASE WHEN EXISTS (SELECT FROM conversations WHERE tenant_id = in_tenant) THEN 'conversations' END,
        CASE WHEN EXISTS (SELECT FROM fact_versions WHERE tenant_id = in_tenant) THEN 'facts' END,
        CASE WHEN EXISTS (SELECT FROM profiles WHERE tenant_id = in_tenant) THEN 'profiles' END,
        CASE WHEN EXISTS (SELECT FROM items WHERE tenant_id = in_tenant) THEN 'items' END,
        CASE WHEN EXISTS (SELECT FROM file_versions WHERE tenant_id = in_tenant) THEN 'files' END
    ], NULL)
$$;

-- Begins an import, or finds one that was interrupted. An empty tenant of that name gives way to the file's, whose id
-- is kept unless another tenant has it; keys that were made for it before stay.
CREATE OR REPLACE FUNCTION begin_import(
    file_tenant uuid, wanted text, made timestamptz, file_header bytea,
    OUT outcome text, OUT into_tenant uuid, OUT from_block bigint, OUT from_digest bytea, OUT contents text[]
) LANGUAGE plpgsql AS $$
DECLARE
    held uuid;
    started imports%ROWTYPE;
BEGIN
    SELECT t.id INTO held FROM tenants t WHERE t.name = wanted FOR UPDATE;
    SELECT * INTO started FROM imports i WHERE i.tenant_id = held;
    IF FOUND THEN
        outcome := CASE WHEN started.header = file_header THEN 'goes on' ELSE 'other file' END;
        into_tenant := held;
        from_block := started.block;
        from_digest := started.digest;
        RETURN;
    END IF;
    contents := find_contents(held);
    IF cardinality(contents) > 0 THEN
        outcome := 'not empty';
        RETURN;
    END IF;
    into_tenant := file_tenant;
    IF EXISTS (SELECT FROM tenants t WHERE t.id = file_tenant AND t.name <> wanted) THEN
        into_tenant := gen_random_uuid();
    END IF;
    IF held IS DISTINCT FROM into_tenant THEN
        INSERT INTO tenants (id, name) VALUES (into_tenant, 'import ' || into_tenant);
        UPDATE keys SET tenant_id = into_tenant WHERE tenant_id = held;
        UPDATE audit SET tenant_id = into_tenant WHERE tenant_id = held;
        UPDATE erasures SET tenant_id = into_tenant WHERE tenant_id = held;
        DELETE FROM tenants WHERE id = held;
    END IF;
    UPDATE tenants SET name = wanted, created_at = made WHERE id = into_tenant;
    INSERT INTO imports (tenant_id, header, digest) VALUES (into_tenant, file_header, file_header);
    outcome := 'begun';
    from_block := 0;
    from_digest := file_header;
END
$$;

-- Takes back all that an unfinished import has stored. The tenant itself stays where it has keys, or is the default.
CREATE OR REPLACE FUNCTION drop_import(wanted text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    gone uuid := (SELECT t.id FROM tenants t JOIN imports i ON i.tenant_id = t.id WHERE t.name = wanted FOR UPDATE);
    anew uuid := gen_random_uuid();
    stays boolean;
    emptied text;
BEGIN
    IF gone IS NULL THEN
        RETURN false;
    END IF;
    stays := wanted = 'default' OR EXISTS (SELECT FROM keys k WHERE k.tenant_id = gone);
    IF stays THEN
        -- empty again, and under an id of its own: the file may be imported elsewhere
        INSERT INTO tenants (id, name) VALUES (anew, 'dropped ' || anew);
        UPDATE audit SET tenant_id = anew
        WHERE tenant_id = gone AND action IN ('key.made', 'key.revoked')
            AND ids ->> 'key' IN (SELECT k.id FROM keys k WHERE k.tenant_id = gone);
        UPDATE keys SET tenant_id = anew WHERE tenant_id = gone;
    END IF;
    UPDATE memories SET superseded_by = NULL WHERE tenant_id = gone;
    UPDATE summaries SET parent_id = NULL WHERE tenant_id = gone;
    FOREACH emptied IN ARRAY ARRAY[
        'history_imports',
        'item_backlog', 'item_vectors', 'item_parts', 'items',
        'composed_turns', 'extractions', 'compactions', 'outbox', 'job_errors', 'ledger_marks', 'working_memories', 'profiles', 'facts',
        'fact_versions', 'memory_versions', 'memory_sources', 'memories', 'memory_revisions', 'landmarks', 'summaries',
        'tool_sentences', 'retracted_entries', 'retractions', 'entries', 'document_frequencies', 'entry_counts', 'messages', 'conversations', 'participants', 'rooms',
        'projects', 'agent_files', 'file_versions', 'agents', 'users', 'erasures', 'audit'
    ] LOOP
        EXECUTE format('DELETE FROM %I WHERE tenant_id = $1', emptied) USING gone;
    END LOOP;
    DELETE FROM imports WHERE tenant_id = gone;
    DELETE FROM tenants WHERE id = gone;
    UPDATE tenants SET name = wanted WHERE id = anew;
    IF stays THEN
        PERFORM note_audit(granted(), anew, 'tenant.import_dropped', NULL, '{}');
    END IF;
    RETURN true;
END
$$;
