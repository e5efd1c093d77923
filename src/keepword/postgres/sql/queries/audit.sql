-- name: page
SELECT id, at, key_id AS key, actor, action, place, ids
FROM audit
WHERE tenant_id = %(tenant_id)s
    AND %(everything)s -- first wall
    AND (%(action)s::text IS NULL OR action = %(action)s OR starts_with(action, %(action)s || '.'))
    AND (%(actor)s::text IS NULL OR actor = %(actor)s)
    AND (%(since)s::timestamptz IS NULL OR at >= %(since)s)
    AND (%(before)s::timestamptz IS NULL OR at < %(before)s)
    AND (%(after_time)s::timestamptz IS NULL OR (at, id) < (%(after_time)s, %(after_id)s::uuid))
ORDER BY at DESC, id DESC
LIMIT %(limit)s

-- name: note_read
SELECT note_read(%(grant)s, %(tenant_id)s, %(route)s, %(run_id)s, %(conversation)s)
