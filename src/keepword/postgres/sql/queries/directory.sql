-- name: place_of
SELECT server FROM tenant_places WHERE tenant_id = %(tenant)s

-- name: set_place
INSERT INTO tenant_places AS p (tenant_id, server) VALUES (%(tenant)s, %(server)s)
ON CONFLICT (tenant_id) DO UPDATE SET server = excluded.server, placed_at = excluded.placed_at
WHERE p.server <> excluded.server

-- name: moved_to
SELECT server FROM moved_tenants WHERE tenant_id = %(tenant)s

-- name: give_away
INSERT INTO moved_tenants (tenant_id, server) VALUES (%(tenant)s, %(server)s)
ON CONFLICT (tenant_id) DO UPDATE SET server = excluded.server, moved_at = excluded.moved_at

-- name: take_in
DELETE FROM moved_tenants WHERE tenant_id = %(tenant)s

-- name: key_place
SELECT find_key_place(%(key_id)s) AS server

-- name: note_key_place
SELECT note_key_place(%(key_id)s, %(tenant)s, %(server)s)

-- name: draining
SELECT server FROM draining_servers

-- name: drain
INSERT INTO draining_servers (server) VALUES (%(server)s) ON CONFLICT (server) DO NOTHING

-- name: undrain
DELETE FROM draining_servers WHERE server = %(server)s

-- name: lock_name
SELECT pg_advisory_lock(hashtextextended('keepword tenant ' || %(name)s, 0))

-- name: unlock_name
SELECT pg_advisory_unlock(hashtextextended('keepword tenant ' || %(name)s, 0))

-- name: placed
SELECT server FROM placed_names WHERE name = %(name)s

-- name: place
INSERT INTO placed_names (name, server) VALUES (%(name)s, %(server)s)
ON CONFLICT (name) DO UPDATE SET server = excluded.server, placed_at = excluded.placed_at

-- name: unplace
DELETE FROM placed_names WHERE name = %(name)s

-- name: placed_names
SELECT name, server FROM placed_names ORDER BY name

-- name: tenant_here
SELECT t.id FROM tenants t
WHERE t.name = %(name)s AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = t.id)

-- name: copy_here
SELECT t.id FROM tenants t JOIN moved_tenants m ON m.tenant_id = t.id WHERE t.name = %(name)s

-- name: lives_here
SELECT EXISTS (SELECT FROM tenants t WHERE t.id = %(tenant)s)
    AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = %(tenant)s)

-- name: move_target
SELECT target FROM tenant_moves WHERE tenant_id = %(tenant)s

-- name: fullness
SELECT pg_database_size(current_database()),
    (SELECT count(*) FROM tenants t WHERE NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = t.id))

-- name: tenants_here
SELECT t.id, t.name, t.created_at, (SELECT count(*) FROM keys k WHERE k.tenant_id = t.id AND k.revoked_at IS NULL) AS keys
FROM tenants t
WHERE NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = t.id)
ORDER BY t.name
