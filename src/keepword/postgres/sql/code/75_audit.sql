-- The audit: written in the transaction that changes rights or removes something, through one door, and never changed.

-- Notes what was done. `g` is the grant under which it was done; without one it was the command line. `what` holds ids
-- and numbers, never a word of what was said. What an import brings was noted where it was done.
CREATE OR REPLACE FUNCTION note_audit(g jsonb, tenant uuid, done text, run text, what jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO audit (tenant_id, key_id, actor, action, place, ids)
    SELECT tenant, g #>> '{by,key}',
        COALESCE(g #>> '{by,name}', CASE
            WHEN g IS NULL AND current_setting('role') <> 'keepword_app' THEN 'command line' ELSE 'background' END),
        done, run,
        jsonb_strip_nulls(what)
    WHERE NOT EXISTS (SELECT FROM imports i WHERE i.tenant_id = tenant)
$$;

-- Notes a read, for the tenants that want it. The application may note nothing else by itself.
CREATE OR REPLACE FUNCTION note_read(grant_ text, tenant uuid, route text, run text, conversation text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF (grant_::jsonb ->> 'tenant')::uuid IS DISTINCT FROM tenant THEN
        RAISE EXCEPTION 'the grant is of another tenant' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM note_audit(
        grant_::jsonb, tenant, 'read', run, jsonb_build_object('route', route, 'conversation', conversation));
END
$$;

-- Rows go with an unfinished import that is dropped, and move with a tenant whose id an import changes.
CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_LEVEL = 'ROW' AND current_user = 'keepword_owner' THEN
        IF TG_OP = 'DELETE' AND EXISTS (SELECT FROM imports i WHERE i.tenant_id = OLD.tenant_id) THEN
            RETURN OLD;
        ELSIF TG_OP = 'UPDATE' AND to_jsonb(NEW) - 'tenant_id' = to_jsonb(OLD) - 'tenant_id' THEN
            RETURN NEW;
        ELSIF TG_OP = 'UPDATE' AND NEW.ids = OLD.ids - 'key' AND to_jsonb(NEW) - 'ids' = to_jsonb(OLD) - 'ids' AND EXISTS (
            SELECT FROM erasures e WHERE e.tenant_id = OLD.tenant_id AND e.state = 'running') THEN
            RETURN NEW;  -- of a fact that is erased
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE OR REPLACE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE OR REPLACE TRIGGER audit_is_not_truncated BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

CREATE OR REPLACE FUNCTION audit_key() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_audit(granted(), NEW.tenant_id, CASE TG_OP WHEN 'INSERT' THEN 'key.made' ELSE 'key.revoked' END, NULL,
        jsonb_build_object('key', NEW.id, 'role', NEW.role, 'agent', NEW.agent, 'user', NEW.user_id));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER made_keys_are_audited AFTER INSERT ON keys FOR EACH ROW EXECUTE FUNCTION audit_key();
CREATE OR REPLACE TRIGGER revoked_keys_are_audited AFTER UPDATE OF revoked_at ON keys
    FOR EACH ROW WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION audit_key();

CREATE OR REPLACE FUNCTION audit_settings() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_audit(granted(), NEW.id, 'settings.changed', NULL, jsonb_build_object('settings', (
        SELECT jsonb_agg(name ORDER BY name) FROM jsonb_object_keys(NEW.settings || OLD.settings) AS k (name)
        WHERE NEW.settings -> name IS DISTINCT FROM OLD.settings -> name)));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER settings_are_audited AFTER UPDATE OF settings ON tenants
    FOR EACH ROW WHEN (OLD.settings IS DISTINCT FROM NEW.settings) EXECUTE FUNCTION audit_settings();

CREATE OR REPLACE FUNCTION audit_participant() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    p participants := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    PERFORM note_audit(granted(), p.tenant_id,
        CASE TG_OP WHEN 'DELETE' THEN 'participant.removed' ELSE 'participant.added' END, p.run_id,
        jsonb_build_object('room', p.room_id, 'user', p.user_id, 'agent', p.agent));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER participants_are_audited AFTER INSERT OR DELETE ON participants
    FOR EACH ROW EXECUTE FUNCTION audit_participant();

CREATE OR REPLACE FUNCTION audit_introduction() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_audit(granted(), NEW.tenant_id,
        CASE WHEN NEW.withdrawn_at IS NULL THEN 'introduction.made' ELSE 'introduction.withdrawn' END, NULL,
        jsonb_build_object('agent', NEW.agent, 'user', NEW.user_id));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER new_introductions_are_audited AFTER INSERT ON introductions
    FOR EACH ROW EXECUTE FUNCTION audit_introduction();
CREATE OR REPLACE TRIGGER changed_introductions_are_audited AFTER UPDATE ON introductions
    FOR EACH ROW WHEN ((OLD.withdrawn_at IS NULL) <> (NEW.withdrawn_at IS NULL)) EXECUTE FUNCTION audit_introduction();

CREATE OR REPLACE FUNCTION audit_project() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_audit(granted(), NEW.tenant_id,
        CASE TG_OP WHEN 'INSERT' THEN 'project.made' ELSE 'project.changed' END, 'project:' || NEW.id,
        jsonb_build_object('project', NEW.id, 'isolated', NEW.isolated));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER new_projects_are_audited AFTER INSERT ON projects
    FOR EACH ROW EXECUTE FUNCTION audit_project();
CREATE OR REPLACE TRIGGER changed_projects_are_audited AFTER UPDATE OF isolated ON projects
    FOR EACH ROW WHEN (OLD.isolated <> NEW.isolated) EXECUTE FUNCTION audit_project();

CREATE OR REPLACE FUNCTION audit_room_move() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_audit(granted(), NEW.tenant_id, 'room.moved', NEW.run_id, jsonb_build_object(
        'room', NEW.id, 'from_project', OLD.project_id, 'to_project', NEW.project_id));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER moved_rooms_are_audited AFTER UPDATE OF project_id ON rooms
    FOR EACH ROW WHEN (OLD.project_id IS DISTINCT FROM NEW.project_id) EXECUTE FUNCTION audit_room_move();

CREATE OR REPLACE FUNCTION audit_conversation() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF OLD.project_id IS DISTINCT FROM NEW.project_id THEN
        PERFORM note_audit(granted(), NEW.tenant_id, 'conversation.moved', NEW.run_id, jsonb_build_object(
            'conversation', NEW.external_id, 'from_project', OLD.project_id, 'to_project', NEW.project_id));
    END IF;
    IF OLD.reach IS DISTINCT FROM NEW.reach THEN
        PERFORM note_audit(granted(), NEW.tenant_id, 'conversation.reach_changed', NEW.run_id, jsonb_build_object(
            'conversation', NEW.external_id, 'reach', NEW.reach));
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER opened_conversations_are_audited AFTER UPDATE OF project_id, reach ON conversations
    FOR EACH ROW WHEN (OLD.project_id IS DISTINCT FROM NEW.project_id OR OLD.reach IS DISTINCT FROM NEW.reach)
    EXECUTE FUNCTION audit_conversation();

CREATE OR REPLACE FUNCTION audit_deleted_fact() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_audit(granted(), OLD.tenant_id, 'fact.deleted', OLD.run_id, jsonb_build_object(
        'scope', OLD.scope_kind, 'id', OLD.scope_id, 'version', OLD.version,
        -- the key of a fact that is erased may be a word
        'key', CASE WHEN NOT EXISTS (SELECT FROM erasures e WHERE e.tenant_id = OLD.tenant_id AND e.state = 'running')
            THEN OLD.key END));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER deleted_facts_are_audited AFTER DELETE ON facts
    FOR EACH ROW EXECUTE FUNCTION audit_deleted_fact();

CREATE OR REPLACE FUNCTION audit_deleted_file() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_audit(granted(), NEW.tenant_id, 'file.deleted', NULL, jsonb_build_object(
        'agent', NEW.agent, 'file', NEW.name, 'version', NEW.version));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER deleted_files_are_audited AFTER INSERT ON agent_files
    FOR EACH ROW WHEN (NEW.content IS NULL) EXECUTE FUNCTION audit_deleted_file();
