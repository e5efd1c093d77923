-- name: pin
SELECT pin_landmark(
    %(grant)s, %(tenant_id)s, %(conversation_id)s, %(id)s, %(message_id)s, %(kind)s, %(text)s, %(by)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: content
SELECT content FROM messages m
WHERE m.tenant_id = %(tenant_id)s AND m.id = %(message_id)s AND m.conversation_id = %(conversation_id)s
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s)) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall

-- name: unpin
SELECT unpin_landmark(%(grant)s, %(tenant_id)s, %(id)s, %(by)s)

-- name: get
SELECT l.id, c.external_id, m.id, l.kind, l.content, m.role, m.user_id, m.agent, m.created_at, l.pinned_by, l.created_at
FROM landmarks l
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = l.conversation_id
JOIN messages m ON m.tenant_id = %(tenant_id)s AND m.conversation_id = l.conversation_id AND m.seq = l.seq
WHERE l.tenant_id = %(tenant_id)s AND l.id = %(id)s AND l.unpinned_at IS NULL
    AND (%(everything)s OR l.run_id = ANY(%(run_ids)s) OR (c.kind = 'session' AND c.project_id = %(sessions_of)s)) -- first wall
    AND (%(everything)s OR l.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR l.private_to IS NULL OR l.private_to = %(private_to)s) -- first wall

-- name: list
SELECT l.id, c.external_id, m.id, l.kind, l.content, m.role, m.user_id, m.agent, m.created_at, l.pinned_by, l.created_at
FROM landmarks l
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = l.conversation_id
JOIN messages m ON m.tenant_id = %(tenant_id)s AND m.conversation_id = l.conversation_id AND m.seq = l.seq
WHERE l.tenant_id = %(tenant_id)s AND l.unpinned_at IS NULL
    AND (%(kind)s::text IS NULL OR l.kind = %(kind)s)
    AND (l.created_at, l.id) > (%(after_time)s, %(after_id)s)
    AND (%(everything)s OR l.run_id = ANY(%(run_ids)s) OR (c.kind = 'session' AND c.project_id = %(sessions_of)s)) -- first wall
    AND (%(everything)s OR l.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR l.private_to IS NULL OR l.private_to = %(private_to)s) -- first wall
ORDER BY l.created_at, l.id
LIMIT %(limit)s

-- name: latest
SELECT l.id, c.external_id, m.id, l.kind, l.content, m.role, m.user_id, m.agent, m.created_at, l.pinned_by,
    l.created_at, count(*) OVER ()
FROM landmarks l
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = l.conversation_id
JOIN messages m ON m.tenant_id = %(tenant_id)s AND m.conversation_id = l.conversation_id AND m.seq = l.seq
WHERE l.tenant_id = %(tenant_id)s AND l.unpinned_at IS NULL
    AND (%(everything)s OR l.run_id = ANY(%(run_ids)s) OR (c.kind = 'session' AND c.project_id = %(sessions_of)s)) -- first wall
    AND (%(everything)s OR l.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR l.private_to IS NULL OR l.private_to = %(private_to)s) -- first wall
ORDER BY m.created_at DESC, l.id DESC
LIMIT %(limit)s
