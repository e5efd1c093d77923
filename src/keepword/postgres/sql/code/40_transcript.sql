-- The transcript: messages are appended, and never changed.

-- Messages that nobody could read yet may go with the import that brought them, and messages that are erased go or lose
-- their words; all others stay as immutable as they were.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_LEVEL = 'ROW' AND current_user = 'keepword_owner' THEN
        IF TG_OP = 'DELETE' AND EXISTS (SELECT FROM imports i WHERE i.tenant_id = OLD.tenant_id) THEN
            RETURN OLD;
        ELSIF EXISTS (SELECT FROM erasures e WHERE e.tenant_id = OLD.tenant_id AND e.state = 'running') THEN
            IF TG_OP = 'DELETE' AND (is_erasing(OLD.tenant_id, OLD.conversation_id) OR EXISTS (
                SELECT FROM erasures e WHERE e.tenant_id = OLD.tenant_id AND e.kind = 'tenant' AND e.state = 'running'))
            THEN
                RETURN OLD;
            ELSIF TG_OP = 'UPDATE' AND is_blank_of(NEW, OLD) AND EXISTS (
                SELECT FROM erasures e WHERE e.tenant_id = OLD.tenant_id AND e.state = 'running'
                    AND (e.kind = 'message' OR (e.kind = 'user' AND e.user_id = OLD.user_id)))
            THEN
                RETURN NEW;
            END IF;
        END IF;
    END IF;
    RAISE EXCEPTION 'messages are immutable: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

-- Whether a message has lost its words, and nothing else.
CREATE OR REPLACE FUNCTION is_blank_of(n messages, o messages) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT n.content = '' AND n.user_id IS NULL AND (n.tenant_id, n.id, n.conversation_id, n.seq, n.run_id, n.visibility,
            n.private_to, n.role, n.agent, n.created_at, n.vouched)
        IS NOT DISTINCT FROM (o.tenant_id, o.id, o.conversation_id, o.seq, o.run_id, o.visibility,
            o.private_to, o.role, o.agent, o.created_at, o.vouched)
        AND num_nonnulls(n.tool_name, n.tool_args, n.tool_result) = 0 AND n.attachments = '[]' AND n.metadata = '{}'
        AND (n.event_id IS NULL OR n.event_id LIKE 'erased:%')
$$;
CREATE OR REPLACE TRIGGER messages_are_immutable BEFORE UPDATE OR DELETE ON messages
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER messages_are_not_truncated BEFORE TRUNCATE ON messages
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What is stored of an event, also where it was retracted or erased since: a retry does not bring it back. An erased one
-- has an empty digest. For who writes there.
CREATE OR REPLACE FUNCTION find_event(tenant uuid, conversation uuid, event text)
RETURNS TABLE (id uuid, seq bigint, created_at timestamptz, event_id text, digest bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT m.id, m.seq, m.created_at, event, m.digest FROM unnest(ARRAY[event, erased_event(conversation, event)]) AS e (name)
    CROSS JOIN LATERAL (
        -- a range in an order that only the index on events has, for the plan of an empty table: see index_messages
        SELECT * FROM messages o
        WHERE o.tenant_id = tenant AND o.conversation_id = conversation AND o.event_id >= e.name AND o.event_id <= e.name
        ORDER BY o.event_id LIMIT 1
    ) AS m
    WHERE tenant = granted_tenant() AND m.run_id = granted_writes()
$$;

-- Appends under a grant, as the caller, in one statement: the hottest path, where a round trip costs as much as the rest.
-- Locking the conversation lets one writer in at a time: seq without gaps, times in the order of commits.
-- A message whose event_id is known is not stored again and comes back as a duplicate; where its content differs from
-- what is stored, it comes back as a contradiction, and nothing is stored at all.
CREATE OR REPLACE FUNCTION append_messages(
    grant_ text, tenant uuid, conversation uuid, amount integer, with_events boolean, incoming json,
    message_ids uuid[], parts smallint[], texts text[], words bytea[], pieces bytea[], lexemes text[],
    instants public.halfvec[]
) RETURNS TABLE (id uuid, seq bigint, created_at timestamptz, event_id text, duplicate boolean, contradicts boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    known bigint[] := '{}';
    contradicted boolean := false;
    ordinal_ bigint;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    IF with_events THEN
        -- a statement of its own, so that the next one sees what the writer before us committed
        PERFORM FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation FOR NO KEY UPDATE;
        duplicate := true;
        FOR ordinal_, id, seq, created_at, event_id, contradicts IN
            SELECT i.ordinal, m.id, m.seq, m.created_at, m.event_id,
                m.digest <> '' AND m.digest IS DISTINCT FROM decode(i.digest, 'hex')
            FROM json_to_recordset(incoming) AS i (ordinal bigint, event_id text, digest text)
            CROSS JOIN LATERAL find_event(tenant, conversation, i.event_id) AS m
            WHERE i.event_id IS NOT NULL
        LOOP
            known := known || ordinal_;
            contradicted := contradicted OR contradicts;
            RETURN NEXT;
        END LOOP;
        IF contradicted OR cardinality(known) = amount THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
    WITH place AS (
        UPDATE conversations c SET last_seq = last_seq + amount - cardinality(known), updated_at = now()
        WHERE c.tenant_id = tenant AND c.id = conversation
        RETURNING c.tenant_id, c.run_id, c.visibility, c.private_to, last_seq - amount + cardinality(known) AS base,
            clock_timestamp() AS now
    )
    INSERT INTO messages AS m (
        tenant_id, id, conversation_id, seq, run_id, visibility, private_to, role, user_id, agent, content,
        tool_name, tool_args, tool_result, attachments, metadata, event_id, digest, created_at, vouched)
    SELECT p.tenant_id, i.id, conversation, p.base + row_number() OVER (ORDER BY i.ordinal), p.run_id, p.visibility,
        p.private_to, i.role, i.user_id, i.agent, i.content, i.tool_name, i.tool_args, i.tool_result, i.attachments,
        i.metadata, i.event_id, decode(i.digest, 'hex'), COALESCE(i.created_at, p.now), (SELECT granted_vouches())
    FROM place p CROSS JOIN json_to_recordset(incoming) AS i (
        ordinal bigint, id uuid, role text, user_id text, agent text, content text, tool_name text, tool_args jsonb,
        tool_result text, attachments jsonb, metadata jsonb, event_id text, digest text, created_at timestamptz)
    WHERE i.ordinal <> ALL (known)
    RETURNING m.id, m.seq, m.created_at, m.event_id, false, false;
    PERFORM index_messages(message_ids, parts, texts, words, pieces, lexemes, instants);
END
$$;

-- Joins that a plan made for an empty table can't turn round: each given row looks its own up by the key. Connections
-- keep their plans, and a first import would otherwise read everything before it again with each batch.
CREATE OR REPLACE FUNCTION index_messages(
    message_ids uuid[], parts smallint[], texts text[], words bytea[], pieces bytea[], lexemes text[],
    instants public.halfvec[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO entries (tenant_id, kind, source_id, part, run_id, visibility, private_to, conversation_id, seq, role,
        user_id, agent, created_at, searchable, text, words, pieces, lexemes, instant)
    SELECT m.tenant_id, 'message', m.id, i.part, m.run_id, m.visibility, m.private_to, m.conversation_id, m.seq, m.role,
        m.user_id, m.agent, m.created_at, i.words IS NOT NULL, i.text, i.words, i.pieces, i.lexemes::integer[], i.instant
    FROM unnest(message_ids, parts, texts, words, pieces, lexemes, instants)
        AS i (message_id, part, text, words, pieces, lexemes, instant)
    CROSS JOIN LATERAL (
        -- written as a range in an order that only the index on the id has: an equation could be had from others, which
        -- look as cheap as long as the table is empty
        SELECT * FROM messages
        WHERE tenant_id = granted_tenant() AND id >= i.message_id AND id <= i.message_id ORDER BY id LIMIT 1
    ) AS m;
END
$$;

-- The id by which a tool's result names its call; whatever else a caller may have put there is none.
CREATE OR REPLACE FUNCTION find_call_id(metadata jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(metadata -> 'tool_call_id') = 'string' THEN left(metadata ->> 'tool_call_id', 200) END
$$;

-- How much of a page a message takes. The length of a text is known without reading it; JSON that may be compressed is
-- read to be measured.
CREATE OR REPLACE FUNCTION json_bytes(value jsonb) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_column_size(value) > 200 THEN octet_length(value::text) ELSE COALESCE(pg_column_size(value), 0) END
$$;

CREATE OR REPLACE FUNCTION message_bytes(content text, tool_args jsonb, tool_result text, attachments jsonb, metadata jsonb)
RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT COALESCE(octet_length(content), 0) + json_bytes(tool_args) + COALESCE(octet_length(tool_result), 0)
        + json_bytes(attachments) + json_bytes(metadata)
$$;
