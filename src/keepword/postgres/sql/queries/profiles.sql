-- name: get
SELECT id, type::text, user_id, memory, created_at, updated_at FROM profiles
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s))) -- first wall

-- name: page
SELECT id, type::text, user_id, memory, created_at, updated_at, count(*) OVER () FROM profiles
WHERE tenant_id = %(tenant_id)s
    AND (%(type)s::text IS NULL OR type::text = %(type)s)
    AND (%(user)s::text IS NULL OR user_id = %(user)s)
    AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s))) -- first wall
ORDER BY profile_rank(type, created_at, updated_at, (%(sorts)s::text[])[1]),
    profile_rank(type, created_at, updated_at, (%(sorts)s::text[])[2]),
    profile_rank(type, created_at, updated_at, (%(sorts)s::text[])[3]), id
LIMIT %(limit)s OFFSET %(offset)s

-- name: count
SELECT count(*) FROM profiles
WHERE tenant_id = %(tenant_id)s
    AND (%(type)s::text IS NULL OR type::text = %(type)s)
    AND (%(user)s::text IS NULL OR user_id = %(user)s)
    AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s))) -- first wall

-- name: insert
INSERT INTO profiles (tenant_id, type, user_id, memory, source_time)
VALUES (%(tenant_id)s, %(type)s::memory_type_enum, %(user)s, %(memory)s, now())
ON CONFLICT DO NOTHING
RETURNING id, type::text, user_id, memory, created_at, updated_at

-- name: change
UPDATE profiles SET memory = %(memory)s, source_time = now(), updated_at = now()
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    AND %(everything)s -- first wall
RETURNING id, type::text, user_id, memory, created_at, updated_at

-- name: delete
DELETE FROM profiles
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    AND %(everything)s -- first wall
RETURNING id

-- name: upsert_user
INSERT INTO profiles AS p (tenant_id, type, user_id, memory, source_time)
VALUES (%(tenant_id)s, 'user', %(user)s, %(memory)s, %(source_time)s)
ON CONFLICT (tenant_id, user_id) WHERE type = 'user' DO UPDATE
    SET memory = excluded.memory, source_time = excluded.source_time, updated_at = now()
    WHERE p.source_time <= excluded.source_time
RETURNING id

-- name: upsert_workspace
INSERT INTO profiles AS p (tenant_id, type, memory, source_time)
VALUES (%(tenant_id)s, 'workspace', %(memory)s, %(source_time)s)
ON CONFLICT (tenant_id) WHERE type = 'workspace' DO UPDATE
    SET memory = excluded.memory, source_time = excluded.source_time, updated_at = now()
    WHERE p.source_time <= excluded.source_time
RETURNING id
