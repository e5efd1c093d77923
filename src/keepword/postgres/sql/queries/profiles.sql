-- name: page
-- Lines of a page of profiles, each with its profile. What was written by hand comes with the memories that it repeats,
-- which only the owner is told; what was said is read live.
WITH lines AS (
    SELECT t.profile_id, t.line AS position, t.content, t.is_filler, t.memory_ids, NULL::uuid AS memory_id, '' AS type,
        0::real AS importance, NULL::timestamptz AS said_at, t.run_id, '{}'::uuid[] AS sources,
        p.user_id, p.shared_at AS created_at, p.written_at AS updated_at
    FROM profile_texts t JOIN profiles p ON p.tenant_id = %(tenant_id)s AND p.id = t.profile_id
    WHERE t.tenant_id = %(tenant_id)s
        AND (%(id)s::uuid IS NULL OR t.profile_id = %(id)s)
        AND (%(user)s::text IS NULL OR p.user_id = %(user)s)
        AND (%(everything)s OR (t.memory_ids = '{}' AND t.run_id = ANY(%(run_ids)s) AND 'shared' = ANY(%(visibilities)s))) -- first wall
    UNION ALL
    SELECT l.profile_id, l.repeated_at, l.content, false, '{}', l.id, l.type, l.importance, l.said_at, l.run_id,
        l.sources, l.user_id, l.created_at, l.updated_at
    FROM profile_lines l
    WHERE l.tenant_id = %(tenant_id)s AND %(type)s::text IS DISTINCT FROM 'workspace'
        AND (%(id)s::uuid IS NULL OR l.user_id = find_profile_user(%(tenant_id)s, %(id)s))
        AND (%(user)s::text IS NULL OR l.user_id = %(user)s)
        AND (%(everything)s OR (l.user_id = ANY(%(profiles_of)s) AND NOT l.isolated)) -- first wall
        AND (%(everything)s OR l.run_id = ANY(%(lines_in)s) OR (%(lines_of_theirs)s AND l.is_theirs)) -- first wall
        AND (l.vouched OR l.run_id = ANY(%(lines_in)s)) -- first wall
        AND (%(everything)s OR l.visibility <> 'private' OR l.private_to = %(private_to)s) -- first wall
        AND (%(everything)s OR %(lines_to)s::text IS NULL OR l.agent = %(lines_to)s) -- first wall
),
shown AS (
    SELECT s.profile_id, s.type, s.created_at, s.updated_at, s.total, row_number() OVER (
        ORDER BY profile_rank(s.type, s.created_at, s.updated_at, (%(sorts)s::text[])[1]),
            profile_rank(s.type, s.created_at, s.updated_at, (%(sorts)s::text[])[2]),
            profile_rank(s.type, s.created_at, s.updated_at, (%(sorts)s::text[])[3]), s.profile_id) AS place
    FROM (
        SELECT l.profile_id,
            CASE WHEN l.user_id IS NULL THEN 'workspace' ELSE 'user' END::memory_type_enum AS type,
            -- the owner's is as old as the profile; others are told nothing of lines that they do not see
            COALESCE((SELECT p.created_at FROM profiles p WHERE p.tenant_id = %(tenant_id)s AND p.id = l.profile_id
                          AND p.shared_at IS NOT NULL AND %(everything)s), min(l.created_at)) AS created_at,
            max(l.updated_at) AS updated_at, count(*) OVER () AS total
        FROM lines l
        WHERE %(type)s::text IS NULL OR (l.user_id IS NULL) = (%(type)s = 'workspace')
        GROUP BY l.profile_id, l.user_id
        HAVING bool_or(l.memory_id IS NOT NULL OR (l.memory_ids = '{}' AND NOT l.is_filler))
    ) AS s
)
SELECT s.total, s.type::text AS profile_type, s.created_at, s.updated_at AS profile_updated_at, l.profile_id,
    l.user_id AS "user", l.content AS text, l.position, l.updated_at, l.is_filler, l.memory_ids AS repeats,
    l.memory_id AS memory, l.type, l.importance, l.said_at, l.run_id, l.sources
FROM shown s LEFT JOIN lines l ON l.profile_id = s.profile_id
WHERE s.place > %(offset)s AND s.place <= %(offset)s + %(limit)s
ORDER BY s.place, l.position NULLS LAST, l.importance DESC, l.said_at DESC, l.content

-- name: lines
SELECT profile_id, user_id AS "user", content AS text, position, updated_at, is_filler, memory_ids AS repeats,
    memory_id AS memory, type, importance, said_at, run_id, sources
FROM (
    SELECT l.*, row_number() OVER (PARTITION BY profile_id ORDER BY position NULLS LAST, importance DESC, said_at DESC) AS place
    FROM (
        SELECT t.profile_id, p.user_id, t.content, t.line AS position, p.written_at AS updated_at, t.is_filler,
            t.memory_ids, NULL::uuid AS memory_id, '' AS type, 1::real AS importance, NULL::timestamptz AS said_at,
            t.run_id, '{}'::uuid[] AS sources
        FROM profile_texts t JOIN profiles p ON p.tenant_id = %(tenant_id)s AND p.id = t.profile_id
        WHERE t.tenant_id = %(tenant_id)s AND t.memory_ids = '{}' AND NOT t.is_filler
            AND (%(everything)s OR (t.run_id = ANY(%(run_ids)s) AND 'shared' = ANY(%(visibilities)s))) -- first wall
        UNION ALL
        SELECT l.profile_id, l.user_id, l.content, l.repeated_at, l.updated_at, false, '{}', l.id, l.type, l.importance,
            l.said_at, l.run_id, l.sources
        FROM profile_lines l
        WHERE l.tenant_id = %(tenant_id)s
            AND (%(everything)s OR (l.user_id = ANY(%(profiles_of)s) AND NOT l.isolated)) -- first wall
            AND (%(everything)s OR l.run_id = ANY(%(lines_in)s) OR (%(lines_of_theirs)s AND l.is_theirs)) -- first wall
            AND (l.vouched OR l.run_id = ANY(%(lines_in)s)) -- first wall
        AND (%(everything)s OR l.visibility <> 'private' OR l.private_to = %(private_to)s) -- first wall
            AND (%(everything)s OR %(lines_to)s::text IS NULL OR l.agent = %(lines_to)s) -- first wall
    ) AS l
) AS l
WHERE place <= %(limit)s
ORDER BY user_id NULLS FIRST, place

-- name: write
SELECT write_profile(%(grant)s, %(tenant_id)s, %(user)s, %(memory)s, %(by)s) AS profile_id

-- name: delete
SELECT delete_profile(%(grant)s, %(tenant_id)s, %(id)s, %(by)s)
