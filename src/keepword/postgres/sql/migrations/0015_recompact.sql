-- depends: 0012_queue 0013_derived_entries 0014_compaction_counts 0014_memories
-- Old summaries are made anew beside those that serve, and take their place when they are whole; and what was derived
-- before it could be found is found.

-- Of each conversation one version serves; one that is being made does not yet, one that was replaced no longer.
ALTER TABLE summaries ADD COLUMN serving boolean NOT NULL DEFAULT true;
UPDATE summaries s SET serving = false
WHERE s.tier <> 'stored' AND s.pipeline_version < (
    SELECT max(n.pipeline_version) FROM summaries n
    WHERE n.tenant_id = s.tenant_id AND n.conversation_id = s.conversation_id AND n.tier = 'thread');

-- `index` and `recompact` are tasks of a whole conversation, with a seq of 0
ALTER TABLE outbox DROP CONSTRAINT outbox_task_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_task_check CHECK (task IN ('describe', 'landmark', 'index', 'recompact'));

CREATE FUNCTION serving_version(tenant uuid, conversation uuid) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT pipeline_version FROM keepword.summaries
    WHERE tenant_id = tenant AND conversation_id = conversation AND tier = 'thread' AND serving
    ORDER BY first_seq LIMIT 1
$$;

-- What changes the summaries of one conversation goes one after the other.
CREATE FUNCTION lock_summaries(conversation uuid) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('keepword.summaries:' || conversation, 0))
$$;

CREATE OR REPLACE FUNCTION insert_summary(tenant uuid, conversation uuid, s jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO summaries (
        tenant_id, id, conversation_id, run_id, visibility, private_to, tier, pipeline_version, first_seq, last_seq,
        earliest_at, latest_at, message_count, message_tokens, content, model, share, reason,
        key_decisions, entities_mentioned, tools_called, agent, user_id, serving)
    SELECT tenant, (s ->> 'id')::uuid, c.id, c.run_id, c.visibility, c.private_to, s ->> 'tier',
        (s ->> 'pipeline_version')::integer, (s ->> 'first_seq')::bigint, (s ->> 'last_seq')::bigint,
        (s ->> 'earliest_at')::timestamptz, (s ->> 'latest_at')::timestamptz, (s ->> 'message_count')::bigint,
        (s ->> 'message_tokens')::bigint, s ->> 'content', s ->> 'model', (s ->> 'share')::real, s ->> 'reason',
        s -> 'key_decisions', s -> 'entities_mentioned', s -> 'tools_called',
        COALESCE(s ->> 'agent', c.agent), COALESCE(s ->> 'user', c.user_id), COALESCE((s ->> 'serving')::boolean, true)
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;

-- Stores a summary and hands it its children, all or nothing. False means that it, or one like it, was there before, or
-- that its version was replaced. One that does not serve yet has no entries: they come with `replace_summaries`.
CREATE OR REPLACE FUNCTION store_summary(
    grant_ text, tenant uuid, conversation uuid, s jsonb, children uuid[], entries_ packed_entries
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
DECLARE
    version constant integer := (s ->> 'pipeline_version')::integer;
    served integer;
    taken bigint;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    PERFORM lock_summaries(conversation);
    served := COALESCE(serving_version(tenant, conversation), version);
    IF version < served OR NOT insert_summary(tenant, conversation, s || jsonb_build_object('serving', version = served))
    THEN
        RETURN false;
    END IF;
    UPDATE summaries SET parent_id = (s ->> 'id')::uuid
    WHERE tenant_id = tenant AND id = ANY (children) AND conversation_id = conversation AND parent_id IS NULL
        AND pipeline_version = version;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken <> cardinality(children) THEN
        RAISE EXCEPTION 'another summary took some of these children' USING ERRCODE = 'serialization_failure';
    END IF;
    IF version = served THEN
        UPDATE compactions SET covered_seq = GREATEST(covered_seq, (s ->> 'last_seq')::bigint)
        WHERE tenant_id = tenant AND conversation_id = conversation AND s ->> 'tier' = 'thread';
        PERFORM index_summary(tenant, entries_);
    END IF;
    RETURN true;
END
$$;

-- Lets the summaries of a version serve instead of older ones, and be found instead of them. False means that the older
-- ones reach further: more was said meanwhile. Those that are replaced can still be read.
CREATE FUNCTION replace_summaries(grant_ text, tenant uuid, conversation uuid, version integer, entries_ packed_entries)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
DECLARE
    reach bigint;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    PERFORM lock_summaries(conversation);
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

DROP FUNCTION settle_compaction(text, uuid, uuid, bigint, bigint, timestamptz, boolean);
-- Says when to look at a conversation again. With everything done its row goes, unless something was said meanwhile:
-- appends lock the conversation first, so none can slip in between the question and the deletion. What somebody saw of
-- a version that was replaced since says nothing.
CREATE FUNCTION settle_compaction(
    grant_ text, tenant uuid, conversation uuid, version integer, seen_seq bigint, again_seq bigint,
    again_at timestamptz, done boolean
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    PERFORM lock_summaries(conversation);
    IF version <> serving_version(tenant, conversation) THEN
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

-- Gives entries to what was derived before it had any; nothing gets a second one.
CREATE FUNCTION index_derived(
    grant_ text, tenant uuid, conversation uuid, of_kind text, of_seq bigint, entries_ packed_entries
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    CASE of_kind
        WHEN 'summary' THEN PERFORM index_summary(tenant, entries_);
        WHEN 'landmark' THEN PERFORM index_landmarks(tenant, entries_);
        WHEN 'sentence' THEN PERFORM index_sentence(tenant, conversation, of_seq, entries_);
    END CASE;
END
$$;

CREATE FUNCTION end_task(grant_ text, tenant uuid, conversation uuid, done text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    DELETE FROM outbox WHERE tenant_id = tenant AND conversation_id = conversation AND task = done AND seq = 0;
END
$$;

-- What was derived and has no entry, as far as the caller may read. A tool call's sentence is a further part of the
-- entry of its message.
CREATE FUNCTION unindexed()
RETURNS TABLE (kind text, tenant_id uuid, conversation_id uuid, run_id text, id uuid, seq bigint, content text)
LANGUAGE sql STABLE AS $$
    SELECT 'summary', s.tenant_id, s.conversation_id, s.run_id, s.id, 0::bigint, s.content FROM keepword.summaries s
    WHERE s.serving AND NOT EXISTS (
        SELECT FROM keepword.entries e WHERE e.tenant_id = s.tenant_id AND e.source_id = s.id)
    UNION ALL
    SELECT 'landmark', l.tenant_id, l.conversation_id, l.run_id, l.id, l.seq, l.content FROM keepword.landmarks l
    WHERE l.unpinned_at IS NULL AND NOT EXISTS (
        SELECT FROM keepword.entries e WHERE e.tenant_id = l.tenant_id AND e.source_id = l.id)
    UNION ALL
    SELECT 'sentence', t.tenant_id, t.conversation_id, t.run_id, m.id, t.seq, t.content
    FROM keepword.tool_sentences t
    JOIN keepword.messages m ON m.tenant_id = t.tenant_id AND m.conversation_id = t.conversation_id AND m.seq = t.seq
    WHERE NOT EXISTS (
        SELECT FROM keepword.entries e
        WHERE e.tenant_id = t.tenant_id AND e.source_id = m.id AND e.text = t.content)
$$;

INSERT INTO outbox (tenant_id, conversation_id, task, seq)
SELECT DISTINCT tenant_id, conversation_id, 'index', 0 FROM unindexed();

-- As before, with the further tasks.
CREATE OR REPLACE FUNCTION find_jobs(in_tenant uuid, dead_after double precision)
RETURNS TABLE (task text, pending bigint, waiting bigint, running bigint, failed bigint, dead bigint, last_error text,
               oldest_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT t.task, t.pending, COALESCE(j.waiting, 0), COALESCE(j.running, 0), COALESCE(j.failed, 0),
        COALESCE(j.dead, 0), e.error,
        EXTRACT(epoch FROM clock_timestamp() - LEAST(t.oldest, j.oldest))::double precision
    FROM (
        SELECT 'compact' AS task, count(*) AS pending, NULL::timestamptz AS oldest
        FROM compactions WHERE tenant_id = in_tenant
        UNION ALL
        SELECT 'extract', count(*), min(noted_at) FROM extractions WHERE tenant_id = in_tenant AND extractions.waiting
        UNION ALL
        SELECT k.task, count(o.seq), min(o.created_at)
        FROM (VALUES ('describe'), ('landmark'), ('index'), ('recompact')) AS k (task)
        LEFT JOIN outbox o ON o.tenant_id = in_tenant AND o.task = k.task GROUP BY k.task
    ) AS t
    LEFT JOIN (
        SELECT q.task_name, count(*) FILTER (WHERE q.status = 'todo') AS waiting,
            count(*) FILTER (WHERE q.status = 'doing' AND NOT q.is_dead) AS running,
            count(*) FILTER (WHERE q.status = 'failed') AS failed,
            count(*) FILTER (WHERE q.status = 'doing' AND q.is_dead) AS dead,
            min(q.at) FILTER (WHERE q.status <> 'failed') AS oldest
        FROM (
            SELECT b.task_name, b.status::text, v.at,
                w.id IS NULL OR w.last_heartbeat < now() - dead_after * interval '1 second' AS is_dead
            FROM procrastinate_jobs b LEFT JOIN procrastinate_workers w ON w.id = b.worker_id
            LEFT JOIN procrastinate_events v ON v.job_id = b.id AND v.type = 'deferred'
            WHERE b.queue_name = 'keepword' AND b.status IN ('todo', 'doing', 'failed')
                AND (b.args ->> 'tenant_id')::uuid = in_tenant
        ) AS q GROUP BY q.task_name
    ) AS j ON j.task_name = t.task
    LEFT JOIN LATERAL (
        SELECT x.error FROM job_errors x WHERE x.tenant_id = in_tenant AND x.task = t.task ORDER BY x.at DESC LIMIT 1
    ) AS e ON true
    ORDER BY t.task
$$;

-- As before, of the summaries that serve.
CREATE OR REPLACE FUNCTION find_compaction(in_tenant uuid)
RETURNS TABLE (unsummarised_messages bigint, unsummarised_conversations bigint, threads bigint, sessions bigint,
               days bigint, weeks bigint, stored bigint, by_quoting bigint, refused bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT c.messages, c.conversations, s.threads, s.sessions, s.days, s.weeks, s.stored, s.by_quoting, s.refused
    FROM (
        SELECT COALESCE(sum(v.last_seq - o.covered_seq), 0)::bigint AS messages,
            count(*) FILTER (WHERE v.last_seq > o.covered_seq) AS conversations
        FROM compactions o JOIN conversations v ON v.tenant_id = o.tenant_id AND v.id = o.conversation_id
        WHERE o.tenant_id = in_tenant
    ) AS c CROSS JOIN (
        SELECT count(*) FILTER (WHERE tier = 'thread') AS threads, count(*) FILTER (WHERE tier = 'session') AS sessions,
            count(*) FILTER (WHERE tier = 'day') AS days, count(*) FILTER (WHERE tier = 'week') AS weeks,
            count(*) FILTER (WHERE tier = 'stored') AS stored, count(*) FILTER (WHERE model = 'extractive') AS by_quoting,
            count(*) FILTER (WHERE reason IS NOT NULL) AS refused
        FROM summaries WHERE tenant_id = in_tenant AND serving
    ) AS s
$$;

REVOKE EXECUTE ON FUNCTION
    replace_summaries(text, uuid, uuid, integer, packed_entries),
    settle_compaction(text, uuid, uuid, integer, bigint, bigint, timestamptz, boolean),
    index_derived(text, uuid, uuid, text, bigint, packed_entries), end_task(text, uuid, uuid, text)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    replace_summaries(text, uuid, uuid, integer, packed_entries),
    settle_compaction(text, uuid, uuid, integer, bigint, bigint, timestamptz, boolean),
    index_derived(text, uuid, uuid, text, bigint, packed_entries), end_task(text, uuid, uuid, text)
TO keepword_app;
