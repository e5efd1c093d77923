-- Facts: exact values, with their versions and where they come from.

CREATE OR REPLACE FUNCTION set_fact_origin() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    NEW.said_in := CASE WHEN NEW.scope_kind = 'user' THEN ARRAY(
        SELECT id FROM conversations WHERE tenant_id = NEW.tenant_id AND run_id = granted_writes()
        UNION
        SELECT conversation_id FROM messages WHERE tenant_id = NEW.tenant_id AND id = NEW.source_id
    ) ELSE '{}' END;
    -- what the owner wrote stays theirs, also when they write it from within a conversation
    NEW.by_owner := granted_everything() OR (TG_OP = 'UPDATE' AND OLD.by_owner);
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER facts_know_their_origin BEFORE INSERT OR UPDATE ON facts
    FOR EACH ROW WHEN (current_user = 'keepword_app') EXECUTE FUNCTION set_fact_origin();

CREATE OR REPLACE FUNCTION keep_fact_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO fact_versions (tenant_id, scope_kind, scope_id, key, version, run_id, visibility, said_in)
        VALUES (OLD.tenant_id, OLD.scope_kind, OLD.scope_id, OLD.key, OLD.version + 1, OLD.run_id, OLD.visibility,
                OLD.said_in);
        RETURN OLD;
    END IF;
    INSERT INTO fact_versions (
        tenant_id, scope_kind, scope_id, key, version, value, type, source_id, confidence, run_id, visibility, said_in)
    VALUES (NEW.tenant_id, NEW.scope_kind, NEW.scope_id, NEW.key, NEW.version, NEW.value, NEW.type, NEW.source_id,
            NEW.confidence, NEW.run_id, NEW.visibility, NEW.said_in);
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER facts_keep_their_versions AFTER INSERT OR UPDATE OR DELETE ON facts
    FOR EACH ROW EXECUTE FUNCTION keep_fact_version();

-- Those who write one fact take turns, also while there is no row that could be locked.
CREATE OR REPLACE FUNCTION fact_lock_key(tenant uuid, run text, wanted text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT hashtextextended(run || chr(10) || wanted, uuid_hash_extended(tenant, 8)) $$;

-- The last version of a fact, also of one that can't be read: a number, so that no version is given twice.
CREATE OR REPLACE FUNCTION last_fact_version(tenant uuid, run text, wanted text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT COALESCE(max(version), 0) FROM fact_versions WHERE tenant_id = tenant AND run_id = run AND key = wanted
$$;

-- Both write under a grant of their own, as the caller and behind the walls, in one statement. The outcome says why
-- nothing was written, if nothing was; the rest is what the fact then is, and `held_version` 0 where there is none.
-- Another value for a fact of the owner's is refused as `owned`; what the owner puts is theirs from then on.
CREATE OR REPLACE FUNCTION put_fact(
    grant_ text, tenant uuid, kind text, scope text, run text, wanted text, given json, given_type text,
    keeps_type boolean, source uuid, sure double precision, expected bigint
) RETURNS TABLE (outcome text, held_version bigint, held_type text, made_at timestamptz, changed_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    held facts;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(fact_lock_key(tenant, run, wanted));
    SELECT f.* INTO held FROM facts f WHERE f.tenant_id = tenant AND f.run_id = run AND f.key = wanted;
    held_version := COALESCE(held.version, 0);
    made_at := held.created_at;
    changed_at := held.updated_at;
    held_type := CASE WHEN keeps_type THEN held.type ELSE given_type END;
    outcome := CASE
        WHEN expected <> held_version THEN 'outdated'
        WHEN NOT is_of_type(given, held_type) THEN 'wrong type'
        WHEN source IS NOT NULL AND NOT EXISTS (
            SELECT FROM messages m WHERE m.tenant_id = tenant AND m.id = source) THEN 'no source'
        WHEN held.value::text = given::text AND held_type IS NOT DISTINCT FROM held.type
            AND source IS NOT DISTINCT FROM held.source_id AND sure IS NOT DISTINCT FROM held.confidence
            AND (held.said_in = '{}' OR source IS NOT NULL OR NOT granted_everything())
            AND (held.by_owner OR NOT granted_everything()) THEN 'same'
        WHEN held.by_owner AND NOT granted_owner() THEN 'owned'
        WHEN held_version > 0 THEN 'changed'
        ELSE 'made'
    END;
    IF outcome = 'changed' THEN
        UPDATE facts f SET value = given, type = held_type, version = held_version + 1, source_id = source,
            confidence = sure, updated_at = now()
        WHERE f.tenant_id = tenant AND f.run_id = run AND f.key = wanted
        RETURNING f.version, f.updated_at INTO held_version, changed_at;
    ELSIF outcome = 'made' THEN
        -- versions go on where a deleted fact's ended: a version never means two values
        INSERT INTO facts AS f (tenant_id, scope_kind, scope_id, run_id, key, value, type, version, source_id, confidence)
        VALUES (tenant, kind, scope, run, wanted, given, held_type, 1 + last_fact_version(tenant, run, wanted), source, sure)
        RETURNING f.version, f.created_at, f.updated_at INTO held_version, made_at, changed_at;
    END IF;
    RETURN NEXT;
END
$$;

CREATE OR REPLACE FUNCTION delete_fact(grant_ text, tenant uuid, run text, wanted text, expected bigint)
RETURNS TABLE (outcome text, held_version bigint) LANGUAGE plpgsql AS $$
DECLARE
    owned boolean;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(fact_lock_key(tenant, run, wanted));
    SELECT f.version, f.by_owner INTO held_version, owned FROM facts f
    WHERE f.tenant_id = tenant AND f.run_id = run AND f.key = wanted;
    outcome := CASE
        WHEN held_version IS NULL THEN 'absent'
        WHEN owned AND NOT granted_owner() THEN 'owned'
        WHEN expected <> held_version THEN 'outdated'
        ELSE 'deleted'
    END;
    IF outcome = 'deleted' THEN
        DELETE FROM facts f WHERE f.tenant_id = tenant AND f.run_id = run AND f.key = wanted;
    END IF;
    RETURN NEXT;
END
$$;
