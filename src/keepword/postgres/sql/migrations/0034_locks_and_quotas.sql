-- depends: 0026_project_memories 0029_fair_turns 0031_scope_counts
-- Locks of jobs name the tenant, and a tenant may have quotas of its own.

-- Enqueues a job for each conversation that has something to do, unless it has one waiting or running: so any number of
-- workers may ask at any time. After a failed one, only if the messages that it failed for were given up: what came
-- since is done, and these wait for `keepword jobs retry-failed`. The same id may be a conversation of two tenants.
CREATE OR REPLACE FUNCTION enqueue_due(at timestamptz, due_messages bigint, silence interval, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    enqueued bigint;
BEGIN
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
    SELECT 'keepword', d.task, k.lock, k.lock,
        jsonb_build_object('tenant_id', d.tenant_id, 'conversation_id', d.conversation_id)
    FROM (
        SELECT task, tenant_id, conversation_id, bool_or(attempts >= most_attempts()) AS gave_up FROM outbox
        GROUP BY task, tenant_id, conversation_id HAVING min(attempts) < most_attempts()
        UNION ALL
        SELECT 'compact', c.tenant_id, c.conversation_id, false
        FROM compactions c JOIN conversations v ON v.tenant_id = c.tenant_id AND v.id = c.conversation_id
        WHERE v.last_seq >= GREATEST(c.due_seq, c.covered_seq + due_messages)
            OR (v.last_seq > c.covered_seq AND (v.updated_at <= at - silence OR NOT v.active))
            OR c.next_at <= at
    ) AS d
    CROSS JOIN LATERAL (SELECT d.task || ':' || d.tenant_id || ':' || d.conversation_id AS lock) AS k
    WHERE NOT EXISTS (
        SELECT FROM procrastinate_jobs j WHERE j.lock = k.lock
            AND (j.status IN ('todo', 'doing') OR (j.status = 'failed' AND NOT d.gave_up)))
    LIMIT most
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS enqueued = ROW_COUNT;
    RETURN enqueued;
END
$$;

UPDATE procrastinate_jobs
SET lock = task_name || ':' || (args ->> 'tenant_id') || ':' || (args ->> 'conversation_id'),
    queueing_lock = task_name || ':' || (args ->> 'tenant_id') || ':' || (args ->> 'conversation_id')
WHERE queue_name = 'keepword' AND task_name <> 'extract' AND status IN ('todo', 'doing', 'failed')
    AND args ? 'tenant_id' AND args ? 'conversation_id';

-- How long the background may work for a tenant on a day: its own limit, else the one that all have; null is none.
CREATE FUNCTION background_limit(tenant uuid, default_ms bigint) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT COALESCE((settings ->> 'quota_background_seconds')::bigint * 1000, default_ms) FROM tenants WHERE id = tenant
$$;

CREATE OR REPLACE FUNCTION is_over_background(tenant uuid, on_day date, most_ms bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (SELECT FROM usage_by_day
                   WHERE tenant_id = tenant AND day = on_day AND background_ms >= background_limit(tenant, most_ms))
$$;

-- Adds what the background did for tenants that have a limit.
DROP FUNCTION note_background(uuid[], date, bigint[]);
CREATE FUNCTION note_background(tenants uuid[], on_day date, milliseconds bigint[], most_ms bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO usage_by_day AS u (tenant_id, day, background_ms)
    SELECT n.tenant, on_day, n.ms FROM unnest(tenants, milliseconds) AS n (tenant, ms)
    WHERE background_limit(n.tenant, most_ms) IS NOT NULL ORDER BY n.tenant
    ON CONFLICT (tenant_id, day) DO UPDATE SET background_ms = u.background_ms + excluded.background_ms
$$;

REVOKE EXECUTE ON FUNCTION background_limit(uuid, bigint), note_background(uuid[], date, bigint[], bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION background_limit(uuid, bigint), note_background(uuid[], date, bigint[], bigint) TO keepword_app;

-- Claims the newest of each tenant, as many of one as of another. Where more tenants wait than are claimed, chance decides.
-- A tenant whose background work took as long today as it may has no more of it until tomorrow.
CREATE OR REPLACE FUNCTION claim_backlog(of_space smallint, amount integer, lease interval, most_ms bigint DEFAULT NULL)
RETURNS TABLE (tenant_id uuid, entry_id bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    WITH RECURSIVE waiting AS (
        -- each tenant once, by the index: not every row of it
        (SELECT b.tenant_id FROM backlog b ORDER BY b.tenant_id LIMIT 1)
        UNION ALL
        SELECT (SELECT b.tenant_id FROM backlog b WHERE b.tenant_id > w.tenant_id ORDER BY b.tenant_id LIMIT 1)
        FROM waiting w WHERE w.tenant_id IS NOT NULL
    ), due AS MATERIALIZED (
        SELECT w.tenant_id FROM waiting w
        WHERE w.tenant_id IS NOT NULL AND EXISTS (
            SELECT FROM backlog b WHERE b.tenant_id = w.tenant_id AND b.space_id = of_space AND b.due_at <= now() AND NOT b.failed)
            AND NOT is_over_background(w.tenant_id, (now() AT TIME ZONE 'UTC')::date, most_ms)
        ORDER BY random() LIMIT amount
    ), claimed AS MATERIALIZED (
        SELECT c.entry_id FROM due d CROSS JOIN LATERAL (
            SELECT b.entry_id FROM backlog b
            WHERE b.tenant_id = d.tenant_id AND b.space_id = of_space AND b.due_at <= now() AND NOT b.failed
            ORDER BY b.entry_id DESC
            LIMIT (SELECT GREATEST(1, amount / GREATEST(1, count(*))) FROM due)
            FOR UPDATE SKIP LOCKED
        ) AS c
    )
    UPDATE backlog b SET attempts = attempts + 1, due_at = now() + lease
    WHERE b.space_id = of_space AND b.entry_id IN (SELECT entry_id FROM claimed)
    RETURNING b.tenant_id, b.entry_id
$$;
