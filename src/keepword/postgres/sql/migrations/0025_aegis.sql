-- depends: 0022_arms_first
-- AEGIS' ways: fields that are not there are passed over, a mark overwrites, a session is given its agent and user by the
-- first call that names them. And further names for direct conversations.

-- Deletes those of the named fields that are there. A memory without fields is none.
DROP FUNCTION delete_working(text, uuid, uuid, text, text, text, text[], timestamptz);
CREATE FUNCTION delete_working(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text, names text[], at timestamptz
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    held jsonb;
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, place, seen, only_for),
        pg_advisory_xact_lock(working_turn(conversation));
    SELECT m.fields - names INTO held FROM working_memories m
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place AND m.expires_at > at;
    IF held = '{}' THEN
        DELETE FROM working_memories m
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place;
    ELSIF held IS NOT NULL THEN
        UPDATE working_memories m SET fields = held, expires_at = at + m.ttl_seconds * interval '1 second'
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place;
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION delete_working(text, uuid, uuid, text, text, text, text[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_working(text, uuid, uuid, text, text, text, text[], timestamptz) TO keepword_app;

-- Marks items with their values and returns the keys that are new: of all who mark an item, one adds it.
-- As the owner, so that the application can't update the table, under the grant that it is given. Rows are taken in the
-- order of their keys, so that no two callers wait for each other.
DROP FUNCTION mark_item(text, uuid, uuid, text, text, text, text, text);
CREATE FUNCTION mark_items(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text, items jsonb
) RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    added text[];
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, place, seen, only_for);
    WITH marked AS (
        INSERT INTO ledger_marks AS l (tenant_id, conversation_id, item_key, run_id, visibility, private_to, value)
        SELECT tenant, conversation, i.key, place, seen, only_for, i.value FROM jsonb_each_text(items) AS i
        ORDER BY i.key
        ON CONFLICT (tenant_id, conversation_id, item_key) DO UPDATE SET value = excluded.value
            WHERE l.run_id = excluded.run_id
        RETURNING l.item_key, l.xmax = 0 AS is_new
    )
    SELECT COALESCE(array_agg(m.item_key) FILTER (WHERE m.is_new), '{}') INTO added FROM marked m;
    RETURN added;
END
$$;
REVOKE EXECUTE ON FUNCTION mark_items(text, uuid, uuid, text, text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mark_items(text, uuid, uuid, text, text, text, jsonb) TO keepword_app;

-- What an agent stores may be null, as in AEGIS' table.
ALTER TABLE summaries ALTER key_decisions DROP NOT NULL, ALTER entities_mentioned DROP NOT NULL,
    ALTER tools_called DROP NOT NULL;

-- A session that was made without naming its agent may be given one, once; so may one without a user be given its user.
ALTER TABLE conversations ADD agent_open boolean NOT NULL DEFAULT false,
    ADD CHECK (kind = 'session' OR NOT agent_open);

-- Which session was given whom, by which key. The owner alone reads it.
CREATE TABLE session_assignments (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    agent text,
    user_id text,
    key_id text,
    assigned_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX session_assignments_by_session ON session_assignments (tenant_id, conversation_id);
ALTER TABLE session_assignments ENABLE ROW LEVEL SECURITY;

-- Gives a session the agent and the user that it lacks; NULL leaves them open. Only who may write in the session gives
-- them, and what it has stays: false means that it has another one, or messages, which `despite_messages` admits.
-- It is the only way to change whose a session is.
CREATE FUNCTION assign_session(
    grant_ text, tenant uuid, conversation uuid, new_agent text, new_user text, despite_messages boolean, by_key text
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    found_ conversations%ROWTYPE;
BEGIN
    SELECT * INTO found_ FROM conversations c
    WHERE c.tenant_id = tenant AND c.id = conversation AND c.kind = 'session' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM require_writes(grant_::jsonb, tenant, found_.run_id, found_.visibility, found_.private_to);
    IF new_agent IS NOT NULL AND NOT found_.agent_open
        OR new_user IS NOT NULL AND (found_.user_id IS NOT NULL OR found_.last_seq > 0 AND NOT despite_messages)
    THEN
        RETURN false;
    END IF;
    UPDATE conversations c
    SET agent = COALESCE(new_agent, c.agent), agent_open = c.agent_open AND new_agent IS NULL,
        user_id = COALESCE(new_user, c.user_id)
    WHERE c.tenant_id = tenant AND c.id = conversation;
    INSERT INTO session_assignments (tenant_id, conversation_id, agent, user_id, key_id)
    VALUES (tenant, conversation, new_agent, new_user, by_key);
    RETURN true;
END
$$;

-- Makes a user whom nobody announced, for who may write somewhere in the tenant. It makes an id and nothing else.
CREATE FUNCTION make_user(grant_ text, tenant uuid, wanted text) RETURNS void
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

-- Further names of a direct conversation. The application reads them through find_place alone.
CREATE TABLE conversation_aliases (
    tenant_id uuid NOT NULL,
    alias text NOT NULL,
    external_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, alias),
    FOREIGN KEY (tenant_id, external_id) REFERENCES conversations (tenant_id, external_id) ON DELETE CASCADE
);
CREATE INDEX conversation_aliases_by_name ON conversation_aliases (tenant_id, external_id);
ALTER TABLE conversation_aliases ENABLE ROW LEVEL SECURITY;

-- A name is a conversation's or an alias, never both. Who makes conversations holds this lock with others, who makes an
-- alias holds it alone: one lock a tenant, however many conversations an import makes.
CREATE FUNCTION naming_turn(tenant uuid) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT uuid_hash_extended(tenant, 25) $$;

CREATE FUNCTION refuse_alias() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(naming_turn(NEW.tenant_id));
    IF EXISTS (
        SELECT FROM conversation_aliases a WHERE a.tenant_id = NEW.tenant_id AND a.alias = NEW.external_id)
    THEN
        RETURN NULL;  -- as if the name were another conversation's
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER names_are_no_aliases BEFORE INSERT ON conversations FOR EACH ROW EXECUTE FUNCTION refuse_alias();

-- Gives a direct conversation a further name, for who may write in it. False means that the name is another's.
CREATE FUNCTION make_alias(grant_ text, tenant uuid, conversation uuid, wanted text) RETURNS boolean
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
        pg_advisory_xact_lock(naming_turn(tenant));
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

DROP FUNCTION find_place(uuid, text);
CREATE FUNCTION find_place(in_tenant uuid, wanted text)
RETURNS TABLE (
    conversation_id uuid, kind text, external_id text, agent text, user_id text, room_id text,
    users text[], agents text[], project_id text, isolated boolean, sessions bigint, agent_open boolean, alias text
)
LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT c.id, c.kind, c.external_id, c.agent, c.user_id, c.room_id, r.users, r.agents,
        COALESCE(j.project_id, r.project_id), COALESCE(j.isolated, r.isolated), COALESCE(j.sessions, r.sessions),
        c.agent_open, CASE WHEN c.external_id <> wanted THEN wanted END
    FROM conversations c
    LEFT JOIN LATERAL find_room(in_tenant, c.room_id) r ON true
    LEFT JOIN LATERAL find_project(in_tenant, c.project_id) j ON true
    WHERE c.tenant_id = in_tenant AND c.external_id = COALESCE(
        (SELECT a.external_id FROM conversation_aliases a WHERE a.tenant_id = in_tenant AND a.alias = wanted), wanted)
$$;

REVOKE EXECUTE ON FUNCTION
    assign_session(text, uuid, uuid, text, text, boolean, text), make_user(text, uuid, text), refuse_alias(),
    make_alias(text, uuid, uuid, text), find_place(uuid, text)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    assign_session(text, uuid, uuid, text, text, boolean, text), make_user(text, uuid, text),
    make_alias(text, uuid, uuid, text), find_place(uuid, text)
TO keepword_app;
