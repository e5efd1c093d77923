-- All that is kept of one user, for whoever may have it: the user themselves, and the tenant's owner.

-- The rows of one kind, as JSON. What was taken back is the tenant's owner's alone, as everywhere.
CREATE OR REPLACE FUNCTION personal_rows(tenant uuid, person text, of_kind text, with_retracted boolean) RETURNS SETOF json
LANGUAGE plpgsql STABLE AS $$
BEGIN
    CASE of_kind
    WHEN 'user' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'user' AS kind, id, name, created_at FROM users WHERE tenant_id = tenant AND id = person
        ) AS r;
    WHEN 'participant' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'participant' AS kind, room_id, joined_at FROM participants
            WHERE tenant_id = tenant AND user_id = person ORDER BY room_id
        ) AS r;
    WHEN 'introduction' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'introduction' AS kind, agent, introduced_at, withdrawn_at FROM introductions
            WHERE tenant_id = tenant AND user_id = person ORDER BY agent
        ) AS r;
    WHEN 'key' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'key' AS kind, id, role, agent, created_at, expires_at, revoked_at FROM keys
            WHERE tenant_id = tenant AND user_id = person ORDER BY created_at, id
        ) AS r;
    WHEN 'conversation' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'conversation' AS kind, id, external_id, kind AS place, agent, project_id, title, settings, created_at
            FROM conversations WHERE tenant_id = tenant AND user_id = person ORDER BY created_at, id
        ) AS r;
    WHEN 'message' THEN
        -- What they said anywhere, and what was said to them in their own conversations.
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'message' AS kind, m.id, c.external_id AS conversation, m.seq, m.role, m.user_id, m.agent, m.content,
                m.tool_name, m.tool_args, m.tool_result, m.attachments, m.metadata, m.event_id, m.created_at,
                x.retracted_at
            FROM messages m JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
            LEFT JOIN retractions x ON x.tenant_id = m.tenant_id AND x.message_id = m.id
            WHERE m.tenant_id = tenant AND (c.user_id = person OR m.user_id = person)
                AND (with_retracted OR x.message_id IS NULL OR x.erased_at IS NOT NULL)
            ORDER BY c.created_at, c.id, m.seq
        ) AS r;
    WHEN 'summary' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'summary' AS kind, s.id, c.external_id AS conversation, s.tier, s.first_seq, s.last_seq, s.content, s.created_at
            FROM summaries s JOIN conversations c ON c.tenant_id = s.tenant_id AND c.id = s.conversation_id
            WHERE s.tenant_id = tenant AND c.user_id = person AND s.hidden IS NULL ORDER BY c.created_at, c.id, s.id
        ) AS r;
    WHEN 'landmark' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'landmark' AS kind, l.id, c.external_id AS conversation, l.seq, l.kind AS type, l.content, l.created_at
            FROM landmarks l JOIN conversations c ON c.tenant_id = l.tenant_id AND c.id = l.conversation_id
            WHERE l.tenant_id = tenant AND c.user_id = person AND (with_retracted OR NOT EXISTS (
                SELECT FROM retractions x WHERE x.tenant_id = tenant AND x.conversation_id = l.conversation_id AND x.seq = l.seq))
            ORDER BY c.created_at, c.id, l.seq, l.id
        ) AS r;
    WHEN 'memory' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'memory' AS kind, m.id, m.run_id AS place, m.type, m.content, m.metadata, m.categories, m.valid_from, m.valid_to,
                m.deleted_at, m.created_at,
                (SELECT json_agg(json_build_object('version', v.version, 'event', v.event, 'content', v.content, 'at', v.written_at)
                                 ORDER BY v.version) FROM memory_versions v
                 WHERE v.tenant_id = m.tenant_id AND v.memory_id = m.id) AS history
            FROM memories m LEFT JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
            WHERE m.tenant_id = tenant AND (m.user_id = person OR c.user_id = person) ORDER BY m.created_at, m.id
        ) AS r;
    WHEN 'fact' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'fact' AS kind, key, version, value, type, source_id, confidence, written_at
            FROM fact_versions v WHERE tenant_id = tenant AND run_id = 'profile:' || person AND (with_retracted OR NOT EXISTS (
                SELECT FROM retractions x WHERE x.tenant_id = tenant AND x.message_id = v.source_id))
            ORDER BY key, version
        ) AS r;
    WHEN 'profile' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'profile' AS kind, version, memory, by_whom, written_at
            FROM profile_versions WHERE tenant_id = tenant AND run_id = 'profile:' || person ORDER BY version
        ) AS r;
    WHEN 'item' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'item' AS kind, agent, path, key, value, created_at, updated_at
            FROM items WHERE tenant_id = tenant AND user_id = person ORDER BY path, key
        ) AS r;
    WHEN 'working_memory' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'working_memory' AS kind, c.external_id AS conversation, w.fields, w.expires_at
            FROM working_memories w JOIN conversations c ON c.tenant_id = w.tenant_id AND c.id = w.conversation_id
            WHERE w.tenant_id = tenant AND c.user_id = person ORDER BY c.id
        ) AS r;
    WHEN 'audit' THEN
        RETURN QUERY SELECT row_to_json(r) FROM (
            SELECT 'audit' AS kind, at, actor, action, place, ids FROM audit
            WHERE tenant_id = tenant AND (actor = 'user:' || person OR ids ->> 'user' = person) ORDER BY at, id
        ) AS r;
    ELSE
        RAISE EXCEPTION 'there is no kind %', of_kind;
    END CASE;
END
$$;

-- The rows of one kind, for the user's own key and the tenant's owner; none where nobody is there.
CREATE OR REPLACE FUNCTION export_personal(grant_ text, tenant uuid, person text, of_kind text) RETURNS SETOF json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    g jsonb := grant_;
BEGIN
    IF (g ->> 'tenant')::uuid IS DISTINCT FROM tenant
        OR NOT (grants_owner(g) OR COALESCE((g ->> 'vouches')::boolean AND g #>> '{by,name}' = 'user:' || person, false))
    THEN
        RAISE EXCEPTION 'the grant does not open this user' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM require_no_erasure(tenant);
    RETURN QUERY SELECT r FROM personal_rows(tenant, person, of_kind, grants_owner(g)) AS r;
END
$$;

-- A file would keep what is just being erased.
CREATE OR REPLACE FUNCTION require_no_erasure(tenant uuid) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF EXISTS (SELECT FROM erasures e WHERE e.tenant_id = tenant AND e.state = 'running') THEN
        RAISE EXCEPTION 'something is being erased; export when that has ended' USING ERRCODE = 'object_in_use';
    END IF;
END
$$;
