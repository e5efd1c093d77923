-- depends: 0010_summaries 0011_jobs
-- The application works the queue: jobs hold ids only, never a word of what was said.

GRANT SELECT, INSERT, UPDATE, DELETE
    ON procrastinate_jobs, procrastinate_workers, procrastinate_events, procrastinate_periodic_defers TO keepword_app;
GRANT USAGE ON SEQUENCE
    procrastinate_jobs_id_seq, procrastinate_workers_id_seq, procrastinate_events_id_seq,
    procrastinate_periodic_defers_id_seq TO keepword_app;

-- for the question whether a conversation's job is there already; the library asks it as well, for every job it fetches
CREATE INDEX jobs_by_lock ON procrastinate_jobs (lock);

-- Enqueues a job for each conversation that has something to do, unless it has one waiting, running or failed: so any
-- number of workers may ask at any time. A failed one waits for `keepword memory retry-failed`.
CREATE FUNCTION enqueue_due(at timestamptz, due_messages bigint, silence interval, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    enqueued bigint;
BEGIN
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
    SELECT 'keepword', d.task, k.lock, k.lock,
        jsonb_build_object('tenant_id', d.tenant_id, 'conversation_id', d.conversation_id)
    FROM (
        SELECT DISTINCT task, tenant_id, conversation_id FROM outbox
        UNION ALL
        SELECT 'compact', c.tenant_id, c.conversation_id
        FROM compactions c JOIN conversations v ON v.tenant_id = c.tenant_id AND v.id = c.conversation_id
        WHERE v.last_seq >= GREATEST(c.due_seq, c.covered_seq + due_messages)
            OR (v.last_seq > c.covered_seq AND (v.updated_at <= at - silence OR NOT v.active))
            OR c.next_at <= at
    ) AS d
    CROSS JOIN LATERAL (SELECT d.task || ':' || d.conversation_id AS lock) AS k
    WHERE NOT EXISTS (
        SELECT FROM procrastinate_jobs j WHERE j.lock = k.lock AND j.status IN ('todo', 'doing', 'failed'))
    LIMIT most
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS enqueued = ROW_COUNT;
    RETURN enqueued;
END
$$;

-- Takes back the jobs of workers that died. Where the same work waits already, the dead one's job is not needed.
CREATE FUNCTION reclaim_stalled(after_seconds double precision) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    reclaimed bigint;
BEGIN
    DELETE FROM procrastinate_workers WHERE last_heartbeat < now() - after_seconds * interval '1 second';
    DELETE FROM procrastinate_jobs j
    WHERE j.status = 'doing' AND j.worker_id IS NULL
        AND EXISTS (SELECT FROM procrastinate_jobs o WHERE o.queueing_lock = j.queueing_lock AND o.status = 'todo');
    UPDATE procrastinate_jobs SET status = 'todo', scheduled_at = NULL WHERE status = 'doing' AND worker_id IS NULL;
    GET DIAGNOSTICS reclaimed = ROW_COUNT;
    RETURN reclaimed;
END
$$;

-- Keeps why a job failed last; without an error it forgets it.
CREATE FUNCTION note_job(tenant uuid, conversation uuid, of_task text, failed_with text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF failed_with IS NULL THEN
        DELETE FROM job_errors WHERE tenant_id = tenant AND conversation_id = conversation AND task = of_task;
    ELSE
        INSERT INTO job_errors (tenant_id, conversation_id, task, error) VALUES (tenant, conversation, of_task, failed_with)
        ON CONFLICT (tenant_id, conversation_id, task) DO UPDATE SET error = excluded.error, at = clock_timestamp();
    END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION enqueue_due(timestamptz, bigint, interval, integer), note_job(uuid, uuid, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION enqueue_due(timestamptz, bigint, interval, integer), note_job(uuid, uuid, text, text)
TO keepword_app;
