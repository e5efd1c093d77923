-- name: about
SELECT external_id, agent, channel, title, active, updated_at, last_seq,
    COALESCE((SELECT max(leaf_last) FROM summaries s WHERE s.tenant_id = %(tenant_id)s
              AND s.conversation_id = %(conversation_id)s AND s.pipeline_version = %(version)s), 0)
FROM conversations
WHERE tenant_id = %(tenant_id)s AND id = %(conversation_id)s
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall

-- name: outlines
SELECT seq, created_at, role, tool_name, calls
FROM find_outlines(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(covered)s, %(limit)s)

-- name: orphans
SELECT id, tier, first_seq, last_seq, earliest_at, latest_at, content, message_tokens,
    key_decisions, entities_mentioned, tools_called
FROM summaries
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND pipeline_version = %(version)s
    AND parent_id IS NULL AND tier IN ('thread', 'session', 'day') AND hidden IS NULL
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
ORDER BY first_seq

-- name: messages
SELECT m.id, c.external_id, m.seq, m.role, m.user_id, m.agent, m.content, m.tool_name, m.tool_args,
    m.tool_result, m.attachments, m.metadata, m.event_id, m.created_at
FROM messages m JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = m.conversation_id
WHERE m.tenant_id = %(tenant_id)s AND m.conversation_id = %(conversation_id)s
    AND m.seq BETWEEN %(first_seq)s AND %(last_seq)s
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s)) -- first wall
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
ORDER BY m.seq

-- name: sentences
SELECT seq, content FROM tool_sentences
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s
    AND seq BETWEEN %(first_seq)s AND %(last_seq)s
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.conversation_id = %(conversation_id)s AND x.seq = tool_sentences.seq) -- first wall
ORDER BY seq

-- name: store
SELECT store_summary(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(summary)s, %(children)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: late
SELECT id, first_seq, last_seq, created_at FROM summaries
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND pipeline_version = %(version)s
    AND tier = 'thread' AND model = 'extractive' AND starts_with(reason, %(late)s) AND hidden IS NULL
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
ORDER BY first_seq

-- name: wake
SELECT wake_compaction(%(grant)s, %(tenant_id)s, %(conversation_id)s)

-- name: improve
SELECT improve_summary(%(grant)s, %(tenant_id)s, %(summary)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: tell
SELECT store_agent_summary(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(summary)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: settle
SELECT schedule_compaction(
    %(grant)s, %(tenant_id)s, %(conversation_id)s, %(version)s, %(seen_seq)s, %(due_seq)s, %(next_at)s, %(done)s)

-- name: served
SELECT pipeline_version, max(leaf_last) FROM summaries
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND tier = 'thread' AND serving
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
GROUP BY pipeline_version

-- name: waiting
SELECT id, content FROM summaries
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND pipeline_version = %(version)s
    AND NOT serving AND hidden IS NULL
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
ORDER BY id

-- name: replace
SELECT replace_summaries(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(version)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: to_redo
-- From below: what is above is made of what is made first.
SELECT id, tier, first_seq, last_seq FROM summaries
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND hidden = 'redo'
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
ORDER BY array_position(ARRAY['thread', 'session', 'day', 'week'], tier), first_seq

-- name: kept_children
SELECT id, tier, first_seq, last_seq, earliest_at, latest_at, content, message_tokens,
    key_decisions, entities_mentioned, tools_called
FROM summaries
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND parent_id = %(id)s AND hidden IS NULL
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
ORDER BY first_seq

-- name: remake
SELECT remake_summary(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(summary)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: get
SELECT s.id, c.external_id, s.tier, s.parent_id, s.content, s.message_count, s.earliest_at, s.latest_at, s.first_seq,
    s.last_seq, s.key_decisions, s.entities_mentioned, s.tools_called, s.agent, s.user_id, s.model, s.share, s.reason,
    s.pipeline_version, s.created_at
FROM summaries s JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = s.conversation_id
WHERE s.tenant_id = %(tenant_id)s AND s.id = %(id)s AND s.hidden IS NULL
    AND (%(everything)s OR s.run_id = ANY(%(run_ids)s) OR s.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR s.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR s.private_to IS NULL OR s.private_to = %(private_to)s) -- first wall

-- name: children
SELECT s.id, c.external_id, s.tier, s.parent_id, s.content, s.message_count, s.earliest_at, s.latest_at, s.first_seq,
    s.last_seq, s.key_decisions, s.entities_mentioned, s.tools_called, s.agent, s.user_id, s.model, s.share, s.reason,
    s.pipeline_version, s.created_at
FROM summaries s JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = s.conversation_id
WHERE s.tenant_id = %(tenant_id)s AND s.parent_id = %(id)s AND s.hidden IS NULL
    AND (%(everything)s OR s.run_id = ANY(%(run_ids)s) OR s.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR s.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR s.private_to IS NULL OR s.private_to = %(private_to)s) -- first wall
ORDER BY s.first_seq

-- name: sources
SELECT m.id, c.external_id AS conversation, m.seq, m.role, m.user_id AS "user", m.agent, m.content, m.tool_name, m.tool_args,
    m.tool_result, m.attachments, m.metadata, m.event_id, m.created_at,
    message_bytes(m.content, m.tool_args, m.tool_result, m.attachments, m.metadata) AS bytes
FROM summaries s
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = s.conversation_id
JOIN messages m ON m.tenant_id = %(tenant_id)s AND m.conversation_id = s.conversation_id
    AND m.seq BETWEEN s.leaf_first AND s.leaf_last
WHERE s.tenant_id = %(tenant_id)s AND s.id = %(id)s
    AND (m.created_at, m.seq) > (%(after_time)s, %(after_seq)s)
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
    AND (%(everything)s OR s.run_id = ANY(%(run_ids)s) OR s.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR s.visibility = ANY(%(visibilities)s)) -- first wall
    AND (%(everything)s OR s.private_to IS NULL OR s.private_to = %(private_to)s) -- first wall
ORDER BY m.created_at, m.seq

-- name: tree
SELECT s.id, c.external_id, s.tier, s.parent_id, s.content, s.message_count, s.earliest_at, s.latest_at, s.first_seq,
    s.last_seq, s.key_decisions, s.entities_mentioned, s.tools_called, s.agent, s.user_id, s.model, s.share, s.reason,
    s.pipeline_version, s.created_at
FROM summaries s JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = s.conversation_id
WHERE s.tenant_id = %(tenant_id)s AND s.conversation_id = %(conversation_id)s AND s.tier <> 'stored'
    AND s.run_id = %(run_id)s -- first wall
    AND s.serving AND s.hidden IS NULL
ORDER BY s.first_seq, s.last_seq DESC

-- name: told
SELECT s.id, c.external_id, s.tier, s.parent_id, s.content, s.message_count, s.earliest_at, s.latest_at, s.first_seq,
    s.last_seq, s.key_decisions, s.entities_mentioned, s.tools_called, s.agent, s.user_id, s.model, s.share, s.reason,
    s.pipeline_version, s.created_at
FROM summaries s JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = s.conversation_id
WHERE s.tenant_id = %(tenant_id)s AND s.conversation_id = %(conversation_id)s AND s.tier = 'stored'
    AND s.run_id = %(run_id)s -- first wall
ORDER BY s.created_at, s.id

-- name: tops
SELECT s.id, c.external_id, s.tier, s.parent_id, s.content, s.message_count, s.earliest_at, s.latest_at, s.first_seq,
    s.last_seq, s.key_decisions, s.entities_mentioned, s.tools_called, s.agent, s.user_id, s.model, s.share, s.reason,
    s.pipeline_version, s.created_at
FROM summaries s JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = s.conversation_id
WHERE s.tenant_id = %(tenant_id)s AND s.conversation_id = %(conversation_id)s AND s.parent_id IS NULL
    AND s.run_id = %(run_id)s -- first wall
    AND s.serving AND s.hidden IS NULL
ORDER BY s.latest_at DESC, s.id DESC
LIMIT %(limit)s

-- name: pending
SELECT m.seq, m.role, m.content, m.tool_name, m.tool_args
FROM messages m
WHERE m.tenant_id = %(tenant_id)s AND m.conversation_id = %(conversation_id)s
    AND m.seq IN (SELECT find_tasks(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(task)s, %(most)s))
    AND NOT EXISTS (SELECT FROM retractions x WHERE x.tenant_id = %(tenant_id)s AND x.message_id = m.id) -- first wall
    AND (%(everything)s OR m.run_id = ANY(%(run_ids)s)) -- first wall
ORDER BY m.seq

-- name: fail_task
SELECT fail_task(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(task)s, %(seq)s)

-- name: store_sentence
SELECT store_sentence(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(seq)s, %(text)s, %(model)s, %(reason)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: store_landmarks
SELECT store_landmarks(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(seq)s, %(found)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: run
SELECT run_id FROM conversations
WHERE tenant_id = %(tenant_id)s AND id = %(conversation_id)s
    AND (%(everything)s OR run_id = ANY(%(run_ids)s)) -- first wall
