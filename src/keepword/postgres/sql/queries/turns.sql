-- name: keep
SELECT keep_turn(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(turn)s)

-- name: sweep
SELECT sweep_turns(%(before)s)

-- name: list
SELECT t.id, c.external_id AS conversation, t.agent, t.user_id AS "user", t.asked, t.template, t.recipe, t.reach,
    t.window_tokens, t.tokens, t.injected_tokens, t.proposed_tokens, t.compacted, t.sections, t.created_at
FROM composed_turns t
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = t.conversation_id
WHERE t.tenant_id = %(tenant_id)s AND t.conversation_id = %(conversation_id)s
    AND t.run_id = %(run_id)s -- first wall
    AND (t.created_at, t.id) < (%(before_time)s, %(before_id)s)
ORDER BY t.created_at DESC, t.id DESC
LIMIT %(limit)s

-- name: get
SELECT t.id, c.external_id AS conversation, t.agent, t.user_id AS "user", t.asked, t.template, t.recipe, t.reach,
    t.window_tokens, t.tokens, t.injected_tokens, t.proposed_tokens, t.compacted, t.sections, t.created_at, t.left_out,
    t.degraded,
    (SELECT p.id FROM composed_turns p
     WHERE p.tenant_id = %(tenant_id)s AND p.conversation_id = t.conversation_id
         AND (p.created_at, p.id) < (t.created_at, t.id)
     ORDER BY p.created_at DESC, p.id DESC LIMIT 1) AS previous,
    (SELECT m.id FROM messages m
     WHERE m.tenant_id = %(tenant_id)s AND m.conversation_id = t.conversation_id AND m.role = 'user'
         AND m.user_id IS NOT DISTINCT FROM t.user_id AND t.asked IS NULL
         AND m.created_at >= t.created_at AND m.created_at < t.created_at + interval '15 minutes'
     ORDER BY m.created_at, m.seq LIMIT 1) AS said_next
FROM composed_turns t
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = t.conversation_id
WHERE t.tenant_id = %(tenant_id)s AND t.id = %(id)s
    AND (%(everything)s OR t.run_id = ANY(%(run_ids)s) OR t.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR t.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR t.private_to IS NULL OR t.private_to = %(private_to)s) -- first wall
