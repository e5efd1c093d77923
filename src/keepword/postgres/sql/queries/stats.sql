-- name: census
SELECT kind, count(*) AS entries FROM entries e
WHERE e.tenant_id = %(tenant_id)s
    AND (%(everything)s OR e.run_id = ANY (%(run_ids)s) OR e.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR e.visibility = ANY (%(visibilities)s)) -- first wall
    AND (%(everything)s OR e.private_to IS NULL OR e.private_to = %(private_to)s) -- first wall
GROUP BY kind

-- name: queues
SELECT space, waiting, failed, last_error, oldest_seconds FROM find_queues(%(tenant_id)s)

-- name: jobs
SELECT task, pending, waiting, running, failed, dead, last_error, oldest_seconds
FROM find_jobs(%(tenant_id)s, %(dead_after)s)

-- name: compaction
SELECT unsummarised_messages, unsummarised_conversations, threads, sessions, days, weeks, stored,
    by_quoting AS quoted, refused
FROM find_compaction(%(tenant_id)s)

-- name: coverage
SELECT space, entries, embedded FROM find_coverage(%(tenant_id)s)

-- name: messages_by_day
SELECT day, messages FROM count_messages_by_day(%(grant)s, %(tenant_id)s, %(since)s, %(zone)s)
