-- What of a tenant can't be made again, a JSON object a line, in an order that is the same on every server. Where a row's
-- place is its conversation's, it is left out, and taken from the conversation by the import.

-- name: tenant
SELECT t.id, t.name, t.created_at, EXISTS (SELECT FROM imports i WHERE i.tenant_id = t.id), t.settings,
    EXISTS (SELECT FROM erasures e WHERE e.tenant_id = t.id AND e.state = 'running')
FROM tenants t WHERE t.name = %(name)s

-- name: tenants
SELECT name FROM tenants ORDER BY name

-- name: user
COPY (SELECT row_to_json(r) FROM (
    SELECT 'user' AS kind, id, name, created_at
    FROM users WHERE tenant_id = %(tenant_id)s ORDER BY id COLLATE "C"
) AS r) TO STDOUT

-- name: agent
COPY (SELECT row_to_json(r) FROM (
    SELECT 'agent' AS kind, slug, name, context_window, created_at
    FROM agents WHERE tenant_id = %(tenant_id)s ORDER BY slug COLLATE "C"
) AS r) TO STDOUT

-- name: agent_file
COPY (SELECT row_to_json(r) FROM (
    SELECT 'agent_file' AS kind, agent, name, version, content, written_at
    FROM agent_files WHERE tenant_id = %(tenant_id)s ORDER BY agent COLLATE "C", name COLLATE "C", version
) AS r) TO STDOUT

-- name: file_version
COPY (SELECT row_to_json(r) FROM (
    SELECT 'file_version' AS kind, run_id, path, version, operation, is_current, content, size, sha256, author,
        written_at, redacted_by, redacted_at
    FROM file_versions WHERE tenant_id = %(tenant_id)s ORDER BY run_id COLLATE "C", path COLLATE "C", version
) AS r) TO STDOUT

-- name: project
COPY (SELECT row_to_json(r) FROM (
    SELECT 'project' AS kind, id, name, isolated, created_at
    FROM projects WHERE tenant_id = %(tenant_id)s ORDER BY id COLLATE "C"
) AS r) TO STDOUT

-- name: room
COPY (SELECT row_to_json(r) FROM (
    SELECT 'room' AS kind, id, name, project_id, created_at, retention_days
    FROM rooms WHERE tenant_id = %(tenant_id)s ORDER BY id COLLATE "C"
) AS r) TO STDOUT

-- name: participant
COPY (SELECT row_to_json(r) FROM (
    SELECT 'participant' AS kind, room_id, user_id, agent, joined_at
    FROM participants WHERE tenant_id = %(tenant_id)s
    ORDER BY room_id COLLATE "C", user_id COLLATE "C", agent COLLATE "C"
) AS r) TO STDOUT

-- name: conversation
COPY (SELECT row_to_json(r) FROM (
    SELECT 'conversation' AS kind, id, external_id, kind AS place, user_id, agent, agent_open, room_id, project_id,
        channel, channel_id, bot_identity, title, settings, active, last_seq, created_at, updated_at, made_by, by_bound_key,
        reach, retention_days
    FROM conversations WHERE tenant_id = %(tenant_id)s ORDER BY created_at, id
) AS r) TO STDOUT

-- name: introduction
COPY (SELECT row_to_json(r) FROM (
    SELECT 'introduction' AS kind, agent, user_id, introduced_by, introduced_at, withdrawn_by, withdrawn_at
    FROM introductions WHERE tenant_id = %(tenant_id)s ORDER BY agent COLLATE "C", user_id COLLATE "C"
) AS r) TO STDOUT

-- name: alias
COPY (SELECT row_to_json(r) FROM (
    SELECT 'alias' AS kind, alias, external_id, created_at
    FROM conversation_aliases WHERE tenant_id = %(tenant_id)s ORDER BY alias COLLATE "C"
) AS r) TO STDOUT

-- name: assignment
COPY (SELECT row_to_json(r) FROM (
    SELECT 'assignment' AS kind, conversation_id, agent, user_id, key_id, assigned_at
    FROM session_assignments WHERE tenant_id = %(tenant_id)s
    ORDER BY assigned_at, conversation_id, agent COLLATE "C", user_id COLLATE "C"
) AS r) TO STDOUT

-- name: message
COPY (SELECT row_to_json(r) FROM (
    SELECT 'message' AS kind, id, conversation_id, seq, role, user_id, agent, content, tool_name, tool_args,
        tool_result, attachments, metadata, event_id, digest, created_at, vouched
    FROM messages WHERE tenant_id = %(tenant_id)s ORDER BY created_at, id
) AS r) TO STDOUT

-- name: sentence
COPY (SELECT row_to_json(r) FROM (
    SELECT 'sentence' AS kind, conversation_id, seq, content, model, reason, created_at
    FROM tool_sentences WHERE tenant_id = %(tenant_id)s ORDER BY conversation_id, seq
) AS r) TO STDOUT

-- name: summary
-- parents before their children, and each leaf after the one that it follows
COPY (SELECT row_to_json(r) FROM (
    SELECT 'summary' AS kind, id, conversation_id, tier, pipeline_version, parent_id, first_seq, last_seq, earliest_at,
        latest_at, message_count, message_tokens, content, model, share, reason, key_decisions, entities_mentioned,
        tools_called, agent, user_id, serving, hidden, created_at
    FROM summaries WHERE tenant_id = %(tenant_id)s
    ORDER BY conversation_id, pipeline_version, array_position(ARRAY['week', 'day', 'session', 'thread'], tier),
        first_seq, created_at, id
) AS r) TO STDOUT

-- name: landmark
COPY (SELECT row_to_json(r) FROM (
    SELECT 'landmark' AS kind, id, conversation_id, seq, kind AS mark, content, pinned_by, created_at, unpinned_at,
        unpinned_by
    FROM landmarks WHERE tenant_id = %(tenant_id)s ORDER BY conversation_id, seq, created_at, id
) AS r) TO STDOUT

-- name: retraction
COPY (SELECT row_to_json(r) FROM (
    SELECT 'retraction' AS kind, message_id, conversation_id, seq, retracted_by, reason, retracted_at, erased_at
    FROM retractions WHERE tenant_id = %(tenant_id)s ORDER BY conversation_id, seq
) AS r) TO STDOUT

-- name: memory
COPY (SELECT row_to_json(r) FROM (
    SELECT 'memory' AS kind, id, conversation_id, project_id, user_id, agent, type, content, digest, importance, confidence, times,
        version, valid_from, said_at, valid_to, deleted_at, model, pipeline_version, created_at, updated_at, vouched,
        metadata, categories, expires_at, feedback, feedback_reason, said_by
    FROM memories WHERE tenant_id = %(tenant_id)s ORDER BY created_at, id
) AS r) TO STDOUT

-- name: supersession
COPY (SELECT row_to_json(r) FROM (
    SELECT 'supersession' AS kind, id, superseded_by
    FROM memories WHERE tenant_id = %(tenant_id)s AND superseded_by IS NOT NULL ORDER BY id
) AS r) TO STDOUT

-- name: memory_source
COPY (SELECT row_to_json(r) FROM (
    SELECT 'memory_source' AS kind, memory_id, message_id, digest
    FROM memory_sources WHERE tenant_id = %(tenant_id)s ORDER BY memory_id, message_id
) AS r) TO STDOUT

-- name: memory_version
COPY (SELECT row_to_json(r) FROM (
    SELECT 'memory_version' AS kind, memory_id, version, event, type, content, importance, confidence, superseded_by,
        by_whom, written_at, metadata, categories, expires_at, feedback, feedback_reason
    FROM memory_versions WHERE tenant_id = %(tenant_id)s ORDER BY memory_id, version
) AS r) TO STDOUT

-- name: fact
-- the value as the text that it is: json keeps how it was written, line ends included
COPY (SELECT row_to_json(r) FROM (
    SELECT 'fact' AS kind, scope_kind, scope_id, key, value::text AS value, type, version, source_id, confidence,
        created_at, updated_at, said_in, by_owner
    FROM facts WHERE tenant_id = %(tenant_id)s ORDER BY run_id COLLATE "C", key COLLATE "C"
) AS r) TO STDOUT

-- name: fact_version
COPY (SELECT row_to_json(r) FROM (
    SELECT 'fact_version' AS kind, scope_kind, scope_id, key, version, value::text AS value, type, source_id,
        confidence, written_at, run_id, visibility, said_in
    FROM fact_versions WHERE tenant_id = %(tenant_id)s ORDER BY run_id COLLATE "C", key COLLATE "C", version
) AS r) TO STDOUT

-- name: profile
COPY (SELECT row_to_json(r) FROM (
    SELECT 'profile' AS kind, id, type, user_id, created_at, shared_at, written_at, ARRAY(
        SELECT json_build_object(
            'line', t.line, 'content', t.content, 'memory_ids', t.memory_ids, 'is_filler', t.is_filler)
        FROM profile_texts t WHERE t.tenant_id = %(tenant_id)s AND t.profile_id = p.id ORDER BY t.line) AS lines
    FROM profiles p WHERE tenant_id = %(tenant_id)s ORDER BY id
) AS r) TO STDOUT

-- name: profile_version
COPY (SELECT row_to_json(r) FROM (
    SELECT 'profile_version' AS kind, run_id, version, profile_id, memory, by_whom, written_at
    FROM profile_versions WHERE tenant_id = %(tenant_id)s ORDER BY run_id COLLATE "C", version
) AS r) TO STDOUT

-- name: working_memory
-- what has expired can't be read any more, swept or not
COPY (SELECT row_to_json(r) FROM (
    SELECT 'working_memory' AS kind, conversation_id, fields, ttl_seconds, expires_at
    FROM working_memories WHERE tenant_id = %(tenant_id)s AND expires_at > now() ORDER BY conversation_id
) AS r) TO STDOUT

-- name: ledger_mark
COPY (SELECT row_to_json(r) FROM (
    SELECT 'ledger_mark' AS kind, conversation_id, item_key, value, marked_at
    FROM ledger_marks WHERE tenant_id = %(tenant_id)s ORDER BY conversation_id, item_key COLLATE "C"
) AS r) TO STDOUT

-- name: item
-- what expired can't be read any more, swept or not
COPY (SELECT row_to_json(r) FROM (
    SELECT 'item' AS kind, id, agent, user_id, path, key, value, indexed, version, created_at, updated_at, ttl_seconds,
        expires_at
    FROM items WHERE tenant_id = %(tenant_id)s AND (expires_at IS NULL OR expires_at > now()) ORDER BY run_id COLLATE "C", path, key
) AS r) TO STDOUT

-- name: use
-- entries are made again under other numbers: a use belongs to a part of its source
COPY (SELECT row_to_json(r) FROM (
    SELECT 'use' AS kind, e.source_id, e.part, u.times, u.last_at
    FROM uses u JOIN entries e ON e.tenant_id = u.tenant_id AND e.id = u.entry_id
    WHERE u.tenant_id = %(tenant_id)s ORDER BY e.source_id, e.part
) AS r) TO STDOUT

-- name: key
-- the digest alone, from which no key can be had
COPY (SELECT row_to_json(r) FROM (
    SELECT 'key' AS kind, id, role, agent, user_id, digest, created_at, expires_at, revoked_at
    FROM keys WHERE tenant_id = %(tenant_id)s ORDER BY created_at, id COLLATE "C"
) AS r) TO STDOUT

-- name: task
COPY (SELECT row_to_json(r) FROM (
    SELECT 'task' AS kind, conversation_id, task, seq, created_at
    FROM outbox WHERE tenant_id = %(tenant_id)s ORDER BY conversation_id, task COLLATE "C", seq
) AS r) TO STDOUT

-- name: compaction
COPY (SELECT row_to_json(r) FROM (
    SELECT 'compaction' AS kind, conversation_id, covered_seq, due_seq, next_at
    FROM compactions WHERE tenant_id = %(tenant_id)s ORDER BY conversation_id
) AS r) TO STDOUT

-- name: extraction
COPY (SELECT row_to_json(r) FROM (
    SELECT 'extraction' AS kind, conversation_id, done_seq, waiting, noted_at
    FROM extractions WHERE tenant_id = %(tenant_id)s ORDER BY conversation_id
) AS r) TO STDOUT

-- name: audit
-- an import is of the database that it was made into
COPY (SELECT row_to_json(r) FROM (
    SELECT 'audit' AS kind, id, at, key_id, actor, action, place, ids
    FROM audit WHERE tenant_id = %(tenant_id)s AND action NOT IN ('tenant.imported', 'tenant.import_dropped')
    ORDER BY at, id
) AS r) TO STDOUT

-- name: lock
SELECT pg_try_advisory_lock(hashtext('keepword.import'), hashtext(%(tenant)s))

-- name: begin
SELECT outcome, into_tenant, from_block, from_digest, contents
FROM begin_import(%(tenant_id)s, %(tenant)s, %(created_at)s, %(header)s)

-- name: settings
UPDATE tenants SET settings = %(settings)s WHERE id = %(tenant_id)s

-- name: note
UPDATE imports SET block = %(block)s, digest = %(digest)s WHERE tenant_id = %(tenant_id)s AND block < %(block)s

-- name: finish
DELETE FROM imports WHERE tenant_id = %(tenant_id)s

-- name: note_import
SELECT note_audit(NULL, %(tenant_id)s, 'tenant.imported', NULL, '{}')

-- name: drop
SELECT drop_import(%(tenant)s)

-- name: grant
SELECT set_config('keepword.grant', %(grant)s, true)

-- name: import_user
INSERT INTO users (tenant_id, id, name, created_at)
SELECT %(tenant_id)s, id, name, created_at
FROM json_to_recordset(%(rows)s::json) AS i (id text, name text, created_at timestamptz)

-- name: import_agent
INSERT INTO agents (tenant_id, slug, name, context_window, created_at)
SELECT %(tenant_id)s, slug, name, context_window, created_at
FROM json_to_recordset(%(rows)s::json) AS i (slug text, name text, context_window integer, created_at timestamptz)

-- name: import_agent_file
INSERT INTO agent_files (tenant_id, agent, name, version, content, written_at)
SELECT %(tenant_id)s, agent, name, version, content, written_at
FROM json_to_recordset(%(rows)s::json)
    AS i (agent text, name text, version bigint, content text, written_at timestamptz)

-- name: import_file_version
INSERT INTO file_versions (
    tenant_id, run_id, path, version, operation, is_current, content, size, sha256, author, written_at, redacted_by,
    redacted_at)
SELECT %(tenant_id)s, run_id, path, version, operation, is_current, content, size, sha256, author, written_at,
    redacted_by, redacted_at
FROM json_to_recordset(%(rows)s::json)
    AS i (run_id text, path text, version bigint, operation text, is_current boolean, content text, size integer,
          sha256 text, author text, written_at timestamptz, redacted_by text, redacted_at timestamptz)

-- name: import_project
INSERT INTO projects (tenant_id, id, name, isolated, created_at)
SELECT %(tenant_id)s, id, name, isolated, created_at
FROM json_to_recordset(%(rows)s::json) AS i (id text, name text, isolated boolean, created_at timestamptz)

-- name: import_room
INSERT INTO rooms (tenant_id, id, name, project_id, created_at, retention_days)
SELECT %(tenant_id)s, id, name, project_id, created_at, retention_days
FROM json_to_recordset(%(rows)s::json)
    AS i (id text, name text, project_id text, created_at timestamptz, retention_days integer)

-- name: import_participant
INSERT INTO participants (tenant_id, room_id, user_id, agent, joined_at, member)
SELECT %(tenant_id)s, room_id, user_id, agent, joined_at, COALESCE('user:' || user_id, 'agent:' || agent)
FROM json_to_recordset(%(rows)s::json) AS i (room_id text, user_id text, agent text, joined_at timestamptz)

-- name: import_conversation
INSERT INTO conversations (
    tenant_id, id, external_id, kind, user_id, agent, agent_open, room_id, project_id, channel, channel_id,
    bot_identity, title, settings, active, last_seq, created_at, updated_at, made_by, by_bound_key, reach,
    retention_days)
SELECT %(tenant_id)s, id, external_id, place, user_id, agent, COALESCE(agent_open, false), room_id, project_id, channel,
    channel_id, bot_identity, title, settings, active, last_seq, created_at, updated_at, made_by,
    COALESCE(by_bound_key, false), reach, retention_days
FROM json_to_recordset(%(rows)s::json) AS i (
    id uuid, external_id text, place text, user_id text, agent text, agent_open boolean, room_id text, project_id text,
    channel text, channel_id text, bot_identity text, title text, settings jsonb, active boolean, last_seq bigint,
    created_at timestamptz, updated_at timestamptz, made_by text, by_bound_key boolean, reach text,
    retention_days integer)

-- name: introduce_pairs
-- A file from before introductions has none: whoever has a conversation of their own with an agent is introduced to it.
INSERT INTO introductions (tenant_id, agent, user_id, introduced_at)
SELECT %(tenant_id)s, agent, user_id, min(created_at)
FROM json_to_recordset(%(rows)s::json) AS i (place text, agent text, user_id text, created_at timestamptz)
WHERE place <> 'room' AND user_id IS NOT NULL GROUP BY agent, user_id
ON CONFLICT DO NOTHING

-- name: import_introduction
INSERT INTO introductions (tenant_id, agent, user_id, introduced_by, introduced_at, withdrawn_by, withdrawn_at)
SELECT %(tenant_id)s, agent, user_id, introduced_by, introduced_at, withdrawn_by, withdrawn_at
FROM json_to_recordset(%(rows)s::json) AS i (
    agent text, user_id text, introduced_by text, introduced_at timestamptz, withdrawn_by text,
    withdrawn_at timestamptz)
ON CONFLICT (tenant_id, agent, user_id) DO UPDATE SET introduced_by = excluded.introduced_by,
    introduced_at = excluded.introduced_at, withdrawn_by = excluded.withdrawn_by, withdrawn_at = excluded.withdrawn_at

-- name: import_audit
INSERT INTO audit (tenant_id, id, at, key_id, actor, action, place, ids)
SELECT %(tenant_id)s, id, at, key_id, actor, action, place, ids
FROM json_to_recordset(%(rows)s::json) AS i (
    id uuid, at timestamptz, key_id text, actor text, action text, place text, ids jsonb)

-- name: import_alias
INSERT INTO conversation_aliases (tenant_id, alias, external_id, created_at)
SELECT %(tenant_id)s, i.alias, c.external_id, i.created_at
FROM json_to_recordset(%(rows)s::json) AS i (alias text, external_id text, created_at timestamptz)
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.external_id = i.external_id

-- name: import_assignment
INSERT INTO session_assignments (tenant_id, conversation_id, agent, user_id, key_id, assigned_at)
SELECT %(tenant_id)s, c.id, i.agent, i.user_id, i.key_id, i.assigned_at
FROM json_to_recordset(%(rows)s::json) AS i (
    conversation_id uuid, agent text, user_id text, key_id text, assigned_at timestamptz)
JOIN conversations c ON c.tenant_id = %(tenant_id)s AND c.id = i.conversation_id

-- name: import_message
INSERT INTO messages (
    tenant_id, id, conversation_id, seq, run_id, visibility, private_to, role, user_id, agent, content, tool_name,
    tool_args, tool_result, attachments, metadata, event_id, digest, created_at, vouched)
SELECT %(tenant_id)s, i.id, i.conversation_id, i.seq, c.run_id, c.visibility, c.private_to, i.role, i.user_id, i.agent,
    i.content, i.tool_name, i.tool_args, i.tool_result, i.attachments, i.metadata, i.event_id, i.digest, i.created_at,
    COALESCE(i.vouched, true)
FROM json_to_recordset(%(rows)s::json) AS i (
    id uuid, conversation_id uuid, seq bigint, role text, user_id text, agent text, content text, tool_name text,
    tool_args jsonb, tool_result text, attachments jsonb, metadata jsonb, event_id text, digest bytea,
    created_at timestamptz, vouched boolean)
CROSS JOIN LATERAL (
    SELECT * FROM conversations WHERE tenant_id = %(tenant_id)s AND id = i.conversation_id OFFSET 0
) AS c
RETURNING id, run_id

-- name: forget_tasks
-- Messages note what is to be done with them; what is still to be done comes at the file's end.
WITH forgotten AS (DELETE FROM outbox WHERE tenant_id = %(tenant_id)s),
    uncompacted AS (DELETE FROM compactions WHERE tenant_id = %(tenant_id)s)
DELETE FROM extractions WHERE tenant_id = %(tenant_id)s

-- name: import_sentence
INSERT INTO tool_sentences (
    tenant_id, conversation_id, seq, run_id, visibility, private_to, content, model, reason, created_at)
SELECT %(tenant_id)s, i.conversation_id, i.seq, c.run_id, c.visibility, c.private_to, i.content, i.model, i.reason,
    i.created_at
FROM json_to_recordset(%(rows)s::json) AS i (
    conversation_id uuid, seq bigint, content text, model text, reason text, created_at timestamptz)
CROSS JOIN LATERAL (
    SELECT * FROM conversations WHERE tenant_id = %(tenant_id)s AND id = i.conversation_id OFFSET 0
) AS c
RETURNING conversation_id, seq, content, run_id

-- name: index_sentence
SELECT index_sentence(%(tenant_id)s, %(conversation_id)s, %(seq)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: import_summary
INSERT INTO summaries (
    tenant_id, id, conversation_id, run_id, visibility, private_to, tier, pipeline_version, parent_id, first_seq,
    last_seq, earliest_at, latest_at, message_count, message_tokens, content, model, share, reason, key_decisions,
    entities_mentioned, tools_called, agent, user_id, serving, hidden, created_at)
SELECT %(tenant_id)s, i.id, i.conversation_id, c.run_id, c.visibility, c.private_to, i.tier, i.pipeline_version,
    i.parent_id, i.first_seq, i.last_seq, i.earliest_at, i.latest_at, i.message_count, i.message_tokens, i.content,
    i.model, i.share, i.reason, i.key_decisions, i.entities_mentioned, i.tools_called, i.agent, i.user_id, i.serving,
    i.hidden, i.created_at
FROM json_to_recordset(%(rows)s::json) AS i (
    id uuid, conversation_id uuid, tier text, pipeline_version integer, parent_id uuid, first_seq bigint,
    last_seq bigint, earliest_at timestamptz, latest_at timestamptz, message_count bigint, message_tokens bigint,
    content text, model text, share real, reason text, key_decisions jsonb, entities_mentioned jsonb,
    tools_called jsonb, agent text, user_id text, serving boolean, hidden text, created_at timestamptz)
CROSS JOIN LATERAL (
    SELECT * FROM conversations WHERE tenant_id = %(tenant_id)s AND id = i.conversation_id OFFSET 0
) AS c
RETURNING id, CASE WHEN serving AND hidden IS NULL THEN content END, run_id

-- name: index_summary
SELECT index_summary(%(tenant_id)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: import_landmark
INSERT INTO landmarks (
    tenant_id, id, conversation_id, seq, run_id, visibility, private_to, kind, content, pinned_by, created_at,
    unpinned_at, unpinned_by)
SELECT %(tenant_id)s, i.id, i.conversation_id, i.seq, c.run_id, c.visibility, c.private_to, i.mark, i.content,
    i.pinned_by, i.created_at, i.unpinned_at, i.unpinned_by
FROM json_to_recordset(%(rows)s::json) AS i (
    id uuid, conversation_id uuid, seq bigint, mark text, content text, pinned_by text, created_at timestamptz,
    unpinned_at timestamptz, unpinned_by text)
CROSS JOIN LATERAL (
    SELECT * FROM conversations WHERE tenant_id = %(tenant_id)s AND id = i.conversation_id OFFSET 0
) AS c
RETURNING id, CASE WHEN unpinned_at IS NULL THEN content END, run_id

-- name: import_retraction
INSERT INTO retractions (
    tenant_id, message_id, conversation_id, seq, run_id, visibility, private_to, retracted_by, reason, retracted_at,
    erased_at)
SELECT %(tenant_id)s, i.message_id, i.conversation_id, i.seq, c.run_id, c.visibility, c.private_to, i.retracted_by,
    i.reason, i.retracted_at, i.erased_at
FROM json_to_recordset(%(rows)s::json) AS i (
    message_id uuid, conversation_id uuid, seq bigint, retracted_by text, reason text, retracted_at timestamptz,
    erased_at timestamptz)
CROSS JOIN LATERAL (
    SELECT * FROM conversations WHERE tenant_id = %(tenant_id)s AND id = i.conversation_id OFFSET 0
) AS c
RETURNING conversation_id, seq

-- name: park_retracted
SELECT park_entries(%(tenant_id)s, %(conversation_id)s, %(seqs)s::bigint[])

-- name: index_landmark
SELECT index_landmarks(%(tenant_id)s, ROW(
    %(source_ids)b::uuid[], %(parts)b::int2[], %(texts)s::text[], %(words)b::bytea[], %(pieces)b::bytea[],
    %(lexemes)s::text[], %(instants)b)::packed_entries)

-- name: import_memory
INSERT INTO memories (
    tenant_id, id, conversation_id, project_id, run_id, visibility, private_to, user_id, agent, type, content, digest,
    importance, confidence, times, version, valid_from, said_at, valid_to, deleted_at, model, pipeline_version,
    created_at, updated_at, vouched, metadata, categories, expires_at, feedback, feedback_reason, said_by)
SELECT %(tenant_id)s, i.id, i.conversation_id, i.project_id, COALESCE(c.run_id, 'project:' || i.project_id),
    COALESCE(c.visibility, 'shared'), c.private_to, i.user_id, i.agent, i.type,
    i.content, i.digest, i.importance, i.confidence, i.times, i.version, i.valid_from, i.said_at, i.valid_to,
    i.deleted_at, i.model, i.pipeline_version, i.created_at, i.updated_at, COALESCE(i.vouched, true),
    COALESCE(i.metadata, '{}'), COALESCE(i.categories, '{}'), i.expires_at, i.feedback, i.feedback_reason,
    COALESCE(i.said_by, 'user')
FROM json_to_recordset(%(rows)s::json) AS i (
    id uuid, conversation_id uuid, project_id text, user_id text, agent text, type text, content text, digest bytea,
    importance real, confidence real, times integer, version integer, valid_from timestamptz, said_at timestamptz, valid_to timestamptz,
    deleted_at timestamptz, model text, pipeline_version integer, created_at timestamptz, updated_at timestamptz,
    vouched boolean, metadata jsonb, categories text[], expires_at timestamptz, feedback text, feedback_reason text,
    said_by text)
LEFT JOIN LATERAL (
    SELECT * FROM conversations WHERE tenant_id = %(tenant_id)s AND id = i.conversation_id OFFSET 0
) AS c ON true
RETURNING id, content, run_id

-- name: index_memory
-- those that are no longer valid get no entry
SELECT index_memories(
    %(tenant_id)s, %(source_ids)b::uuid[], %(words)b::bytea[], %(pieces)b::bytea[], %(lexemes)s::text[], %(instants)b)

-- name: import_supersession
UPDATE memories m SET superseded_by = i.superseded_by
FROM json_to_recordset(%(rows)s::json) AS i (id uuid, superseded_by uuid)
WHERE m.tenant_id = %(tenant_id)s AND m.id = i.id

-- name: import_memory_source
INSERT INTO memory_sources (tenant_id, memory_id, message_id, run_id, visibility, private_to, digest)
SELECT %(tenant_id)s, i.memory_id, i.message_id, m.run_id, m.visibility, m.private_to, i.digest
FROM json_to_recordset(%(rows)s::json) AS i (memory_id uuid, message_id uuid, digest bytea)
CROSS JOIN LATERAL (
    SELECT * FROM messages WHERE tenant_id = %(tenant_id)s AND id = i.message_id OFFSET 0
) AS m

-- name: place_memories
-- a memory stands where its newest source was said
UPDATE entries e SET seq = find_memory_seq(e.tenant_id, e.source_id, e.conversation_id)
WHERE e.tenant_id = %(tenant_id)s AND e.kind = 'memory'
    AND e.source_id IN (SELECT memory_id FROM json_to_recordset(%(rows)s::json) AS i (memory_id uuid))

-- name: import_memory_version
INSERT INTO memory_versions (
    tenant_id, memory_id, version, run_id, visibility, private_to, event, type, content, importance, confidence,
    superseded_by, by_whom, written_at, metadata, categories, expires_at, feedback, feedback_reason)
SELECT %(tenant_id)s, i.memory_id, i.version, m.run_id, m.visibility, m.private_to, i.event, i.type, i.content,
    i.importance, i.confidence, i.superseded_by, i.by_whom, i.written_at, COALESCE(i.metadata, '{}'),
    COALESCE(i.categories, '{}'), i.expires_at, i.feedback, i.feedback_reason
FROM json_to_recordset(%(rows)s::json) AS i (
    memory_id uuid, version integer, event text, type text, content text, importance real, confidence real,
    superseded_by uuid, by_whom text, written_at timestamptz, metadata jsonb, categories text[], expires_at timestamptz,
    feedback text, feedback_reason text)
CROSS JOIN LATERAL (
    SELECT * FROM memories WHERE tenant_id = %(tenant_id)s AND id = i.memory_id OFFSET 0
) AS m

-- name: import_fact
INSERT INTO facts (
    tenant_id, scope_kind, scope_id, run_id, key, value, type, version, source_id, confidence, created_at, updated_at,
    said_in, by_owner)
SELECT %(tenant_id)s, scope_kind, scope_id, fact_run_id(scope_kind, scope_id), key, value::json, type, version, source_id, confidence, created_at,
    updated_at,
    -- a file from before this was noted does not tell where a fact about a user was set
    COALESCE(i.said_in, CASE WHEN i.scope_kind = 'user' THEN ARRAY[COALESCE(
        (SELECT m.conversation_id FROM messages m WHERE m.tenant_id = %(tenant_id)s AND m.id = i.source_id),
        '00000000-0000-0000-0000-000000000000')] ELSE '{}' END),
    -- nor does one tell who wrote it, but where only the owner could have
    COALESCE(i.by_owner, i.scope_kind = 'global' OR COALESCE(i.scope_kind = 'user' AND i.said_in = '{}', false))
FROM json_to_recordset(%(rows)s::json) AS i (
    scope_kind text, scope_id text, key text, value text, type text, version bigint, source_id uuid,
    confidence double precision, created_at timestamptz, updated_at timestamptz, said_in uuid[], by_owner boolean)

-- name: forget_versions
-- A fact that is written notes its version; the file's own versions come after all facts.
DELETE FROM fact_versions WHERE tenant_id = %(tenant_id)s

-- name: import_fact_version
INSERT INTO fact_versions (
    tenant_id, scope_kind, scope_id, key, version, value, type, source_id, confidence, written_at, run_id, visibility,
    said_in)
SELECT %(tenant_id)s, scope_kind, scope_id, key, version, value::json, type, source_id, confidence, written_at, run_id,
    visibility,
    COALESCE(i.said_in, CASE WHEN i.scope_kind = 'user' THEN ARRAY[COALESCE(
        (SELECT m.conversation_id FROM messages m WHERE m.tenant_id = %(tenant_id)s AND m.id = i.source_id),
        '00000000-0000-0000-0000-000000000000')] ELSE '{}' END)
FROM json_to_recordset(%(rows)s::json) AS i (
    scope_kind text, scope_id text, key text, version bigint, value text, type text, source_id uuid,
    confidence double precision, written_at timestamptz, run_id text, visibility text, said_in uuid[])

-- name: import_profile
-- In an older file a profile is one text; one that was written by hand has the time of its writing as its source's.
WITH incoming AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(rows)s::json) AS i (
        id uuid, type memory_type_enum, user_id text, created_at timestamptz, shared_at timestamptz,
        written_at timestamptz, lines json, source_time timestamptz, updated_at timestamptz)
),
texts AS (
    INSERT INTO profile_texts (tenant_id, profile_id, line, content, memory_ids, is_filler, run_id)
    SELECT %(tenant_id)s, i.id, l.line, l.content, l.memory_ids, l.is_filler, COALESCE('profile:' || i.user_id, 'global')
    FROM incoming i CROSS JOIN LATERAL json_to_recordset(COALESCE(i.lines, '[]')) AS l (
        line integer, content text, memory_ids uuid[], is_filler boolean)
)
INSERT INTO profiles (tenant_id, id, type, user_id, created_at, shared_at, written_at)
SELECT %(tenant_id)s, id, type, user_id, created_at,
    COALESCE(shared_at, CASE WHEN source_time = updated_at THEN created_at END),
    COALESCE(written_at, CASE WHEN source_time = updated_at THEN updated_at END)
FROM incoming

-- name: import_older_texts
SELECT set_profile_text(%(tenant_id)s, id, user_id, memory)
FROM json_to_recordset(%(rows)s::json) AS i (
    id uuid, user_id text, memory text, source_time timestamptz, updated_at timestamptz)
WHERE memory IS NOT NULL AND source_time = updated_at

-- name: import_profile_version
INSERT INTO profile_versions (tenant_id, run_id, version, profile_id, memory, by_whom, written_at)
SELECT %(tenant_id)s, run_id, version, profile_id, memory, by_whom, written_at
FROM json_to_recordset(%(rows)s::json) AS i (
    run_id text, version integer, profile_id uuid, memory text, by_whom text, written_at timestamptz)

-- name: import_working_memory
INSERT INTO working_memories (
    tenant_id, conversation_id, run_id, visibility, private_to, fields, ttl_seconds, expires_at)
SELECT %(tenant_id)s, i.conversation_id, c.run_id, c.visibility, c.private_to, i.fields, i.ttl_seconds, i.expires_at
FROM json_to_recordset(%(rows)s::json) AS i (
    conversation_id uuid, fields jsonb, ttl_seconds integer, expires_at timestamptz)
CROSS JOIN LATERAL (
    SELECT * FROM conversations WHERE tenant_id = %(tenant_id)s AND id = i.conversation_id OFFSET 0
) AS c

-- name: import_ledger_mark
INSERT INTO ledger_marks (
    tenant_id, conversation_id, item_key, run_id, visibility, private_to, value, marked_at)
SELECT %(tenant_id)s, i.conversation_id, i.item_key, c.run_id, c.visibility, c.private_to, i.value, i.marked_at
FROM json_to_recordset(%(rows)s::json) AS i (
    conversation_id uuid, item_key text, value text, marked_at timestamptz)
CROSS JOIN LATERAL (
    SELECT * FROM conversations WHERE tenant_id = %(tenant_id)s AND id = i.conversation_id OFFSET 0
) AS c

-- name: import_item
INSERT INTO items (
    tenant_id, id, agent, user_id, path, key, value, indexed, version, created_at, updated_at, ttl_seconds, expires_at)
SELECT %(tenant_id)s, id, agent, user_id, path, key, value, indexed, version, created_at, updated_at, ttl_seconds, expires_at
FROM json_to_recordset(%(rows)s::json) AS i (
    id uuid, agent text, user_id text, path text, key text, value jsonb, indexed text[], version bigint,
    created_at timestamptz, updated_at timestamptz, ttl_seconds double precision, expires_at timestamptz)
RETURNING id, value, indexed, run_id

-- name: index_item
SELECT index_items(
    %(tenant_id)s, %(items)s::uuid[], %(parts)s::int2[], %(texts)s::text[], %(words)s::bytea[], %(pieces)s::bytea[],
    %(instants)s)

-- name: import_use
INSERT INTO uses (entry_id, tenant_id, times, last_at)
SELECT e.id, %(tenant_id)s, i.times, i.last_at
FROM json_to_recordset(%(rows)s::json) AS i (source_id uuid, part smallint, times integer, last_at timestamptz)
CROSS JOIN LATERAL (
    SELECT id FROM entries WHERE tenant_id = %(tenant_id)s AND source_id = i.source_id AND part = i.part OFFSET 0
) AS e

-- name: import_key
INSERT INTO keys (id, tenant_id, role, agent, user_id, digest, created_at, expires_at, revoked_at)
SELECT id, %(tenant_id)s, role, agent, user_id, digest, created_at, expires_at, revoked_at
FROM json_to_recordset(%(rows)s::json) AS i (
    id text, role text, agent text, user_id text, digest bytea, created_at timestamptz, expires_at timestamptz,
    revoked_at timestamptz)

-- name: import_task
INSERT INTO outbox (tenant_id, conversation_id, task, seq, created_at)
SELECT %(tenant_id)s, conversation_id, task, seq, created_at
FROM json_to_recordset(%(rows)s::json) AS i (conversation_id uuid, task text, seq bigint, created_at timestamptz)

-- name: import_compaction
INSERT INTO compactions (tenant_id, conversation_id, covered_seq, due_seq, next_at)
SELECT %(tenant_id)s, conversation_id, covered_seq, due_seq, next_at
FROM json_to_recordset(%(rows)s::json) AS i (
    conversation_id uuid, covered_seq bigint, due_seq bigint, next_at timestamptz)

-- name: import_extraction
INSERT INTO extractions (tenant_id, conversation_id, done_seq, waiting, noted_at)
SELECT %(tenant_id)s, conversation_id, done_seq, waiting, noted_at
FROM json_to_recordset(%(rows)s::json) AS i (
    conversation_id uuid, done_seq bigint, waiting boolean, noted_at timestamptz)
