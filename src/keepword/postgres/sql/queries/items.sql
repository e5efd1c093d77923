-- name: read
SELECT i.id, w.place, i.path, i.key, i.value, i.created_at, i.updated_at, i.version, i.expires_at,
    octet_length(i.value::text) AS bytes
FROM unnest(%(paths)s::text[], %(keys)s::text[]) WITH ORDINALITY AS w (path, key, place)
JOIN items i ON i.tenant_id = %(tenant_id)s AND i.path = w.path AND i.key = w.key
WHERE (i.expires_at IS NULL OR i.expires_at > clock_timestamp())
    AND i.run_id = %(run_id)s -- first wall

-- name: page
SELECT i.id, i.path, i.key, i.value, i.created_at, i.updated_at, i.version, i.expires_at,
    octet_length(i.value::text) AS bytes
FROM items i
WHERE i.tenant_id = %(tenant_id)s AND (i.expires_at IS NULL OR i.expires_at > clock_timestamp())
    AND i.path >= %(path)s AND i.path < %(path_end)s
    AND i.value @> %(equal)s::jsonb AND (%(filter)s::jsonb = '{}' OR matches_item_filter(i.value, %(filter)s::jsonb))
    AND i.run_id = %(run_id)s -- first wall
ORDER BY i.updated_at DESC, i.path, i.key LIMIT %(limit)s OFFSET %(offset)s

-- name: parts
-- Of very many parts the nearest, packed into one row; NaN is no deep vector.
SELECT string_agg(uuid_send(p.item_id), '') AS items, string_agg(p.words, '') AS words,
    string_agg(int4send(octet_length(p.words)), '') AS word_bytes,
    string_agg(p.pieces, '') AS pieces,
    string_agg(int4send(octet_length(p.pieces)), '') AS piece_bytes,
    string_agg(float4send(p.instant), '') AS instants,
    string_agg(float4send(COALESCE(p.deep, 'NaN')), '') AS deeps
FROM (
    SELECT i.id AS item_id, COALESCE(q.words, '') AS words, COALESCE(q.pieces, '') AS pieces,
        COALESCE(-(q.instant OPERATOR(public.<#>) %(instant)s::public.halfvec), 0)::real AS instant,
        (SELECT max(-(v.vector OPERATOR(public.<#>) %(deep)s::public.halfvec))::real FROM item_vectors v
         WHERE v.tenant_id = %(tenant_id)s AND v.part_id = q.id AND v.space_id = %(deep_space)s::int2
             AND v.run_id = i.run_id -- first wall
        ) AS deep
    FROM items i
    LEFT JOIN item_parts q ON q.tenant_id = %(tenant_id)s AND q.item_id = i.id
        AND q.run_id = i.run_id -- first wall
    WHERE i.tenant_id = %(tenant_id)s AND (i.expires_at IS NULL OR i.expires_at > clock_timestamp())
        AND i.indexed IS DISTINCT FROM '{}' AND i.path >= %(path)s AND i.path < %(path_end)s
        AND i.value @> %(equal)s::jsonb AND (%(filter)s::jsonb = '{}' OR matches_item_filter(i.value, %(filter)s::jsonb))
        AND i.run_id = %(run_id)s -- first wall
    ORDER BY q.instant OPERATOR(public.<#>) %(instant)s::public.halfvec, i.updated_at DESC LIMIT %(most)s
) AS p


-- name: named
SELECT i.id, i.path, i.key, i.value, i.created_at, i.updated_at, i.version, i.expires_at,
    octet_length(i.value::text) AS bytes
FROM items i
WHERE i.tenant_id = %(tenant_id)s AND i.id = ANY (%(ids)s::uuid[]) AND (i.expires_at IS NULL OR i.expires_at > clock_timestamp())
    AND i.run_id = %(run_id)s -- first wall

-- name: namespaces
SELECT n.labels FROM (
    SELECT DISTINCT l.labels[:COALESCE(%(max_depth)s::integer, cardinality(l.labels))] AS labels
    FROM (
        SELECT DISTINCT i.path FROM items i
        WHERE i.tenant_id = %(tenant_id)s AND (i.expires_at IS NULL OR i.expires_at > clock_timestamp())
            AND i.run_id = %(run_id)s -- first wall
    ) AS p
    CROSS JOIN LATERAL (SELECT item_labels(p.path) AS labels) AS l
    WHERE NOT EXISTS (
        SELECT FROM jsonb_to_recordset(%(conditions)s::jsonb) AS c (labels text[], at_end boolean)
        WHERE NOT matches_labels(l.labels, c.labels, c.at_end))
) AS n ORDER BY n.labels COLLATE "C" LIMIT %(limit)s OFFSET %(offset)s

-- name: write
SELECT write_items(
    %(grant)s, %(tenant_id)s, %(run_id)s, %(agent)s, %(user)s, %(changes)s::jsonb, %(items)s::uuid[], %(parts)s::int2[],
    %(texts)s::text[], %(words)s::bytea[], %(pieces)s::bytea[], %(instants)s)

-- name: refresh
SELECT refresh_items(%(grant)s, %(tenant_id)s, %(run_id)s, %(ids)s::uuid[])

-- name: sweep
SELECT sweep_items(%(amount)s::integer)

-- name: claim
SELECT tenant_id, entry_id
FROM claim_item_parts(
    %(space)s::int2, %(amount)s::integer, make_interval(secs => %(lease)s::float8), %(most_ms)s::bigint)

-- name: texts
SELECT q.id, q.text FROM item_parts q WHERE q.tenant_id = %(tenant_id)s AND q.id = ANY (%(ids)s::bigint[])

-- name: store
SELECT store_item_vectors(%(space)s::int2, %(tenants)s::uuid[], %(ids)s::bigint[], %(parts)s::int2[], %(vectors)s)

-- name: give_up
SELECT give_up_item_parts(
    %(space)s::int2, %(tenants)s::uuid[], %(ids)s::bigint[], %(reason)s, %(attempts)s::integer,
    make_interval(secs => %(pause)s::float8))

-- name: release
SELECT release_item_parts(%(space)s::int2, %(tenants)s::uuid[], %(ids)s::bigint[])

-- name: queue
SELECT queue_item_parts(%(space)s::int2)
