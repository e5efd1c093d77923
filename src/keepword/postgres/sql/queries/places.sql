-- name: place
SELECT kind, external_id, agent, user_id, room_id, users, agents, project_id, isolated, sessions, conversation_id,
    find_settings(%(tenant_id)s) AS settings, agent_open, alias, introduced, by_bound_key, reach, rooms
FROM find_conversation(%(tenant_id)s, %(external_id)s)

-- name: room
SELECT room_id, users, agents, project_id, isolated, sessions, find_settings(%(tenant_id)s) AS settings
FROM find_room(%(tenant_id)s, %(room)s)

-- name: settings
SELECT find_settings(%(tenant_id)s) AS settings

-- name: change_settings
SELECT change_settings(%(grant)s, %(tenant_id)s, %(changes)s) AS settings

-- name: project
SELECT project_id, isolated, sessions FROM find_project(%(tenant_id)s, %(project)s)

-- name: direct
SELECT find_direct(%(tenant_id)s, %(user)s, %(agent)s) AS external_id

-- name: is_user
SELECT is_user(%(tenant_id)s, %(user)s)

-- name: is_introduced
SELECT is_introduced(%(tenant_id)s, %(agent)s, %(user)s)

-- name: roster
SELECT run_ids, strangers FROM find_entered_places(%(tenant_id)s, %(agent)s, %(user)s)

-- name: across
SELECT sessions, strangers, introduced FROM find_agent_sessions(%(tenant_id)s, %(agent)s, %(user)s)

-- name: derived
SELECT find_derived(%(tenant_id)s, %(id)s) AS external_id
