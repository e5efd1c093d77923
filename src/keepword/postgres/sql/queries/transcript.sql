-- name: append
SELECT id, seq, created_at, event_id, duplicate, contradicts
FROM append_messages(
    %(grant)s, %(tenant_id)s, %(conversation_id)s, %(count)s, %(with_events)s, %(rows)s,
    %(message_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)

-- name: index
SELECT index_messages(
    %(message_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)

-- name: page_forward
SELECT m.id, %(conversation)s::text AS conversation, m.seq, m.role, m.user_id AS "user", m.agent, m.content, m.tool_name, m.tool_args,
    m.tool_result, m.attachments, m.metadata, m.event_id, m.created_at,
    CASE WHEN %(retracted)s THEN find_retraction(%(tenant_id)s, m.id) END AS retracted,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
FROM messages m
WHERE m.tenant_id = %(tenant_id)s AND m.conversation_id = %(conversation_id)s
    AND m.run_id = %(run_id)s -- first wall
    AND (%(retracted)s OR NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id)) -- first wall
    AND (m.created_at, m.seq) > (%(after_time)s, %(after_tie)s)
    AND m.created_at < %(before)s
    AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
    AND (%(role)s::text IS NULL OR m.role = %(role)s)
ORDER BY m.created_at, m.seq
LIMIT %(limit)s

-- name: page_backward
SELECT m.id, %(conversation)s::text AS conversation, m.seq, m.role, m.user_id AS "user", m.agent, m.content, m.tool_name, m.tool_args,
    m.tool_result, m.attachments, m.metadata, m.event_id, m.created_at,
    CASE WHEN %(retracted)s THEN find_retraction(%(tenant_id)s, m.id) END AS retracted,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
FROM messages m
WHERE m.tenant_id = %(tenant_id)s AND m.conversation_id = %(conversation_id)s
    AND m.run_id = %(run_id)s -- first wall
    AND (%(retracted)s OR NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id)) -- first wall
    AND (m.created_at, m.seq) < (%(before_time)s, %(before_tie)s)
    AND m.created_at >= %(since)s
    AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
    AND (%(role)s::text IS NULL OR m.role = %(role)s)
ORDER BY m.created_at DESC, m.seq DESC
LIMIT %(limit)s

-- name: browse_runs_forward
-- The first of each run, then the first of those: for few runs, however much else the tenant said.
SELECT
    m.id, c.external_id AS conversation, m.seq, m.role, m.user_id AS "user", m.agent, m.content, m.tool_name, m.tool_args, m.tool_result,
    m.attachments, m.metadata, m.event_id, m.created_at,
    CASE WHEN %(retracted)s THEN find_retraction(%(tenant_id)s, m.id) END AS retracted,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
FROM (
    SELECT unnest(%(run_ids)s::text[])
    UNION
    SELECT granted_sessions()
) AS r (run_id)
CROSS JOIN LATERAL (
    SELECT * FROM messages m
    WHERE m.tenant_id = %(tenant_id)s AND m.run_id = r.run_id
        AND m.visibility = ANY(%(visibilities)s) -- first wall
        AND (m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
        AND (%(retracted)s OR NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id)) -- first wall
        AND (m.created_at, m.id) > (%(after_time)s, %(after_id)s) AND m.created_at < %(before)s
        AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
        AND (%(role)s::text IS NULL OR m.role = %(role)s)
    ORDER BY m.created_at, m.id
    LIMIT %(limit)s
) m
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
ORDER BY m.created_at, m.id
LIMIT %(limit)s

-- name: browse_time_forward
-- Through the tenant's messages in time order: for many runs. The constant tells the planner that a page is short,
-- which it can't know of a parameter; it is one more than the longest page.
SELECT * FROM (
    SELECT
        m.id, c.external_id AS conversation, m.seq, m.role, m.user_id AS "user", m.agent, m.content, m.tool_name, m.tool_args, m.tool_result,
        m.attachments, m.metadata, m.event_id, m.created_at,
    CASE WHEN %(retracted)s THEN find_retraction(%(tenant_id)s, m.id) END AS retracted,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
    FROM messages m
    JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
    WHERE m.tenant_id = %(tenant_id)s AND (m.created_at, m.id) > (%(after_time)s, %(after_id)s) AND m.created_at < %(before)s
        AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
        AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
        AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
        AND (%(retracted)s OR NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id)) -- first wall
        AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
        AND (%(role)s::text IS NULL OR m.role = %(role)s)
    ORDER BY m.created_at, m.id
    LIMIT 201
) AS first
LIMIT %(limit)s

-- name: browse_runs_backward
-- The first of each run, then the first of those: for few runs, however much else the tenant said.
SELECT
    m.id, c.external_id AS conversation, m.seq, m.role, m.user_id AS "user", m.agent, m.content, m.tool_name, m.tool_args, m.tool_result,
    m.attachments, m.metadata, m.event_id, m.created_at,
    CASE WHEN %(retracted)s THEN find_retraction(%(tenant_id)s, m.id) END AS retracted,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
FROM (
    SELECT unnest(%(run_ids)s::text[])
    UNION
    SELECT granted_sessions()
) AS r (run_id)
CROSS JOIN LATERAL (
    SELECT * FROM messages m
    WHERE m.tenant_id = %(tenant_id)s AND m.run_id = r.run_id
        AND m.visibility = ANY(%(visibilities)s) -- first wall
        AND (m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
        AND (%(retracted)s OR NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id)) -- first wall
        AND (m.created_at, m.id) < (%(before_time)s, %(before_id)s) AND m.created_at >= %(since)s
        AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
        AND (%(role)s::text IS NULL OR m.role = %(role)s)
    ORDER BY m.created_at DESC, m.id DESC
    LIMIT %(limit)s
) m
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
ORDER BY m.created_at DESC, m.id DESC
LIMIT %(limit)s

-- name: browse_time_backward
-- Through the tenant's messages in time order: for many runs. The constant tells the planner that a page is short,
-- which it can't know of a parameter; it is one more than the longest page.
SELECT * FROM (
    SELECT
        m.id, c.external_id AS conversation, m.seq, m.role, m.user_id AS "user", m.agent, m.content, m.tool_name, m.tool_args, m.tool_result,
        m.attachments, m.metadata, m.event_id, m.created_at,
    CASE WHEN %(retracted)s THEN find_retraction(%(tenant_id)s, m.id) END AS retracted,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
    FROM messages m
    JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
    WHERE m.tenant_id = %(tenant_id)s AND (m.created_at, m.id) < (%(before_time)s, %(before_id)s) AND m.created_at >= %(since)s
        AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
        AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
        AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
        AND (%(retracted)s OR NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id)) -- first wall
        AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
        AND (%(role)s::text IS NULL OR m.role = %(role)s)
    ORDER BY m.created_at DESC, m.id DESC
    LIMIT 201
) AS first
LIMIT %(limit)s
