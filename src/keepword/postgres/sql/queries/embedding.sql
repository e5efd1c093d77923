-- name: space
SELECT id, dimensions FROM spaces WHERE name = %(name)s

-- name: settle
SELECT index_instant_vectors(%(amount)s::integer)

-- name: flush
SELECT flush_pending_lexemes()

-- name: analyze
SELECT analyze_new_table()

-- name: importing
SELECT is_importing()

-- name: claim
SELECT tenant_id, entry_id
FROM claim_backlog(%(space)s::smallint, %(amount)s::integer, make_interval(secs => %(lease)s::float8), %(most_ms)s::bigint)

-- name: texts
SELECT e.id, e.part, e.text, e.kind, m.role, m.user_id, m.agent, m.content, m.tool_name, m.tool_args, m.tool_result
FROM entries e LEFT JOIN messages m ON m.tenant_id = %(tenant_id)s AND m.id = e.source_id AND e.text IS NULL
WHERE e.tenant_id = %(tenant_id)s AND e.id = ANY (%(ids)s::bigint[])

-- name: store
SELECT store_vectors(%(space)s::smallint, %(tenants)s::uuid[], %(ids)s::bigint[], %(parts)s::smallint[], %(vectors)s)

-- name: give_up
SELECT give_up_backlog(
    %(space)s::smallint, %(tenants)s::uuid[], %(ids)s::bigint[], %(reason)s, %(attempts)s::integer,
    make_interval(secs => %(pause)s::float8))

-- name: release
SELECT release_backlog(%(space)s::smallint, %(tenants)s::uuid[], %(ids)s::bigint[])

-- name: sleep
SELECT request_wakeup()

-- name: count
SELECT space, waiting, failed FROM count_backlog()

-- name: make_space
SELECT make_space(%(name)s, %(dimensions)s::integer)

-- name: fill_space
UPDATE spaces SET filling = true WHERE id = %(space)s

-- name: serve_space
SELECT serve_space(%(space)s::smallint)

-- name: queue_missing
SELECT queued, last_tenant, last_id
FROM queue_missing(%(space)s::smallint, %(after_tenant)s, %(after_id)s::bigint, %(amount)s::integer)

-- name: serving
SELECT name FROM spaces WHERE serving AND NOT is_instant

-- name: failures
SELECT s.name, b.error, count(*) FROM backlog b JOIN spaces s ON s.id = b.space_id
WHERE b.failed AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = b.tenant_id)
GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 5
