-- A scope's conversations are read together, in the order of time: what comes out does not depend on who reads which.

DROP FUNCTION find_extraction(text, uuid, uuid);
DROP FUNCTION store_memories(
    text, uuid, uuid, bigint, bigint, bigint, jsonb, text, uuid[], bytea[], bytea[], text[], halfvec[]);
DROP FUNCTION enqueue_extractions(timestamptz, interval, bigint, integer);

-- A job for each scope that was silent for a while, has waited long, or has many messages waiting in a conversation.
CREATE FUNCTION enqueue_extractions(at timestamptz, silence interval, longest interval, many bigint, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    enqueued bigint;
BEGIN
    WITH waiting AS (
        SELECT e.tenant_id, e.conversation_id, e.noted_at, e.done_seq, c.last_seq, c.updated_at, k.lock
        FROM extractions e
        CROSS JOIN LATERAL (
            SELECT run_id, last_seq, updated_at FROM conversations
            WHERE tenant_id = e.tenant_id AND id = e.conversation_id OFFSET 0
        ) AS c
        CROSS JOIN LATERAL (SELECT 'extract:' || e.tenant_id || ':' || c.run_id AS lock) AS k
        WHERE e.waiting AND NOT EXISTS (
            SELECT FROM procrastinate_jobs j WHERE j.lock = k.lock AND j.status IN ('todo', 'doing', 'failed'))
        LIMIT most
    )
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
    SELECT 'keepword', 'extract', lock, lock, jsonb_build_object(
        'tenant_id', tenant_id, 'conversation_id', (array_agg(conversation_id ORDER BY noted_at, conversation_id))[1])
    FROM waiting
    GROUP BY tenant_id, lock
    HAVING max(GREATEST(updated_at, noted_at)) <= at - silence OR min(noted_at) <= at - longest
        OR max(last_seq - done_seq) >= many
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS enqueued = ROW_COUNT;
    RETURN enqueued;
END
$$;

-- A conversation's scope, its revision, and how far each of its conversations was read that waits, the one asked for
-- among them: what is decided now holds as long as these stay.
CREATE FUNCTION find_extraction(grant_ text, tenant uuid, conversation uuid)
RETURNS TABLE (
    run_id text, revision bigint, read_at timestamptz, conversation_id uuid, external_id text, kind text, user_id text,
    done_seq bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT c.run_id, COALESCE(s.revision, 0), clock_timestamp(), o.id, o.external_id, o.kind, o.user_id,
        COALESCE(e.done_seq, 0)
    FROM conversations c
    LEFT JOIN memory_scopes s ON s.tenant_id = tenant AND s.run_id = c.run_id
    JOIN conversations o ON o.tenant_id = tenant AND o.run_id = c.run_id
    LEFT JOIN extractions e ON e.tenant_id = tenant AND e.conversation_id = o.id
    WHERE c.tenant_id = tenant AND c.id = conversation AND (o.id = conversation OR e.waiting)
        AND grant_opens(grant_::jsonb, c.tenant_id, c.run_id, c.visibility, c.private_to)
        AND grant_opens(grant_::jsonb, o.tenant_id, o.run_id, o.visibility, o.private_to)
    ORDER BY o.external_id;
END
$$;

-- Writes what consolidation decided, all or nothing; false if the scope or one of its conversations moved on meanwhile.
-- `reads` tells how far conversations of the scope were read, from where and to where.
CREATE FUNCTION store_memories(
    grant_ text, tenant uuid, conversation uuid, seen_revision bigint, reads jsonb, changes jsonb,
    who text, memory_ids uuid[], words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
DECLARE
    c conversations%ROWTYPE;
    said_in conversations%ROWTYPE;
    one jsonb;
BEGIN
    SELECT * INTO c FROM conversations WHERE tenant_id = tenant AND id = conversation;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM require_memory_writes(grant_::jsonb, tenant, c.run_id, c.visibility, c.private_to);
    IF jsonb_array_length(reads) > 0 THEN
        PERFORM require_everything(grant_::jsonb, tenant);
    END IF;
    INSERT INTO memory_scopes (tenant_id, run_id) VALUES (tenant, c.run_id) ON CONFLICT DO NOTHING;
    UPDATE memory_scopes SET revision = revision + 1
    WHERE tenant_id = tenant AND run_id = c.run_id AND revision = seen_revision;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF jsonb_array_length(reads) > 0 THEN
        INSERT INTO extractions (tenant_id, conversation_id, from_seq, done_seq, waiting)
        SELECT tenant, (r ->> 'conversation')::uuid, 0, 0, true FROM jsonb_array_elements(reads) AS r
        ON CONFLICT DO NOTHING;
        -- the scope is locked: nobody else reads on in it, but a backfill may have begun anew
        IF EXISTS (
            SELECT FROM jsonb_array_elements(reads) AS r
            JOIN extractions e ON e.tenant_id = tenant AND e.conversation_id = (r ->> 'conversation')::uuid
            WHERE e.done_seq <> (r ->> 'from')::bigint
        ) THEN
            RETURN false;
        END IF;
        UPDATE extractions e SET done_seq = (r ->> 'to')::bigint FROM jsonb_array_elements(reads) AS r
        WHERE e.tenant_id = tenant AND e.conversation_id = (r ->> 'conversation')::uuid;
    END IF;
    -- first what is no longer true: a new memory may say what an old one said
    FOR one IN SELECT * FROM jsonb_array_elements(changes -> 'superseded') LOOP
        UPDATE memories SET valid_to = GREATEST((one ->> 'at')::timestamptz, valid_from), version = version + 1,
            superseded_by = (one ->> 'by')::uuid, updated_at = clock_timestamp()
        WHERE tenant_id = tenant AND id = (one ->> 'id')::uuid AND run_id = c.run_id
            AND valid_to IS NULL AND deleted_at IS NULL;
        IF FOUND THEN
            PERFORM note_memory(tenant, (one ->> 'id')::uuid, 'superseded', who);
            DELETE FROM entries WHERE tenant_id = tenant AND source_id = (one ->> 'id')::uuid AND kind = 'memory';
        END IF;
    END LOOP;
    FOR one IN SELECT * FROM jsonb_array_elements(changes -> 'added') LOOP
        SELECT * INTO STRICT said_in FROM conversations
        WHERE tenant_id = tenant AND id = COALESCE((one ->> 'conversation')::uuid, conversation) AND run_id = c.run_id;
        PERFORM require_memory_writes(grant_::jsonb, tenant, said_in.run_id, said_in.visibility, said_in.private_to);
        INSERT INTO memories (tenant_id, id, conversation_id, run_id, visibility, private_to, user_id, agent, type,
            content, digest, importance, confidence, valid_from, said_at, valid_to, superseded_by, model, pipeline_version)
        VALUES (tenant, (one ->> 'id')::uuid, said_in.id, said_in.run_id, said_in.visibility, said_in.private_to,
            COALESCE(one ->> 'user', said_in.user_id), COALESCE(one ->> 'agent', said_in.agent),
            one ->> 'type', one ->> 'content',
            decode(one ->> 'digest', 'hex'), (one ->> 'importance')::real, (one ->> 'confidence')::real,
            (one ->> 'at')::timestamptz, (one ->> 'at')::timestamptz,
            (one ->> 'valid_to')::timestamptz,
            (one ->> 'superseded_by')::uuid, one ->> 'model', (one ->> 'pipeline_version')::integer);
        PERFORM note_memory(tenant, (one ->> 'id')::uuid, 'added', who);
    END LOOP;
    FOR one IN SELECT * FROM jsonb_array_elements(changes -> 'merged') LOOP
        UPDATE memories SET times = times + 1, version = version + 1,
            said_at = GREATEST(said_at, (one ->> 'at')::timestamptz),
            valid_from = LEAST(valid_from, (one ->> 'at')::timestamptz),
            importance = GREATEST(importance, (one ->> 'importance')::real),
            confidence = GREATEST(confidence, (one ->> 'confidence')::real), updated_at = clock_timestamp()
        WHERE tenant_id = tenant AND id = (one ->> 'id')::uuid AND run_id = c.run_id;
        PERFORM note_memory(tenant, (one ->> 'id')::uuid, 'merged', who);
    END LOOP;
    INSERT INTO memory_sources (tenant_id, memory_id, message_id, run_id, visibility, private_to, digest)
    SELECT tenant, (s ->> 'memory')::uuid, m.id, m.run_id, m.visibility, m.private_to, decode(s ->> 'digest', 'hex')
    FROM jsonb_array_elements(changes -> 'sources') AS s
    JOIN messages m ON m.tenant_id = tenant AND m.id = (s ->> 'message')::uuid AND m.run_id = c.run_id
    ON CONFLICT DO NOTHING;
    PERFORM index_memories(tenant, memory_ids, words, pieces, lexemes, instants);
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION
    enqueue_extractions(timestamptz, interval, interval, bigint, integer), find_extraction(text, uuid, uuid),
    store_memories(text, uuid, uuid, bigint, jsonb, jsonb, text, uuid[], bytea[], bytea[], text[], halfvec[])
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    enqueue_extractions(timestamptz, interval, interval, bigint, integer), find_extraction(text, uuid, uuid),
    store_memories(text, uuid, uuid, bigint, jsonb, jsonb, text, uuid[], bytea[], bytea[], text[], halfvec[])
TO keepword_app;
