-- depends: 0021_scopes_are_read 0022_arms_first 0015_recompact
-- Every use counts; a decision is found however it is said; and a message whose task fails keeps no other from its own.

-- How often each entry was given to an agent since it was last counted. Capped: what is popular must not crowd out what
-- is right.
DROP FUNCTION count_uses(uuid, bigint[]);
CREATE FUNCTION count_uses(in_tenant uuid, entry_ids bigint[], amounts integer[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO uses AS u (entry_id, tenant_id, times, last_at)
    SELECT e.id, e.tenant_id, LEAST(g.amount, 50), now()
    FROM unnest(entry_ids, amounts) AS g (id, amount)
    JOIN entries e ON e.tenant_id = in_tenant AND e.id = g.id ORDER BY e.id
    ON CONFLICT (entry_id) DO UPDATE SET times = LEAST(u.times + excluded.times, 50), last_at = now()
$$;
REVOKE EXECUTE ON FUNCTION count_uses(uuid, bigint[], integer[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION count_uses(uuid, bigint[], integer[]) TO keepword_app;

-- As before, and sentences that say what was decided.
CREATE OR REPLACE FUNCTION may_hold_landmark(role text, content text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT role <> 'tool' AND content <> '' AND (
        content LIKE '%```%' OR content LIKE '%~~~%' OR content LIKE '%@%' OR content LIKE '%://%'
        OR content ILIKE '%!pin%' OR content ILIKE '% decided %' OR content ILIKE '% agreed %'
        OR content ~* '(decision|decided|spec|specification|question)[*_]*[ \t]*:')
$$;

-- A message's task that failed so often is given up until somebody retries it.
ALTER TABLE outbox ADD COLUMN attempts integer NOT NULL DEFAULT 0;
CREATE FUNCTION most_attempts() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 3 $$;

-- As before, those that failed last, and without those that were given up.
CREATE OR REPLACE FUNCTION find_tasks(grant_ text, tenant uuid, conversation uuid, wanted text, most integer)
RETURNS SETOF bigint LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    RETURN QUERY SELECT seq FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = wanted AND attempts < most_attempts()
    ORDER BY attempts, seq LIMIT most;
END
$$;

CREATE FUNCTION fail_task(grant_ text, tenant uuid, conversation uuid, failed text, of_seq bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    UPDATE outbox SET attempts = attempts + 1
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = failed AND seq = of_seq;
END
$$;

-- Enqueues a job for each conversation that has something to do, unless it has one waiting or running: so any number of
-- workers may ask at any time. After a failed one, only if the messages that it failed for were given up: what came
-- since is done, and these wait for `keepword memory retry-failed`.
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
    CROSS JOIN LATERAL (SELECT d.task || ':' || d.conversation_id AS lock) AS k
    WHERE NOT EXISTS (
        SELECT FROM procrastinate_jobs j WHERE j.lock = k.lock
            AND (j.status IN ('todo', 'doing') OR (j.status = 'failed' AND NOT d.gave_up)))
    LIMIT most
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS enqueued = ROW_COUNT;
    RETURN enqueued;
END
$$;

-- Keeps why a job failed last; without an error it forgets it, unless another job of the same work has failed.
CREATE OR REPLACE FUNCTION note_job(tenant uuid, conversation uuid, of_task text, failed_with text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF failed_with IS NULL THEN
        DELETE FROM job_errors WHERE tenant_id = tenant AND conversation_id = conversation AND task = of_task
            AND NOT EXISTS (SELECT FROM outbox o WHERE o.tenant_id = tenant AND o.conversation_id = conversation
                                AND o.task = of_task AND o.attempts > 0);
    ELSE
        INSERT INTO job_errors (tenant_id, conversation_id, task, error) VALUES (tenant, conversation, of_task, failed_with)
        ON CONFLICT (tenant_id, conversation_id, task) DO UPDATE SET error = excluded.error, at = clock_timestamp();
    END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION fail_task(text, uuid, uuid, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION fail_task(text, uuid, uuid, text, bigint) TO keepword_app;
