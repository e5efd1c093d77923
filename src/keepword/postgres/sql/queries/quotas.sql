-- name: take
SELECT take_quota(
    %(tenant_id)s, %(day)s, %(messages)s::bigint, %(bytes)s::bigint, %(most_messages)s::bigint, %(most_bytes)s::bigint)

-- name: note
SELECT count_background(%(tenants)s::uuid[], %(day)s, %(milliseconds)s::bigint[], %(most_ms)s::bigint)

-- name: is_over
SELECT is_over_background(%(tenant_id)s, %(day)s, %(most_ms)s::bigint)
