-- Jobs: what is to be done is noted in the transaction that causes it, and enqueued by any worker at any time.

-- In the append's transaction: a task can't be lost, and there is nothing in it that could fail for its content.
CREATE OR REPLACE FUNCTION note_messages() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    INSERT INTO compactions (tenant_id, conversation_id, covered_seq)
    SELECT tenant_id, conversation_id, min(seq) - 1 FROM added GROUP BY tenant_id, conversation_id
    ON CONFLICT DO NOTHING;
    INSERT INTO outbox (tenant_id, conversation_id, task, seq)
    SELECT tenant_id, conversation_id, 'describe', seq FROM added
    WHERE needs_sentence(tool_name, content, tool_args, tool_result)
    UNION ALL
    SELECT tenant_id, conversation_id, 'landmark', seq FROM added WHERE may_hold_landmark(role, content);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER messages_are_noted AFTER INSERT ON messages
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_messages();

-- Enqueues a job for each conversation that has something to do, unless it has one waiting or running: so any number of
-- workers may ask at any time. After a failed one, only if the messages that it failed for were given up: what came
-- since is done, and these wait for `keepword jobs retry-failed`. The same id may be a conversation of two tenants.
CREATE OR REPLACE FUNCTION enqueue_due(at timestamptz, due_messages bigint, silence interval, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    jobs procrastinate_job_to_defer_v1[];
    importing uuid[] := ARRAY(SELECT find_importing_tenants());
BEGIN
    -- two at once would see the same work without a job
    IF NOT pg_try_advisory_xact_lock(hashtext('keepword.enqueue')) THEN
        RETURN 0;
    END IF;
    jobs := ARRAY(SELECT ROW('keepword', d.task, 0, k.lock, k.lock,
        jsonb_build_object('tenant_id', d.tenant_id, 'conversation_id', d.conversation_id), NULL
    )::procrastinate_job_to_defer_v1
    FROM (
        SELECT task, tenant_id, conversation_id, bool_or(attempts >= most_attempts()) AS gave_up FROM outbox
        WHERE tenant_id <> ALL (importing)
        GROUP BY task, tenant_id, conversation_id HAVING min(attempts) < most_attempts()
        UNION ALL
        SELECT 'compact', c.tenant_id, c.conversation_id, false
        FROM compactions c JOIN conversations v ON v.tenant_id = c.tenant_id AND v.id = c.conversation_id
        WHERE c.tenant_id <> ALL (importing)
            AND (v.last_seq >= GREATEST(c.due_seq, c.covered_seq + due_messages)
                OR (v.last_seq > c.covered_seq AND (v.updated_at <= at - silence OR NOT v.active))
                OR c.next_at <= at)
    ) AS d
    CROSS JOIN LATERAL (SELECT d.task || ':' || d.tenant_id || ':' || d.conversation_id AS lock) AS k
    WHERE NOT is_resting(d.tenant_id) AND NOT EXISTS (
        SELECT FROM procrastinate_jobs j WHERE j.lock = k.lock
            AND (j.status IN ('todo', 'doing') OR (j.status = 'failed' AND NOT d.gave_up)))
    LIMIT most);
    PERFORM procrastinate_defer_jobs_v1(jobs);
    RETURN cardinality(jobs);
END
$$;

-- A job for each scope that was silent for a while, has waited long, or has many messages waiting in a conversation.
CREATE OR REPLACE FUNCTION enqueue_extractions(at timestamptz, silence interval, longest interval, many bigint, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    jobs procrastinate_job_to_defer_v1[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('keepword.enqueue')) THEN
        RETURN 0;
    END IF;
    jobs := ARRAY(
    WITH waiting AS (
        SELECT e.tenant_id, e.conversation_id, e.noted_at, e.done_seq, c.last_seq, c.updated_at, k.lock
        FROM extractions e
        CROSS JOIN LATERAL (
            SELECT run_id, last_seq, updated_at FROM conversations
            WHERE tenant_id = e.tenant_id AND id = e.conversation_id OFFSET 0
        ) AS c
        CROSS JOIN LATERAL (SELECT 'extract:' || e.tenant_id || ':' || c.run_id AS lock) AS k
        WHERE e.waiting AND NOT is_resting(e.tenant_id) AND e.tenant_id NOT IN (SELECT find_importing_tenants())
            AND NOT EXISTS (
            SELECT FROM procrastinate_jobs j WHERE j.lock = k.lock AND j.status IN ('todo', 'doing', 'failed'))
        LIMIT most
    )
    SELECT ROW('keepword', 'extract', 0, lock, lock, jsonb_build_object(
        'tenant_id', tenant_id, 'conversation_id', (array_agg(conversation_id ORDER BY noted_at, conversation_id))[1]), NULL
    )::procrastinate_job_to_defer_v1
    FROM waiting
    GROUP BY tenant_id, lock
    HAVING max(GREATEST(updated_at, noted_at)) <= at - silence OR min(noted_at) <= at - longest
        OR max(last_seq - done_seq) >= many);
    PERFORM procrastinate_defer_jobs_v1(jobs);
    RETURN cardinality(jobs);
END
$$;

-- Takes back the jobs of workers that died. Where the same work waits already, the dead one's job is not needed.
CREATE OR REPLACE FUNCTION reclaim_stalled(after_seconds double precision) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    reclaimed bigint;
BEGIN
    PERFORM procrastinate_prune_stalled_workers_v1(after_seconds);
    DELETE FROM procrastinate_jobs j
    WHERE j.status = 'doing' AND j.worker_id IS NULL
        AND EXISTS (SELECT FROM procrastinate_jobs o WHERE o.queueing_lock = j.queueing_lock AND o.status = 'todo');
    UPDATE procrastinate_jobs SET status = 'todo', scheduled_at = NULL WHERE status = 'doing' AND worker_id IS NULL;
    GET DIAGNOSTICS reclaimed = ROW_COUNT;
    RETURN reclaimed;
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

-- Lets tenants take turns in the queue: a tenant's first job comes before any other's second, its second and third before
-- any other's fourth, and so on by powers of two, so that few rows change when a job is done. One worker at a time does it.
CREATE OR REPLACE FUNCTION balance_tenants() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    moved bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('keepword.balance_tenants')) THEN
        RETURN 0;
    END IF;
    WITH first AS MATERIALIZED (
        SELECT id, priority, args ->> 'tenant_id' AS tenant FROM procrastinate_jobs
        WHERE status = 'todo' AND queue_name = 'keepword' ORDER BY priority DESC, id LIMIT 10000
    ), ranked AS (
        SELECT id, priority, -floor(log(2, row_number() OVER (PARTITION BY tenant ORDER BY id)))::integer AS turn FROM first
    )
    UPDATE procrastinate_jobs j SET priority = r.turn FROM ranked r
    WHERE j.id = r.id AND j.status = 'todo' AND r.priority <> r.turn;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END
$$;

-- Lets failed jobs run again, of one tenant or of all, and returns how many; or only counts them. Of several that failed at
-- the same work one does all of it; messages that were given up are tried again.
CREATE OR REPLACE FUNCTION retry_jobs(of_tenant uuid, of_task text, with_error text, of_job bigint, only_count boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    chosen bigint[];
    retried bigint;
BEGIN
    chosen := ARRAY(
        SELECT j.id FROM procrastinate_jobs j
        LEFT JOIN job_errors e ON e.tenant_id = (j.args ->> 'tenant_id')::uuid
            AND e.conversation_id = (j.args ->> 'conversation_id')::uuid AND e.task = j.task_name
        WHERE j.status = 'failed' AND j.queue_name = 'keepword'
            -- a tenant that lives elsewhere is left out of all; whoever asks for it alone is refused
            AND CASE WHEN of_tenant IS NULL THEN NOT is_resting((j.args ->> 'tenant_id')::uuid)
                ELSE (j.args ->> 'tenant_id')::uuid = of_tenant END
            AND (of_task IS NULL OR j.task_name = of_task)
            AND (of_job IS NULL OR j.id = of_job)
            AND (with_error IS NULL OR strpos(lower(e.error), lower(with_error)) > 0));
    IF only_count THEN
        RETURN cardinality(chosen);
    END IF;
    WITH failed AS (
        SELECT j.id, j.task_name, (j.args ->> 'tenant_id')::uuid AS tenant_id,
            (j.args ->> 'conversation_id')::uuid AS conversation_id,
            row_number() OVER (PARTITION BY j.queueing_lock ORDER BY j.id) > 1 OR EXISTS (
                SELECT FROM procrastinate_jobs o WHERE o.queueing_lock = j.queueing_lock AND o.status = 'todo')
                AS is_needless
        FROM procrastinate_jobs j WHERE j.id = ANY (chosen)
    ),
    forgiven AS (
        UPDATE outbox o SET attempts = 0 FROM failed f
        WHERE o.tenant_id = f.tenant_id AND o.conversation_id = f.conversation_id AND o.task = f.task_name
    ),
    dropped AS (DELETE FROM procrastinate_jobs j USING failed f WHERE j.id = f.id AND f.is_needless)
    UPDATE procrastinate_jobs j SET status = 'todo', attempts = 0, scheduled_at = NULL
    FROM failed f WHERE j.id = f.id AND NOT f.is_needless;
    GET DIAGNOSTICS retried = ROW_COUNT;
    RETURN retried;
END
$$;

-- The same for the tenant's owner. The task `embed` stands for the entries that could not be embedded.
CREATE OR REPLACE FUNCTION retry_failed_work(
    grant_ text, tenant uuid, of_task text, with_error text, of_job bigint, only_count boolean
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    jobs bigint := 0;
    entries bigint := 0;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    IF of_task IS DISTINCT FROM 'embed' THEN
        jobs := retry_jobs(tenant, of_task, with_error, of_job, only_count);
    END IF;
    IF (of_task IS NULL OR of_task = 'embed') AND of_job IS NULL THEN
        entries := retry_vectors(tenant, with_error, only_count);
    END IF;
    RETURN jobs + entries;
END
$$;

-- The failed jobs of a tenant, the newest first; `after` is the last of the page before.
CREATE OR REPLACE FUNCTION find_failed_jobs(grant_ text, tenant uuid, after bigint, most integer)
RETURNS TABLE (id bigint, task text, conversation text, attempts integer, error text, failed_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    RETURN QUERY
        SELECT j.id, j.task_name::text, c.external_id, j.attempts, e.error, e.at
        FROM procrastinate_jobs j
        LEFT JOIN conversations c ON c.tenant_id = tenant AND c.id = (j.args ->> 'conversation_id')::uuid
        LEFT JOIN job_errors e ON e.tenant_id = tenant
            AND e.conversation_id = (j.args ->> 'conversation_id')::uuid AND e.task = j.task_name
        WHERE j.status = 'failed' AND j.queue_name = 'keepword' AND (j.args ->> 'tenant_id')::uuid = tenant
            AND (after IS NULL OR j.id < after)
        ORDER BY j.id DESC LIMIT most;
END
$$;
