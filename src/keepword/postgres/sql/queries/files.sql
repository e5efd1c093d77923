-- name: list
SELECT path, version, size, sha256, author, written_at FROM (
    SELECT path, version, size, sha256, author, written_at FROM file_versions
    WHERE tenant_id = %(tenant_id)s AND run_id = %(run_id)s AND is_current AND path > %(after)s
        AND (path = %(under)s OR (path > %(under)s || '/' AND path < %(under)s || '0'))
        AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s) AND (private_to IS NULL OR private_to = %(private_to)s))) -- first wall
    UNION ALL
    SELECT w.path, w.version, octet_length(w.content), sha256_of(w.content), 'owner', w.written_at FROM (
        SELECT DISTINCT ON (name) ('/memories/workspace/' || name) COLLATE "C" AS path, version, content, written_at
        FROM agent_files WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s ORDER BY name, version DESC
    ) w
    WHERE w.content IS NOT NULL AND w.path > %(after)s
        AND (w.path = %(under)s OR (w.path > %(under)s || '/' AND w.path < %(under)s || '0'))
) files
ORDER BY path
LIMIT %(limit)s

-- name: get
SELECT path, version, size, sha256, author, written_at, content FROM file_versions
WHERE tenant_id = %(tenant_id)s AND run_id = %(run_id)s AND is_current AND path = %(path)s
    AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s) AND (private_to IS NULL OR private_to = %(private_to)s))) -- first wall
UNION ALL
SELECT %(path)s, w.version, octet_length(w.content), sha256_of(w.content), 'owner', w.written_at, w.content FROM (
    SELECT version, content, written_at FROM agent_files
    WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s AND '/memories/workspace/' || name = %(path)s
    ORDER BY version DESC LIMIT 1
) w
WHERE w.content IS NOT NULL

-- name: versions
SELECT path, version, operation, size, sha256, author, written_at, redacted_by, redacted_at FROM (
    SELECT path, version, operation, size, sha256, author, written_at, redacted_by, redacted_at
    FROM file_versions
    WHERE tenant_id = %(tenant_id)s AND run_id = %(run_id)s AND path = %(path)s
        AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s) AND (private_to IS NULL OR private_to = %(private_to)s))) -- first wall
    UNION ALL
    SELECT %(path)s, version,
        CASE WHEN content IS NULL THEN 'deleted'
             WHEN lag(content) OVER (ORDER BY version) IS NULL THEN 'created' ELSE 'modified' END,
        octet_length(content), sha256_of(content), 'owner', written_at, NULL, NULL
    FROM agent_files
    WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s AND '/memories/workspace/' || name = %(path)s
) versions
WHERE version < %(before)s
ORDER BY version DESC
LIMIT %(limit)s

-- name: version
SELECT path, version, operation, size, sha256, author, written_at, redacted_by, redacted_at, content FROM (
    SELECT path, version, operation, size, sha256, author, written_at, redacted_by, redacted_at, content
    FROM file_versions
    WHERE tenant_id = %(tenant_id)s AND run_id = %(run_id)s AND path = %(path)s
        AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s) AND (private_to IS NULL OR private_to = %(private_to)s))) -- first wall
    UNION ALL
    SELECT %(path)s, version,
        CASE WHEN content IS NULL THEN 'deleted'
             WHEN lag(content) OVER (ORDER BY version) IS NULL THEN 'created' ELSE 'modified' END,
        octet_length(content), sha256_of(content), 'owner', written_at, NULL, NULL, content
    FROM agent_files
    WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s AND '/memories/workspace/' || name = %(path)s
) versions
WHERE version = %(version)s

-- name: put
SELECT outcome, path, version, size, sha256, author, written_at FROM put_file(
    %(grant)s, %(tenant_id)s, %(run_id)s, %(path)s, %(content)s, %(author)s, %(expected)s, %(most)s,
    %(most_bytes)s)

-- name: delete
SELECT delete_files(%(grant)s, %(tenant_id)s, %(run_id)s, %(path)s, %(author)s, %(expected)s) AS amount

-- name: rename
SELECT rename_files(%(grant)s, %(tenant_id)s, %(run_id)s, %(old)s, %(new)s, %(author)s) AS outcome

-- name: redact
SELECT redact_file(%(grant)s, %(tenant_id)s, %(run_id)s, %(path)s, %(version)s, %(by)s) AS done

-- name: search
SELECT path, version, written_at,
    (length(before) - length(replace(before, E'\n', '')) + 1)::integer AS line,
    left(split_part(substr(content, length(before) - length(split_part(reverse(before), E'\n', 1)) + 1), E'\n', 1), 500) AS text
FROM (
    SELECT path, version, content, written_at FROM file_versions
    WHERE tenant_id = %(tenant_id)s AND run_id = %(run_id)s AND is_current
        AND (%(everything)s OR (run_id = ANY(%(run_ids)s) AND visibility = ANY(%(visibilities)s) AND (private_to IS NULL OR private_to = %(private_to)s))) -- first wall
    UNION ALL
    SELECT '/memories/workspace/' || name, version, content, written_at FROM (
        SELECT DISTINCT ON (name) name, version, content, written_at FROM agent_files
        WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s ORDER BY name, version DESC
    ) w WHERE content IS NOT NULL
) files
CROSS JOIN LATERAL (
    SELECT min(strpos(lower(content), word)) AS least, min(NULLIF(strpos(lower(content), word), 0)) AS at
    FROM unnest(%(words)s::text[]) AS word
) found
CROSS JOIN LATERAL (SELECT left(content, found.at - 1) AS before) beginning
WHERE least > 0
ORDER BY written_at DESC, path
LIMIT %(limit)s
