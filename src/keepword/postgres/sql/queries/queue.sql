-- name: enqueue
SELECT enqueue_due(%(at)s, %(due_messages)s, %(silence)s, %(most)s)

-- name: enqueue_exchanges
SELECT enqueue_extractions(%(at)s, %(silence)s, %(longest)s, %(many)s, %(most)s)

-- name: balance_tenants
SELECT balance_tenants()

-- name: waiting
SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now())

-- name: reclaim
SELECT reclaim_stalled(%(seconds)s)

-- name: note
SELECT note_job(%(tenant_id)s, %(conversation_id)s, %(task)s, %(error)s)

-- name: status
-- As the owner, across tenants. `pending` counts messages with a task, or conversations with anything left to compact or to read;
-- those of tenants that live on another server are done there.
SELECT t.task, t.pending, COALESCE(j.waiting, 0), COALESCE(j.running, 0), COALESCE(j.failed, 0),
    LEAST(t.oldest, j.oldest), e.error
FROM (
    SELECT k.task, count(o.seq) AS pending, min(o.created_at) AS oldest
    FROM (VALUES ('describe'), ('landmark'), ('recompact')) AS k (task)
    LEFT JOIN outbox o ON o.task = k.task AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = o.tenant_id)
    GROUP BY k.task
    UNION ALL
    SELECT 'compact', count(*), NULL FROM compactions c
    WHERE NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = c.tenant_id)
    UNION ALL
    SELECT 'extract', count(*), min(noted_at) FROM extractions e
    WHERE e.waiting AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = e.tenant_id)
) AS t
LEFT JOIN (
    SELECT j.task_name, count(*) FILTER (WHERE j.status = 'todo') AS waiting,
        count(*) FILTER (WHERE j.status = 'doing') AS running, count(*) FILTER (WHERE j.status = 'failed') AS failed,
        min(v.at) AS oldest
    FROM procrastinate_jobs j LEFT JOIN procrastinate_events v ON v.job_id = j.id AND v.type = 'deferred'
    WHERE j.status IN ('todo', 'doing', 'failed')
    GROUP BY j.task_name
) AS j ON j.task_name = t.task
LEFT JOIN LATERAL (
    SELECT error FROM job_errors WHERE job_errors.task = t.task ORDER BY at DESC LIMIT 1
) AS e ON true
ORDER BY t.task

-- name: retry_failed
-- As the owner, across tenants.
SELECT retry_jobs(NULL, %(task)s, %(error)s, NULL, %(dry_run)s)

-- name: retry_failed_work
SELECT retry_failed_work(%(grant)s, %(tenant_id)s, %(task)s, %(error)s, %(job)s, %(dry_run)s) AS count

-- name: failed_jobs
SELECT id, task, conversation, attempts, error, failed_at
FROM find_failed_jobs(%(grant)s, %(tenant_id)s, %(after)s, %(limit)s)

-- name: count_undescribed
SELECT count(*) FROM messages m
WHERE needs_sentence(m.tool_name, m.content, m.tool_args, m.tool_result) AND NOT is_resting(m.tenant_id)
    AND NOT EXISTS (SELECT FROM tool_sentences s
                    WHERE s.tenant_id = m.tenant_id AND s.conversation_id = m.conversation_id AND s.seq = m.seq)
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = m.tenant_id AND x.message_id = m.id)

-- name: backfill
INSERT INTO outbox (tenant_id, conversation_id, task, seq)
SELECT m.tenant_id, m.conversation_id, 'describe', m.seq FROM messages m
WHERE needs_sentence(m.tool_name, m.content, m.tool_args, m.tool_result) AND NOT is_resting(m.tenant_id)
    AND NOT EXISTS (SELECT FROM tool_sentences s
                    WHERE s.tenant_id = m.tenant_id AND s.conversation_id = m.conversation_id AND s.seq = m.seq)
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = m.tenant_id AND x.message_id = m.id)
ON CONFLICT DO NOTHING

-- name: count_outdated
SELECT count(DISTINCT (tenant_id, conversation_id)) FROM summaries
WHERE tier = 'thread' AND serving AND pipeline_version < %(version)s AND NOT is_resting(tenant_id)

-- name: recompact
INSERT INTO outbox (tenant_id, conversation_id, task, seq)
SELECT DISTINCT tenant_id, conversation_id, 'recompact', 0 FROM summaries
WHERE tier = 'thread' AND serving AND pipeline_version < %(version)s AND NOT is_resting(tenant_id)
ON CONFLICT DO NOTHING
