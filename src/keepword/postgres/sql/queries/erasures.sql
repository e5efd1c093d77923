-- name: erase_message
SELECT erasure, counts, revived FROM erase_message(
    %(grant)s, %(tenant_id)s, %(conversation_id)s, %(seq)s, %(user)s, %(agent)s, %(by)s, %(dry_run)s)

-- name: begin_conversation
SELECT erasure, counts, NULL::uuid[] AS revived
FROM begin_conversation_erasure(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(dry_run)s)

-- name: begin_user
SELECT erasure, counts, NULL::uuid[] AS revived FROM begin_user_erasure(%(grant)s, %(tenant_id)s, %(user)s, %(dry_run)s)

-- name: begin_tenant
SELECT erasure, counts, NULL::uuid[] AS revived FROM begin_tenant_erasure(%(grant)s, %(tenant_id)s, %(dry_run)s)

-- name: advance
SELECT tenant, erasure, state, erased_messages, revived FROM advance_erasure(%(erasure)s::uuid, %(messages)s)

-- name: expire
SELECT tenant, erasure, state, erased_messages, revived FROM erase_expired(%(at)s, %(messages)s)

-- name: find
SELECT id, kind, state, counts, erased_messages, requested_at, erased_at, done_at, forgotten_at
FROM show_erasure(%(grant)s, %(tenant_id)s, %(erasure)s)

-- name: erased
SELECT tenant, erasure, kind, names, run_ids FROM find_erased()

-- name: finish
SELECT finish_erasure(%(tenant_id)s, %(erasure)s)

-- name: last
SELECT last_erasure()

-- name: note_process
SELECT note_process(%(service)s, %(number)s, %(age_seconds)s, %(is_new)s)

-- name: table_size
SELECT pg_total_relation_size(to_regclass(%(table)s))

-- name: make_filler
-- Unlogged: the log is not to hold it. One row fills a page, for it is stored as it is.
CREATE UNLOGGED TABLE {} (page text STORAGE PLAIN)

-- name: fill_pages
INSERT INTO {} SELECT repeat('-', 8000) FROM generate_series(1, %(pages)s)

-- name: readers_since
-- Whoever reads since before the last row went may still see it, and a rewritten file would keep it for them.
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL
    AND xact_start < (SELECT max(erased_at) FROM keepword.erasures)

-- name: limit_time
SELECT set_config('statement_timeout', %(milliseconds)s::text, true)

-- name: retention
SELECT retention_days, days FROM find_retention(%(grant)s, %(tenant_id)s, %(room)s, %(conversation_id)s)

-- name: change_retention
SELECT change_retention(%(grant)s, %(tenant_id)s, %(room)s, %(conversation_id)s, %(days)s)
