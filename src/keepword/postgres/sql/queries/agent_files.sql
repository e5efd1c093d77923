-- name: current
SELECT f.name, f.version, f.content, f.written_at FROM (
    SELECT DISTINCT ON (name) name, version, content, written_at FROM agent_files
    WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s
        AND (%(names)s::text[] IS NULL OR name = ANY(%(names)s::text[]))
    ORDER BY name, version DESC
) f WHERE f.content IS NOT NULL ORDER BY f.name

-- name: page
SELECT f.name, f.version, f.content, f.written_at FROM (
    SELECT DISTINCT ON (name) name, version, content, written_at FROM agent_files
    WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s AND name > %(after)s
    ORDER BY name, version DESC
) f WHERE f.content IS NOT NULL ORDER BY f.name
LIMIT %(limit)s

-- name: history
SELECT name, version, content, written_at FROM agent_files
WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s AND name = %(name)s AND version < %(before)s
ORDER BY version DESC
LIMIT %(limit)s

-- name: put
WITH held AS (
    SELECT version, content FROM agent_files
    WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s AND name = %(name)s ORDER BY version DESC LIMIT 1
)
INSERT INTO agent_files (tenant_id, agent, name, version, content)
SELECT %(tenant_id)s, %(agent)s, %(name)s, 1 + COALESCE((SELECT version FROM held), 0), %(content)s::text
WHERE (SELECT content FROM held) IS DISTINCT FROM %(content)s::text
RETURNING version
