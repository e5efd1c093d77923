-- Structured facts: exact values under a key, per user, project, room or tenant, with every version that there was.

CREATE FUNCTION granted_shares() RETURNS SETOF text LANGUAGE sql STABLE AS
    $$ SELECT jsonb_array_elements_text(granted() -> 'shares') $$;

-- Walls in a table of shared knowledge: read as all content is, changed where the grant lets share, and by the owner.
CREATE PROCEDURE wall_in_shared(walled regclass) LANGUAGE plpgsql AS $$
DECLARE
    allowed text := $allowed$
        tenant_id = (SELECT granted_tenant())
        AND ((SELECT granted_everything())
             OR run_id = (SELECT granted_writes()) OR run_id IN (SELECT granted_shares()))
    $allowed$;
BEGIN
    CALL wall_in_content(walled);
    EXECUTE format('CREATE POLICY shareable ON %s FOR INSERT TO keepword_app WITH CHECK (%s)', walled, allowed);
    EXECUTE format('CREATE POLICY changeable ON %s FOR UPDATE TO keepword_app USING (%s) WITH CHECK (%2$s)',
                   walled, allowed);
    EXECUTE format('CREATE POLICY deletable ON %s FOR DELETE TO keepword_app USING (%s)', walled, allowed);
END
$$;

CREATE FUNCTION is_of_type(given json, declared text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN declared IS NULL THEN true
        WHEN declared = 'integer' THEN json_typeof(given) = 'number' AND given::text !~ '[.eE]'
        ELSE json_typeof(given) = declared
    END
$$;

-- json, not jsonb: what goes in comes out as it was written, numbers and the order of keys included.
CREATE TABLE facts (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    scope_kind text NOT NULL CHECK (scope_kind IN ('user', 'project', 'room', 'global')),
    scope_id text,
    key text NOT NULL CHECK (key <> '' AND char_length(key) <= 200 AND key !~ '[[:cntrl:]]'),
    value json NOT NULL CHECK (octet_length(value::text) <= 65536),
    type text CHECK (type IN ('string', 'number', 'integer', 'boolean', 'object', 'array')),
    version bigint NOT NULL CHECK (version > 0),
    source_id uuid,
    confidence double precision CHECK (confidence BETWEEN 0 AND 1),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    run_id text NOT NULL GENERATED ALWAYS AS (
        CASE scope_kind
            WHEN 'user' THEN 'profile:' || scope_id
            WHEN 'global' THEN 'global'
            ELSE scope_kind || ':' || scope_id
        END
    ) STORED,
    visibility text NOT NULL GENERATED ALWAYS AS (CASE scope_kind WHEN 'room' THEN 'public' ELSE 'shared' END) STORED,
    private_to text CHECK (private_to IS NULL),  -- no fact is private; the wall asks
    user_id text GENERATED ALWAYS AS (CASE scope_kind WHEN 'user' THEN scope_id END) STORED,
    project_id text GENERATED ALWAYS AS (CASE scope_kind WHEN 'project' THEN scope_id END) STORED,
    room_id text GENERATED ALWAYS AS (CASE scope_kind WHEN 'room' THEN scope_id END) STORED,
    UNIQUE NULLS NOT DISTINCT (tenant_id, scope_kind, scope_id, key),
    CHECK ((scope_kind = 'global') = (scope_id IS NULL)),
    CONSTRAINT facts_value_is_of_its_type CHECK (is_of_type(value, type)),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id),
    FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id),
    FOREIGN KEY (tenant_id, room_id) REFERENCES rooms (tenant_id, id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES messages (tenant_id, id)
);

CREATE INDEX facts_in_scope ON facts (tenant_id, run_id, key);

CALL wall_in_shared('facts');
GRANT SELECT, INSERT, DELETE ON facts TO keepword_app;
GRANT UPDATE (value, type, version, source_id, confidence, updated_at) ON facts TO keepword_app;

-- Every version of every fact; a deletion is a version without a value. The application reads it and can't write it.
CREATE TABLE fact_versions (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    scope_kind text NOT NULL,
    scope_id text,
    key text NOT NULL,
    version bigint NOT NULL,
    value json,
    type text,
    source_id uuid,
    confidence double precision,
    written_at timestamptz NOT NULL DEFAULT now(),
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text CHECK (private_to IS NULL),
    PRIMARY KEY (tenant_id, run_id, key, version)
);

CALL wall_in_content('fact_versions');
GRANT SELECT ON fact_versions TO keepword_app;

CREATE FUNCTION keep_fact_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO fact_versions (tenant_id, scope_kind, scope_id, key, version, run_id, visibility)
        VALUES (OLD.tenant_id, OLD.scope_kind, OLD.scope_id, OLD.key, OLD.version + 1, OLD.run_id, OLD.visibility);
        RETURN OLD;
    END IF;
    INSERT INTO fact_versions (
        tenant_id, scope_kind, scope_id, key, version, value, type, source_id, confidence, run_id, visibility)
    VALUES (NEW.tenant_id, NEW.scope_kind, NEW.scope_id, NEW.key, NEW.version, NEW.value, NEW.type, NEW.source_id,
            NEW.confidence, NEW.run_id, NEW.visibility);
    RETURN NEW;
END
$$;
REVOKE EXECUTE ON FUNCTION keep_fact_version() FROM PUBLIC;

CREATE TRIGGER facts_keep_their_versions AFTER INSERT OR UPDATE OR DELETE ON facts
    FOR EACH ROW EXECUTE FUNCTION keep_fact_version();

-- Those who write one fact take turns, also while there is no row that could be locked.
CREATE FUNCTION fact_turn(tenant uuid, run text, wanted text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT hashtextextended(run || chr(10) || wanted, uuid_hash_extended(tenant, 8)) $$;

-- Both write under a grant of their own, as the caller and behind the walls, in one statement. The outcome says why
-- nothing was written, if nothing was; the rest is what the fact then is, and `held_version` 0 where there is none.
CREATE FUNCTION put_fact(
    grant_ text, tenant uuid, kind text, scope text, run text, wanted text, given json, given_type text,
    keeps_type boolean, source uuid, sure double precision, expected bigint
) RETURNS TABLE (outcome text, held_version bigint, held_type text, made_at timestamptz, changed_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    held facts;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(fact_turn(tenant, run, wanted));
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
            AND source IS NOT DISTINCT FROM held.source_id AND sure IS NOT DISTINCT FROM held.confidence THEN 'same'
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
        INSERT INTO facts AS f (tenant_id, scope_kind, scope_id, key, value, type, version, source_id, confidence)
        SELECT tenant, kind, scope, wanted, given, held_type, 1 + COALESCE(max(v.version), 0), source, sure
        FROM fact_versions v WHERE v.tenant_id = tenant AND v.run_id = run AND v.key = wanted
        RETURNING f.version, f.created_at, f.updated_at INTO held_version, made_at, changed_at;
    END IF;
    RETURN NEXT;
END
$$;

CREATE FUNCTION delete_fact(grant_ text, tenant uuid, run text, wanted text, expected bigint)
RETURNS TABLE (outcome text, held_version bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(fact_turn(tenant, run, wanted));
    SELECT f.version INTO held_version FROM facts f
    WHERE f.tenant_id = tenant AND f.run_id = run AND f.key = wanted;
    outcome := CASE
        WHEN held_version IS NULL THEN 'absent'
        WHEN expected <> held_version THEN 'outdated'
        ELSE 'deleted'
    END;
    IF outcome = 'deleted' THEN
        DELETE FROM facts f WHERE f.tenant_id = tenant AND f.run_id = run AND f.key = wanted;
    END IF;
    RETURN NEXT;
END
$$;
