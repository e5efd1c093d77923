-- name: append
SELECT seq, created_at
FROM append_messages(
    %(grant)s, %(tenant_id)s, %(conversation_id)s, %(count)s, %(rows)s, %(message_ids)b::uuid[], %(parts)b::int2[],
    %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[], %(lexemes)s::text[], %(instants)b)

-- name: index
SELECT index_messages(
    %(message_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)

-- name: lock
-- A statement of its own, so that the next one sees what the writer before us committed.
SELECT last_seq FROM conversations
WHERE tenant_id = %(tenant_id)s AND id = %(conversation_id)s
    AND run_id = %(writes)s -- first wall
FOR NO KEY UPDATE

-- name: append_events
-- For messages with an event_id. A batch with a contradiction stores nothing; the contradicting rows come back marked.
WITH incoming AS (
    SELECT ordinal, id, role, user_id, agent, content, tool_name, tool_args, tool_result, attachments, metadata,
        event_id, decode(digest, 'hex') AS digest, created_at
    FROM json_to_recordset(%(rows)s) AS i (
        ordinal bigint, id uuid, role text, user_id text, agent text, content text, tool_name text, tool_args jsonb,
        tool_result text, attachments jsonb, metadata jsonb, event_id text, digest text, created_at timestamptz)
), known AS MATERIALIZED (
    SELECT i.ordinal, m.id, m.seq, m.created_at, m.digest IS DISTINCT FROM i.digest AS contradicts
    FROM incoming i JOIN messages m ON m.event_id = i.event_id
    WHERE i.event_id IS NOT NULL AND m.tenant_id = %(tenant_id)s AND m.conversation_id = %(conversation_id)s
), place AS MATERIALIZED (
    SELECT run_id, visibility, private_to, last_seq AS base, clock_timestamp() AS now FROM conversations
    WHERE tenant_id = %(tenant_id)s AND id = %(conversation_id)s
        AND run_id = %(writes)s -- first wall
), fresh AS MATERIALIZED (
    SELECT i.*, p.base + row_number() OVER (ORDER BY i.ordinal) AS seq, p.run_id, p.visibility, p.private_to,
        COALESCE(i.created_at, p.now) AS stored_at
    FROM incoming i CROSS JOIN place p
    WHERE NOT EXISTS (SELECT FROM known k WHERE k.ordinal = i.ordinal)
        AND NOT EXISTS (SELECT FROM known k WHERE k.contradicts)
), stored AS (
    INSERT INTO messages (
        tenant_id, id, conversation_id, seq, run_id, visibility, private_to, role, user_id, agent, content,
        tool_name, tool_args, tool_result, attachments, metadata, event_id, digest, created_at, vouched)
    SELECT %(tenant_id)s, id, %(conversation_id)s, seq, run_id, visibility, private_to, role, user_id, agent, content,
        tool_name, tool_args, tool_result, attachments, metadata, event_id, digest, stored_at,
        (SELECT granted_vouches())
    FROM fresh
), counted AS (
    UPDATE conversations SET last_seq = last_seq + (SELECT count(*) FROM fresh), updated_at = now()
    WHERE tenant_id = %(tenant_id)s AND id = %(conversation_id)s AND EXISTS (SELECT FROM fresh)
)
SELECT ordinal, id, seq, stored_at, false AS duplicate, false AS contradicts FROM fresh
UNION ALL
SELECT ordinal, id, seq, created_at, true, contradicts FROM known
ORDER BY ordinal

-- name: page_forward
SELECT m.id, %(conversation)s::text, m.seq, m.role, m.user_id, m.agent, m.content, m.tool_name, m.tool_args,
    m.tool_result, m.attachments, m.metadata, m.event_id, m.created_at,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
FROM messages m
WHERE m.tenant_id = %(tenant_id)s AND m.conversation_id = %(conversation_id)s
    AND m.run_id = %(run_id)s -- first wall
    AND (m.created_at, m.seq) > (%(after_time)s, %(after_tie)s)
    AND m.created_at < %(before)s
    AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
    AND (%(role)s::text IS NULL OR m.role = %(role)s)
ORDER BY m.created_at, m.seq
LIMIT %(limit)s

-- name: page_backward
SELECT m.id, %(conversation)s::text, m.seq, m.role, m.user_id, m.agent, m.content, m.tool_name, m.tool_args,
    m.tool_result, m.attachments, m.metadata, m.event_id, m.created_at,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
FROM messages m
WHERE m.tenant_id = %(tenant_id)s AND m.conversation_id = %(conversation_id)s
    AND m.run_id = %(run_id)s -- first wall
    AND (m.created_at, m.seq) < (%(before_time)s, %(before_tie)s)
    AND m.created_at >= %(since)s
    AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
    AND (%(role)s::text IS NULL OR m.role = %(role)s)
ORDER BY m.created_at DESC, m.seq DESC
LIMIT %(limit)s

-- name: browse_runs_forward
-- The first of each run, then the first of those: for few runs, however much else the tenant said.
SELECT
    m.id, c.external_id, m.seq, m.role, m.user_id, m.agent, m.content, m.tool_name, m.tool_args, m.tool_result,
    m.attachments, m.metadata, m.event_id, m.created_at,
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
        m.id, c.external_id, m.seq, m.role, m.user_id, m.agent, m.content, m.tool_name, m.tool_args, m.tool_result,
        m.attachments, m.metadata, m.event_id, m.created_at,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
    FROM messages m
    JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
    WHERE m.tenant_id = %(tenant_id)s AND (m.created_at, m.id) > (%(after_time)s, %(after_id)s) AND m.created_at < %(before)s
        AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
        AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
        AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
        AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
        AND (%(role)s::text IS NULL OR m.role = %(role)s)
    ORDER BY m.created_at, m.id
    LIMIT 201
) AS first
LIMIT %(limit)s

-- name: browse_runs_backward
-- The first of each run, then the first of those: for few runs, however much else the tenant said.
SELECT
    m.id, c.external_id, m.seq, m.role, m.user_id, m.agent, m.content, m.tool_name, m.tool_args, m.tool_result,
    m.attachments, m.metadata, m.event_id, m.created_at,
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
        m.id, c.external_id, m.seq, m.role, m.user_id, m.agent, m.content, m.tool_name, m.tool_args, m.tool_result,
        m.attachments, m.metadata, m.event_id, m.created_at,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
    FROM messages m
    JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
    WHERE m.tenant_id = %(tenant_id)s AND (m.created_at, m.id) < (%(before_time)s, %(before_id)s) AND m.created_at >= %(since)s
        AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
        AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
        AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
        AND (%(agent)s::text IS NULL OR m.agent = %(agent)s) AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
        AND (%(role)s::text IS NULL OR m.role = %(role)s)
    ORDER BY m.created_at DESC, m.id DESC
    LIMIT 201
) AS first
LIMIT %(limit)s
