-- The second wall: row-level security for the application role. The grant is one JSON object in the setting
-- keepword.grant, set until the end of the transaction; without it there are no rows. The wall guards against a
-- forgotten filter, not against the application itself, which sets the grant.
-- Policies ask in sub-selects, so that each question is answered once per query, and run_ids in sub-selects of their
-- own, so that they are hashed: a project may have thousands of sessions.

CREATE FUNCTION granted() RETURNS jsonb LANGUAGE sql STABLE AS
    $$ SELECT NULLIF(current_setting('keepword.grant', true), '')::jsonb $$;
CREATE FUNCTION granted_tenant() RETURNS uuid LANGUAGE sql STABLE AS
    $$ SELECT (granted() ->> 'tenant')::uuid $$;
CREATE FUNCTION granted_everything() RETURNS boolean LANGUAGE sql STABLE AS
    $$ SELECT COALESCE((granted() ->> 'everything')::boolean, false) $$;
CREATE FUNCTION granted_run_ids() RETURNS SETOF text LANGUAGE sql STABLE AS
    $$ SELECT jsonb_array_elements_text(granted() -> 'run_ids') $$;
-- most reads are of one place: comparing costs less than building and asking a hash table
CREATE FUNCTION granted_first_run() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() -> 'run_ids' ->> 0 $$;
-- written as an array literal: a function with a sub-select in it could not be inlined
CREATE FUNCTION granted_visibilities() RETURNS text[] LANGUAGE sql STABLE AS
    $$ SELECT (granted() ->> 'visibilities')::text[] $$;
CREATE FUNCTION granted_private_to() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() ->> 'private_to' $$;
CREATE FUNCTION granted_writes() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() ->> 'writes' $$;
CREATE FUNCTION granted_sessions_of() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() ->> 'sessions_of' $$;
-- as the owner: the policy of conversations would only ask the same again
CREATE FUNCTION granted_sessions() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT run_id FROM conversations
    WHERE tenant_id = (SELECT granted_tenant()) AND project_id = (SELECT granted_sessions_of()) AND kind = 'session'
$$;
REVOKE EXECUTE ON FUNCTION granted_sessions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION granted_sessions() TO keepword_app;

-- Walls in a table of what was said or derived: it must have tenant_id, run_id, visibility and private_to.
CREATE PROCEDURE wall_in_content(walled regclass) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', walled);
    EXECUTE format($policy$
        CREATE POLICY readable ON %s FOR SELECT TO keepword_app USING (
            tenant_id = (SELECT granted_tenant())
            AND ((SELECT granted_everything())
                 OR ((run_id = (SELECT granted_first_run()) OR run_id IN (SELECT granted_run_ids())
                      OR ((SELECT granted_sessions_of()) IS NOT NULL AND run_id IN (SELECT granted_sessions())))
                     AND visibility = ANY ((SELECT granted_visibilities())::text[])
                     AND (visibility <> 'private' OR private_to = (SELECT granted_private_to())))))
    $policy$, walled);
    EXECUTE format($policy$
        CREATE POLICY writable ON %s FOR INSERT TO keepword_app WITH CHECK (
            tenant_id = (SELECT granted_tenant()) AND run_id = (SELECT granted_writes())
            AND visibility = ANY ((SELECT granted_visibilities())::text[])
            AND (visibility <> 'private' OR private_to = (SELECT granted_private_to())))
    $policy$, walled);
END
$$;

CALL wall_in_content('messages');
GRANT SELECT, INSERT ON messages TO keepword_app;

-- Appends under a grant, as the caller, in one statement: the hottest path, where a round trip costs as much as the rest.
-- The update locks the conversation: one writer at a time, seq without gaps, times in the order of commits.
CREATE FUNCTION append_messages(
    grant_ text, tenant uuid, conversation uuid, amount integer, incoming json
) RETURNS TABLE (seq bigint, created_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    RETURN QUERY
    WITH place AS (
        UPDATE conversations c SET last_seq = last_seq + amount, updated_at = now()
        WHERE c.tenant_id = tenant AND c.id = conversation
        RETURNING c.tenant_id, c.run_id, c.visibility, c.private_to, last_seq - amount AS base, clock_timestamp() AS now
    )
    INSERT INTO messages AS m (
        tenant_id, id, conversation_id, seq, run_id, visibility, private_to, role, user_id, agent, content,
        tool_name, tool_args, tool_result, attachments, metadata, created_at)
    SELECT p.tenant_id, i.id, conversation, p.base + i.ordinal, p.run_id, p.visibility, p.private_to, i.role,
        i.user_id, i.agent, i.content, i.tool_name, i.tool_args, i.tool_result, i.attachments, i.metadata,
        COALESCE(i.created_at, p.now)
    FROM place p CROSS JOIN json_to_recordset(incoming) AS i (
        ordinal bigint, id uuid, role text, user_id text, agent text, content text, tool_name text, tool_args jsonb,
        tool_result text, attachments jsonb, metadata jsonb, created_at timestamptz)
    RETURNING m.seq, m.created_at;
END
$$;

-- Places: their rows open to who is in them and to the tenant's owner.
ALTER TABLE conversations ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON conversations FOR SELECT TO keepword_app USING (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR run_id IN (SELECT granted_run_ids())
         OR (kind = 'session' AND project_id = (SELECT granted_sessions_of()))));
CREATE POLICY makeable ON conversations FOR INSERT TO keepword_app WITH CHECK (
    tenant_id = (SELECT granted_tenant()) AND run_id = (SELECT granted_writes()));
CREATE POLICY changeable ON conversations FOR UPDATE TO keepword_app
    USING (tenant_id = (SELECT granted_tenant())
           AND ((SELECT granted_everything()) OR run_id = (SELECT granted_writes())))
    WITH CHECK (tenant_id = (SELECT granted_tenant())
                AND ((SELECT granted_everything()) OR run_id = (SELECT granted_writes())));
GRANT SELECT, INSERT ON conversations TO keepword_app;
-- a conversation's place is fixed: its kind, name, user, agent and room can't be changed by anyone
GRANT UPDATE (project_id, channel, channel_id, bot_identity, title, settings, active, last_seq, updated_at)
    ON conversations TO keepword_app;

-- A policy can't compare with the row as it was: who may write in a place must not move it into a project.
CREATE FUNCTION refuse_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.project_id IS DISTINCT FROM OLD.project_id
        AND current_user = 'keepword_app' AND NOT granted_everything()
    THEN
        RAISE EXCEPTION 'only the owner of the tenant moves a conversation' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER only_the_owner_moves BEFORE UPDATE OF project_id ON conversations
    FOR EACH ROW EXECUTE FUNCTION refuse_move();

-- Registries: only the tenant's owner manages them; a room and its participants open to who is in it.
CREATE PROCEDURE wall_in_registry(walled regclass) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', walled);
    EXECUTE format($policy$
        CREATE POLICY owned ON %s TO keepword_app
            USING (tenant_id = (SELECT granted_tenant()) AND (SELECT granted_everything()))
            WITH CHECK (tenant_id = (SELECT granted_tenant()) AND (SELECT granted_everything()))
    $policy$, walled);
END
$$;

CALL wall_in_registry('users');
CALL wall_in_registry('agents');
CALL wall_in_registry('projects');
CALL wall_in_registry('rooms');
CALL wall_in_registry('participants');

CREATE POLICY known ON agents FOR SELECT TO keepword_app USING (tenant_id = (SELECT granted_tenant()));
CREATE POLICY entered ON rooms FOR SELECT TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()) AND run_id IN (SELECT granted_run_ids()));
CREATE POLICY entered ON participants FOR SELECT TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()) AND run_id IN (SELECT granted_run_ids()));

GRANT SELECT, INSERT, UPDATE ON users, agents, projects, rooms TO keepword_app;
GRANT SELECT, INSERT, DELETE ON participants TO keepword_app;

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE keys ENABLE ROW LEVEL SECURITY;

-- The facts that a grant is decided from, before there is a grant. Ids only: no title, no setting, no word.
CREATE FUNCTION find_project(in_tenant uuid, wanted text)
RETURNS TABLE (project_id text, isolated boolean, sessions bigint)
LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT j.id, j.isolated,
        -- only whether they are few matters: counting stops at 65
        (SELECT count(*) FROM (
            SELECT FROM conversations c
            WHERE c.tenant_id = in_tenant AND c.project_id = j.id AND c.kind = 'session' LIMIT 65) AS counted)
    FROM projects j WHERE j.tenant_id = in_tenant AND j.id = wanted
$$;

CREATE FUNCTION find_room(in_tenant uuid, wanted text)
RETURNS TABLE (room_id text, users text[], agents text[], project_id text, isolated boolean, sessions bigint)
LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT r.id,
        (SELECT array_agg(p.user_id) FROM participants p
         WHERE p.tenant_id = in_tenant AND p.room_id = r.id AND p.user_id IS NOT NULL),
        (SELECT array_agg(p.agent) FROM participants p
         WHERE p.tenant_id = in_tenant AND p.room_id = r.id AND p.agent IS NOT NULL),
        j.project_id, j.isolated, j.sessions
    FROM rooms r LEFT JOIN LATERAL find_project(in_tenant, r.project_id) j ON true
    WHERE r.tenant_id = in_tenant AND r.id = wanted
$$;

CREATE FUNCTION find_place(in_tenant uuid, wanted text)
RETURNS TABLE (
    conversation_id uuid, kind text, external_id text, agent text, user_id text, room_id text,
    users text[], agents text[], project_id text, isolated boolean, sessions bigint
)
LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT c.id, c.kind, c.external_id, c.agent, c.user_id, c.room_id, r.users, r.agents,
        COALESCE(j.project_id, r.project_id), COALESCE(j.isolated, r.isolated), COALESCE(j.sessions, r.sessions)
    FROM conversations c
    LEFT JOIN LATERAL find_room(in_tenant, c.room_id) r ON true
    LEFT JOIN LATERAL find_project(in_tenant, c.project_id) j ON true
    WHERE c.tenant_id = in_tenant AND c.external_id = wanted
$$;

CREATE FUNCTION find_direct(in_tenant uuid, with_user text, with_agent text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT external_id FROM conversations
    WHERE tenant_id = in_tenant AND kind = 'direct' AND user_id = with_user AND agent = with_agent
$$;

CREATE FUNCTION is_user(in_tenant uuid, wanted text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (SELECT FROM users WHERE tenant_id = in_tenant AND id = wanted)
$$;

-- The run_ids of the places that an agent, a user, or that user with that agent is in.
CREATE FUNCTION find_roster(in_tenant uuid, for_agent text, for_user text) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT COALESCE(array_agg(run_id), '{}') FROM (
        SELECT r.run_id FROM rooms r WHERE r.tenant_id = in_tenant
            AND (for_user IS NULL OR EXISTS (
                SELECT FROM participants p WHERE p.tenant_id = in_tenant AND p.room_id = r.id AND p.user_id = for_user))
            AND (for_agent IS NULL OR EXISTS (
                SELECT FROM participants p WHERE p.tenant_id = in_tenant AND p.room_id = r.id AND p.agent = for_agent))
        UNION ALL
        SELECT c.run_id FROM conversations c WHERE c.tenant_id = in_tenant AND c.kind <> 'room'
            AND (for_user IS NULL OR c.user_id = for_user)
            AND (for_agent IS NULL OR c.agent = for_agent)
    ) AS entered
$$;

-- One agent's sessions, of one user or of all, outside isolated projects.
CREATE FUNCTION find_sessions_across(in_tenant uuid, of_agent text, of_user text) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT COALESCE(array_agg(c.external_id), '{}') FROM conversations c
    LEFT JOIN projects j ON j.tenant_id = in_tenant AND j.id = c.project_id
    WHERE c.tenant_id = in_tenant AND c.kind = 'session' AND c.agent = of_agent
        AND (of_user IS NULL OR c.user_id = of_user)
        AND NOT COALESCE(j.isolated, false)
$$;

REVOKE EXECUTE ON FUNCTION
    find_place(uuid, text), find_direct(uuid, text, text), find_room(uuid, text), find_project(uuid, text),
    is_user(uuid, text), find_roster(uuid, text, text), find_sessions_across(uuid, text, text)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    find_place(uuid, text), find_direct(uuid, text, text), find_room(uuid, text), find_project(uuid, text),
    is_user(uuid, text), find_roster(uuid, text, text), find_sessions_across(uuid, text, text)
TO keepword_app;
