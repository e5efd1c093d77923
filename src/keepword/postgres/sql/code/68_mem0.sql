-- What mem0's clients see: sessions named `mem0:user:agent:app:run`, and their adds as events.

-- A part of a session's name; of a conversation that is none of theirs, what else it is. An empty part is missing.
-- http/mem0_entities.py writes and reads the same names.
CREATE OR REPLACE FUNCTION mem0_part(conversation text, part integer, otherwise text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN starts_with(conversation, 'mem0:')
        THEN NULLIF(replace(replace(split_part(conversation, ':', part), '%3A', ':'), '%25', '%'), '')
        ELSE otherwise END
$$;

-- The adds whose last messages these are: from which message to which, whether all were read for memories, and what was
-- found in them. How many messages an add had is in the metadata of its last one.
CREATE OR REPLACE FUNCTION find_mem0_adds(grant_ text, tenant uuid, wanted uuid[])
RETURNS TABLE (message_id uuid, external_id text, said_at timestamptz, is_read boolean, memory_ids uuid[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT m.id, c.external_id, m.created_at,
        COALESCE(e.done_seq >= m.seq OR NOT e.waiting, true),
        ARRAY(
            SELECT DISTINCT s.memory_id FROM messages o
            JOIN memory_sources s ON s.tenant_id = tenant AND s.message_id = o.id
            WHERE o.tenant_id = tenant AND o.conversation_id = m.conversation_id AND o.seq <= m.seq
                AND o.seq > m.seq - CASE WHEN jsonb_typeof(m.metadata -> 'mem0' -> 'messages') = 'number'
                    THEN LEAST((m.metadata -> 'mem0' ->> 'messages')::numeric, 1000) ELSE 1 END
            ORDER BY 1)
    FROM messages m
    JOIN conversations c ON c.tenant_id = tenant AND c.id = m.conversation_id
    LEFT JOIN extractions e ON e.tenant_id = tenant AND e.conversation_id = m.conversation_id
    WHERE m.tenant_id = tenant AND m.id = ANY (wanted)
        AND NOT is_retracted(tenant, m.conversation_id, m.seq)
        AND grant_opens(grant_::jsonb, m.tenant_id, m.run_id, m.visibility, m.private_to);
END
$$;
