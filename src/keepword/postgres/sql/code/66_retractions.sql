-- Retractions: a message is taken back, and what was derived from it goes or is made again.

CREATE OR REPLACE FUNCTION granted_retracted() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT COALESCE((granted() ->> 'retracted')::boolean, false) AND granted_owner()
$$;

CREATE OR REPLACE FUNCTION is_retracted(tenant uuid, conversation uuid, of_seq bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM keepword.retractions r
                   WHERE r.tenant_id = tenant AND r.conversation_id = conversation AND r.seq = of_seq)
$$;

-- Who took a message back, when and why, for the tenant's owner alone.
CREATE OR REPLACE FUNCTION find_retraction(tenant uuid, message uuid) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT jsonb_build_object('by', r.retracted_by, 'reason', r.reason, 'at', r.retracted_at, 'erased_at', r.erased_at)
    FROM retractions r
    WHERE r.tenant_id = tenant AND r.message_id = message
        AND (SELECT granted_retracted()) AND tenant = (SELECT granted_tenant())
$$;

-- Takes the words of entries out of the counts, as far as a worker has counted them.
CREATE OR REPLACE FUNCTION uncount_words(tenant uuid, entry_ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    counted bigint[];
BEGIN
    -- the worker that counts them waits for nobody, and counts later
    PERFORM pg_advisory_xact_lock(hashtext('keepword.index_instant_vectors'));
    counted := ARRAY(
        SELECT e.id FROM entries e
        WHERE e.tenant_id = tenant AND e.id = ANY (entry_ids) AND e.kind = 'message' AND e.searchable AND NOT EXISTS (
            SELECT FROM backlog b WHERE b.tenant_id = tenant AND b.entry_id = e.id
                AND b.space_id = (SELECT id FROM spaces WHERE is_instant AND serving)));
    UPDATE document_frequencies f SET entries = f.entries - d.amount FROM (
        SELECT w.word, count(*) AS amount FROM entries e
        CROSS JOIN LATERAL unnest(e.lexemes[:cardinality(e.lexemes) / 2]) AS w (word)
        WHERE e.tenant_id = tenant AND e.id = ANY (counted) GROUP BY 1
    ) AS d WHERE f.tenant_id = tenant AND f.word = d.word;
    DELETE FROM document_frequencies f
    WHERE f.tenant_id = tenant AND f.entries <= 0 AND f.word = ANY (ARRAY(
        SELECT DISTINCT w.word FROM entries e
        CROSS JOIN LATERAL unnest(e.lexemes[:cardinality(e.lexemes) / 2]) AS w (word)
        WHERE e.tenant_id = tenant AND e.id = ANY (counted)));
    UPDATE entry_counts c SET entries = GREATEST(c.entries - cardinality(counted), 0) WHERE c.tenant_id = tenant;
END
$$;

CREATE OR REPLACE FUNCTION forget_entries(tenant uuid, entry_ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM uncount_words(tenant, entry_ids);
    DELETE FROM entries WHERE tenant_id = tenant AND id = ANY (entry_ids);
END
$$;

-- The entries of messages and of what was pinned in them.
CREATE OR REPLACE FUNCTION entries_of_messages(tenant uuid, conversation uuid, seqs bigint[]) RETURNS bigint[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY(SELECT e.id FROM keepword.entries e
                 WHERE e.tenant_id = tenant AND e.conversation_id = conversation AND e.seq = ANY (seqs)
                     AND e.kind IN ('message', 'landmark'))
$$;

-- Takes the entries of messages out of the index, and keeps them for an undo.
CREATE OR REPLACE FUNCTION park_entries(tenant uuid, conversation uuid, seqs bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parked bigint[] := entries_of_messages(tenant, conversation, seqs);
BEGIN
    INSERT INTO retracted_entries (
        tenant_id, id, kind, source_id, part, run_id, visibility, private_to, conversation_id, seq,
        role, user_id, agent, created_at, importance, searchable, text, words, pieces, lexemes, instant, created_xid)
    SELECT tenant_id, id, kind, source_id, part, run_id, visibility, private_to, conversation_id, seq,
        role, user_id, agent, created_at, importance, searchable, text, words, pieces, lexemes, instant, created_xid
    FROM entries WHERE tenant_id = tenant AND id = ANY (parked);
    PERFORM forget_entries(tenant, parked);
END
$$;

-- Takes its words from each summary that covers one of the messages, in whatever version, and from those above it, and
-- lets a worker make them again.
CREATE OR REPLACE FUNCTION redo_summaries(tenant uuid, conversation uuid, seqs bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    touched uuid[];
BEGIN
    WITH RECURSIVE above AS (
        SELECT s.id, s.parent_id FROM summaries s
        WHERE s.tenant_id = tenant AND s.conversation_id = conversation AND s.tier = 'thread'
            AND EXISTS (SELECT FROM unnest(seqs) AS q (seq) WHERE q.seq BETWEEN s.first_seq AND s.last_seq)
        UNION
        SELECT p.id, p.parent_id FROM above a JOIN summaries p ON p.tenant_id = tenant AND p.id = a.parent_id
    )
    SELECT array_agg(id) INTO touched FROM above;
    IF touched IS NULL THEN
        RETURN;
    END IF;
    UPDATE summaries SET hidden = 'redo', content = '-', reason = NULL, key_decisions = NULL,
        entities_mentioned = NULL, tools_called = NULL
    WHERE tenant_id = tenant AND id = ANY (touched);
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = ANY (touched);
    INSERT INTO compactions (tenant_id, conversation_id, covered_seq, next_at)
    SELECT tenant, conversation, COALESCE(max(leaf_last), 0), now() FROM summaries
    WHERE tenant_id = tenant AND conversation_id = conversation AND serving
    ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET next_at = now();
END
$$;

-- Lets a worker read conversations again from given messages on. What was found there before is not found twice.
CREATE OR REPLACE FUNCTION read_again(tenant uuid, conversations_ uuid[], seqs bigint[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO extractions AS e (tenant_id, conversation_id, done_seq, waiting)
    SELECT tenant, o.conversation_id, min(o.seq) - 1, true
    FROM unnest(conversations_, seqs) AS o (conversation_id, seq) GROUP BY o.conversation_id ORDER BY 2
    ON CONFLICT (tenant_id, conversation_id) DO UPDATE
        SET done_seq = LEAST(e.done_seq, excluded.done_seq), waiting = true, noted_at = clock_timestamp()
$$;

-- Deletes memories with their history. Other messages in which one was found too are
-- read again; what one had superseded is true again. The answer is what has to be put back into the index.
CREATE OR REPLACE FUNCTION drop_memories(tenant uuid, gone uuid[], message_ids uuid[]) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
    revived uuid[];
BEGIN
    IF gone = '{}' THEN
        RETURN '{}';
    END IF;
    PERFORM read_again(tenant, array_agg(m.conversation_id), array_agg(m.seq)) FROM memory_sources s
    JOIN messages m ON m.tenant_id = tenant AND m.id = s.message_id
    WHERE s.tenant_id = tenant AND s.memory_id = ANY (gone) AND s.message_id <> ALL (message_ids)
        AND NOT is_retracted(tenant, m.conversation_id, m.seq)
    HAVING count(*) > 0;
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = ANY (gone) AND kind = 'memory';
    revived := ARRAY(SELECT id FROM memories
                     WHERE tenant_id = tenant AND superseded_by = ANY (gone) AND id <> ALL (gone));
    UPDATE memories SET superseded_by = NULL WHERE tenant_id = tenant AND superseded_by = ANY (gone);
    DELETE FROM profile_texts WHERE tenant_id = tenant AND memory_ids && gone AND memory_ids <@ gone;
    UPDATE profile_texts SET memory_ids = ARRAY(SELECT unnest(memory_ids) EXCEPT SELECT unnest(gone))
    WHERE tenant_id = tenant AND memory_ids && gone;
    DELETE FROM memory_versions WHERE tenant_id = tenant AND memory_id = ANY (gone);
    DELETE FROM memory_sources WHERE tenant_id = tenant AND memory_id = ANY (gone);
    DELETE FROM memories WHERE tenant_id = tenant AND id = ANY (gone);
    RETURN revive_memories(tenant, revived);
END
$$;

-- Deletes the memories that were found in messages. The answer is what has to be put back into the index.
CREATE OR REPLACE FUNCTION forget_memories(tenant uuid, message_ids uuid[]) RETURNS uuid[] LANGUAGE sql AS $$
    SELECT drop_memories(tenant, ARRAY(SELECT DISTINCT s.memory_id FROM memory_sources s
                                       WHERE s.tenant_id = tenant AND s.message_id = ANY (message_ids)), message_ids)
$$;

-- Lets superseded memories be true again, but for those that another one says by now.
CREATE OR REPLACE FUNCTION revive_memories(tenant uuid, memory_ids uuid[]) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
    one uuid;
    revived uuid[] := '{}';
BEGIN
    FOREACH one IN ARRAY memory_ids LOOP
        UPDATE memories m SET valid_to = NULL, version = version + 1, updated_at = clock_timestamp()
        WHERE m.tenant_id = tenant AND m.id = one AND m.deleted_at IS NULL AND m.superseded_by IS NULL
            AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp()) AND NOT EXISTS (
                SELECT FROM memories o WHERE o.tenant_id = tenant AND o.run_id = m.run_id AND o.digest = m.digest
                    AND o.id <> m.id AND o.valid_to IS NULL AND o.deleted_at IS NULL);
        IF FOUND THEN
            PERFORM note_memory(tenant, one, 'restored', NULL);
            revived := revived || one;
        END IF;
    END LOOP;
    RETURN revived;
END
$$;

-- Whoever changes what was derived in a scope holds its row.
CREATE OR REPLACE FUNCTION lock_memories_of_run(tenant uuid, run text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO memory_revisions AS s (tenant_id, run_id, revision) VALUES (tenant, run, 1)
    ON CONFLICT (tenant_id, run_id) DO UPDATE SET revision = s.revision + 1
$$;

-- Takes what was derived from messages of one conversation out of everything but the transcript.
CREATE OR REPLACE FUNCTION forget_derived(tenant uuid, conversation uuid, seqs bigint[], message_ids uuid[]) RETURNS uuid[]
LANGUAGE plpgsql AS $$
DECLARE
    revived uuid[] := forget_memories(tenant, message_ids);
BEGIN
    PERFORM redo_summaries(tenant, conversation, seqs);
    DELETE FROM outbox WHERE tenant_id = tenant AND conversation_id = conversation AND seq = ANY (seqs)
        AND task IN ('describe', 'landmark');
    DELETE FROM facts WHERE tenant_id = tenant AND source_id = ANY (message_ids);
    RETURN revived;
END
$$;

-- Takes a message back. `only_user` and `only_agent` say whose messages the caller may take back, null and null: all.
CREATE OR REPLACE FUNCTION retract_message(
    grant_ text, tenant uuid, conversation uuid, of_seq bigint, only_user text, only_agent text, who text, why text,
    OUT outcome text, OUT message uuid, OUT retracted_at timestamptz, OUT revived uuid[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m messages%ROWTYPE;
BEGIN
    SELECT * INTO m FROM find_to_retract(grant_, tenant, conversation, of_seq, only_user, only_agent);
    message := m.id;
    IF m.id IS NULL THEN
        outcome := 'absent';
        RETURN;
    ELSIF NOT may_retract(m, only_user, only_agent) THEN
        outcome := 'of another';
        RETURN;
    END IF;
    INSERT INTO retractions AS r (tenant_id, message_id, conversation_id, seq, run_id, visibility, private_to,
        retracted_by, reason)
    VALUES (tenant, m.id, conversation, of_seq, m.run_id, m.visibility, m.private_to, who, why)
    ON CONFLICT DO NOTHING RETURNING r.retracted_at INTO retracted_at;
    IF NOT FOUND THEN
        SELECT r.retracted_at, CASE WHEN r.erased_at IS NULL THEN 'before' ELSE 'erased' END
        INTO retracted_at, outcome FROM retractions r WHERE r.tenant_id = tenant AND r.message_id = m.id;
        RETURN;
    END IF;
    revived := forget_derived(tenant, conversation, ARRAY[of_seq], ARRAY[m.id]);
    PERFORM park_entries(tenant, conversation, ARRAY[of_seq]);
    PERFORM note_audit(grant_::jsonb, tenant, 'message.retracted', m.run_id, jsonb_build_object(
        'conversation', conversation, 'seq', of_seq, 'message', m.id));
    outcome := 'retracted';
END
$$;

-- Locks what changes with a message that is taken back, and returns it for whoever may write in its place.
CREATE OR REPLACE FUNCTION find_to_retract(
    grant_ text, tenant uuid, conversation uuid, of_seq bigint, only_user text, only_agent text
) RETURNS messages LANGUAGE plpgsql AS $$
DECLARE
    m messages%ROWTYPE;
BEGIN
    PERFORM lock_summaries(tenant, conversation);
    SELECT * INTO m FROM messages WHERE tenant_id = tenant AND conversation_id = conversation AND seq = of_seq;
    IF FOUND THEN
        PERFORM require_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to);
        PERFORM lock_memories_of_run(tenant, m.run_id);
        PERFORM FROM conversations WHERE tenant_id = tenant AND id = conversation FOR NO KEY UPDATE;
    END IF;
    RETURN m;
END
$$;

CREATE OR REPLACE FUNCTION may_retract(m messages, only_user text, only_agent text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (only_user IS NULL AND only_agent IS NULL)
        OR COALESCE(CASE WHEN m.role = 'user' THEN m.user_id = only_user ELSE m.agent = only_agent END, false)
$$;

-- Undoes a retraction. What had been derived from the message is made again.
CREATE OR REPLACE FUNCTION restore_message(
    grant_ text, tenant uuid, conversation uuid, of_seq bigint, only_user text, only_agent text
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m messages%ROWTYPE;
    r retractions%ROWTYPE;
BEGIN
    SELECT * INTO m FROM find_to_retract(grant_, tenant, conversation, of_seq, only_user, only_agent);
    IF m.id IS NULL THEN
        RETURN 'absent';
    ELSIF NOT may_retract(m, only_user, only_agent) THEN
        RETURN 'of another';
    END IF;
    SELECT * INTO r FROM retractions WHERE tenant_id = tenant AND message_id = m.id;
    IF NOT FOUND THEN
        RETURN 'not retracted';
    ELSIF r.erased_at IS NOT NULL THEN
        RETURN 'erased';
    END IF;
    DELETE FROM retractions WHERE tenant_id = tenant AND message_id = m.id;
    INSERT INTO entries (tenant_id, kind, source_id, part, run_id, visibility, private_to, conversation_id, seq, role,
        user_id, agent, created_at, importance, searchable, text, words, pieces, lexemes, instant)
    SELECT tenant_id, kind, source_id, part, run_id, visibility, private_to, conversation_id, seq, role,
        user_id, agent, created_at, importance, searchable, text, words, pieces, lexemes, instant
    FROM retracted_entries WHERE tenant_id = tenant AND conversation_id = conversation AND seq = of_seq;
    DELETE FROM retracted_entries WHERE tenant_id = tenant AND conversation_id = conversation AND seq = of_seq;
    PERFORM redo_summaries(tenant, conversation, ARRAY[of_seq]), restore_facts(tenant, m.id);
    IF m.role IN ('user', 'assistant') AND m.content <> '' THEN
        PERFORM read_again(tenant, ARRAY[conversation], ARRAY[of_seq]);
    END IF;
    INSERT INTO outbox (tenant_id, conversation_id, task, seq)
    SELECT tenant, conversation, 'describe', of_seq
    WHERE needs_sentence(m.tool_name, m.content, m.tool_args, m.tool_result) AND NOT EXISTS (
        SELECT FROM tool_sentences t WHERE t.tenant_id = tenant AND t.conversation_id = conversation AND t.seq = of_seq)
    UNION ALL
    SELECT tenant, conversation, 'landmark', of_seq WHERE may_hold_landmark(m.role, m.content)
    ON CONFLICT DO NOTHING;
    PERFORM note_audit(grant_::jsonb, tenant, 'message.restored', m.run_id, jsonb_build_object(
        'conversation', conversation, 'seq', of_seq, 'message', m.id));
    RETURN 'restored';
END
$$;

-- Sets the facts again that went with their source, unless they were set anew since.
CREATE OR REPLACE FUNCTION restore_facts(tenant uuid, source uuid) RETURNS void LANGUAGE sql AS $$
    INSERT INTO facts (tenant_id, scope_kind, scope_id, run_id, key, value, type, version, source_id, confidence, said_in)
    SELECT v.tenant_id, v.scope_kind, v.scope_id, v.run_id, v.key, v.value, v.type, v.version + 2, v.source_id, v.confidence,
        v.said_in
    FROM fact_versions v
    WHERE v.tenant_id = tenant AND v.source_id = source AND v.value IS NOT NULL
        AND v.version + 1 = (SELECT max(o.version) FROM fact_versions o
                             WHERE o.tenant_id = tenant AND o.run_id = v.run_id AND o.key = v.key AND o.value IS NULL)
        AND NOT EXISTS (SELECT FROM fact_versions o WHERE o.tenant_id = tenant AND o.run_id = v.run_id
                            AND o.key = v.key AND o.version > v.version + 1)
$$;

-- Puts memories that are true again back into the index.
CREATE OR REPLACE FUNCTION index_revived(
    grant_ text, tenant uuid, memory_ids uuid[], words bytea[], pieces bytea[], lexemes text[], instants public.halfvec[]
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_memory_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to) FROM memories m
    WHERE m.tenant_id = tenant AND m.id = ANY (memory_ids);
    PERFORM index_memories(tenant, memory_ids, words, pieces, lexemes, instants);
END
$$;

-- How long the messages are that no leaf covers; retracted ones are among them, without anything that was said.
CREATE OR REPLACE FUNCTION find_outlines(grant_ text, tenant uuid, conversation uuid, after_seq bigint, most integer)
RETURNS TABLE (seq bigint, created_at timestamptz, role text, tool_name text, calls boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT m.seq, m.created_at, m.role, CASE WHEN NOT r.gone THEN m.tool_name END,
        NOT r.gone AND m.role = 'assistant' AND m.tool_name IS NOT NULL AND m.tool_result IS NULL
    FROM messages m CROSS JOIN LATERAL (SELECT is_retracted(tenant, conversation, m.seq) AS gone OFFSET 0) AS r
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.seq > after_seq
        AND grant_opens(grant_::jsonb, m.tenant_id, m.run_id, m.visibility, m.private_to)
    ORDER BY m.seq LIMIT most
$$;
