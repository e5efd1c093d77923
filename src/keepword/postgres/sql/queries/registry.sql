-- name: put_user
INSERT INTO users (tenant_id, id, name) VALUES (%(tenant_id)s, %(id)s, %(name)s)
ON CONFLICT (tenant_id, id) DO UPDATE SET name = COALESCE(excluded.name, users.name)
RETURNING id, name, created_at, xmax = 0 AS is_new

-- name: user
SELECT id, name, created_at FROM users WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    AND %(everything)s -- first wall

-- name: users
SELECT id, name, created_at FROM users
WHERE tenant_id = %(tenant_id)s AND id > %(after)s
    AND %(everything)s -- first wall
ORDER BY id LIMIT %(limit)s

-- name: put_agent
INSERT INTO agents (tenant_id, slug, name, context_window)
VALUES (%(tenant_id)s, %(id)s, %(name)s, COALESCE(%(window)s, 128000))
ON CONFLICT (tenant_id, slug) DO UPDATE SET
    name = COALESCE(excluded.name, agents.name), context_window = COALESCE(%(window)s, agents.context_window)
RETURNING slug, name, context_window, created_at, xmax = 0 AS is_new

-- name: agent
SELECT slug, name, context_window, created_at FROM agents WHERE tenant_id = %(tenant_id)s AND slug = %(id)s

-- name: agents
SELECT slug, name, context_window, created_at FROM agents
WHERE tenant_id = %(tenant_id)s AND slug > %(after)s ORDER BY slug LIMIT %(limit)s

-- name: put_room
INSERT INTO rooms (tenant_id, id, name) VALUES (%(tenant_id)s, %(id)s, %(name)s)
ON CONFLICT (tenant_id, id) DO UPDATE SET name = COALESCE(excluded.name, rooms.name)
RETURNING id, name, project_id AS project, created_at, xmax = 0 AS is_new

-- name: room
SELECT id, name, project_id AS project, created_at FROM rooms
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall

-- name: rooms
SELECT id, name, project_id AS project, created_at FROM rooms
WHERE tenant_id = %(tenant_id)s AND id > %(after)s
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
ORDER BY id LIMIT %(limit)s

-- name: participants
SELECT COALESCE(array_agg(user_id ORDER BY user_id) FILTER (WHERE user_id IS NOT NULL), '{}') AS users,
    COALESCE(array_agg(agent ORDER BY agent) FILTER (WHERE agent IS NOT NULL), '{}') AS agents
FROM participants
WHERE tenant_id = %(tenant_id)s AND room_id = %(id)s
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall

-- name: join
INSERT INTO participants (tenant_id, room_id, user_id, agent, member)
VALUES (%(tenant_id)s, %(id)s, %(user)s, %(agent)s, %(member)s)
ON CONFLICT DO NOTHING

-- name: leave
DELETE FROM participants
WHERE tenant_id = %(tenant_id)s AND room_id = %(id)s
    AND member = %(member)s
RETURNING room_id

-- name: introduce
INSERT INTO introductions AS i (tenant_id, agent, user_id, introduced_by)
VALUES (%(tenant_id)s, %(agent)s, %(user)s, %(by)s)
ON CONFLICT (tenant_id, agent, user_id) DO UPDATE
SET introduced_by = excluded.introduced_by, introduced_at = now(), withdrawn_by = NULL, withdrawn_at = NULL
WHERE i.withdrawn_at IS NOT NULL

-- name: withdraw
UPDATE introductions SET withdrawn_by = %(by)s, withdrawn_at = now()
WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s AND user_id = %(user)s AND withdrawn_at IS NULL
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
RETURNING user_id

-- name: introduced
SELECT user_id AS "user", introduced_by, introduced_at FROM introductions
WHERE tenant_id = %(tenant_id)s AND agent = %(agent)s AND user_id > %(after)s AND withdrawn_at IS NULL
    AND (%(everything)s OR run_id = ANY(%(run_ids)s) OR 'introduced:' || agent = ANY(%(run_ids)s)) -- first wall
ORDER BY user_id LIMIT %(limit)s

-- name: lock_project
SELECT isolated FROM projects WHERE tenant_id = %(tenant_id)s AND id = %(id)s FOR UPDATE

-- name: put_project
INSERT INTO projects (tenant_id, id, name, isolated)
VALUES (%(tenant_id)s, %(id)s, %(name)s, COALESCE(%(isolated)s, false))
ON CONFLICT (tenant_id, id) DO UPDATE SET
    name = COALESCE(excluded.name, projects.name), isolated = COALESCE(%(isolated)s, projects.isolated)
RETURNING id, name, isolated, created_at, xmax = 0 AS is_new

-- name: project
SELECT id, name, isolated, created_at FROM projects WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    AND %(everything)s -- first wall

-- name: projects
SELECT id, name, isolated, created_at FROM projects
WHERE tenant_id = %(tenant_id)s AND id > %(after)s
    AND %(everything)s -- first wall
ORDER BY id LIMIT %(limit)s

-- name: members
SELECT
    ARRAY(SELECT external_id FROM conversations
          WHERE tenant_id = %(tenant_id)s AND project_id = %(id)s
              AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
          ORDER BY external_id) AS conversations,
    ARRAY(SELECT id FROM rooms
          WHERE tenant_id = %(tenant_id)s AND project_id = %(id)s
              AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
          ORDER BY id) AS rooms

-- name: move_room
UPDATE rooms SET project_id = %(project)s WHERE tenant_id = %(tenant_id)s AND id = %(id)s RETURNING id

-- name: move_conversation
UPDATE conversations SET project_id = CASE kind WHEN 'room' THEN NULL ELSE %(project)s END
WHERE tenant_id = %(tenant_id)s AND external_id = %(id)s RETURNING kind
