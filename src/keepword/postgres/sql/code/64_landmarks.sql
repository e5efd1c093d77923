-- Landmarks and the sentences of tool calls: tasks of single messages.

CREATE OR REPLACE FUNCTION needs_sentence(name text, content text, args jsonb, result text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT name IS NOT NULL AND content = '' AND (args IS NOT NULL OR result IS NULL) $$;

-- Only a sieve: it lets through all that may hold a landmark, and most that does not is left out.
CREATE OR REPLACE FUNCTION may_hold_landmark(role text, content text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT role <> 'tool' AND content <> '' AND (
        content LIKE '%```%' OR content LIKE '%~~~%' OR content LIKE '%@%' OR content LIKE '%://%'
        OR content ILIKE '%!pin%'
        -- the words of decisions and commitments without a label: compaction/sentence_kinds.py
        OR content ~* '\m(decided|agreed|settled|chose|opted|picked|went with|resolved|voted|ruled out|approved|rejected|signed off|let.s|we.(ll|re|ve)|we (will|won.t|are|have)|switched|migrated|no [a-z-]+s on)\M'
        OR (content ~* '\m(will|promise[sd]? to|has to|needs to|please|action items?)\M|\mi.ll\M'
            AND content ~* 'day\M|\m(today|tonight|tomorrow|asap|noon|midnight|by|until|till|before|end of|week|month)\M|\d')
        OR content ~* '(decision|decided|spec|specification|question)[*_]*[ \t]*:')
$$;

CREATE OR REPLACE FUNCTION most_attempts() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 3 $$;

CREATE OR REPLACE FUNCTION find_tasks(grant_ text, tenant uuid, conversation uuid, wanted text, most integer)
RETURNS SETOF bigint LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    RETURN QUERY SELECT seq FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = wanted AND attempts < most_attempts()
    ORDER BY attempts, seq LIMIT most;
END
$$;

CREATE OR REPLACE FUNCTION fail_task(grant_ text, tenant uuid, conversation uuid, failed text, of_seq bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    UPDATE outbox SET attempts = attempts + 1
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = failed AND seq = of_seq;
END
$$;

CREATE OR REPLACE FUNCTION store_sentence(
    grant_ text, tenant uuid, conversation uuid, of_seq bigint, sentence text, by_model text, because text,
    entries_ packed_entries
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_summaries(tenant, conversation);
    IF is_retracted(tenant, conversation, of_seq) THEN
        RETURN;
    END IF;
    INSERT INTO tool_sentences (tenant_id, conversation_id, seq, run_id, visibility, private_to, content, model, reason)
    SELECT tenant, c.id, of_seq, c.run_id, c.visibility, c.private_to, sentence, by_model, because
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM index_sentence(tenant, conversation, of_seq, entries_);
    END IF;
    DELETE FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = 'describe' AND seq = of_seq;
END
$$;

CREATE OR REPLACE FUNCTION store_landmarks(
    grant_ text, tenant uuid, conversation uuid, of_seq bigint, marks jsonb, entries_ packed_entries
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_summaries(tenant, conversation);
    IF is_retracted(tenant, conversation, of_seq) THEN
        RETURN;
    END IF;
    INSERT INTO landmarks (tenant_id, id, conversation_id, seq, run_id, visibility, private_to, kind, content)
    SELECT tenant, (f ->> 'id')::uuid, c.id, of_seq, c.run_id, c.visibility, c.private_to, f ->> 'kind', f ->> 'text'
    FROM jsonb_array_elements(marks) AS f
    CROSS JOIN conversations c
    WHERE c.tenant_id = tenant AND c.id = conversation
        AND NOT EXISTS (SELECT FROM landmarks l WHERE l.tenant_id = tenant AND l.conversation_id = conversation
                            AND l.seq = of_seq AND l.kind = f ->> 'kind')
    ON CONFLICT DO NOTHING;
    PERFORM index_landmarks(tenant, entries_);
    DELETE FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = 'landmark' AND seq = of_seq;
END
$$;

-- Pins a part of a message. The outcome says what came of it.
CREATE OR REPLACE FUNCTION pin_landmark(
    grant_ text, tenant uuid, conversation uuid, new_id uuid, of_message uuid, as_kind text, part text, by_whom text,
    entries_ packed_entries
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m messages%ROWTYPE;
BEGIN
    PERFORM lock_summaries(tenant, conversation);
    SELECT * INTO m FROM messages WHERE tenant_id = tenant AND id = of_message AND conversation_id = conversation;
    IF NOT FOUND OR is_retracted(tenant, conversation, m.seq) THEN
        RETURN 'no message';
    END IF;
    PERFORM require_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to);
    IF part = '' THEN
        RETURN 'no words';
    ELSIF strpos(m.content, part) = 0 THEN
        RETURN 'other words';
    END IF;
    INSERT INTO landmarks (
        tenant_id, id, conversation_id, seq, run_id, visibility, private_to, kind, content, pinned_by)
    VALUES (tenant, new_id, conversation, m.seq, m.run_id, m.visibility, m.private_to, as_kind, part, by_whom)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN 'pinned before';
    END IF;
    PERFORM index_landmarks(tenant, entries_);
    RETURN 'pinned';
END
$$;

-- What is unpinned is no longer found.
CREATE OR REPLACE FUNCTION unpin_landmark(grant_ text, tenant uuid, wanted uuid, by_whom text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    g jsonb := grant_;
    gone landmarks%ROWTYPE;
BEGIN
    UPDATE landmarks l SET unpinned_at = clock_timestamp(), unpinned_by = by_whom
    WHERE l.tenant_id = tenant AND l.id = wanted AND l.unpinned_at IS NULL AND l.run_id = g ->> 'writes'
        AND grant_opens(g, l.tenant_id, l.run_id, l.visibility, l.private_to)
    RETURNING l.* INTO gone;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM note_audit(g, tenant, 'landmark.unpinned', gone.run_id, jsonb_build_object('landmark', wanted, 'seq', gone.seq));
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = wanted;
    RETURN true;
END
$$;
