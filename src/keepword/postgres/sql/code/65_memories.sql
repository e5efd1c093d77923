-- Memories: read from conversations, consolidated, changed by hand.

-- In the append's transaction, so that no exchange is forgotten.
CREATE OR REPLACE FUNCTION note_exchange() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    INSERT INTO extractions AS e (tenant_id, conversation_id, done_seq, waiting)
    SELECT tenant_id, conversation_id, min(seq) - 1, true FROM added
    WHERE role IN ('user', 'assistant') AND content <> '' GROUP BY 1, 2
    ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET waiting = true, noted_at = clock_timestamp()
    WHERE NOT e.waiting;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER exchanges_are_noted AFTER INSERT ON messages
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_exchange();

CREATE OR REPLACE FUNCTION find_memory_seq(tenant uuid, memory uuid, conversation uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT max(m.seq) FROM keepword.memory_sources s
    CROSS JOIN LATERAL (
        SELECT o.seq FROM keepword.messages o
        WHERE o.tenant_id = tenant AND o.id = s.message_id AND o.conversation_id = conversation OFFSET 0
    ) AS m
    WHERE s.tenant_id = tenant AND s.memory_id = memory
$$;

-- A conversation's scope, its revision, and how far each of its conversations was read that waits, the one asked for
-- among them: what is decided now holds as long as these stay.
CREATE OR REPLACE FUNCTION find_extraction(grant_ text, tenant uuid, conversation uuid)
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
    LEFT JOIN memory_revisions s ON s.tenant_id = tenant AND s.run_id = c.run_id
    JOIN conversations o ON o.tenant_id = tenant AND o.run_id = c.run_id
    LEFT JOIN extractions e ON e.tenant_id = tenant AND e.conversation_id = o.id
    WHERE c.tenant_id = tenant AND c.id = conversation AND (o.id = conversation OR e.waiting)
        AND grant_opens(grant_::jsonb, c.tenant_id, c.run_id, c.visibility, c.private_to)
        AND grant_opens(grant_::jsonb, o.tenant_id, o.run_id, o.visibility, o.private_to)
    ORDER BY o.external_id;
END
$$;

-- Ends the waiting, unless something was said meanwhile: appends lock the conversation first.
CREATE OR REPLACE FUNCTION finish_extraction(grant_ text, tenant uuid, conversation uuid, seen_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    last bigint;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    SELECT last_seq INTO last FROM conversations WHERE tenant_id = tenant AND id = conversation FOR NO KEY UPDATE;
    UPDATE extractions SET waiting = false
    WHERE tenant_id = tenant AND conversation_id = conversation AND noted_at <= seen_at
        AND (done_seq >= last OR NOT EXISTS (
            SELECT FROM messages m WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.seq > done_seq
                AND NOT is_retracted(tenant, conversation, m.seq)));
END
$$;

-- The revision of a project's scope, for whoever may write its memories: what is decided now holds as long as it stays.
CREATE OR REPLACE FUNCTION find_project_scope(grant_ text, tenant uuid, project text) RETURNS TABLE (revision bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM require_memory_writes(grant_::jsonb, tenant, 'project:' || project, 'shared', NULL);
    RETURN QUERY
    SELECT COALESCE(s.revision, 0) FROM projects j
    LEFT JOIN memory_revisions s ON s.tenant_id = tenant AND s.run_id = 'project:' || j.id
    WHERE j.tenant_id = tenant AND j.id = project;
END
$$;

-- Written where the place itself is, and a project's where the grant lets share its knowledge.
CREATE OR REPLACE FUNCTION require_memory_writes(g jsonb, tenant uuid, run text, seen text, only_for text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF (g ->> 'tenant')::uuid = tenant AND COALESCE((g ->> 'everything')::boolean, false) THEN
        RETURN;
    END IF;
    IF starts_with(run, 'project:') AND jsonb_exists(g -> 'shares', run)
        AND grant_opens(g, tenant, run, seen, only_for) THEN
        RETURN;
    END IF;
    PERFORM require_writes(g, tenant, run, seen, only_for);
END
$$;

-- Categories without repetition, in a fixed order.
CREATE OR REPLACE FUNCTION union_categories(old text[], added jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT COALESCE(array_agg(one ORDER BY one), '{}') FROM (
        SELECT unnest(old) AS one UNION SELECT jsonb_array_elements_text(COALESCE(added, '[]'))
    ) AS c
$$;

-- Whether a memory is valid, and if not, why.
CREATE OR REPLACE FUNCTION memory_state(m memories, at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN m.deleted_at IS NOT NULL THEN 'deleted'
        WHEN m.superseded_by IS NOT NULL THEN 'superseded'
        WHEN m.expires_at <= at THEN 'expired'
        WHEN m.valid_to IS NOT NULL THEN 'superseded'
        ELSE 'valid' END
$$;

-- Whether a memory passes a filter: a tree that Python has checked and written with few operators. The tree is data, so
-- no word of it is ever part of a statement. What is missing matches nothing, and so passes a "not".
CREATE OR REPLACE FUNCTION matches_memory_filter(f jsonb, m memories, conversation text, at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    one jsonb;
    op text := f ->> 'op';
BEGIN
    IF op IN ('and', 'or', 'not') THEN
        FOR one IN SELECT * FROM jsonb_array_elements(f -> 'of') LOOP
            IF matches_memory_filter(one, m, conversation, at) <> (op = 'and') THEN
                RETURN op = 'or';
            END IF;
        END LOOP;
        RETURN op <> 'or';
    END IF;
    RETURN COALESCE(CASE f ->> 'field'
        WHEN 'metadata' THEN matches_value(op, f -> 'values', m.metadata -> (f ->> 'key'))
        WHEN 'category' THEN EXISTS (
            SELECT FROM unnest(m.categories) AS c (category) WHERE matches_value(op, f -> 'values', to_jsonb(c.category)))
        WHEN 'user' THEN matches_value(op, f -> 'values', to_jsonb(m.user_id))
        WHEN 'agent' THEN matches_value(op, f -> 'values', to_jsonb(m.agent))
        WHEN 'place' THEN matches_value(op, f -> 'values', to_jsonb(m.run_id))
        WHEN 'conversation' THEN matches_value(op, f -> 'values', to_jsonb(conversation))
        WHEN 'mem0_agent' THEN matches_value(op, f -> 'values', to_jsonb(mem0_part(conversation, 3, m.agent)))
        WHEN 'mem0_app' THEN matches_value(op, f -> 'values', to_jsonb(mem0_part(conversation, 4, NULL)))
        WHEN 'mem0_run' THEN matches_value(op, f -> 'values', to_jsonb(mem0_part(conversation, 5, conversation)))
        WHEN 'id' THEN matches_value(op, f -> 'values', to_jsonb(m.id::text))
        WHEN 'type' THEN matches_value(op, f -> 'values', to_jsonb(m.type))
        WHEN 'said_by' THEN matches_value(op, f -> 'values', to_jsonb(m.said_by))
        WHEN 'content' THEN matches_value(op, f -> 'values', to_jsonb(m.content))
        WHEN 'feedback' THEN matches_value(op, f -> 'values', to_jsonb(m.feedback))
        WHEN 'state' THEN matches_value(op, f -> 'values', to_jsonb(memory_state(m, at)))
        WHEN 'importance' THEN matches_value(op, f -> 'values', to_jsonb(m.importance))
        WHEN 'confidence' THEN matches_value(op, f -> 'values', to_jsonb(m.confidence))
        WHEN 'said_at' THEN matches_time(op, f -> 'values', m.said_at)
        WHEN 'created_at' THEN matches_time(op, f -> 'values', m.created_at)
        WHEN 'updated_at' THEN matches_time(op, f -> 'values', m.updated_at)
        WHEN 'expires_at' THEN matches_time(op, f -> 'values', m.expires_at)
    END, false);
END
$$;

-- Values are compared with values of their own kind alone: a number is neither before nor after a text.
CREATE OR REPLACE FUNCTION matches_value(op text, wanted jsonb, held jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE op
        WHEN 'exists' THEN held IS NOT NULL
        WHEN 'contains' THEN CASE jsonb_typeof(held)
            WHEN 'string' THEN position(lower(wanted ->> 0) IN lower(held #>> '{}')) > 0
            WHEN 'array' THEN held @> wanted ELSE false END
        WHEN 'in' THEN EXISTS (SELECT FROM jsonb_array_elements(wanted) AS w (one) WHERE w.one = held)
        ELSE jsonb_typeof(wanted -> 0) = jsonb_typeof(held) AND CASE op
            WHEN 'gt' THEN held > wanted -> 0 WHEN 'gte' THEN held >= wanted -> 0
            WHEN 'lt' THEN held < wanted -> 0 WHEN 'lte' THEN held <= wanted -> 0 END
    END
$$;

CREATE OR REPLACE FUNCTION matches_time(op text, wanted jsonb, held timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE op
        WHEN 'exists' THEN held IS NOT NULL
        WHEN 'in' THEN held IN (SELECT one::timestamptz FROM jsonb_array_elements_text(wanted) AS w (one))
        WHEN 'gt' THEN held > (wanted ->> 0)::timestamptz WHEN 'gte' THEN held >= (wanted ->> 0)::timestamptz
        WHEN 'lt' THEN held < (wanted ->> 0)::timestamptz WHEN 'lte' THEN held <= (wanted ->> 0)::timestamptz
    END
$$;

-- Ends the memories whose time has come, of one scope or of all; reads do not wait for it. Of all, at most a thousand.
CREATE OR REPLACE FUNCTION expire_memories(at timestamptz, tenant uuid, run text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    one record;
    ended bigint := 0;
BEGIN
    -- by scope, as everybody takes the scopes' rows
    FOR one IN
        SELECT m.tenant_id, m.id, m.conversation_id FROM memories m
        WHERE m.expires_at <= at AND m.valid_to IS NULL AND m.deleted_at IS NULL
            AND (tenant IS NULL OR (m.tenant_id = tenant AND m.run_id = run)) AND NOT is_resting(m.tenant_id)
        ORDER BY m.tenant_id, m.run_id, m.id LIMIT 1000
    LOOP
        IF tenant IS NULL THEN
            PERFORM lock_memory_revision(one.tenant_id, one.id);
        END IF;
        UPDATE memories SET valid_to = GREATEST(expires_at, valid_from), version = version + 1,
            updated_at = clock_timestamp()
        WHERE tenant_id = one.tenant_id AND id = one.id AND expires_at <= at AND valid_to IS NULL AND deleted_at IS NULL;
        IF FOUND THEN
            PERFORM note_memory(one.tenant_id, one.id, 'expired', NULL);
            DELETE FROM entries WHERE tenant_id = one.tenant_id AND source_id = one.id AND kind = 'memory';
            UPDATE extractions SET waiting = true, noted_at = clock_timestamp()
            WHERE tenant_id = one.tenant_id AND conversation_id = one.conversation_id AND tenant IS NULL;
            ended := ended + 1;
        END IF;
    END LOOP;
    RETURN ended;
END
$$;

-- For the service's loop, which takes the database's clock alone: nobody ends a memory before its time.
CREATE OR REPLACE FUNCTION sweep_memories() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT expire_memories(clock_timestamp(), NULL, NULL)
$$;

-- A memory's row in its history, as it is now.
CREATE OR REPLACE FUNCTION note_memory(tenant uuid, memory uuid, happened text, who text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO memory_versions (tenant_id, memory_id, version, run_id, visibility, private_to, event, type, content,
        importance, confidence, superseded_by, by_whom, metadata, categories, expires_at, feedback, feedback_reason)
    SELECT tenant_id, id, version, run_id, visibility, private_to, happened, type, content, importance, confidence,
        superseded_by, who, metadata, categories, expires_at, feedback, feedback_reason
    FROM memories WHERE tenant_id = tenant AND id = memory
$$;

-- Lets searches find memories, or find them as they are now.
CREATE OR REPLACE FUNCTION index_memories(
    tenant uuid, memory_ids uuid[], words bytea[], pieces bytea[], lexemes text[], instants public.halfvec[]
) RETURNS void LANGUAGE plpgsql SET search_path = keepword, pg_temp AS $$
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

-- Ends what is no longer true.
CREATE OR REPLACE FUNCTION supersede_memories(tenant uuid, run text, changes jsonb, who text) RETURNS void
LANGUAGE plpgsql SET search_path = keepword, pg_temp AS $$
DECLARE
    one jsonb;
BEGIN
    FOR one IN SELECT * FROM jsonb_array_elements(changes -> 'superseded') LOOP
        UPDATE memories SET valid_to = GREATEST((one ->> 'at')::timestamptz, valid_from), version = version + 1,
            superseded_by = (one ->> 'by')::uuid, updated_at = clock_timestamp()
        WHERE tenant_id = tenant AND id = (one ->> 'id')::uuid AND run_id = run
            AND valid_to IS NULL AND deleted_at IS NULL;
        IF FOUND THEN
            PERFORM note_memory(tenant, (one ->> 'id')::uuid, 'superseded', who);
            DELETE FROM entries WHERE tenant_id = tenant AND source_id = (one ->> 'id')::uuid AND kind = 'memory';
        END IF;
    END LOOP;
END
$$;

-- Notes that what is known was said again.
CREATE OR REPLACE FUNCTION merge_memories(tenant uuid, run text, changes jsonb, who text) RETURNS void
LANGUAGE plpgsql SET search_path = keepword, pg_temp AS $$
DECLARE
    one jsonb;
BEGIN
    FOR one IN SELECT * FROM jsonb_array_elements(changes -> 'merged') LOOP
        UPDATE memories SET times = times + 1, version = version + 1,
            said_at = GREATEST(said_at, (one ->> 'at')::timestamptz),
            valid_from = LEAST(valid_from, (one ->> 'at')::timestamptz),
            importance = GREATEST(importance, (one ->> 'importance')::real),
            confidence = GREATEST(confidence, (one ->> 'confidence')::real),
            metadata = metadata || COALESCE(one -> 'metadata', '{}'),
            categories = union_categories(categories, one -> 'categories'),
            -- said again without an end, what had one keeps it
            expires_at = COALESCE((one ->> 'expires_at')::timestamptz, expires_at), updated_at = clock_timestamp()
        WHERE tenant_id = tenant AND id = (one ->> 'id')::uuid AND run_id = run;
        PERFORM note_memory(tenant, (one ->> 'id')::uuid, 'merged', who);
    END LOOP;
END
$$;

-- Writes what consolidation decided, all or nothing; false if the scope or one of its conversations moved on meanwhile.
-- `reads` tells how far conversations of the scope were read, from where and to where.
CREATE OR REPLACE FUNCTION store_memories(
    grant_ text, tenant uuid, conversation uuid, seen_revision bigint, reads jsonb, changes jsonb,
    who text, memory_ids uuid[], words bytea[], pieces bytea[], lexemes text[], instants public.halfvec[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    c conversations%ROWTYPE;
    said_in conversations%ROWTYPE;
    one jsonb;
    -- what was read is vouched for by its messages, what was told by the key that told it
    vouches boolean := grants_owner(grant_::jsonb) OR COALESCE((grant_::jsonb ->> 'vouches')::boolean, false);
BEGIN
    SELECT * INTO c FROM conversations WHERE tenant_id = tenant AND id = conversation;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM require_memory_writes(grant_::jsonb, tenant, c.run_id, c.visibility, c.private_to);
    IF jsonb_array_length(reads) > 0 THEN
        PERFORM require_everything(grant_::jsonb, tenant);
    END IF;
    INSERT INTO memory_revisions (tenant_id, run_id) VALUES (tenant, c.run_id) ON CONFLICT DO NOTHING;
    UPDATE memory_revisions SET revision = revision + 1
    WHERE tenant_id = tenant AND run_id = c.run_id AND revision = seen_revision;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF jsonb_array_length(reads) > 0 THEN
        INSERT INTO extractions (tenant_id, conversation_id, done_seq, waiting)
        SELECT tenant, (r ->> 'conversation')::uuid, 0, true FROM jsonb_array_elements(reads) AS r
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
    IF EXISTS (
        SELECT FROM jsonb_array_elements(changes -> 'sources') AS s
        JOIN retractions r ON r.tenant_id = tenant AND r.message_id = (s ->> 'message')::uuid
    ) THEN
        RETURN false;
    END IF;
    -- first what is no longer true: a new memory may say what an old one said
    PERFORM expire_memories(clock_timestamp(), tenant, c.run_id);
    PERFORM supersede_memories(tenant, c.run_id, changes, who);
    FOR one IN SELECT * FROM jsonb_array_elements(changes -> 'added') LOOP
        SELECT * INTO STRICT said_in FROM conversations
        WHERE tenant_id = tenant AND id = COALESCE((one ->> 'conversation')::uuid, conversation) AND run_id = c.run_id;
        PERFORM require_memory_writes(grant_::jsonb, tenant, said_in.run_id, said_in.visibility, said_in.private_to);
        INSERT INTO memories (tenant_id, id, conversation_id, run_id, visibility, private_to, user_id, agent, type,
            content, digest, importance, confidence, valid_from, said_at, valid_to, superseded_by, model,
            pipeline_version, vouched, metadata, categories, expires_at, said_by)
        VALUES (tenant, (one ->> 'id')::uuid, said_in.id, said_in.run_id, said_in.visibility, said_in.private_to,
            CASE WHEN one ->> 'said_by' = 'agent' THEN NULL ELSE COALESCE(one ->> 'user', said_in.user_id) END,
            COALESCE(one ->> 'agent', said_in.agent),
            one ->> 'type', one ->> 'content',
            decode(one ->> 'digest', 'hex'), (one ->> 'importance')::real, (one ->> 'confidence')::real,
            (one ->> 'at')::timestamptz, (one ->> 'at')::timestamptz,
            (one ->> 'valid_to')::timestamptz,
            (one ->> 'superseded_by')::uuid, one ->> 'model', (one ->> 'pipeline_version')::integer,
            vouches AND COALESCE((one ->> 'vouched')::boolean, true), COALESCE(one -> 'metadata', '{}'),
            union_categories('{}', one -> 'categories'), (one ->> 'expires_at')::timestamptz,
            COALESCE(one ->> 'said_by', 'user'));
        PERFORM note_memory(tenant, (one ->> 'id')::uuid, 'added', who);
    END LOOP;
    PERFORM merge_memories(tenant, c.run_id, changes, who);
    INSERT INTO memory_sources (tenant_id, memory_id, message_id, run_id, visibility, private_to, digest)
    SELECT tenant, (s ->> 'memory')::uuid, m.id, m.run_id, m.visibility, m.private_to, decode(s ->> 'digest', 'hex')
    FROM jsonb_array_elements(changes -> 'sources') AS s
    JOIN messages m ON m.tenant_id = tenant AND m.id = (s ->> 'message')::uuid AND m.run_id = c.run_id
    ON CONFLICT DO NOTHING;
    PERFORM index_memories(tenant, memory_ids, words, pieces, lexemes, instants);
    RETURN true;
END
$$;

-- As store_memories, for what is told of a project; false if its scope moved on meanwhile.
CREATE OR REPLACE FUNCTION store_project_memories(
    grant_ text, tenant uuid, project text, seen_revision bigint, changes jsonb, who text, memory_ids uuid[],
    words bytea[], pieces bytea[], lexemes text[], instants public.halfvec[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    run text := 'project:' || project;
    one jsonb;
BEGIN
    PERFORM require_memory_writes(grant_::jsonb, tenant, run, 'shared', NULL);
    INSERT INTO memory_revisions (tenant_id, run_id) VALUES (tenant, run) ON CONFLICT DO NOTHING;
    UPDATE memory_revisions SET revision = revision + 1
    WHERE tenant_id = tenant AND run_id = run AND revision = seen_revision;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM expire_memories(clock_timestamp(), tenant, run);
    PERFORM supersede_memories(tenant, run, changes, who);
    FOR one IN SELECT * FROM jsonb_array_elements(changes -> 'added') LOOP
        INSERT INTO memories (tenant_id, id, project_id, run_id, visibility, agent, type, content, digest, importance,
            confidence, valid_from, said_at, valid_to, superseded_by, model, pipeline_version, metadata, categories,
            expires_at)
        VALUES (tenant, (one ->> 'id')::uuid, project, run, 'shared', one ->> 'agent', one ->> 'type', one ->> 'content',
            decode(one ->> 'digest', 'hex'), (one ->> 'importance')::real, (one ->> 'confidence')::real,
            (one ->> 'at')::timestamptz, (one ->> 'at')::timestamptz, (one ->> 'valid_to')::timestamptz,
            (one ->> 'superseded_by')::uuid, one ->> 'model', (one ->> 'pipeline_version')::integer,
            COALESCE(one -> 'metadata', '{}'), union_categories('{}', one -> 'categories'),
            (one ->> 'expires_at')::timestamptz);
        PERFORM note_memory(tenant, (one ->> 'id')::uuid, 'added', who);
    END LOOP;
    PERFORM merge_memories(tenant, run, changes, who);
    PERFORM index_memories(tenant, memory_ids, words, pieces, lexemes, instants);
    RETURN true;
END
$$;

-- Whoever changes anything in a scope holds its row first, so that nobody waits in a circle.
CREATE OR REPLACE FUNCTION lock_memory_revision(tenant uuid, memory uuid) RETURNS void LANGUAGE sql AS $$
    INSERT INTO memory_revisions AS s (tenant_id, run_id, revision)
    SELECT tenant_id, run_id, 1 FROM memories WHERE tenant_id = tenant AND id = memory
    ON CONFLICT (tenant_id, run_id) DO UPDATE SET revision = s.revision + 1
$$;

-- Changes a memory to say something else; what it said stays in its history.
CREATE OR REPLACE FUNCTION change_memory(
    grant_ text, tenant uuid, wanted uuid, expected integer, to_type text, to_content text, to_digest bytea,
    to_importance real, to_confidence real, to_metadata jsonb, to_categories text[], to_expires_at timestamptz, who text,
    words bytea[], pieces bytea[], lexemes text[], instants public.halfvec[]
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m memories%ROWTYPE;
BEGIN
    PERFORM lock_memory_revision(tenant, wanted);
    SELECT * INTO m FROM memories WHERE tenant_id = tenant AND id = wanted AND deleted_at IS NULL
        AND grant_opens(grant_::jsonb, tenant_id, run_id, visibility, private_to);
    IF NOT FOUND THEN
        RETURN 'absent';
    ELSIF expected IS NOT NULL AND m.version <> expected THEN
        RETURN 'outdated';
    ELSIF m.valid_to IS NOT NULL AND memory_state(m, clock_timestamp()) <> 'expired' THEN
        RETURN 'superseded';
    END IF;
    PERFORM require_memory_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to);
    PERFORM expire_memories(clock_timestamp(), tenant, m.run_id);
    IF EXISTS (SELECT FROM memories o WHERE o.tenant_id = tenant AND o.run_id = m.run_id AND o.digest = to_digest
                   AND o.id <> m.id AND o.valid_to IS NULL AND o.deleted_at IS NULL) THEN
        RETURN 'twin';
    END IF;
    UPDATE memories SET type = to_type, content = to_content, digest = to_digest, importance = to_importance,
        confidence = to_confidence, version = version + 1, updated_at = clock_timestamp(),
        metadata = to_metadata, categories = to_categories, expires_at = to_expires_at,
        -- one that had expired lives again if its end is moved
        valid_to = CASE WHEN to_expires_at IS NULL OR to_expires_at > clock_timestamp() THEN NULL ELSE valid_to END,
        vouched = vouched
            AND (grants_owner(grant_::jsonb) OR COALESCE((grant_::jsonb ->> 'vouches')::boolean, false))
    WHERE tenant_id = tenant AND id = wanted;
    PERFORM note_memory(tenant, wanted, 'changed', who);
    PERFORM note_audit(grant_::jsonb, tenant, 'memory.changed', m.run_id, jsonb_build_object('memory', wanted));
    PERFORM index_memories(tenant, ARRAY[wanted], words, pieces, lexemes, instants);
    UPDATE extractions SET waiting = true, noted_at = clock_timestamp()
    WHERE tenant_id = tenant AND conversation_id = m.conversation_id;
    RETURN 'changed';
END
$$;

-- Deletes a memory: it is neither found nor shown any more, and its history and its messages stay.
CREATE OR REPLACE FUNCTION delete_memory(grant_ text, tenant uuid, wanted uuid, expected integer, who text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m memories%ROWTYPE;
BEGIN
    PERFORM lock_memory_revision(tenant, wanted);
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
    PERFORM note_audit(grant_::jsonb, tenant, 'memory.deleted', m.run_id, jsonb_build_object('memory', wanted));
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = wanted AND kind = 'memory';
    UPDATE extractions SET waiting = true, noted_at = clock_timestamp()
    WHERE tenant_id = tenant AND conversation_id = m.conversation_id;
    RETURN 'deleted';
END
$$;

-- Brings a deleted memory back as it was.
CREATE OR REPLACE FUNCTION restore_memory(
    grant_ text, tenant uuid, wanted uuid, expected integer, who text,
    words bytea[], pieces bytea[], lexemes text[], instants public.halfvec[]
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m memories%ROWTYPE;
BEGIN
    PERFORM lock_memory_revision(tenant, wanted);
    SELECT * INTO m FROM memories WHERE tenant_id = tenant AND id = wanted AND deleted_at IS NOT NULL
        AND grant_opens(grant_::jsonb, tenant_id, run_id, visibility, private_to);
    IF NOT FOUND THEN
        RETURN 'absent';
    ELSIF expected IS NOT NULL AND m.version <> expected THEN
        RETURN 'outdated';
    END IF;
    PERFORM require_memory_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to);
    PERFORM expire_memories(clock_timestamp(), tenant, m.run_id);
    IF m.valid_to IS NULL AND EXISTS (
        SELECT FROM memories o WHERE o.tenant_id = tenant AND o.run_id = m.run_id AND o.digest = m.digest
            AND o.valid_to IS NULL AND o.deleted_at IS NULL) THEN
        RETURN 'twin';
    END IF;
    UPDATE memories SET deleted_at = NULL, version = version + 1, updated_at = clock_timestamp()
    WHERE tenant_id = tenant AND id = wanted;
    PERFORM note_memory(tenant, wanted, 'restored', who);
    PERFORM note_audit(grant_::jsonb, tenant, 'memory.restored', m.run_id, jsonb_build_object('memory', wanted));
    PERFORM index_memories(tenant, ARRAY[wanted], words, pieces, lexemes, instants);
    UPDATE extractions SET waiting = true, noted_at = clock_timestamp()
    WHERE tenant_id = tenant AND conversation_id = m.conversation_id;
    RETURN 'restored';
END
$$;

-- Keeps what somebody thinks of a memory, with why; NULL takes it back. What was thought before is in the history.
CREATE OR REPLACE FUNCTION rate_memory(grant_ text, tenant uuid, wanted uuid, opinion text, why text, who text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m memories%ROWTYPE;
BEGIN
    PERFORM lock_memory_revision(tenant, wanted);
    SELECT * INTO m FROM memories WHERE tenant_id = tenant AND id = wanted AND deleted_at IS NULL
        AND grant_opens(grant_::jsonb, tenant_id, run_id, visibility, private_to);
    IF NOT FOUND THEN
        RETURN 'absent';
    END IF;
    PERFORM require_memory_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to);
    UPDATE memories SET feedback = opinion, feedback_reason = why, version = version + 1, updated_at = clock_timestamp()
    WHERE tenant_id = tenant AND id = wanted;
    PERFORM note_memory(tenant, wanted, 'rated', who);
    RETURN 'changed';
END
$$;

-- Deletes the memories that pass the filter and that the grant may write, up to so many; or only counts them.
CREATE OR REPLACE FUNCTION delete_memories(
    grant_ text, tenant uuid, filter jsonb, dry_run boolean, most integer, who text
) RETURNS TABLE (matched bigint, deleted bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    g jsonb := grant_::jsonb;
    at timestamptz := clock_timestamp();
    one uuid;
BEGIN
    matched := 0;
    deleted := 0;
    -- by scope: whoever takes the rows of several scopes takes them in this order
    FOR one IN
        SELECT m.id FROM memories m
        LEFT JOIN conversations c ON c.tenant_id = tenant AND c.id = m.conversation_id
        -- what is being erased is not even counted
        WHERE m.tenant_id = tenant AND m.deleted_at IS NULL AND NOT is_erasing(tenant, m.conversation_id)
            AND NOT is_erasing_user(tenant, m.user_id)
            AND grant_opens(g, m.tenant_id, m.run_id, m.visibility, m.private_to)
            AND may_write_memory(g, tenant, m.run_id)
            AND matches_memory_filter(filter, m, c.external_id, at)
        ORDER BY m.run_id, m.id
    LOOP
        matched := matched + 1;
        IF NOT dry_run AND deleted < most THEN
            IF delete_memory(grant_, tenant, one, NULL, who) = 'deleted' THEN
                deleted := deleted + 1;
            END IF;
        END IF;
    END LOOP;
    RETURN NEXT;
END
$$;

CREATE OR REPLACE FUNCTION may_write_memory(g jsonb, tenant uuid, run text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT COALESCE((g ->> 'tenant')::uuid = tenant AND (
        COALESCE((g ->> 'everything')::boolean, false) OR g ->> 'writes' = run
        OR (starts_with(run, 'project:') AND COALESCE(jsonb_exists(g -> 'shares', run), false))), false)
$$;
