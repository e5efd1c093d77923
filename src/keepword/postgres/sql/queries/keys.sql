-- name: find
-- The key and the place that the request is about, in one round trip.
SELECT k.id, k.tenant_id, k.tenant, k.role, k.agent AS key_agent, k.user_id AS key_user, k.digest,
    k.expires_at, k.revoked_at,
    p.kind, p.external_id, p.agent, p.user_id, p.room_id, p.users, p.agents, p.project_id, p.isolated, p.sessions,
    p.conversation_id, find_settings(k.tenant_id) AS settings, p.agent_open, p.alias, p.introduced,
    p.by_bound_key, p.reach, p.rooms
FROM find_key(%(id)s) k LEFT JOIN LATERAL find_conversation(k.tenant_id, %(external_id)s) p ON true

-- name: keyless
SELECT 'none' AS id, t.id AS tenant_id, t.name AS tenant, 'admin' AS role, NULL AS key_agent, NULL AS key_user,
    p.kind, p.external_id, p.agent, p.user_id, p.room_id, p.users, p.agents, p.project_id, p.isolated, p.sessions,
    p.conversation_id, find_settings(t.id) AS settings, p.agent_open, p.alias, p.introduced, p.by_bound_key, p.reach,
    p.rooms
FROM keyless_tenant() t LEFT JOIN LATERAL find_conversation(t.id, %(external_id)s) p ON true

-- name: moved
SELECT find_moved_key(%(id)s) AS server

-- name: make_tenant
INSERT INTO tenants (name) VALUES (%(tenant)s) ON CONFLICT (name) DO NOTHING

-- name: tenant
SELECT id FROM tenants WHERE name = %(tenant)s

-- name: tenant_moved
SELECT m.server FROM tenants t JOIN moved_tenants m ON m.tenant_id = t.id WHERE t.name = %(tenant)s

-- name: make_user
INSERT INTO users (tenant_id, id) SELECT t.id, %(user)s FROM tenants t WHERE t.name = %(tenant)s
ON CONFLICT DO NOTHING

-- name: insert
INSERT INTO keys (id, tenant_id, role, agent, user_id, digest, expires_at)
SELECT %(id)s, t.id, %(role)s, %(agent)s, %(user)s, %(digest)s, %(expires_at)s
FROM tenants t WHERE t.name = %(tenant)s

-- name: list
SELECT k.id, t.name, k.role, k.agent, k.user_id, k.created_at, k.expires_at, k.revoked_at
FROM keys k JOIN tenants t ON t.id = k.tenant_id
WHERE NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = k.tenant_id)
ORDER BY t.name, k.created_at

-- name: revoke
UPDATE keys k SET revoked_at = COALESCE(k.revoked_at, now())
WHERE k.id = %(id)s AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = k.tenant_id) RETURNING k.revoked_at

-- name: any
SELECT EXISTS (
    SELECT FROM keys k JOIN tenants t ON t.id = k.tenant_id
    WHERE t.demo_of IS NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()))

-- name: page
SELECT id, role, agent, user_id AS "user", created_at, expires_at, revoked_at
FROM find_keys(%(grant)s, %(tenant_id)s, %(after)s, %(limit)s)

-- name: make
SELECT make_key(%(grant)s, %(tenant_id)s, %(id)s, %(role)s, %(agent)s, %(user)s, %(digest)s, %(expires_at)s) AS created_at

-- name: open_demo
SELECT demo, is_told FROM open_demo(%(grant)s, %(tenant_id)s, %(id)s, %(digest)s, %(expires_at)s)

-- name: revoke_in_tenant
SELECT revoke_key(%(grant)s, %(tenant_id)s, %(id)s) AS outcome
