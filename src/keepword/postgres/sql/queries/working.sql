-- name: get
SELECT get_working(%s, %s, %s, %s, %s)

-- name: put
SELECT stored, bytes, amount, held_bytes FROM put_working(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)

-- name: delete
SELECT delete_working(%s, %s, %s, %s, %s, %s, %s, %s)

-- name: lock
SELECT pg_advisory_xact_lock(working_lock_key(%(tenant_id)s, %(conversation_id)s))

-- name: clear
DELETE FROM working_memories
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s
    AND run_id = %(run_id)s -- first wall

-- name: sweep
SELECT sweep_working(%s)

-- name: ledger
SELECT item_key, value FROM ledger_marks
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s
    AND run_id = %(run_id)s -- first wall

-- name: check
SELECT value FROM ledger_marks
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND item_key = %(item_key)s
    AND run_id = %(run_id)s -- first wall

-- name: mark
SELECT mark_items(%s, %s, %s, %s, %s, %s, %s)

-- name: evict
DELETE FROM ledger_marks
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND item_key = %(item_key)s
    AND run_id = %(run_id)s -- first wall
RETURNING true

-- name: buffer
SELECT m.id, c.external_id AS conversation, m.seq, m.role, m.user_id AS "user", m.agent, m.created_at AS ts,
    m.content AS text, m.tool_name, m.tool_args, m.tool_result, m.attachments, find_call_id(m.metadata) AS tool_call_id,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, NULL) AS bytes
FROM messages m JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.run_id = %(run_id)s
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
ORDER BY m.created_at DESC, m.seq DESC, m.id DESC
LIMIT %(limit)s

-- name: version
SELECT find_buffer_version(%s, %s)

-- name: snapshot
-- The version and the messages in one statement, so that they belong to one moment.
SELECT (SELECT find_buffer_version(%(tenant_id)s, %(conversation_id)s)) AS version, m.id,
    c.external_id AS conversation, m.seq, m.role, m.user_id AS "user", m.agent, m.created_at AS ts, m.content AS text,
    m.tool_name, m.tool_args, m.tool_result, m.attachments,
    find_call_id(m.metadata) AS tool_call_id,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, NULL) AS bytes
FROM messages m JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.run_id = %(run_id)s
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
ORDER BY m.created_at DESC, m.seq DESC, m.id DESC
LIMIT %(limit)s
