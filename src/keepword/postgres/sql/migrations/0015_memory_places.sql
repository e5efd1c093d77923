-- depends: 0014_memories
-- A memory stands where its newest source was said: a search shows the better of the two, and the turns beside it.

CREATE FUNCTION find_memory_seq(tenant uuid, memory uuid, conversation uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT max(m.seq) FROM keepword.memory_sources s
    CROSS JOIN LATERAL (
        SELECT o.seq FROM keepword.messages o
        WHERE o.tenant_id = tenant AND o.id = s.message_id AND o.conversation_id = conversation OFFSET 0
    ) AS m
    WHERE s.tenant_id = tenant AND s.memory_id = memory
$$;

CREATE OR REPLACE FUNCTION index_memories(
    tenant uuid, memory_ids uuid[], words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
) RETURNS void LANGUAGE plpgsql SET search_path = keepword, pg_temp, public AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = ANY (memory_ids) AND kind = 'memory';
    INSERT INTO entries (tenant_id, kind, source_id, part, run_id, visibility, private_to, conversation_id, seq,
        user_id, agent, created_at, importance, searchable, text, words, pieces, lexemes, instant)
    SELECT m.tenant_id, 'memory', m.id, 0, m.run_id, m.visibility, m.private_to, m.conversation_id,
        find_memory_seq(m.tenant_id, m.id, m.conversation_id), m.user_id, m.agent, m.said_at,
        m.importance, true, m.content, i.words, i.pieces, i.lexemes::integer[], i.instant
    FROM unnest(memory_ids, words, pieces, lexemes, instants) AS i (memory_id, words, pieces, lexemes, instant)
    CROSS JOIN LATERAL (SELECT * FROM memories WHERE tenant_id = tenant AND id = i.memory_id OFFSET 0) AS m
    WHERE m.valid_to IS NULL AND m.deleted_at IS NULL;
END
$$;

UPDATE entries SET seq = find_memory_seq(tenant_id, source_id, conversation_id) WHERE kind = 'memory';
