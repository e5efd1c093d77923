-- name: read
SELECT 'message' AS kind, m.id, m.content AS text, m.run_id, c.external_id AS conversation, m.seq, m.role,
    m.user_id AS "user", m.agent, m.created_at, m.created_at AS changed_at
FROM messages m
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.id = ANY(%(ids)s)
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
UNION ALL
SELECT 'summary', m.id, m.content, m.run_id, c.external_id, NULL, NULL, m.user_id, m.agent, m.earliest_at, m.created_at
FROM summaries m
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.id = ANY(%(ids)s) AND m.hidden IS NULL
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
UNION ALL
SELECT 'memory', m.id, m.content, m.run_id, c.external_id, NULL, NULL, m.user_id, m.agent, m.said_at, m.updated_at
FROM memories m
LEFT JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.id = ANY(%(ids)s) AND m.deleted_at IS NULL
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
UNION ALL
SELECT 'landmark', m.id, m.content, m.run_id, c.external_id, m.seq, s.role, s.user_id, s.agent, s.created_at, m.created_at
FROM landmarks m
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
JOIN messages s ON s.tenant_id = %(tenant_id)s AND s.conversation_id = m.conversation_id AND s.seq = m.seq
WHERE m.tenant_id = %(tenant_id)s AND m.id = ANY(%(ids)s) AND m.unpinned_at IS NULL
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = s.id) -- first wall
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s) OR m.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR m.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
