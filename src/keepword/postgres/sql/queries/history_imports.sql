-- name: page
SELECT id, kind, file, options, state, dry_run, uploaded_bytes, read_bytes, total_bytes, report, error, created_at,
    started_at, finished_at
FROM history_imports
WHERE tenant_id = %(tenant_id)s
    AND %(everything)s -- first wall
    AND (%(id)s::uuid IS NULL OR id = %(id)s)
    AND (%(before_time)s::timestamptz IS NULL OR (created_at, id) < (%(before_time)s, %(before_id)s::uuid))
ORDER BY created_at DESC, id DESC
LIMIT %(limit)s

-- name: make
SELECT make_history_import(%(grant)s, %(tenant_id)s, %(kind)s, %(file)s, %(options)s, %(most_open)s)

-- name: put_part
SELECT put_history_part(%(grant)s, %(tenant_id)s, %(id)s, %(number)s, %(content)s, %(most_bytes)s)

-- name: start
SELECT start_history_import(%(grant)s, %(tenant_id)s, %(id)s, %(dry_run)s, %(key_id)s)

-- name: cancel
SELECT cancel_history_import(%(grant)s, %(tenant_id)s, %(id)s)

-- name: delete
SELECT delete_history_import(%(grant)s, %(tenant_id)s, %(id)s)

-- name: claim
SELECT tenant_id, id, tenant, kind, file, options, dry_run, key_id, lease
FROM claim_history_import(%(lease_seconds)s, %(most_attempts)s)

-- name: read_part
SELECT read_history_part(%(tenant_id)s, %(id)s, %(lease)s, %(number)s)

-- name: note
SELECT note_history_import(
    %(tenant_id)s, %(id)s, %(lease)s, %(lease_seconds)s, %(report)s, %(read_bytes)s, %(total_bytes)s)

-- name: finish
SELECT finish_history_import(
    %(tenant_id)s, %(id)s, %(lease)s, %(state)s, %(error)s, %(report)s, %(read_bytes)s)

-- name: release
SELECT release_history_import(%(tenant_id)s, %(id)s, %(lease)s, %(after)s, %(error)s, %(counts)s)

-- name: is_held
SELECT is_history_import_held(%(tenant_id)s, %(id)s, %(lease)s)

-- name: sweep
SELECT sweep_history_imports(%(abandoned)s, %(forgotten)s)
