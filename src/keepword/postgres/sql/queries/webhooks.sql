-- name: page
SELECT id, name, url, events, is_active, stopped_because, created_at, updated_at
FROM webhooks
WHERE tenant_id = %(tenant_id)s
    AND %(everything)s -- first wall
    AND (%(after_time)s::timestamptz IS NULL OR (created_at, id) > (%(after_time)s, %(after_id)s::uuid))
ORDER BY created_at, id
LIMIT %(limit)s

-- name: get
SELECT id, name, url, events, is_active, stopped_because, created_at, updated_at
FROM webhooks
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    AND %(everything)s -- first wall

-- name: add
INSERT INTO webhooks (tenant_id, name, url, events, secret)
VALUES (%(tenant_id)s, %(name)s, %(url)s, %(events)s, %(secret)s)
RETURNING id, name, url, events, is_active, stopped_because, created_at, updated_at

-- name: change
UPDATE webhooks SET
    name = COALESCE(%(name)s, name), url = COALESCE(%(url)s, url), events = COALESCE(%(events)s, events),
    is_active = COALESCE(%(is_active)s, is_active), updated_at = clock_timestamp(),
    stopped_because = CASE WHEN %(is_active)s::boolean IS NULL THEN stopped_because END
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    AND %(everything)s -- first wall
RETURNING id, name, url, events, is_active, stopped_because, created_at, updated_at

-- name: delete
DELETE FROM webhooks
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    AND %(everything)s -- first wall
RETURNING id

-- name: deliveries
SELECT id, event, place, ids, at, attempts, due_at, delivered_at, status, error
FROM webhook_deliveries
WHERE tenant_id = %(tenant_id)s AND webhook_id = %(id)s
    AND %(everything)s -- first wall
    AND (%(after_time)s::timestamptz IS NULL OR (at, id) < (%(after_time)s, %(after_id)s::uuid))
ORDER BY at DESC, id DESC
LIMIT %(limit)s

-- name: test
SELECT delivery FROM test_webhook(%(grant)s, %(tenant_id)s, %(id)s)

-- name: claim
SELECT tenant_id, tenant, id, webhook_id, url, secret, event, place, ids, at, attempts
FROM claim_deliveries(%(most)s, %(per_webhook)s, %(lease)s)

-- name: finish
SELECT finish_delivery(%(tenant_id)s, %(id)s, %(status)s, %(error)s, %(retry_in)s)

-- name: sweep
SELECT sweep_deliveries(%(before)s)
