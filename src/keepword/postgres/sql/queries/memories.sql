-- name: scope
SELECT run_id, revision, read_at, conversation_id, external_id, kind, user_id, done_seq,
    COALESCE((find_settings(%(tenant_id)s) ->> 'agents_word')::boolean, false) AS agents_word
FROM find_extraction(%(grant)s, %(tenant_id)s, %(conversation_id)s)

-- name: unread
-- The next messages of several conversations in the order of time, a few from before for context; a conversation has as
-- many as `each` of them at most. Time never goes back in a conversation: what was said later counts as later.
WITH waiting AS (
    SELECT w.conversation_id, w.done_seq, w.name
    FROM unnest(%(conversation_ids)s::uuid[], %(done_seqs)s::bigint[], %(names)s::text[]) AS w (conversation_id, done_seq, name)
    CROSS JOIN LATERAL (
        SELECT created_at FROM messages
        WHERE tenant_id = %(tenant_id)s AND conversation_id = w.conversation_id AND seq > w.done_seq ORDER BY seq LIMIT 1
    ) AS f
    ORDER BY f.created_at, w.name LIMIT %(most)s
),
ranked AS (
    SELECT w.conversation_id, w.done_seq, w.name, n.seq,
        max(n.created_at) OVER (PARTITION BY w.conversation_id ORDER BY n.seq) AS said_by,
        row_number() OVER (PARTITION BY w.conversation_id ORDER BY n.seq) > %(each)s AS is_over
    FROM waiting w
    CROSS JOIN LATERAL (
        SELECT seq, created_at FROM messages
        WHERE tenant_id = %(tenant_id)s AND conversation_id = w.conversation_id
            AND seq > w.done_seq ORDER BY seq LIMIT %(each)s + 1
    ) AS n
),
taken AS (
    SELECT conversation_id, done_seq, max(seq) AS last_seq
    FROM (
        SELECT *, bool_or(is_over) OVER (ORDER BY said_by, name, seq) AS is_late,
            row_number() OVER (ORDER BY said_by, name, seq) AS place
        FROM ranked
    ) AS o
    WHERE NOT is_late AND place <= %(most)s
    GROUP BY conversation_id, done_seq
)
SELECT m.conversation_id, m.id, c.external_id, m.seq, m.role, m.user_id, m.agent, m.content, m.tool_name, m.tool_args, m.tool_result,
    m.attachments, m.metadata, m.event_id, m.created_at, m.vouched
FROM taken t
JOIN messages m ON m.tenant_id = %(tenant_id)s AND m.conversation_id = t.conversation_id
    AND m.seq > t.done_seq - %(context)s AND m.seq <= t.last_seq
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE true
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
ORDER BY c.external_id, m.seq

-- name: current
-- The scope's revision and its valid memories, of one snapshot.
SELECT s.revision, v.* FROM (
    SELECT max(revision) AS revision, max(run_id) AS run_id
    FROM find_extraction(%(grant)s, %(tenant_id)s, %(conversation_id)s)
) AS s
LEFT JOIN LATERAL (
    SELECT m.id, m.type, m.content, m.said_at, m.vouched, m.said_by FROM memories m
    WHERE m.tenant_id = %(tenant_id)s AND m.run_id = s.run_id AND m.valid_to IS NULL AND m.deleted_at IS NULL
        AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())
        AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
        AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
        AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
) AS v ON true

-- name: valid
SELECT m.id, m.type, m.content, m.said_at, m.vouched, m.said_by FROM memories m
LEFT JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.run_id = %(run_id)s AND m.valid_to IS NULL AND m.deleted_at IS NULL
    AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall

-- name: stored_pairs
SELECT m.message_id, m.digest FROM memory_sources m
JOIN memories h ON h.tenant_id = %(tenant_id)s AND h.id = m.memory_id
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = h.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.message_id = ANY(%(message_ids)s)
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall

-- name: store
SELECT store_memories(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(revision)s, %(reads)s, %(changes)s,
    %(by)s, %(ids)s::uuid[], %(words)s::bytea[], %(pieces)s::bytea[], %(lexemes)s::text[], %(instants)s)

-- name: project_revision
SELECT revision FROM find_project_scope(%(grant)s, %(tenant_id)s, %(project)s)

-- name: store_in_project
SELECT store_project_memories(%(grant)s, %(tenant_id)s, %(project)s, %(revision)s, %(changes)s, %(by)s, %(ids)s::uuid[],
    %(words)s::bytea[], %(pieces)s::bytea[], %(lexemes)s::text[], %(instants)s)

-- name: settle
SELECT finish_extraction(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(seen_at)s)

-- name: change
SELECT change_memory(%(grant)s, %(tenant_id)s, %(id)s, %(expected)s::integer, %(type)s, %(content)s, %(digest)s,
    %(importance)s::real, %(confidence)s::real, %(metadata)s::jsonb, %(categories)s::text[], %(expires_at)s::timestamptz,
    %(by)s, %(words)s::bytea[], %(pieces)s::bytea[], %(lexemes)s::text[], %(instants)s)

-- name: delete
SELECT delete_memory(%(grant)s, %(tenant_id)s, %(id)s, %(expected)s::integer, %(by)s)

-- name: restore
SELECT restore_memory(%(grant)s, %(tenant_id)s, %(id)s, %(expected)s::integer, %(by)s, %(words)s::bytea[],
    %(pieces)s::bytea[], %(lexemes)s::text[], %(instants)s)

-- name: rate
SELECT rate_memory(%(grant)s, %(tenant_id)s, %(id)s, %(feedback)s, %(reason)s, %(by)s)

-- name: delete_matching
SELECT matched, deleted FROM delete_memories(
    %(grant)s, %(tenant_id)s, %(filter)s::jsonb, %(dry_run)s, %(limit)s, %(by)s)

-- name: expire
SELECT sweep_memories()

-- name: get
SELECT m.id, c.external_id, m.run_id, m.visibility, m.user_id, m.agent, m.type, m.content, m.importance, m.confidence,
    m.times, m.version, m.valid_from, m.said_at, m.valid_to, m.superseded_by, m.model, m.created_at, m.updated_at,
    ARRAY(SELECT s.message_id FROM memory_sources s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id ORDER BY 1),
    m.metadata, m.categories, m.expires_at, m.feedback, m.feedback_reason, memory_state(m, clock_timestamp()),
    m.said_by
FROM memories m
LEFT JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.id = ANY(%(ids)s) AND (%(deleted)s OR m.deleted_at IS NULL)
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall

-- name: of_entries
-- The memories that entries stand for. Their numbers come from a search, which reads no texts.
SELECT e.id AS entry_id, m.id, c.external_id, m.run_id, m.visibility, m.user_id, m.agent, m.type, m.content, m.importance, m.confidence,
    m.times, m.version, m.valid_from, m.said_at, m.valid_to, m.superseded_by, m.model, m.created_at, m.updated_at,
    ARRAY(SELECT s.message_id FROM memory_sources s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id ORDER BY 1),
    m.metadata, m.categories, m.expires_at, m.feedback, m.feedback_reason, memory_state(m.whole, clock_timestamp()),
    m.said_by
FROM unnest(%(entry_ids)b::int8[]) AS w (id)
-- OFFSET 0: from the entries to their memories, whatever the planner knows of a tenant's size
CROSS JOIN LATERAL (
    SELECT * FROM entries WHERE tenant_id = %(tenant_id)s AND id = w.id AND kind = 'memory' OFFSET 0
) AS e
CROSS JOIN LATERAL (SELECT o AS whole, o.* FROM memories o WHERE o.tenant_id = %(tenant_id)s AND o.id = e.source_id OFFSET 0) AS m
LEFT JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE matches_memory_filter(%(filter)s, m.whole, c.external_id, clock_timestamp())
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall

-- name: list
SELECT m.id, c.external_id, m.run_id, m.visibility, m.user_id, m.agent, m.type, m.content, m.importance, m.confidence,
    m.times, m.version, m.valid_from, m.said_at, m.valid_to, m.superseded_by, m.model, m.created_at, m.updated_at,
    ARRAY(SELECT s.message_id FROM memory_sources s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id ORDER BY 1),
    m.metadata, m.categories, m.expires_at, m.feedback, m.feedback_reason, memory_state(m, clock_timestamp()),
    m.said_by
FROM memories m
LEFT JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s
    AND (m.valid_from, m.id) > (%(after_time)s, %(after_id)s)
    AND (%(type)s::text IS NULL OR m.type = %(type)s)
    AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
    AND (%(agent)s::text IS NULL OR m.agent = %(agent)s)
    AND CASE WHEN %(filter)s::jsonb IS NOT NULL THEN matches_memory_filter(%(filter)s, m, c.external_id, clock_timestamp())
        WHEN %(as_of)s::timestamptz IS NULL THEN m.valid_to IS NULL AND m.deleted_at IS NULL
            AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())
        ELSE m.valid_from <= %(as_of)s AND (m.valid_to IS NULL OR m.valid_to > %(as_of)s)
            AND (m.expires_at IS NULL OR m.expires_at > %(as_of)s)
            AND (m.deleted_at IS NULL OR m.deleted_at > %(as_of)s) END
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
ORDER BY m.valid_from, m.id
LIMIT %(limit)s

-- name: newest
-- A page by its number, the newest first.
SELECT m.id, c.external_id, m.run_id, m.visibility, m.user_id, m.agent, m.type, m.content, m.importance, m.confidence,
    m.times, m.version, m.valid_from, m.said_at, m.valid_to, m.superseded_by, m.model, m.created_at, m.updated_at,
    ARRAY(SELECT s.message_id FROM memory_sources s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id ORDER BY 1),
    m.metadata, m.categories, m.expires_at, m.feedback, m.feedback_reason, memory_state(m, clock_timestamp()),
    m.said_by
FROM memories m
LEFT JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s
    AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
    AND matches_memory_filter(%(filter)s, m, c.external_id, clock_timestamp())
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
ORDER BY m.created_at DESC, m.id DESC
LIMIT %(limit)s OFFSET %(offset)s

-- name: count
SELECT count(*) FROM memories m
LEFT JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s
    AND (%(user)s::text IS NULL OR m.user_id = %(user)s)
    AND matches_memory_filter(%(filter)s, m, c.external_id, clock_timestamp())
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall

-- name: entities
-- Whom and what the valid memories are of, as mem0's clients name them.
SELECT e.kind, e.name, count(*), min(m.created_at), max(m.updated_at)
FROM memories m
LEFT JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
CROSS JOIN LATERAL (VALUES ('user', m.user_id), ('agent', mem0_part(c.external_id, 3, m.agent)),
    ('app', mem0_part(c.external_id, 4, NULL)), ('run', mem0_part(c.external_id, 5, c.external_id))) AS e (kind, name)
WHERE m.tenant_id = %(tenant_id)s AND e.name IS NOT NULL AND m.valid_to IS NULL AND m.deleted_at IS NULL
    AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
GROUP BY 1, 2
ORDER BY 5 DESC, 1, 2
LIMIT %(limit)s

-- name: mem0_sessions
-- Sessions of mem0's clients by whom they are of; `*` is everybody, NULL leaves a name open.
SELECT c.external_id FROM conversations c
WHERE c.tenant_id = %(tenant_id)s AND starts_with(c.external_id, 'mem0:')
    AND NOT EXISTS (
        SELECT FROM unnest(%(names)s::text[]) WITH ORDINALITY AS w (name, place)
        WHERE w.name IS NOT NULL AND COALESCE(
            CASE WHEN w.name = '*' THEN mem0_part(c.external_id, w.place::integer + 1, NULL) IS NULL
                ELSE mem0_part(c.external_id, w.place::integer + 1, NULL) <> w.name END, true))
    AND (%(everything)s OR c.run_id = ANY(%(run_ids)s) OR c.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR c.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR c.private_to IS NULL OR c.private_to = %(private_to)s) -- first wall
ORDER BY c.external_id
LIMIT %(limit)s

-- name: history
SELECT m.version, m.event, m.type, m.content, m.importance, m.confidence, m.superseded_by, m.by_whom, m.written_at,
    m.metadata, m.categories, m.expires_at, m.feedback, m.feedback_reason
FROM memory_versions m
JOIN memories h ON h.tenant_id = %(tenant_id)s AND h.id = m.memory_id
LEFT JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = h.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.memory_id = %(id)s AND m.version < %(before)s
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
ORDER BY m.version DESC
LIMIT %(limit)s

-- name: there
SELECT m.id FROM messages m
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.id = ANY(%(message_ids)s) AND m.run_id = %(run_id)s
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall

-- name: backfill
-- As the owner, across tenants: everything is to be read again from the first word on, as after a change of model.
INSERT INTO extractions AS e (tenant_id, conversation_id, done_seq, waiting)
SELECT tenant_id, id, 0, true FROM conversations WHERE last_seq > 0 AND NOT is_resting(tenant_id)
ON CONFLICT (tenant_id, conversation_id) DO UPDATE
SET done_seq = 0, waiting = true, noted_at = clock_timestamp()

-- name: waiting
SELECT e.tenant_id, e.conversation_id FROM extractions e WHERE e.waiting AND NOT is_resting(e.tenant_id) ORDER BY 1, 2
