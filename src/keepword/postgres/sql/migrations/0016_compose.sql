-- depends: 0014_agent_files 0014_compaction_counts 0014_memories
-- A summary that was quoted inside a turn, because the model was slow or away, gives way to the model's own later.

-- Lets the worker look at a conversation at once.
CREATE FUNCTION wake_compaction(grant_ text, tenant uuid, conversation uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    -- in the order of appends, so that nobody waits in a circle
    PERFORM FROM conversations WHERE tenant_id = tenant AND id = conversation FOR NO KEY UPDATE;
    INSERT INTO compactions (tenant_id, conversation_id, covered_seq, next_at)
    SELECT tenant, conversation, COALESCE(max(leaf_last), 0), now() FROM summaries
    WHERE tenant_id = tenant AND conversation_id = conversation
    ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET next_at = now();
END
$$;

-- Replaces what a leaf says, and its entries with it; its place, sources and parent stay. False means that somebody
-- else was first: only what was quoted gives way.
CREATE FUNCTION improve_summary(grant_ text, tenant uuid, s jsonb, entries_ packed_entries) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    UPDATE summaries SET content = s ->> 'content', model = s ->> 'model', share = (s ->> 'share')::real,
        reason = s ->> 'reason', key_decisions = s -> 'key_decisions', entities_mentioned = s -> 'entities_mentioned',
        tools_called = s -> 'tools_called'
    WHERE tenant_id = tenant AND id = (s ->> 'id')::uuid AND tier = 'thread' AND model = 'extractive';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = (s ->> 'id')::uuid;
    PERFORM index_summary(tenant, entries_);
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION
    wake_compaction(text, uuid, uuid), improve_summary(text, uuid, jsonb, packed_entries) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    wake_compaction(text, uuid, uuid), improve_summary(text, uuid, jsonb, packed_entries) TO keepword_app;
