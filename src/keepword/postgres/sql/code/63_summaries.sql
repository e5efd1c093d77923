-- Summaries: stored with their entries and children, all or nothing.

CREATE OR REPLACE FUNCTION serving_version(tenant uuid, conversation uuid) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT pipeline_version FROM keepword.summaries
    WHERE tenant_id = tenant AND conversation_id = conversation AND tier = 'thread' AND serving
    ORDER BY first_seq LIMIT 1
$$;

-- What changes the summaries of one conversation goes one after the other.
CREATE OR REPLACE FUNCTION lock_summaries(tenant uuid, conversation uuid) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(uuid_hash_extended(conversation, uuid_hash_extended(tenant, 4)))
$$;

CREATE OR REPLACE FUNCTION insert_summary(tenant uuid, conversation uuid, s jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO summaries (
        tenant_id, id, conversation_id, run_id, visibility, private_to, tier, pipeline_version, first_seq, last_seq,
        earliest_at, latest_at, message_count, message_tokens, content, model, share, reason,
        key_decisions, entities_mentioned, tools_called, agent, user_id, serving, hidden)
    SELECT tenant, (s ->> 'id')::uuid, c.id, c.run_id, c.visibility, c.private_to, s ->> 'tier',
        (s ->> 'pipeline_version')::integer, (s ->> 'first_seq')::bigint, (s ->> 'last_seq')::bigint,
        (s ->> 'earliest_at')::timestamptz, (s ->> 'latest_at')::timestamptz, (s ->> 'message_count')::bigint,
        (s ->> 'message_tokens')::bigint, s ->> 'content', s ->> 'model', (s ->> 'share')::real, s ->> 'reason',
        s -> 'key_decisions', s -> 'entities_mentioned', s -> 'tools_called',
        COALESCE(s ->> 'agent', c.agent), COALESCE(s ->> 'user', c.user_id), COALESCE((s ->> 'serving')::boolean, true),
        s ->> 'hidden'
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;

-- Whether a leaf was made of what its messages are now: one may have been taken back, or given back, meanwhile.
CREATE OR REPLACE FUNCTION is_of_current(tenant uuid, conversation uuid, s jsonb) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT s ->> 'tier' <> 'thread' OR NOT EXISTS (
        SELECT FROM keepword.retractions r WHERE r.tenant_id = tenant AND r.conversation_id = conversation
            AND r.seq BETWEEN (s ->> 'first_seq')::bigint AND (s ->> 'last_seq')::bigint)
        AND (s ->> 'last_seq')::bigint - (s ->> 'first_seq')::bigint + 1 = (s ->> 'message_count')::bigint
        OR (s ->> 'message_count')::bigint = (
            SELECT count(*) FROM keepword.messages m
            WHERE m.tenant_id = tenant AND m.conversation_id = conversation
                AND m.seq BETWEEN (s ->> 'first_seq')::bigint AND (s ->> 'last_seq')::bigint
                AND NOT is_retracted(tenant, conversation, m.seq))
$$;

-- Gives a summary its words again; without content it stays empty. False means that its messages changed meanwhile.
CREATE OR REPLACE FUNCTION remake_summary(grant_ text, tenant uuid, conversation uuid, s jsonb, entries_ packed_entries)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    made uuid := (s ->> 'id')::uuid;
    served boolean;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_summaries(tenant, conversation);
    IF NOT is_of_current(tenant, conversation, s)
        OR EXISTS (SELECT FROM summaries WHERE tenant_id = tenant AND parent_id = made AND hidden = 'redo') THEN
        RETURN false;
    END IF;
    UPDATE summaries SET hidden = s ->> 'hidden', content = s ->> 'content', model = s ->> 'model',
        share = (s ->> 'share')::real, reason = s ->> 'reason', key_decisions = s -> 'key_decisions',
        entities_mentioned = s -> 'entities_mentioned', tools_called = s -> 'tools_called',
        message_count = (s ->> 'message_count')::bigint, message_tokens = (s ->> 'message_tokens')::bigint
    WHERE tenant_id = tenant AND id = made AND conversation_id = conversation AND hidden = 'redo'
    RETURNING serving INTO served;
    IF served AND s ->> 'hidden' IS NULL THEN
        PERFORM index_summary(tenant, entries_);
    END IF;
    RETURN served IS NOT NULL;
END
$$;

-- Stores a summary and hands it its children, all or nothing. False means that it, or one like it, was there before, or
-- that its version was replaced. One that does not serve yet has no entries: they come with `replace_summaries`.
CREATE OR REPLACE FUNCTION store_summary(
    grant_ text, tenant uuid, conversation uuid, s jsonb, children uuid[], entries_ packed_entries
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    version constant integer := (s ->> 'pipeline_version')::integer;
    served integer;
    taken bigint;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    PERFORM lock_summaries(tenant, conversation);
    served := COALESCE(serving_version(tenant, conversation), version);
    IF version < served OR NOT is_of_current(tenant, conversation, s) OR NOT insert_summary(tenant, conversation, s || jsonb_build_object('serving', version = served))
    THEN
        RETURN false;
    END IF;
    UPDATE summaries SET parent_id = (s ->> 'id')::uuid
    WHERE tenant_id = tenant AND id = ANY (children) AND conversation_id = conversation AND parent_id IS NULL
        AND pipeline_version = version AND hidden IS NULL;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken <> cardinality(children) THEN
        RAISE EXCEPTION 'another summary took some of these children' USING ERRCODE = 'serialization_failure';
    END IF;
    IF version = served THEN
        UPDATE compactions SET covered_seq = GREATEST(covered_seq, (s ->> 'last_seq')::bigint)
        WHERE tenant_id = tenant AND conversation_id = conversation AND s ->> 'tier' = 'thread';
        PERFORM index_summary(tenant, entries_) WHERE s ->> 'hidden' IS NULL;
    END IF;
    RETURN true;
END
$$;

-- A summary that an agent wrote, in the place that its grant lets it write.
CREATE OR REPLACE FUNCTION store_agent_summary(grant_ text, tenant uuid, conversation uuid, s jsonb, entries_ packed_entries)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, c.run_id, c.visibility, c.private_to)
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation;
    IF NOT FOUND OR NOT insert_summary(tenant, conversation, s || '{"tier": "stored"}') THEN
        RETURN false;
    END IF;
    PERFORM index_summary(tenant, entries_);
    RETURN true;
END
$$;

-- Lets the summaries of a version serve instead of older ones, and be found instead of them. False means that the older
-- ones reach further: more was said meanwhile. Those that are replaced can still be read.
CREATE OR REPLACE FUNCTION replace_summaries(grant_ text, tenant uuid, conversation uuid, version integer, entries_ packed_entries)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    reach bigint;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    PERFORM lock_summaries(tenant, conversation);
    IF serving_version(tenant, conversation) < version THEN
        SELECT max(leaf_last) INTO reach FROM summaries
        WHERE tenant_id = tenant AND conversation_id = conversation AND pipeline_version = version;
        IF reach IS NULL OR EXISTS (
            SELECT FROM summaries
            WHERE tenant_id = tenant AND conversation_id = conversation AND serving AND leaf_last > reach)
        THEN
            RETURN false;
        END IF;
        DELETE FROM entries e USING summaries o
        WHERE o.tenant_id = tenant AND o.conversation_id = conversation AND o.serving AND o.tier <> 'stored'
            AND e.tenant_id = tenant AND e.source_id = o.id;
        UPDATE summaries SET serving = (pipeline_version = version)
        WHERE tenant_id = tenant AND conversation_id = conversation AND tier <> 'stored'
            AND serving <> (pipeline_version = version);
        PERFORM index_summary(tenant, entries_);
        -- which of its days and weeks end when is to be looked at again
        INSERT INTO compactions (tenant_id, conversation_id, covered_seq, next_at) VALUES (tenant, conversation, reach, now())
        ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET covered_seq = reach, due_seq = 0, next_at = now();
    END IF;
    DELETE FROM outbox WHERE tenant_id = tenant AND conversation_id = conversation AND task = 'recompact';
    RETURN true;
END
$$;

-- Replaces what a leaf says, and its entries with it; its place, sources and parent stay. False means that somebody
-- else was first: only what was quoted gives way.
CREATE OR REPLACE FUNCTION improve_summary(grant_ text, tenant uuid, s jsonb, entries_ packed_entries) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_summaries(tenant, x.conversation_id)
    FROM summaries x WHERE x.tenant_id = tenant AND x.id = (s ->> 'id')::uuid;
    IF NOT FOUND OR NOT (SELECT is_of_current(tenant, x.conversation_id, s) FROM summaries x
                         WHERE x.tenant_id = tenant AND x.id = (s ->> 'id')::uuid) THEN
        RETURN false;
    END IF;
    UPDATE summaries SET content = s ->> 'content', model = s ->> 'model', share = (s ->> 'share')::real,
        reason = s ->> 'reason', key_decisions = s -> 'key_decisions', entities_mentioned = s -> 'entities_mentioned',
        tools_called = s -> 'tools_called'
    WHERE tenant_id = tenant AND id = (s ->> 'id')::uuid AND tier = 'thread' AND model = 'extractive' AND hidden IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = (s ->> 'id')::uuid;
    PERFORM index_summary(tenant, entries_);
    RETURN true;
END
$$;

-- Says when to look at a conversation again. With everything done its row goes, unless something was said meanwhile:
-- appends lock the conversation first, so none can slip in between the question and the deletion. What somebody saw of
-- a version that was replaced since says nothing.
CREATE OR REPLACE FUNCTION schedule_compaction(
    grant_ text, tenant uuid, conversation uuid, version integer, seen_seq bigint, again_seq bigint,
    again_at timestamptz, done boolean
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    PERFORM lock_summaries(tenant, conversation);
    IF version <> serving_version(tenant, conversation) THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM summaries s WHERE s.tenant_id = tenant AND s.conversation_id = conversation AND s.hidden = 'redo')
    THEN
        UPDATE compactions SET next_at = now() WHERE tenant_id = tenant AND conversation_id = conversation;
        RETURN;
    END IF;
    -- in the order of appends, so that nobody waits in a circle
    IF done THEN
        PERFORM FROM conversations WHERE tenant_id = tenant AND id = conversation AND last_seq = seen_seq
        FOR NO KEY UPDATE;
        IF FOUND THEN
            DELETE FROM compactions WHERE tenant_id = tenant AND conversation_id = conversation;
            RETURN;
        END IF;
    END IF;
    UPDATE compactions SET due_seq = again_seq, next_at = again_at
    WHERE tenant_id = tenant AND conversation_id = conversation;
END
$$;

-- Lets the worker look at a conversation at once.
CREATE OR REPLACE FUNCTION wake_compaction(grant_ text, tenant uuid, conversation uuid) RETURNS void
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

-- The conversation that a summary, landmark, memory or message belongs to: an id, from which the grant is decided.
CREATE OR REPLACE FUNCTION find_derived(in_tenant uuid, wanted uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT c.external_id FROM (
        SELECT conversation_id FROM summaries WHERE tenant_id = in_tenant AND id = wanted
        UNION ALL
        SELECT conversation_id FROM landmarks WHERE tenant_id = in_tenant AND id = wanted
        UNION ALL
        SELECT conversation_id FROM memories WHERE tenant_id = in_tenant AND id = wanted
        UNION ALL
        SELECT conversation_id FROM composed_turns WHERE tenant_id = in_tenant AND id = wanted
        UNION ALL
        SELECT conversation_id FROM messages WHERE tenant_id = in_tenant AND id = wanted
    ) AS found
    JOIN conversations c ON c.tenant_id = in_tenant AND c.id = found.conversation_id AND NOT is_erasing(in_tenant, c.id)
    LIMIT 1
$$;
