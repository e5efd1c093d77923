-- depends: 0012_queue 0013_derived_entries
-- Semantic memories: sentences extracted from messages, with their sources and their history. A memory is never
-- overwritten: what it was before is in its versions, and what is no longer true has an end.

CREATE TABLE memories (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    user_id text,
    agent text NOT NULL,
    type text NOT NULL CHECK (type IN ('correction', 'preference', 'decision', 'fact', 'task', 'action')),
    content text NOT NULL CHECK (content <> ''),
    -- of what it means, without the small words
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    importance real NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    times integer NOT NULL DEFAULT 1 CHECK (times >= 1),
    version integer NOT NULL DEFAULT 1,
    valid_from timestamptz NOT NULL,
    said_at timestamptz NOT NULL,
    valid_to timestamptz,
    superseded_by uuid,
    deleted_at timestamptz,
    model text NOT NULL,
    pipeline_version integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, id),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    CHECK (superseded_by IS NULL OR valid_to IS NOT NULL),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility),
    FOREIGN KEY (tenant_id, superseded_by) REFERENCES memories (tenant_id, id) DEFERRABLE INITIALLY DEFERRED
);

-- two workers at once can't make a duplicate
CREATE UNIQUE INDEX memories_once ON memories (tenant_id, run_id, digest) WHERE valid_to IS NULL AND deleted_at IS NULL;
CREATE INDEX memories_in_scope ON memories (tenant_id, run_id, valid_from, id);
CREATE INDEX memories_in_time ON memories (tenant_id, valid_from, id);
CREATE INDEX memories_of_user ON memories (tenant_id, user_id);

CALL wall_in_content('memories');
GRANT SELECT ON memories TO keepword_app;

CREATE TABLE memory_sources (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    message_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    -- what was found in the message, which the memory may have been changed from since
    digest bytea NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, message_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id),
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id)
);
CREATE INDEX memory_sources_by_message ON memory_sources (tenant_id, message_id);

CALL wall_in_content('memory_sources');
GRANT SELECT ON memory_sources TO keepword_app;

CREATE TABLE memory_versions (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    version integer NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    event text NOT NULL CHECK (event IN ('added', 'merged', 'superseded', 'changed', 'deleted')),
    type text NOT NULL,
    content text NOT NULL,
    importance real NOT NULL,
    confidence real NOT NULL,
    superseded_by uuid,
    by_whom text,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, memory_id, version),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)
);

CALL wall_in_content('memory_versions');
GRANT SELECT ON memory_versions TO keepword_app;

-- Behind functions alone. A scope's revision is its lock, and tells whether what was decided on is still so.
CREATE TABLE memory_scopes (
    tenant_id uuid NOT NULL,
    run_id text NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, run_id)
);
-- How far each conversation was read: everything after `from_seq` up to `done_seq`.
CREATE TABLE extractions (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    from_seq bigint NOT NULL,
    done_seq bigint NOT NULL,
    waiting boolean NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, conversation_id)
);
CREATE INDEX extractions_waiting ON extractions (tenant_id, conversation_id) WHERE waiting;
ALTER TABLE memory_scopes ENABLE ROW LEVEL SECURITY;
ALTER TABLE extractions ENABLE ROW LEVEL SECURITY;

-- In the append's transaction, so that no exchange is forgotten.
CREATE FUNCTION note_exchange() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    INSERT INTO extractions AS e (tenant_id, conversation_id, from_seq, done_seq, waiting)
    SELECT tenant_id, conversation_id, min(seq) - 1, min(seq) - 1, true FROM added
    WHERE role IN ('user', 'assistant') AND content <> '' GROUP BY 1, 2
    ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET waiting = true, noted_at = clock_timestamp()
    WHERE NOT e.waiting;
    RETURN NULL;
END
$$;
CREATE TRIGGER exchanges_are_noted AFTER INSERT ON messages
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_exchange();

-- What a profile may be made from changes when a session or its project does.
CREATE FUNCTION note_move() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'projects' THEN
        UPDATE extractions e SET waiting = true, noted_at = clock_timestamp() FROM conversations c
        WHERE c.tenant_id = NEW.tenant_id AND c.project_id = NEW.id
            AND e.tenant_id = c.tenant_id AND e.conversation_id = c.id;
    ELSE
        UPDATE extractions SET waiting = true, noted_at = clock_timestamp()
        WHERE tenant_id = NEW.tenant_id AND conversation_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER moves_are_noted AFTER UPDATE OF project_id ON conversations
    FOR EACH ROW WHEN (NEW.project_id IS DISTINCT FROM OLD.project_id) EXECUTE FUNCTION note_move();
CREATE TRIGGER isolation_is_noted AFTER UPDATE OF isolated ON projects
    FOR EACH ROW WHEN (NEW.isolated IS DISTINCT FROM OLD.isolated) EXECUTE FUNCTION note_move();

-- A job for each conversation that was silent for a while, or has many messages waiting, unless it has one.
CREATE FUNCTION enqueue_extractions(at timestamptz, silence interval, many bigint, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    enqueued bigint;
BEGIN
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
    SELECT 'keepword', 'extract', k.lock, k.lock,
        jsonb_build_object('tenant_id', e.tenant_id, 'conversation_id', e.conversation_id)
    FROM extractions e
    CROSS JOIN LATERAL (
        SELECT last_seq, updated_at FROM conversations WHERE tenant_id = e.tenant_id AND id = e.conversation_id OFFSET 0
    ) AS c
    CROSS JOIN LATERAL (SELECT 'extract:' || e.conversation_id AS lock) AS k
    WHERE e.waiting AND (GREATEST(c.updated_at, e.noted_at) <= at - silence OR c.last_seq >= e.done_seq + many)
        AND NOT EXISTS (
            SELECT FROM procrastinate_jobs j WHERE j.lock = k.lock AND j.status IN ('todo', 'doing', 'failed'))
    LIMIT most
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS enqueued = ROW_COUNT;
    RETURN enqueued;
END
$$;

-- How far a conversation was read, and the revision of its scope: what is decided now holds as long as both stay.
CREATE FUNCTION find_extraction(grant_ text, tenant uuid, conversation uuid)
RETURNS TABLE (done_seq bigint, last_seq bigint, run_id text, user_id text, kind text, revision bigint, read_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT COALESCE(e.done_seq, 0), c.last_seq, c.run_id, c.user_id, c.kind, COALESCE(s.revision, 0),
        clock_timestamp()
    FROM conversations c
    LEFT JOIN extractions e ON e.tenant_id = tenant AND e.conversation_id = c.id
    LEFT JOIN memory_scopes s ON s.tenant_id = tenant AND s.run_id = c.run_id
    WHERE c.tenant_id = tenant AND c.id = conversation
        AND grant_opens(grant_::jsonb, c.tenant_id, c.run_id, c.visibility, c.private_to);
END
$$;

CREATE FUNCTION require_memory_writes(g jsonb, tenant uuid, run text, seen text, only_for text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF (g ->> 'tenant')::uuid = tenant AND COALESCE((g ->> 'everything')::boolean, false) THEN
        RETURN;
    END IF;
    PERFORM require_writes(g, tenant, run, seen, only_for);
END
$$;

-- A memory's row in its history, as it is now.
CREATE FUNCTION note_memory(tenant uuid, memory uuid, happened text, who text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO memory_versions (tenant_id, memory_id, version, run_id, visibility, private_to, event, type, content,
        importance, confidence, superseded_by, by_whom)
    SELECT tenant_id, id, version, run_id, visibility, private_to, happened, type, content, importance, confidence,
        superseded_by, who
    FROM memories WHERE tenant_id = tenant AND id = memory
$$;

-- Lets searches find memories, or find them as they are now.
CREATE FUNCTION index_memories(
    tenant uuid, memory_ids uuid[], words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
) RETURNS void LANGUAGE plpgsql SET search_path = keepword, pg_temp, public AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = ANY (memory_ids) AND kind = 'memory';
    INSERT INTO entries (tenant_id, kind, source_id, part, run_id, visibility, private_to, conversation_id, user_id, agent, created_at,
        importance, searchable, text, words, pieces, lexemes, instant)
    SELECT m.tenant_id, 'memory', m.id, 0, m.run_id, m.visibility, m.private_to, m.conversation_id, m.user_id, m.agent, m.said_at,
        m.importance, true, m.content, i.words, i.pieces, i.lexemes::integer[], i.instant
    FROM unnest(memory_ids, words, pieces, lexemes, instants) AS i (memory_id, words, pieces, lexemes, instant)
    CROSS JOIN LATERAL (SELECT * FROM memories WHERE tenant_id = tenant AND id = i.memory_id OFFSET 0) AS m
    WHERE m.valid_to IS NULL AND m.deleted_at IS NULL;
END
$$;

-- Writes what consolidation decided, all or nothing; false if the scope or the conversation moved on meanwhile.
CREATE FUNCTION store_memories(
    grant_ text, tenant uuid, conversation uuid, seen_revision bigint, seen_seq bigint, to_seq bigint, changes jsonb,
    who text, memory_ids uuid[], words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
DECLARE
    c conversations%ROWTYPE;
    one jsonb;
BEGIN
    SELECT * INTO c FROM conversations WHERE tenant_id = tenant AND id = conversation;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM require_memory_writes(grant_::jsonb, tenant, c.run_id, c.visibility, c.private_to);
    INSERT INTO memory_scopes (tenant_id, run_id) VALUES (tenant, c.run_id) ON CONFLICT DO NOTHING;
    UPDATE memory_scopes SET revision = revision + 1
    WHERE tenant_id = tenant AND run_id = c.run_id AND revision = seen_revision;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF to_seq IS NOT NULL THEN
        INSERT INTO extractions (tenant_id, conversation_id, from_seq, done_seq, waiting)
        VALUES (tenant, conversation, 0, 0, true) ON CONFLICT DO NOTHING;
        UPDATE extractions SET done_seq = to_seq
        WHERE tenant_id = tenant AND conversation_id = conversation AND done_seq = seen_seq;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
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
        INSERT INTO memories (tenant_id, id, conversation_id, run_id, visibility, private_to, user_id, agent, type,
            content, digest, importance, confidence, valid_from, said_at, valid_to, superseded_by, model, pipeline_version)
        VALUES (tenant, (one ->> 'id')::uuid, c.id, c.run_id, c.visibility, c.private_to,
            COALESCE(one ->> 'user', c.user_id), COALESCE(one ->> 'agent', c.agent), one ->> 'type', one ->> 'content',
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

-- Ends the waiting, unless something was said meanwhile: appends lock the conversation first.
CREATE FUNCTION settle_extraction(grant_ text, tenant uuid, conversation uuid, seen_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    last bigint;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    SELECT last_seq INTO last FROM conversations WHERE tenant_id = tenant AND id = conversation FOR NO KEY UPDATE;
    UPDATE extractions SET waiting = false
    WHERE tenant_id = tenant AND conversation_id = conversation AND done_seq >= last AND noted_at <= seen_at;
END
$$;

-- Whoever changes anything in a scope holds its row first, so that nobody waits in a circle.
CREATE FUNCTION lock_scope_of(tenant uuid, memory uuid) RETURNS void LANGUAGE sql AS $$
    INSERT INTO memory_scopes AS s (tenant_id, run_id, revision)
    SELECT tenant_id, run_id, 1 FROM memories WHERE tenant_id = tenant AND id = memory
    ON CONFLICT (tenant_id, run_id) DO UPDATE SET revision = s.revision + 1
$$;

-- Changes a memory to say something else; what it said stays in its history.
CREATE FUNCTION change_memory(
    grant_ text, tenant uuid, wanted uuid, expected integer, to_type text, to_content text, to_digest bytea,
    to_importance real, to_confidence real, who text,
    words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
DECLARE
    m memories%ROWTYPE;
BEGIN
    PERFORM lock_scope_of(tenant, wanted);
    SELECT * INTO m FROM memories WHERE tenant_id = tenant AND id = wanted AND deleted_at IS NULL
        AND grant_opens(grant_::jsonb, tenant_id, run_id, visibility, private_to);
    IF NOT FOUND THEN
        RETURN 'absent';
    ELSIF expected IS NOT NULL AND m.version <> expected THEN
        RETURN 'outdated';
    ELSIF m.valid_to IS NOT NULL THEN
        RETURN 'superseded';
    END IF;
    PERFORM require_memory_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to);
    IF EXISTS (SELECT FROM memories o WHERE o.tenant_id = tenant AND o.run_id = m.run_id AND o.digest = to_digest
                   AND o.id <> m.id AND o.valid_to IS NULL AND o.deleted_at IS NULL) THEN
        RETURN 'twin';
    END IF;
    UPDATE memories SET type = to_type, content = to_content, digest = to_digest, importance = to_importance,
        confidence = to_confidence, version = version + 1, updated_at = clock_timestamp()
    WHERE tenant_id = tenant AND id = wanted;
    PERFORM note_memory(tenant, wanted, 'changed', who);
    PERFORM index_memories(tenant, ARRAY[wanted], words, pieces, lexemes, instants);
    UPDATE extractions SET waiting = true, noted_at = clock_timestamp()
    WHERE tenant_id = tenant AND conversation_id = m.conversation_id;
    RETURN 'changed';
END
$$;

-- Deletes a memory: it is neither found nor shown any more, and its history and its messages stay.
CREATE FUNCTION delete_memory(grant_ text, tenant uuid, wanted uuid, expected integer, who text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m memories%ROWTYPE;
BEGIN
    PERFORM lock_scope_of(tenant, wanted);
    SELECT * INTO m FROM memories WHERE tenant_id = tenant AND id = wanted AND deleted_at IS NULL
        AND grant_opens(grant_::jsonb, tenant_id, run_id, visibility, private_to);
    IF NOT FOUND THEN
        RETURN 'absent';
    ELSIF expected IS NOT NULL AND m.version <> expected THEN
        RETURN 'outdated';
    END IF;
    PERFORM require_memory_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to);
    UPDATE memories SET deleted_at = clock_timestamp(), version = version + 1, updated_at = clock_timestamp()
    WHERE tenant_id = tenant AND id = wanted;
    PERFORM note_memory(tenant, wanted, 'deleted', who);
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = wanted AND kind = 'memory';
    UPDATE extractions SET waiting = true, noted_at = clock_timestamp()
    WHERE tenant_id = tenant AND conversation_id = m.conversation_id;
    RETURN 'deleted';
END
$$;

-- The conversation that a summary, landmark or memory belongs to: an id, from which the grant is decided.
CREATE OR REPLACE FUNCTION find_derived(in_tenant uuid, wanted uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT c.external_id FROM (
        SELECT conversation_id FROM summaries WHERE tenant_id = in_tenant AND id = wanted
        UNION ALL
        SELECT conversation_id FROM landmarks WHERE tenant_id = in_tenant AND id = wanted
        UNION ALL
        SELECT conversation_id FROM memories WHERE tenant_id = in_tenant AND id = wanted
    ) AS found
    JOIN conversations c ON c.tenant_id = in_tenant AND c.id = found.conversation_id
    LIMIT 1
$$;

REVOKE EXECUTE ON FUNCTION
    note_exchange(), note_move(), enqueue_extractions(timestamptz, interval, bigint, integer),
    find_extraction(text, uuid, uuid), note_memory(uuid, uuid, text, text),
    index_memories(uuid, uuid[], bytea[], bytea[], text[], halfvec[]),
    store_memories(text, uuid, uuid, bigint, bigint, bigint, jsonb, text, uuid[], bytea[], bytea[], text[], halfvec[]),
    settle_extraction(text, uuid, uuid, timestamptz),
    change_memory(text, uuid, uuid, integer, text, text, bytea, real, real, text, bytea[], bytea[], text[], halfvec[]),
    delete_memory(text, uuid, uuid, integer, text), lock_scope_of(uuid, uuid)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    enqueue_extractions(timestamptz, interval, bigint, integer), find_extraction(text, uuid, uuid),
    store_memories(text, uuid, uuid, bigint, bigint, bigint, jsonb, text, uuid[], bytea[], bytea[], text[], halfvec[]),
    settle_extraction(text, uuid, uuid, timestamptz),
    change_memory(text, uuid, uuid, integer, text, text, bytea, real, real, text, bytea[], bytea[], text[], halfvec[]),
    delete_memory(text, uuid, uuid, integer, text)
TO keepword_app;
