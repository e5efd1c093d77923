-- depends: 0015_recompact 0021_scopes_are_read 0022_arms_first 0023_profile_lines
-- Memories of a project, which belong to no conversation; every use counts; and a message whose task fails keeps no other
-- from its own.

-- How often each entry was given to an agent since it was last counted. Capped: what is popular must not crowd out what
-- is right.
DROP FUNCTION count_uses(uuid, bigint[]);
CREATE FUNCTION count_uses(in_tenant uuid, entry_ids bigint[], amounts integer[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO uses AS u (entry_id, tenant_id, times, last_at)
    SELECT e.id, e.tenant_id, LEAST(g.amount, 50), now()
    FROM unnest(entry_ids, amounts) AS g (id, amount)
    JOIN entries e ON e.tenant_id = in_tenant AND e.id = g.id ORDER BY e.id
    ON CONFLICT (entry_id) DO UPDATE SET times = LEAST(u.times + excluded.times, 50), last_at = now()
$$;
REVOKE EXECUTE ON FUNCTION count_uses(uuid, bigint[], integer[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION count_uses(uuid, bigint[], integer[]) TO keepword_app;

-- As before, and sentences that say what was decided.
CREATE OR REPLACE FUNCTION may_hold_landmark(role text, content text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT role <> 'tool' AND content <> '' AND (
        content LIKE '%```%' OR content LIKE '%~~~%' OR content LIKE '%@%' OR content LIKE '%://%'
        OR content ILIKE '%!pin%' OR content ILIKE '% decided %' OR content ILIKE '% agreed %'
        OR content ~* '(decision|decided|spec|specification|question)[*_]*[ \t]*:')
$$;

-- A message's task that failed so often is given up until somebody retries it.
ALTER TABLE outbox ADD COLUMN attempts integer NOT NULL DEFAULT 0;
CREATE FUNCTION most_attempts() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 3 $$;

-- As before, those that failed last, and without those that were given up.
CREATE OR REPLACE FUNCTION find_tasks(grant_ text, tenant uuid, conversation uuid, wanted text, most integer)
RETURNS SETOF bigint LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    RETURN QUERY SELECT seq FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = wanted AND attempts < most_attempts()
    ORDER BY attempts, seq LIMIT most;
END
$$;

CREATE FUNCTION fail_task(grant_ text, tenant uuid, conversation uuid, failed text, of_seq bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    UPDATE outbox SET attempts = attempts + 1
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = failed AND seq = of_seq;
END
$$;

-- Enqueues a job for each conversation that has something to do, unless it has one waiting or running: so any number of
-- workers may ask at any time. After a failed one, only if the messages that it failed for were given up: what came
-- since is done, and these wait for `keepword memory retry-failed`.
CREATE OR REPLACE FUNCTION enqueue_due(at timestamptz, due_messages bigint, silence interval, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    enqueued bigint;
BEGIN
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
    SELECT 'keepword', d.task, k.lock, k.lock,
        jsonb_build_object('tenant_id', d.tenant_id, 'conversation_id', d.conversation_id)
    FROM (
        SELECT task, tenant_id, conversation_id, bool_or(attempts >= most_attempts()) AS gave_up FROM outbox
        GROUP BY task, tenant_id, conversation_id HAVING min(attempts) < most_attempts()
        UNION ALL
        SELECT 'compact', c.tenant_id, c.conversation_id, false
        FROM compactions c JOIN conversations v ON v.tenant_id = c.tenant_id AND v.id = c.conversation_id
        WHERE v.last_seq >= GREATEST(c.due_seq, c.covered_seq + due_messages)
            OR (v.last_seq > c.covered_seq AND (v.updated_at <= at - silence OR NOT v.active))
            OR c.next_at <= at
    ) AS d
    CROSS JOIN LATERAL (SELECT d.task || ':' || d.conversation_id AS lock) AS k
    WHERE NOT EXISTS (
        SELECT FROM procrastinate_jobs j WHERE j.lock = k.lock
            AND (j.status IN ('todo', 'doing') OR (j.status = 'failed' AND NOT d.gave_up)))
    LIMIT most
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS enqueued = ROW_COUNT;
    RETURN enqueued;
END
$$;

-- Keeps why a job failed last; without an error it forgets it, unless another job of the same work has failed.
CREATE OR REPLACE FUNCTION note_job(tenant uuid, conversation uuid, of_task text, failed_with text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF failed_with IS NULL THEN
        DELETE FROM job_errors WHERE tenant_id = tenant AND conversation_id = conversation AND task = of_task
            AND NOT EXISTS (SELECT FROM outbox o WHERE o.tenant_id = tenant AND o.conversation_id = conversation
                                AND o.task = of_task AND o.attempts > 0);
    ELSE
        INSERT INTO job_errors (tenant_id, conversation_id, task, error) VALUES (tenant, conversation, of_task, failed_with)
        ON CONFLICT (tenant_id, conversation_id, task) DO UPDATE SET error = excluded.error, at = clock_timestamp();
    END IF;
END
$$;

-- A memory is of a conversation's place, or of a project: then it is shared, and by no user in particular.
ALTER TABLE memories ALTER COLUMN conversation_id DROP NOT NULL, ALTER COLUMN agent DROP NOT NULL,
    ADD COLUMN project_id text,
    ADD FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id),
    ADD CHECK ((conversation_id IS NULL) = (project_id IS NOT NULL)),
    ADD CHECK (conversation_id IS NULL OR agent IS NOT NULL),
    ADD CHECK (project_id IS NULL OR (
        run_id = 'project:' || project_id AND visibility = 'shared' AND private_to IS NULL AND user_id IS NULL));

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

-- Ends what is no longer true.
CREATE FUNCTION supersede_memories(tenant uuid, run text, changes jsonb, who text) RETURNS void
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
CREATE FUNCTION merge_memories(tenant uuid, run text, changes jsonb, who text) RETURNS void
LANGUAGE plpgsql SET search_path = keepword, pg_temp AS $$
DECLARE
    one jsonb;
BEGIN
    FOR one IN SELECT * FROM jsonb_array_elements(changes -> 'merged') LOOP
        UPDATE memories SET times = times + 1, version = version + 1,
            said_at = GREATEST(said_at, (one ->> 'at')::timestamptz),
            valid_from = LEAST(valid_from, (one ->> 'at')::timestamptz),
            importance = GREATEST(importance, (one ->> 'importance')::real),
            confidence = GREATEST(confidence, (one ->> 'confidence')::real), updated_at = clock_timestamp()
        WHERE tenant_id = tenant AND id = (one ->> 'id')::uuid AND run_id = run;
        PERFORM note_memory(tenant, (one ->> 'id')::uuid, 'merged', who);
    END LOOP;
END
$$;

-- As before: writes what consolidation decided, all or nothing; false if the scope or one of its conversations moved on
-- meanwhile. `reads` tells how far conversations of the scope were read, from where and to where.
CREATE OR REPLACE FUNCTION store_memories(
    grant_ text, tenant uuid, conversation uuid, seen_revision bigint, reads jsonb, changes jsonb,
    who text, memory_ids uuid[], words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
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
    PERFORM supersede_memories(tenant, c.run_id, changes, who);
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

-- The revision of a project's scope, for whoever may write its memories: what is decided now holds as long as it stays.
CREATE FUNCTION find_project_scope(grant_ text, tenant uuid, project text) RETURNS TABLE (revision bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM require_memory_writes(grant_::jsonb, tenant, 'project:' || project, 'shared', NULL);
    RETURN QUERY
    SELECT COALESCE(s.revision, 0) FROM projects j
    LEFT JOIN memory_scopes s ON s.tenant_id = tenant AND s.run_id = 'project:' || j.id
    WHERE j.tenant_id = tenant AND j.id = project;
END
$$;

-- As store_memories, for what is told of a project; false if its scope moved on meanwhile.
CREATE FUNCTION store_project_memories(
    grant_ text, tenant uuid, project text, seen_revision bigint, changes jsonb, who text, memory_ids uuid[],
    words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    run text := 'project:' || project;
    one jsonb;
BEGIN
    PERFORM require_memory_writes(grant_::jsonb, tenant, run, 'shared', NULL);
    INSERT INTO memory_scopes (tenant_id, run_id) VALUES (tenant, run) ON CONFLICT DO NOTHING;
    UPDATE memory_scopes SET revision = revision + 1
    WHERE tenant_id = tenant AND run_id = run AND revision = seen_revision;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM supersede_memories(tenant, run, changes, who);
    FOR one IN SELECT * FROM jsonb_array_elements(changes -> 'added') LOOP
        INSERT INTO memories (tenant_id, id, project_id, run_id, visibility, agent, type, content, digest, importance,
            confidence, valid_from, said_at, valid_to, superseded_by, model, pipeline_version)
        VALUES (tenant, (one ->> 'id')::uuid, project, run, 'shared', one ->> 'agent', one ->> 'type', one ->> 'content',
            decode(one ->> 'digest', 'hex'), (one ->> 'importance')::real, (one ->> 'confidence')::real,
            (one ->> 'at')::timestamptz, (one ->> 'at')::timestamptz, (one ->> 'valid_to')::timestamptz,
            (one ->> 'superseded_by')::uuid, one ->> 'model', (one ->> 'pipeline_version')::integer);
        PERFORM note_memory(tenant, (one ->> 'id')::uuid, 'added', who);
    END LOOP;
    PERFORM merge_memories(tenant, run, changes, who);
    PERFORM index_memories(tenant, memory_ids, words, pieces, lexemes, instants);
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION
    fail_task(text, uuid, uuid, text, bigint), supersede_memories(uuid, text, jsonb, text),
    merge_memories(uuid, text, jsonb, text), find_project_scope(text, uuid, text),
    store_project_memories(text, uuid, text, bigint, jsonb, text, uuid[], bytea[], bytea[], text[], halfvec[])
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    fail_task(text, uuid, uuid, text, bigint), find_project_scope(text, uuid, text),
    store_project_memories(text, uuid, text, bigint, jsonb, text, uuid[], bytea[], bytea[], text[], halfvec[])
TO keepword_app;
