-- name: get
SELECT id, external_id, kind, run_id, visibility, user_id AS "user", agent, room_id AS room, project_id AS project, channel,
    channel_id, bot_identity, title, settings, active, reach, last_seq AS message_count, created_at, updated_at
FROM conversations
WHERE tenant_id = %(tenant_id)s AND external_id = %(external_id)s
    AND (%(everything)s OR run_id = ANY(%(run_ids)s) OR run_id IN (SELECT granted_sessions())) -- first wall

-- name: insert
INSERT INTO conversations (
    tenant_id, id, external_id, kind, user_id, agent, agent_open, room_id, project_id,
    channel, channel_id, bot_identity, title, settings, active, reach, made_by, by_bound_key)
VALUES (
    %(tenant_id)s, %(id)s, %(external_id)s, %(kind)s, %(user)s, %(agent)s, %(agent_open)s, %(room)s,
    %(project)s,
    COALESCE(%(channel)s, 'api'), %(channel_id)s, %(bot_identity)s, %(title)s,
    COALESCE(%(settings)s, '{}'::jsonb), COALESCE(%(active)s, true), %(reach)s, %(made_by)s, %(by_bound_key)s)
ON CONFLICT DO NOTHING
RETURNING id, external_id, kind, run_id, visibility, user_id AS "user", agent, room_id AS room, project_id AS project,
    channel, channel_id, bot_identity, title, settings, active, reach, last_seq AS message_count, created_at, updated_at

-- name: assign
SELECT assign_session(
    %(grant)s, %(tenant_id)s, %(conversation_id)s, %(agent)s, %(user)s, %(despite_messages)s, %(key_id)s)

-- name: add_alias
SELECT make_alias(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(alias)s)

-- name: make_user
SELECT make_user(%(grant)s, %(tenant_id)s, %(user)s)

-- name: update
UPDATE conversations SET
    channel = CASE WHEN 'channel' = ANY(%(changed)s) THEN %(channel)s ELSE channel END,
    channel_id = CASE WHEN 'channel_id' = ANY(%(changed)s) THEN %(channel_id)s ELSE channel_id END,
    bot_identity = CASE WHEN 'bot_identity' = ANY(%(changed)s) THEN %(bot_identity)s ELSE bot_identity END,
    title = CASE WHEN 'title' = ANY(%(changed)s) THEN %(title)s ELSE title END,
    settings = CASE WHEN 'settings' = ANY(%(changed)s) THEN %(settings)s ELSE settings END,
    active = CASE WHEN 'active' = ANY(%(changed)s) THEN %(active)s ELSE active END,
    reach = CASE WHEN 'reach' = ANY(%(changed)s) THEN %(reach)s ELSE reach END,
    updated_at = now()
WHERE tenant_id = %(tenant_id)s AND external_id = %(external_id)s
    AND run_id = %(writes)s -- first wall
RETURNING id, external_id, kind, run_id, visibility, user_id AS "user", agent, room_id AS room, project_id AS project,
    channel, channel_id, bot_identity, title, settings, active, reach, last_seq AS message_count, created_at, updated_at

-- name: list
SELECT id, external_id, kind, run_id, visibility, user_id AS "user", agent, room_id AS room, project_id AS project, channel,
    channel_id, bot_identity, title, settings, active, reach, last_seq AS message_count, created_at, updated_at
FROM conversations
WHERE tenant_id = %(tenant_id)s
    AND (%(everything)s OR run_id = ANY(%(run_ids)s) OR run_id IN (SELECT granted_sessions())) -- first wall
    AND (created_at, id) > (%(after_time)s, %(after_id)s)
ORDER BY created_at, id
LIMIT %(limit)s
