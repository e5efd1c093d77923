-- name: get
SELECT scope_kind, scope_id, key, value::text, type, version, source_id, confidence, created_at, updated_at
FROM facts
WHERE tenant_id = %(tenant_id)s AND run_id = %(run_id)s AND key = %(key)s
    AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s))) -- first wall
    AND (%(everything)s OR said_in = '{}' OR opens_fact_origins(tenant_id, scope_id, said_in, %(profiles_of)s, %(lines_in)s, %(lines_of_theirs)s, %(lines_to)s)) -- first wall

-- name: about
SELECT scope_kind, scope_id, key, value::text, type, version, source_id, confidence, created_at, updated_at
FROM facts
WHERE tenant_id = %(tenant_id)s AND run_id = %(run_id)s AND key > %(after)s
    AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s))) -- first wall
    AND (%(everything)s OR said_in = '{}' OR opens_fact_origins(tenant_id, scope_id, said_in, %(profiles_of)s, %(lines_in)s, %(lines_of_theirs)s, %(lines_to)s)) -- first wall
ORDER BY key
LIMIT %(limit)s

-- name: in_place
SELECT scope_kind, scope_id, key, value::text, type, version, source_id, confidence, created_at, updated_at
FROM facts
WHERE tenant_id = %(tenant_id)s AND (run_id, key) > (%(after_run)s, %(after)s)
    AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s))) -- first wall
    AND (%(everything)s OR said_in = '{}' OR opens_fact_origins(tenant_id, scope_id, said_in, %(profiles_of)s, %(lines_in)s, %(lines_of_theirs)s, %(lines_to)s)) -- first wall
ORDER BY run_id, key
LIMIT %(limit)s

-- name: history
SELECT version, value::text, type, source_id, confidence, written_at
FROM fact_versions
WHERE tenant_id = %(tenant_id)s AND run_id = %(run_id)s AND key = %(key)s AND version < %(before)s
    AND (source_id IS NULL OR NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = source_id)) -- first wall
    AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s))) -- first wall
    AND (%(everything)s OR said_in = '{}' OR opens_fact_origins(tenant_id, scope_id, said_in, %(profiles_of)s, %(lines_in)s, %(lines_of_theirs)s, %(lines_to)s)) -- first wall
ORDER BY version DESC
LIMIT %(limit)s

-- name: put
SELECT outcome, held_version, held_type, made_at, changed_at FROM put_fact(
    %(grant)s, %(tenant_id)s, %(kind)s, %(scope_id)s, %(run_id)s, %(key)s, %(value)s::json, %(type)s,
    %(keeps_type)s, %(source)s, %(confidence)s, %(expected)s)

-- name: delete
SELECT outcome, held_version FROM delete_fact(%(grant)s, %(tenant_id)s, %(run_id)s, %(key)s, %(expected)s)
