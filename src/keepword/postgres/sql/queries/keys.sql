-- name: find
SELECT id, tenant_id, tenant, role, agent, user_id, digest, expires_at, revoked_at FROM find_key(%(id)s)

-- name: keyless
SELECT id, name FROM keyless_tenant()

-- name: make_tenant
INSERT INTO tenants (name) VALUES (%(tenant)s) ON CONFLICT (name) DO NOTHING

-- name: insert
INSERT INTO keys (id, tenant_id, role, agent, user_id, digest, expires_at)
SELECT %(id)s, t.id, %(role)s, %(agent)s, %(user)s, %(digest)s, %(expires_at)s
FROM tenants t WHERE t.name = %(tenant)s

-- name: list
SELECT k.id, t.name, k.role, k.agent, k.user_id, k.created_at, k.expires_at, k.revoked_at
FROM keys k JOIN tenants t ON t.id = k.tenant_id
ORDER BY t.name, k.created_at

-- name: revoke
UPDATE keys SET revoked_at = COALESCE(revoked_at, now()) WHERE id = %(id)s RETURNING revoked_at

-- name: any
SELECT EXISTS (SELECT FROM keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
