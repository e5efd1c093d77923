-- name: candidates
SELECT ids, talks AS conversations, seqs, flags, times, words, word_counts, pieces, piece_counts, instants, deep_ids, deeps,
    frequencies, entries, is_whole, held, held_shares
FROM search_candidates(
    %(grant)s, ROW(%(tenant_id)s, %(everything)s, %(run_ids)s::text[], %(visibilities)s::text[], %(private_to)s)::scope,
    ROW(%(kinds)s::text[], %(agent)s, %(user)s, %(since)s, %(before)s)::search_filter, %(tenant_words)b::int4[],
    %(run_words)b::int4[], %(rates)b::float4[], %(patterns)s::text[], %(instant)b, %(by_instant)s, %(deep)b, %(deep_space)s::int2, %(asker)s, %(named)s::text[], %(small)s,
    %(amount)s)

-- name: inside
SELECT ids, talks AS conversations, seqs, flags, times, words, word_counts, pieces, piece_counts, instants, deep_ids, deeps
FROM recall_inside(
    %(grant)s, ROW(%(tenant_id)s, %(everything)s, %(run_ids)s::text[], %(visibilities)s::text[], %(private_to)s)::scope,
    ROW(%(kinds)s::text[], %(agent)s, %(user)s, %(since)s, %(before)s)::search_filter, %(summary_id)s, %(instant)b, %(deep)b,
    %(deep_space)s::int2, %(asker)s, %(named)s::text[], %(amount)s)

-- name: trigram
SELECT e.id, t.likeness FROM find_resembling(
    ROW(%(tenant_id)s, %(everything)s, %(run_ids)s::text[], %(visibilities)s::text[], %(private_to)s)::scope,
    ROW(%(kinds)s::text[], %(agent)s, %(user)s, %(since)s, %(before)s)::search_filter, %(pattern)s,
    is_compared(find_scope_size(ROW(%(tenant_id)s, %(everything)s, %(run_ids)s::text[], %(visibilities)s::text[],
        %(private_to)s)::scope)), %(limit)s
) AS t
-- OFFSET 0, here and below: rows are found by their keys, also by a plan that was made while the tables were empty
CROSS JOIN LATERAL (SELECT o.id FROM entries o WHERE o.tenant_id = %(tenant_id)s AND o.id = t.id OFFSET 0) AS e
ORDER BY t.likeness DESC, e.id DESC

-- name: check_pattern
SELECT '' ~* %(pattern)s

-- name: regex
-- Behind row-level security, which compares a row with the grant before it runs the pattern over its text. An index on
-- the text would do it the other way round, and how long a pattern takes would tell what stands in others' messages.
SELECT t.id, 1::real FROM (
    SELECT DISTINCT ON (u.source_id) u.id, u.created_at FROM (
        SELECT e.id, e.source_id, e.created_at FROM messages m
        JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id AND e.text IS NULL AND e.searchable
        WHERE m.tenant_id = %(tenant_id)s AND m.content ~* %(pattern)s
            AND matches_filter(ROW(%(kinds)s::text[], %(agent)s, %(user)s, %(since)s, %(before)s)::search_filter,
                e.kind, e.agent, e.user_id, e.created_at)
            AND (%(everything)s OR m.run_id = ANY (%(run_ids)s)) -- first wall
            AND (%(everything)s OR m.visibility = ANY (%(visibilities)s)) -- first wall
            AND (%(everything)s OR m.private_to IS NULL OR m.private_to = %(private_to)s) -- first wall
        UNION ALL
        SELECT e.id, e.source_id, e.created_at FROM entries e
        WHERE e.tenant_id = %(tenant_id)s AND e.text ~* %(pattern)s
            AND matches_filter(ROW(%(kinds)s::text[], %(agent)s, %(user)s, %(since)s, %(before)s)::search_filter,
                e.kind, e.agent, e.user_id, e.created_at)
            AND (%(everything)s OR e.run_id = ANY (%(run_ids)s)) -- first wall
            AND (%(everything)s OR e.visibility = ANY (%(visibilities)s)) -- first wall
            AND (%(everything)s OR e.private_to IS NULL OR e.private_to = %(private_to)s) -- first wall
    ) AS u ORDER BY u.source_id, u.id
) AS t ORDER BY t.created_at DESC, t.id DESC LIMIT %(limit)s

-- name: limit_time
SELECT set_config('statement_timeout', %(milliseconds)s::text, true)

-- name: sessions
SELECT granted_sessions() AS run_id

-- name: show
SELECT e.id AS entry_id, e.kind, e.source_id, e.part, e.run_id, c.external_id AS conversation, e.seq, e.role,
    e.user_id AS "user", e.agent, e.created_at, e.importance, COALESCE(e.text, m.content) AS text, s.first_seq, s.last_seq,
    ARRAY(
        SELECT r.memory_id FROM memory_sources r
        WHERE r.tenant_id = %(tenant_id)s AND r.message_id = m.id AND in_the_scope_of(e, r.run_id, r.visibility, r.private_to)
    ) AS memories, find_successor(e, m.id) AS superseded_by
FROM entries e
LEFT JOIN LATERAL (
    SELECT o.first_seq, o.last_seq FROM summaries o WHERE o.tenant_id = %(tenant_id)s AND o.id = e.source_id OFFSET 0
) AS s ON true
LEFT JOIN LATERAL (
    SELECT o.external_id FROM conversations o WHERE o.tenant_id = %(tenant_id)s AND o.id = e.conversation_id OFFSET 0
) AS c ON true
LEFT JOIN LATERAL (
    SELECT o.id, o.content FROM messages o WHERE o.tenant_id = %(tenant_id)s AND o.id = e.source_id OFFSET 0
) AS m ON true
WHERE e.tenant_id = %(tenant_id)s AND e.id = ANY (%(entry_ids)b::int8[])
    -- a memory may expire before anybody takes its entry away
    AND NOT (e.kind = 'memory' AND EXISTS (
        SELECT FROM memories o WHERE o.tenant_id = %(tenant_id)s AND o.id = e.source_id AND o.expires_at <= clock_timestamp()))
    AND (%(everything)s OR e.run_id = ANY (%(run_ids)s) OR e.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR e.visibility = ANY (%(visibilities)s)) -- first wall
    AND (%(everything)s OR e.private_to IS NULL OR e.private_to = %(private_to)s) -- first wall

-- name: around
SELECT h.id AS hit, e.id AS entry_id, e.kind, e.source_id, e.part, e.run_id, c.external_id AS conversation, e.seq, e.role,
    e.user_id AS "user", e.agent, e.created_at, e.importance, COALESCE(e.text, m.content) AS text
FROM entries h
CROSS JOIN LATERAL (
    SELECT o.id, o.kind, o.source_id, o.part, o.run_id, o.conversation_id, o.seq, o.role, o.user_id, o.agent, o.created_at,
        o.importance, o.text, o.visibility, o.private_to
    FROM entries o WHERE o.tenant_id = %(tenant_id)s AND o.conversation_id = h.conversation_id
        AND o.seq BETWEEN h.seq - %(turns)s AND h.seq + %(turns)s AND o.seq <> h.seq AND o.kind = 'message' AND o.part = 0
    OFFSET 0
) AS e
CROSS JOIN LATERAL (
    SELECT o.content FROM messages o WHERE o.tenant_id = %(tenant_id)s AND o.id = e.source_id OFFSET 0
) AS m
LEFT JOIN LATERAL (
    SELECT o.external_id FROM conversations o WHERE o.tenant_id = %(tenant_id)s AND o.id = e.conversation_id OFFSET 0
) AS c ON true
WHERE h.tenant_id = %(tenant_id)s AND h.id = ANY (%(entry_ids)b::int8[])
    AND (%(everything)s OR e.run_id = ANY (%(run_ids)s) OR e.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR e.visibility = ANY (%(visibilities)s)) -- first wall
    AND (%(everything)s OR e.private_to IS NULL OR e.private_to = %(private_to)s) -- first wall
ORDER BY h.id, e.seq

-- name: uses
SELECT e.id AS entry_id, e.importance, COALESCE(u.times, 0) AS times, COALESCE(u.last_at, e.created_at) AS last_at
FROM entries e
LEFT JOIN find_uses(%(tenant_id)s, %(entry_ids)b::int8[]) u ON u.entry_id = e.id
WHERE e.tenant_id = %(tenant_id)s AND e.id = ANY (%(entry_ids)b::int8[])
    AND (%(everything)s OR e.run_id = ANY (%(run_ids)s) OR e.run_id IN (SELECT granted_sessions())) -- first wall
    AND (%(everything)s OR e.visibility = ANY (%(visibilities)s)) -- first wall
    AND (%(everything)s OR e.private_to IS NULL OR e.private_to = %(private_to)s) -- first wall

-- name: count_uses
SELECT count_uses(%(tenant_id)s, %(entry_ids)b::int8[], %(amounts)b::int4[])

-- name: serving
SELECT id::int, name FROM spaces WHERE serving AND NOT is_instant

-- name: news
SELECT ids, talks AS conversations, seqs, flags, times, words, word_counts, pieces, piece_counts, instants, users, agents,
    departed, now_seen::text AS seen, deep_ids, deeps, frequencies, entries, server_since
FROM changed_entries(
    %(grant)s, ROW(%(tenant_id)s, %(everything)s, %(run_ids)s::text[], %(visibilities)s::text[], %(private_to)s)::scope,
    %(seen)s::pg_snapshot, %(tenant_words)b::int4[], %(deep_space)s::int2, %(undeep)b::int8[])

-- name: holding
SELECT h.id, h.share FROM find_literals(
    ROW(%(tenant_id)s, %(everything)s, %(run_ids)s::text[], %(visibilities)s::text[], %(private_to)s)::scope,
    ROW(%(kinds)s::text[], %(agent)s, %(user)s, %(since)s, %(before)s)::search_filter, %(patterns)s::text[],
    is_compared(find_scope_size(ROW(%(tenant_id)s, %(everything)s, %(run_ids)s::text[], %(visibilities)s::text[],
        %(private_to)s)::scope)), %(amount)s) AS h

-- name: scope_size
SELECT find_scope_size(
    ROW(%(tenant_id)s, %(everything)s, %(run_ids)s::text[], %(visibilities)s::text[], %(private_to)s)::scope)
