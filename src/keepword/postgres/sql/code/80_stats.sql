-- Numbers of a tenant: what waits, what failed, what is covered.

-- For the tenant's owner: what waits and what failed. Reasons are the embedder's words, never an entry's.
CREATE OR REPLACE FUNCTION find_queues(in_tenant uuid)
RETURNS TABLE (space text, waiting bigint, failed bigint, last_error text, oldest_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT s.name, count(b.entry_id) FILTER (WHERE NOT b.failed), count(b.entry_id) FILTER (WHERE b.failed),
        max(b.error), EXTRACT(epoch FROM now() - min(b.queued_at) FILTER (WHERE NOT b.failed))::double precision
    FROM spaces s LEFT JOIN backlog b ON b.space_id = s.id AND b.tenant_id = in_tenant
    GROUP BY s.id ORDER BY s.id
$$;

CREATE OR REPLACE FUNCTION find_coverage(in_tenant uuid) RETURNS TABLE (space text, entries bigint, embedded bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT s.name, c.entries, c.entries - (SELECT count(*) FROM backlog b WHERE b.space_id = s.id AND b.tenant_id = in_tenant)
    FROM spaces s CROSS JOIN (SELECT count(*) AS entries FROM entries WHERE tenant_id = in_tenant AND searchable) AS c
    ORDER BY s.id
$$;

-- How many messages are of each day, in a time zone, for the tenant's owner.
CREATE OR REPLACE FUNCTION count_messages_by_day(grant_ text, in_tenant uuid, since timestamptz, zone text)
RETURNS TABLE (day date, messages bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, in_tenant);
    RETURN QUERY
        SELECT (m.created_at AT TIME ZONE zone)::date, count(*) FROM messages m
        WHERE m.tenant_id = in_tenant AND m.created_at >= since GROUP BY 1 ORDER BY 1;
END
$$;

-- A job is dead when it runs under a worker that is gone, or has not shown itself for `dead_after` seconds.
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
        FROM (VALUES ('describe'), ('landmark'), ('recompact')) AS k (task)
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

-- `refused` counts summaries where a model was asked and quoting had to serve.
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
