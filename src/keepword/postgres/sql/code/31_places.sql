-- Places: what a grant is decided from, and the few changes that go past the policies.

-- A policy can't compare with the row as it was: who may write in a place must not move it into a project.
CREATE OR REPLACE FUNCTION refuse_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.project_id IS DISTINCT FROM OLD.project_id
        AND current_user = 'keepword_app' AND NOT granted_everything()
    THEN
        RAISE EXCEPTION 'only the owner of the tenant moves a conversation' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER only_the_owner_moves BEFORE UPDATE OF project_id ON conversations
    FOR EACH ROW EXECUTE FUNCTION refuse_move();

-- The facts that a grant is decided from, before there is a grant. Ids only: no title, no setting, no word.
CREATE OR REPLACE FUNCTION find_project(in_tenant uuid, wanted text)
RETURNS TABLE (project_id text, isolated boolean, sessions bigint)
LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT j.id, j.isolated,
        -- only whether they are few matters: counting stops at 65
        (SELECT count(*) FROM (
            SELECT FROM conversations c
            WHERE c.tenant_id = in_tenant AND c.project_id = j.id AND c.kind = 'session' LIMIT 65) AS counted)
    FROM projects j WHERE j.tenant_id = in_tenant AND j.id = wanted
$$;

CREATE OR REPLACE FUNCTION find_room(in_tenant uuid, wanted text)
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

CREATE OR REPLACE FUNCTION find_conversation(in_tenant uuid, wanted text)
RETURNS TABLE (
    conversation_id uuid, kind text, external_id text, agent text, user_id text, room_id text,
    users text[], agents text[], project_id text, isolated boolean, sessions bigint, agent_open boolean, alias text,
    introduced boolean, by_bound_key boolean, reach text, rooms text[]
)
LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT c.id, c.kind, c.external_id, c.agent, c.user_id, c.room_id, r.users, r.agents,
        COALESCE(j.project_id, r.project_id), COALESCE(j.isolated, r.isolated), COALESCE(j.sessions, r.sessions),
        c.agent_open, CASE WHEN c.external_id <> wanted THEN wanted END,
        c.user_id IS NOT NULL AND EXISTS (
            SELECT FROM introductions i
            WHERE i.tenant_id = in_tenant AND i.agent = c.agent AND i.user_id = c.user_id AND i.withdrawn_at IS NULL),
        c.by_bound_key, c.reach,
        -- the rooms in which both of a direct conversation sit
        CASE WHEN c.kind = 'direct' THEN ARRAY(
            SELECT s.id FROM participants u
            JOIN participants a ON a.tenant_id = in_tenant AND a.room_id = u.room_id AND a.agent = c.agent
            JOIN rooms s ON s.tenant_id = in_tenant AND s.id = u.room_id
            LEFT JOIN projects y ON y.tenant_id = in_tenant AND y.id = s.project_id
            WHERE u.tenant_id = in_tenant AND u.user_id = c.user_id AND NOT COALESCE(y.isolated, false)) END
    FROM conversations c
    LEFT JOIN LATERAL find_room(in_tenant, c.room_id) r ON true
    LEFT JOIN LATERAL find_project(in_tenant, c.project_id) j ON true
    WHERE c.tenant_id = in_tenant AND c.external_id = COALESCE(
        (SELECT a.external_id FROM conversation_aliases a WHERE a.tenant_id = in_tenant AND a.alias = wanted), wanted)
        AND NOT is_erasing(in_tenant, c.id)
$$;

CREATE OR REPLACE FUNCTION find_direct(in_tenant uuid, with_user text, with_agent text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT external_id FROM conversations
    WHERE tenant_id = in_tenant AND kind = 'direct' AND user_id = with_user AND agent = with_agent
        AND NOT is_erasing(in_tenant, id)
$$;

CREATE OR REPLACE FUNCTION is_user(in_tenant uuid, wanted text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (SELECT FROM users WHERE tenant_id = in_tenant AND id = wanted AND NOT is_erasing_user(in_tenant, wanted))
$$;

CREATE OR REPLACE FUNCTION is_introduced(in_tenant uuid, to_agent text, wanted text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM introductions i
        WHERE i.tenant_id = in_tenant AND i.agent = to_agent AND i.user_id = wanted AND i.withdrawn_at IS NULL)
$$;

-- The run_ids of the places that an agent, a user, or that user with that agent is in; `strangers` are those of them
-- whose users are not introduced to their agents.
CREATE OR REPLACE FUNCTION find_entered_places(in_tenant uuid, for_agent text, for_user text)
RETURNS TABLE (run_ids text[], strangers text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT COALESCE(array_agg(e.run_id), '{}'), COALESCE(array_agg(e.run_id) FILTER (WHERE e.is_strange), '{}')
    FROM (
        SELECT r.run_id, false AS is_strange FROM rooms r WHERE r.tenant_id = in_tenant
            AND (for_user IS NULL OR EXISTS (
                SELECT FROM participants p WHERE p.tenant_id = in_tenant AND p.room_id = r.id AND p.user_id = for_user))
            AND (for_agent IS NULL OR EXISTS (
                SELECT FROM participants p WHERE p.tenant_id = in_tenant AND p.room_id = r.id AND p.agent = for_agent))
        UNION ALL
        SELECT c.run_id, c.user_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM introductions i WHERE i.tenant_id = in_tenant AND i.agent = c.agent
                    AND i.user_id = c.user_id AND i.withdrawn_at IS NULL)
        FROM conversations c WHERE c.tenant_id = in_tenant AND c.kind <> 'room' AND NOT is_erasing(in_tenant, c.id)
            AND (for_user IS NULL OR c.user_id = for_user)
            AND (for_agent IS NULL OR c.agent = for_agent)
    ) AS e
$$;

-- One agent's sessions, of one user or of all, outside isolated projects; `strangers` as above.
CREATE OR REPLACE FUNCTION find_agent_sessions(in_tenant uuid, of_agent text, of_user text)
RETURNS TABLE (sessions text[], strangers text[], introduced boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT COALESCE(array_agg(c.external_id), '{}'),
        COALESCE(array_agg(c.external_id) FILTER (WHERE c.user_id IS NOT NULL AND i.user_id IS NULL), '{}'),
        COALESCE(is_introduced(in_tenant, of_agent, of_user), false)
    FROM conversations c
    LEFT JOIN projects j ON j.tenant_id = in_tenant AND j.id = c.project_id
    LEFT JOIN introductions i ON i.tenant_id = in_tenant AND i.agent = c.agent AND i.user_id = c.user_id
        AND i.withdrawn_at IS NULL
    WHERE c.tenant_id = in_tenant AND c.kind = 'session' AND c.agent = of_agent AND NOT is_erasing(in_tenant, c.id)
        AND (of_user IS NULL OR c.user_id = of_user)
        AND NOT COALESCE(j.isolated, false)
$$;

-- A conversation of a user and an agent introduces them, unless its maker does not vouch for the user.
CREATE OR REPLACE FUNCTION introduce_pair() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF granted_vouches() THEN
        INSERT INTO introductions (tenant_id, agent, user_id, introduced_by)
        VALUES (NEW.tenant_id, NEW.agent, NEW.user_id, NEW.made_by) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER conversations_introduce AFTER INSERT ON conversations
    FOR EACH ROW WHEN (NEW.kind <> 'room' AND NEW.user_id IS NOT NULL) EXECUTE FUNCTION introduce_pair();

-- Gives a session the agent and the user that it lacks; NULL leaves them open. Only who may write in the session gives
-- them, and what it has stays: false means that it has another one, or messages, which `despite_messages` admits.
-- It is the only way to change whose a session is. It introduces the two, or asks whether they were introduced.
CREATE OR REPLACE FUNCTION assign_session(
    grant_ text, tenant uuid, conversation uuid, new_agent text, new_user text, despite_messages boolean, by_key text
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    found_ conversations%ROWTYPE;
    vouches boolean := COALESCE((grant_::jsonb ->> 'vouches')::boolean, false);
BEGIN
    SELECT * INTO found_ FROM conversations c
    WHERE c.tenant_id = tenant AND c.id = conversation AND c.kind = 'session' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM require_writes(grant_::jsonb, tenant, found_.run_id, found_.visibility, found_.private_to),
        -- for the audit, which a trigger writes
        set_config('keepword.grant', grant_, true);
    IF new_agent IS NOT NULL AND NOT found_.agent_open
        OR new_user IS NOT NULL AND (found_.user_id IS NOT NULL OR found_.last_seq > 0 AND NOT despite_messages)
    THEN
        RETURN false;
    END IF;
    UPDATE conversations c
    SET agent = COALESCE(new_agent, c.agent), agent_open = c.agent_open AND new_agent IS NULL,
        user_id = COALESCE(new_user, c.user_id)
    WHERE c.tenant_id = tenant AND c.id = conversation
    RETURNING c.* INTO found_;
    IF found_.user_id IS NOT NULL AND NOT vouches AND NOT is_introduced(tenant, found_.agent, found_.user_id) THEN
        RAISE EXCEPTION 'the user is not introduced to the agent' USING ERRCODE = 'insufficient_privilege';
    ELSIF found_.user_id IS NOT NULL AND vouches THEN
        INSERT INTO introductions (tenant_id, agent, user_id, introduced_by)
        VALUES (tenant, found_.agent, found_.user_id, by_key) ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO session_assignments (tenant_id, conversation_id, agent, user_id, key_id)
    VALUES (tenant, conversation, new_agent, new_user, by_key);
    PERFORM note_audit(grant_::jsonb, tenant, 'session.assigned', found_.run_id, jsonb_build_object(
        'conversation', found_.external_id, 'agent', new_agent, 'user', new_user));
    RETURN true;
END
$$;

-- Makes a user whom nobody announced, for who may write somewhere in the tenant. It makes an id and nothing else.
CREATE OR REPLACE FUNCTION make_user(grant_ text, tenant uuid, wanted text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    g jsonb := grant_;
BEGIN
    IF (g ->> 'tenant')::uuid IS DISTINCT FROM tenant OR g ->> 'writes' IS NULL THEN
        RAISE EXCEPTION 'the grant does not let make a user' USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO users (tenant_id, id) VALUES (tenant, wanted) ON CONFLICT DO NOTHING;
END
$$;

-- A name is a conversation's or an alias, never both. Who makes conversations holds this lock with others, who makes an
-- alias holds it alone: one lock a tenant, however many conversations an import makes.
CREATE OR REPLACE FUNCTION alias_lock_key(tenant uuid) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT uuid_hash_extended(tenant, 25) $$;

CREATE OR REPLACE FUNCTION refuse_alias() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(alias_lock_key(NEW.tenant_id));
    IF EXISTS (
        SELECT FROM conversation_aliases a WHERE a.tenant_id = NEW.tenant_id AND a.alias = NEW.external_id)
    THEN
        RETURN NULL;  -- as if the name were another conversation's
    END IF;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER names_are_no_aliases BEFORE INSERT ON conversations FOR EACH ROW EXECUTE FUNCTION refuse_alias();

-- Gives a direct conversation a further name, for who may write in it. False means that the name is another's.
CREATE OR REPLACE FUNCTION make_alias(grant_ text, tenant uuid, conversation uuid, wanted text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    found_ conversations%ROWTYPE;
BEGIN
    SELECT * INTO found_ FROM conversations c
    WHERE c.tenant_id = tenant AND c.id = conversation AND c.kind = 'direct';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM require_writes(grant_::jsonb, tenant, found_.run_id, found_.visibility, found_.private_to),
        pg_advisory_xact_lock(alias_lock_key(tenant));
    IF EXISTS (SELECT FROM conversations c WHERE c.tenant_id = tenant AND c.external_id = wanted) THEN
        RETURN false;
    END IF;
    INSERT INTO conversation_aliases (tenant_id, alias, external_id) VALUES (tenant, wanted, found_.external_id)
    ON CONFLICT DO NOTHING;
    RETURN EXISTS (
        SELECT FROM conversation_aliases a
        WHERE a.tenant_id = tenant AND a.alias = wanted AND a.external_id = found_.external_id);
END
$$;
