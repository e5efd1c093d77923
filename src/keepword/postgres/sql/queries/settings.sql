-- name: change
UPDATE tenants SET settings = settings || %(changes)s WHERE name = %(tenant)s RETURNING settings

-- name: list
SELECT name, settings FROM tenants ORDER BY name
