-- All that is kept of one user, a JSON object a line.

-- name: find
SELECT t.id FROM tenants t JOIN users u ON u.tenant_id = t.id WHERE t.name = %(tenant)s AND u.id = %(user)s
    AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = t.id)

-- name: require_no_erasure
SELECT require_no_erasure(%(tenant_id)s)

-- name: as_owner
COPY (SELECT personal_rows(%(tenant_id)s, %(user)s, %(kind)s, true)) TO STDOUT

-- name: as_granted
COPY (SELECT export_personal(%(grant)s, %(tenant_id)s, %(user)s, %(kind)s)) TO STDOUT

-- name: at_one_moment
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY
