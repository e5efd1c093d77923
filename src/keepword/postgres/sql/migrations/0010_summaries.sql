-- Summaries, landmarks and the sentences of tool calls: what is derived from messages, and what is still to be done.

-- Leaves tile their conversation: each begins where its predecessor ends, the first at 1, and no two begin or end at the
-- same message. So each message is in at most one leaf of a pipeline version, and there is never a gap before a leaf.
-- A summary with the tier `stored` was written by an agent and covers no messages in particular.
CREATE TABLE summaries (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    tier text NOT NULL CHECK (tier IN ('thread', 'session', 'day', 'week', 'stored')),
    pipeline_version integer NOT NULL CHECK (pipeline_version >= 0),
    parent_id uuid,
    first_seq bigint,
    last_seq bigint,
    earliest_at timestamptz NOT NULL,
    latest_at timestamptz NOT NULL,
    message_count bigint NOT NULL CHECK (message_count >= 0),
    message_tokens bigint NOT NULL CHECK (message_tokens >= 0),
    content text NOT NULL CHECK (content <> ''),
    model text NOT NULL,
    share real NOT NULL CHECK (share BETWEEN 0 AND 1),
    reason text,
    key_decisions jsonb NOT NULL,
    entities_mentioned jsonb NOT NULL,
    tools_called jsonb NOT NULL,
    agent text NOT NULL,
    user_id text,
    created_at timestamptz NOT NULL DEFAULT now(),
    leaf_first bigint GENERATED ALWAYS AS (CASE tier WHEN 'thread' THEN first_seq END) STORED,
    leaf_last bigint GENERATED ALWAYS AS (CASE tier WHEN 'thread' THEN last_seq END) STORED,
    leaf_follows bigint GENERATED ALWAYS AS (CASE WHEN tier = 'thread' AND first_seq > 1 THEN first_seq - 1 END) STORED,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, conversation_id, pipeline_version, leaf_first),
    UNIQUE (tenant_id, conversation_id, pipeline_version, leaf_last),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    CHECK ((tier = 'stored') = (first_seq IS NULL) AND (first_seq IS NULL) = (last_seq IS NULL)),
    CHECK (first_seq >= 1 AND last_seq >= first_seq),
    CHECK (parent_id IS NULL OR tier IN ('thread', 'session', 'day')),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility),
    FOREIGN KEY (tenant_id, parent_id) REFERENCES summaries (tenant_id, id),
    FOREIGN KEY (tenant_id, conversation_id, pipeline_version, leaf_follows)
        REFERENCES summaries (tenant_id, conversation_id, pipeline_version, leaf_last),
    FOREIGN KEY (tenant_id, conversation_id, leaf_last) REFERENCES messages (tenant_id, conversation_id, seq)
);

CREATE INDEX summaries_in_conversation ON summaries (tenant_id, conversation_id, tier, first_seq);
CREATE INDEX summaries_by_parent ON summaries (tenant_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX summaries_without_parent ON summaries (tenant_id, conversation_id, tier)
    WHERE parent_id IS NULL AND tier IN ('thread', 'session', 'day');

CALL wall_in_content('summaries');
GRANT SELECT ON summaries TO keepword_app;

-- An unpinned landmark stays as history, and is never found again in the same message.
CREATE TABLE landmarks (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    kind text NOT NULL CHECK (kind IN ('decision', 'spec', 'code', 'action', 'question', 'link', 'pin')),
    content text NOT NULL CHECK (content <> ''),
    pinned_by text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    unpinned_at timestamptz,
    unpinned_by text,
    PRIMARY KEY (tenant_id, id),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility),
    FOREIGN KEY (tenant_id, conversation_id, seq) REFERENCES messages (tenant_id, conversation_id, seq)
);

CREATE UNIQUE INDEX landmarks_pinned ON landmarks (tenant_id, conversation_id, seq, kind) WHERE unpinned_at IS NULL;
CREATE INDEX landmarks_in_message ON landmarks (tenant_id, conversation_id, seq, kind);
CREATE INDEX landmarks_in_scope ON landmarks (tenant_id, run_id, created_at, id);

CALL wall_in_content('landmarks');
GRANT SELECT ON landmarks TO keepword_app;

CREATE TABLE tool_sentences (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    content text NOT NULL CHECK (content <> ''),
    model text NOT NULL,
    reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, conversation_id, seq),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility),
    FOREIGN KEY (tenant_id, conversation_id, seq) REFERENCES messages (tenant_id, conversation_id, seq)
);

CALL wall_in_content('tool_sentences');
GRANT SELECT ON tool_sentences TO keepword_app;

-- What is still to be done, as ids only; the application reaches these tables through functions alone.
-- A row of the outbox is one message's task; it goes in the transaction that stores what the task makes.
CREATE TABLE outbox (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    task text NOT NULL CHECK (task IN ('describe', 'landmark')),
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, conversation_id, task, seq)
);
-- A conversation with anything left to compact. Up to `covered_seq` it has leaves; at `next_at` a day or week ends;
-- below `due_seq` there is no use in looking again.
CREATE TABLE compactions (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    covered_seq bigint NOT NULL,
    due_seq bigint NOT NULL DEFAULT 0,
    next_at timestamptz,
    PRIMARY KEY (tenant_id, conversation_id)
);
-- Why a conversation's job failed last; a job that succeeds clears it.
CREATE TABLE job_errors (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    task text NOT NULL,
    error text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, conversation_id, task)
);
ALTER TABLE outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE compactions ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_errors ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION needs_sentence(name text, content text, args jsonb, result text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT name IS NOT NULL AND content = '' AND (args IS NOT NULL OR result IS NULL) $$;

-- Only a sieve: it lets through all that may hold a landmark, and most that does not is left out.
CREATE FUNCTION may_hold_landmark(role text, content text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT role <> 'tool' AND content <> '' AND (
        content LIKE '%```%' OR content LIKE '%~~~%' OR content LIKE '%@%' OR content LIKE '%://%'
        OR content ILIKE '%!pin%' OR content ~* '(decision|decided|spec|specification|question)[*_]*[ \t]*:')
$$;

-- In the append's transaction: a task can't be lost, and there is nothing in it that could fail for its content.
CREATE FUNCTION note_messages() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    INSERT INTO compactions (tenant_id, conversation_id, covered_seq)
    SELECT tenant_id, conversation_id, min(seq) - 1 FROM added GROUP BY tenant_id, conversation_id
    ON CONFLICT DO NOTHING;
    INSERT INTO outbox (tenant_id, conversation_id, task, seq)
    SELECT tenant_id, conversation_id, 'describe', seq FROM added
    WHERE needs_sentence(tool_name, content, tool_args, tool_result)
    UNION ALL
    SELECT tenant_id, conversation_id, 'landmark', seq FROM added WHERE may_hold_landmark(role, content);
    RETURN NULL;
END
$$;

CREATE TRIGGER messages_are_noted AFTER INSERT ON messages
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_messages();

-- What was said before there were summaries is to be compacted as well.
INSERT INTO compactions (tenant_id, conversation_id, covered_seq)
SELECT tenant_id, id, 0 FROM conversations WHERE last_seq > 0;

-- The jobs' functions: each asks for the grant of a whole tenant, and copies the scope from the conversation.
CREATE FUNCTION require_everything(g jsonb, tenant uuid) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF (g ->> 'tenant')::uuid IS DISTINCT FROM tenant OR NOT COALESCE((g ->> 'everything')::boolean, false) THEN
        RAISE EXCEPTION 'the grant does not open the tenant' USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;

CREATE FUNCTION insert_summary(tenant uuid, conversation uuid, s jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO summaries (
        tenant_id, id, conversation_id, run_id, visibility, private_to, tier, pipeline_version, first_seq, last_seq,
        earliest_at, latest_at, message_count, message_tokens, content, model, share, reason,
        key_decisions, entities_mentioned, tools_called, agent, user_id)
    SELECT tenant, (s ->> 'id')::uuid, c.id, c.run_id, c.visibility, c.private_to, s ->> 'tier',
        (s ->> 'pipeline_version')::integer, (s ->> 'first_seq')::bigint, (s ->> 'last_seq')::bigint,
        (s ->> 'earliest_at')::timestamptz, (s ->> 'latest_at')::timestamptz, (s ->> 'message_count')::bigint,
        (s ->> 'message_tokens')::bigint, s ->> 'content', s ->> 'model', (s ->> 'share')::real, s ->> 'reason',
        s -> 'key_decisions', s -> 'entities_mentioned', s -> 'tools_called',
        COALESCE(s ->> 'agent', c.agent), COALESCE(s ->> 'user', c.user_id)
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;

-- Stores a summary and hands it its children, all or nothing. False means that it, or one like it, was there before.
CREATE FUNCTION store_summary(grant_ text, tenant uuid, conversation uuid, s jsonb, children uuid[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    taken bigint;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    IF NOT insert_summary(tenant, conversation, s) THEN
        RETURN false;
    END IF;
    UPDATE summaries SET parent_id = (s ->> 'id')::uuid
    WHERE tenant_id = tenant AND id = ANY (children) AND conversation_id = conversation AND parent_id IS NULL
        AND pipeline_version = (s ->> 'pipeline_version')::integer;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken <> cardinality(children) THEN
        RAISE EXCEPTION 'another summary took some of these children' USING ERRCODE = 'serialization_failure';
    END IF;
    UPDATE compactions SET covered_seq = GREATEST(covered_seq, (s ->> 'last_seq')::bigint)
    WHERE tenant_id = tenant AND conversation_id = conversation AND s ->> 'tier' = 'thread';
    RETURN true;
END
$$;

-- A summary that an agent wrote, in the place that its grant lets it write.
CREATE FUNCTION store_told_summary(grant_ text, tenant uuid, conversation uuid, s jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, c.run_id, c.visibility, c.private_to)
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation;
    RETURN FOUND AND insert_summary(tenant, conversation, s || '{"tier": "stored"}');
END
$$;

-- Says when to look at a conversation again. With everything done its row goes, unless something was said meanwhile:
-- appends lock the conversation first, so none can slip in between the question and the deletion.
CREATE FUNCTION settle_compaction(
    grant_ text, tenant uuid, conversation uuid, seen_seq bigint, again_seq bigint, again_at timestamptz, done boolean
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    -- in the order of appends, so that nobody waits in a circle
    IF done THEN
        PERFORM FROM conversations WHERE tenant_id = tenant AND id = conversation AND last_seq = seen_seq
        FOR NO KEY UPDATE;
        IF FOUND THEN
            DELETE FROM compactions WHERE tenant_id = tenant AND conversation_id = conversation;
            RETURN;
        END IF;
    END IF;
    UPDATE compactions SET due_seq = again_seq, next_at = again_at
    WHERE tenant_id = tenant AND conversation_id = conversation;
END
$$;

CREATE FUNCTION find_tasks(grant_ text, tenant uuid, conversation uuid, wanted text, most integer)
RETURNS SETOF bigint LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    RETURN QUERY SELECT seq FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = wanted ORDER BY seq LIMIT most;
END
$$;

CREATE FUNCTION store_sentence(
    grant_ text, tenant uuid, conversation uuid, of_seq bigint, sentence text, by_model text, because text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    INSERT INTO tool_sentences (tenant_id, conversation_id, seq, run_id, visibility, private_to, content, model, reason)
    SELECT tenant, c.id, of_seq, c.run_id, c.visibility, c.private_to, sentence, by_model, because
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation
    ON CONFLICT DO NOTHING;
    DELETE FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = 'describe' AND seq = of_seq;
END
$$;

CREATE FUNCTION store_landmarks(grant_ text, tenant uuid, conversation uuid, of_seq bigint, marks jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    INSERT INTO landmarks (tenant_id, id, conversation_id, seq, run_id, visibility, private_to, kind, content)
    SELECT tenant, (f ->> 'id')::uuid, c.id, of_seq, c.run_id, c.visibility, c.private_to, f ->> 'kind', f ->> 'text'
    FROM jsonb_array_elements(marks) AS f
    CROSS JOIN conversations c
    WHERE c.tenant_id = tenant AND c.id = conversation
        AND NOT EXISTS (SELECT FROM landmarks l WHERE l.tenant_id = tenant AND l.conversation_id = conversation
                            AND l.seq = of_seq AND l.kind = f ->> 'kind')
    ON CONFLICT DO NOTHING;
    DELETE FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = 'landmark' AND seq = of_seq;
END
$$;

-- Pins a part of a message, or without `part` all of it. The outcome says what came of it.
CREATE FUNCTION pin_landmark(
    grant_ text, tenant uuid, conversation uuid, new_id uuid, of_message uuid, as_kind text, part text, by_whom text
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m messages%ROWTYPE;
BEGIN
    SELECT * INTO m FROM messages WHERE tenant_id = tenant AND id = of_message AND conversation_id = conversation;
    IF NOT FOUND THEN
        RETURN 'no message';
    END IF;
    PERFORM require_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to);
    part := COALESCE(part, m.content);
    IF part = '' THEN
        RETURN 'no words';
    ELSIF strpos(m.content, part) = 0 THEN
        RETURN 'other words';
    END IF;
    INSERT INTO landmarks (
        tenant_id, id, conversation_id, seq, run_id, visibility, private_to, kind, content, pinned_by)
    VALUES (tenant, new_id, conversation, m.seq, m.run_id, m.visibility, m.private_to, as_kind, part, by_whom)
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'pinned' ELSE 'pinned before' END;
END
$$;

CREATE FUNCTION unpin_landmark(grant_ text, tenant uuid, wanted uuid, by_whom text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    g jsonb := grant_;
BEGIN
    UPDATE landmarks l SET unpinned_at = clock_timestamp(), unpinned_by = by_whom
    WHERE l.tenant_id = tenant AND l.id = wanted AND l.unpinned_at IS NULL AND l.run_id = g ->> 'writes'
        AND grant_opens(g, l.tenant_id, l.run_id, l.visibility, l.private_to);
    RETURN FOUND;
END
$$;

-- The conversation that a summary or landmark belongs to: an id, from which the grant is decided.
CREATE FUNCTION find_derived(in_tenant uuid, wanted uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT c.external_id FROM (
        SELECT conversation_id FROM summaries WHERE tenant_id = in_tenant AND id = wanted
        UNION ALL
        SELECT conversation_id FROM landmarks WHERE tenant_id = in_tenant AND id = wanted
    ) AS found
    JOIN conversations c ON c.tenant_id = in_tenant AND c.id = found.conversation_id
    LIMIT 1
$$;

REVOKE EXECUTE ON FUNCTION
    note_messages(),
    store_summary(text, uuid, uuid, jsonb, uuid[]), store_told_summary(text, uuid, uuid, jsonb),
    settle_compaction(text, uuid, uuid, bigint, bigint, timestamptz, boolean),
    find_tasks(text, uuid, uuid, text, integer), store_sentence(text, uuid, uuid, bigint, text, text, text),
    store_landmarks(text, uuid, uuid, bigint, jsonb), pin_landmark(text, uuid, uuid, uuid, uuid, text, text, text),
    unpin_landmark(text, uuid, uuid, text), find_derived(uuid, uuid)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    store_summary(text, uuid, uuid, jsonb, uuid[]), store_told_summary(text, uuid, uuid, jsonb),
    settle_compaction(text, uuid, uuid, bigint, bigint, timestamptz, boolean),
    find_tasks(text, uuid, uuid, text, integer), store_sentence(text, uuid, uuid, bigint, text, text, text),
    store_landmarks(text, uuid, uuid, bigint, jsonb), pin_landmark(text, uuid, uuid, uuid, uuid, text, text, text),
    unpin_landmark(text, uuid, uuid, text), find_derived(uuid, uuid)
TO keepword_app;
