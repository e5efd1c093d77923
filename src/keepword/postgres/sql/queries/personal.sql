-- All that is kept of one user, a JSON object a line: for the command line, as the owner of the database.

-- name: user
COPY (SELECT row_to_json(r) FROM (
    SELECT 'user' AS kind, id, name, created_at FROM users WHERE tenant_id = %(tenant_id)s AND id = %(user)s
) AS r) TO STDOUT

-- name: participant
COPY (SELECT row_to_json(r) FROM (
    SELECT 'participant' AS kind, room_id, joined_at FROM participants
    WHERE tenant_id = %(tenant_id)s AND user_id = %(user)s ORDER BY room_id
) AS r) TO STDOUT

-- name: introduction
COPY (SELECT row_to_json(r) FROM (
    SELECT 'introduction' AS kind, agent, introduced_at, withdrawn_at FROM introductions
    WHERE tenant_id = %(tenant_id)s AND user_id = %(user)s ORDER BY agent
) AS r) TO STDOUT

-- name: key
COPY (SELECT row_to_json(r) FROM (
    SELECT 'key' AS kind, id, role, agent, created_at, expires_at, revoked_at FROM keys
    WHERE tenant_id = %(tenant_id)s AND user_id = %(user)s ORDER BY created_at, id
) AS r) TO STDOUT

-- name: conversation
COPY (SELECT row_to_json(r) FROM (
    SELECT 'conversation' AS kind, id, external_id, kind AS place, agent, project_id, title, settings, created_at
    FROM conversations WHERE tenant_id = %(tenant_id)s AND user_id = %(user)s ORDER BY created_at, id
) AS r) TO STDOUT

-- name: message
-- What they said anywhere, and what was said to them in their own conversations.
COPY (SELECT row_to_json(r) FROM (
    SELECT 'message' AS kind, m.id, c.external_id AS conversation, m.seq, m.role, m.user_id, m.agent, m.content,
        m.tool_name, m.tool_args, m.tool_result, m.attachments, m.metadata, m.event_id, m.created_at,
        x.retracted_at
    FROM messages m JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
    LEFT JOIN retractions x ON x.tenant_id = m.tenant_id AND x.message_id = m.id
    WHERE m.tenant_id = %(tenant_id)s AND (c.user_id = %(user)s OR m.user_id = %(user)s)
    ORDER BY c.created_at, c.id, m.seq
) AS r) TO STDOUT

-- name: summary
COPY (SELECT row_to_json(r) FROM (
    SELECT 'summary' AS kind, s.id, c.external_id AS conversation, s.tier, s.first_seq, s.last_seq, s.content, s.created_at
    FROM summaries s JOIN conversations c ON c.tenant_id = s.tenant_id AND c.id = s.conversation_id
    WHERE s.tenant_id = %(tenant_id)s AND c.user_id = %(user)s AND s.hidden IS NULL ORDER BY c.created_at, c.id, s.id
) AS r) TO STDOUT

-- name: landmark
COPY (SELECT row_to_json(r) FROM (
    SELECT 'landmark' AS kind, l.id, c.external_id AS conversation, l.seq, l.kind AS type, l.content, l.created_at
    FROM landmarks l JOIN conversations c ON c.tenant_id = l.tenant_id AND c.id = l.conversation_id
    WHERE l.tenant_id = %(tenant_id)s AND c.user_id = %(user)s ORDER BY c.created_at, c.id, l.seq, l.id
) AS r) TO STDOUT

-- name: memory
COPY (SELECT row_to_json(r) FROM (
    SELECT 'memory' AS kind, m.id, m.run_id AS place, m.type, m.content, m.metadata, m.categories, m.valid_from, m.valid_to,
        m.deleted_at, m.created_at,
        (SELECT json_agg(json_build_object('version', v.version, 'event', v.event, 'content', v.content, 'at', v.written_at)
                         ORDER BY v.version) FROM memory_versions v
         WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id) AS history
    FROM memories m LEFT JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
    WHERE m.tenant_id = %(tenant_id)s AND (m.user_id = %(user)s OR c.user_id = %(user)s) ORDER BY m.created_at, m.id
) AS r) TO STDOUT

-- name: fact
COPY (SELECT row_to_json(r) FROM (
    SELECT 'fact' AS kind, key, version, value, type, source_id, confidence, written_at
    FROM fact_versions WHERE tenant_id = %(tenant_id)s AND run_id = 'profile:' || %(user)s::text ORDER BY key, version
) AS r) TO STDOUT

-- name: profile
COPY (SELECT row_to_json(r) FROM (
    SELECT 'profile' AS kind, version, memory, by_whom, written_at
    FROM profile_versions WHERE tenant_id = %(tenant_id)s AND run_id = 'profile:' || %(user)s::text ORDER BY version
) AS r) TO STDOUT

-- name: item
COPY (SELECT row_to_json(r) FROM (
    SELECT 'item' AS kind, agent, path, key, value, created_at, updated_at
    FROM items WHERE tenant_id = %(tenant_id)s AND user_id = %(user)s ORDER BY path, key
) AS r) TO STDOUT

-- name: working_memory
COPY (SELECT row_to_json(r) FROM (
    SELECT 'working_memory' AS kind, c.external_id AS conversation, w.fields, w.expires_at
    FROM working_memories w JOIN conversations c ON c.tenant_id = w.tenant_id AND c.id = w.conversation_id
    WHERE w.tenant_id = %(tenant_id)s AND c.user_id = %(user)s ORDER BY c.id
) AS r) TO STDOUT

-- name: audit
COPY (SELECT row_to_json(r) FROM (
    SELECT 'audit' AS kind, at, actor, action, place, ids FROM audit
    WHERE tenant_id = %(tenant_id)s AND (actor = 'user:' || %(user)s::text OR ids ->> 'user' = %(user)s) ORDER BY at, id
) AS r) TO STDOUT

-- name: find
SELECT t.id FROM tenants t JOIN users u ON u.tenant_id = t.id WHERE t.name = %(tenant)s AND u.id = %(user)s
