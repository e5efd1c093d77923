-- name: pin
SELECT pin_landmark(
    %(grant)s, %(tenant_id)s, %(conversation_id)s, %(id)s, %(message_id)s, %(kind)s, %(text)s, %(by)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: content
SELECT content FROM messages m
WHERE m.tenant_id = %(tenant_id)s AND m.id = %(message_id)s AND m.conversation_id = %(conversation_id)s
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s)) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall

-- name: unpin
SELECT unpin_landmark(%(grant)s, %(tenant_id)s, %(id)s, %(by)s)

-- name: get
SELECT l.id, c.external_id AS conversation, m.id AS message, l.kind, l.content AS text, m.role, m.user_id AS "user",
    m.agent, m.created_at AS said_at, l.pinned_by, l.created_at
FROM landmarks l
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = l.conversation_id
JOIN messages m ON m.tenant_id = %(tenant_id)s AND m.conversation_id = l.conversation_id AND m.seq = l.seq
WHERE l.tenant_id = %(tenant_id)s AND l.id = %(id)s AND l.unpinned_at IS NULL
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
    AND (%(everything)s OR l.run_id = ANY(%(run_ids)s) OR l.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR l.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR l.private_to IS NULL OR l.private_to = %(private_to)s) -- first wall

-- name: list
SELECT l.id, c.external_id AS conversation, m.id AS message, l.kind, l.content AS text, m.role, m.user_id AS "user",
    m.agent, m.created_at AS said_at, l.pinned_by, l.created_at
FROM landmarks l
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = l.conversation_id
JOIN messages m ON m.tenant_id = %(tenant_id)s AND m.conversation_id = l.conversation_id AND m.seq = l.seq
WHERE l.tenant_id = %(tenant_id)s AND l.unpinned_at IS NULL
    AND (%(kind)s::text IS NULL OR l.kind = %(kind)s)
    AND (l.created_at, l.id) > (%(after_time)s, %(after_id)s)
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
    AND (%(everything)s OR l.run_id = ANY(%(run_ids)s) OR l.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR l.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR l.private_to IS NULL OR l.private_to = %(private_to)s) -- first wall
ORDER BY l.created_at, l.id
LIMIT %(limit)s

-- name: latest
-- The newest, and of these the most used first: being given to an agent once makes one as new as a day would, up to a
-- month. Uses are looked up for the newest alone, so that it takes no longer where thousands are pinned.
WITH newest AS (
SELECT l.id, c.external_id, m.id AS message_id, l.kind, l.content, m.role, m.user_id, m.agent, m.created_at AS said_at,
    l.pinned_by, l.created_at, count(*) OVER () AS total,
    (SELECT e.id FROM entries e WHERE e.tenant_id = %(tenant_id)s AND e.source_id = l.id
     ORDER BY e.part LIMIT 1) AS entry_id
FROM landmarks l
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = l.conversation_id
JOIN messages m ON m.tenant_id = %(tenant_id)s AND m.conversation_id = l.conversation_id AND m.seq = l.seq
WHERE l.tenant_id = %(tenant_id)s AND l.unpinned_at IS NULL
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
    AND (%(everything)s OR l.run_id = ANY(%(run_ids)s) OR l.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR l.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR l.private_to IS NULL OR l.private_to = %(private_to)s) -- first wall
ORDER BY m.created_at DESC, l.id DESC
LIMIT GREATEST(%(limit)s, 200)
)
SELECT n.id, n.external_id AS conversation, n.message_id AS message, n.kind, n.content AS text, n.role,
    n.user_id AS "user", n.agent, n.said_at, n.pinned_by, n.created_at, n.total
FROM newest n
LEFT JOIN find_uses(%(tenant_id)s, ARRAY(SELECT entry_id FROM newest)) u ON u.entry_id = n.entry_id
ORDER BY n.said_at + LEAST(COALESCE(u.times, 0), 30) * interval '1 day' DESC, n.id DESC
LIMIT %(limit)s
