-- Profiles: one free-text memory of the workspace and one per member, each written as a whole.

CREATE TYPE memory_type_enum AS ENUM ('user', 'workspace');

CREATE TABLE profiles (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    type memory_type_enum NOT NULL DEFAULT 'user',
    user_id text,
    memory text NOT NULL,
    source_time timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    run_id text NOT NULL GENERATED ALWAYS AS (
        CASE WHEN user_id IS NULL THEN 'global' ELSE 'profile:' || user_id END
    ) STORED,
    visibility text NOT NULL GENERATED ALWAYS AS ('shared') STORED,
    private_to text CHECK (private_to IS NULL),  -- no profile is private; the wall asks
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT profiles_type_membership_check
        CHECK ((type = 'user' AND user_id IS NOT NULL) OR (type = 'workspace' AND user_id IS NULL)),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id)
);

CREATE UNIQUE INDEX profiles_workspace_unique ON profiles (tenant_id) WHERE type = 'workspace';
CREATE UNIQUE INDEX profiles_membership_unique ON profiles (tenant_id, user_id) WHERE type = 'user';
CREATE INDEX profiles_in_scope ON profiles (tenant_id, run_id);

CREATE FUNCTION refuse_other_profile() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.tenant_id, NEW.id, NEW.type, NEW.created_at) IS DISTINCT FROM
       (OLD.tenant_id, OLD.id, OLD.type, OLD.created_at) OR NEW.user_id IS DISTINCT FROM OLD.user_id
    THEN
        RAISE EXCEPTION 'a profile''s id, scope and created_at never change' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER profiles_stay_whose_they_are BEFORE UPDATE ON profiles
    FOR EACH ROW EXECUTE FUNCTION refuse_other_profile();

-- Read as all shared knowledge is, written for the tenant's owner alone: by the background's pipeline and by admins.
CALL wall_in_content('profiles');
CREATE POLICY owned ON profiles TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()) AND (SELECT granted_everything()))
    WITH CHECK (tenant_id = (SELECT granted_tenant()) AND (SELECT granted_everything()));
GRANT SELECT, INSERT, DELETE ON profiles TO keepword_app;
GRANT UPDATE (memory, source_time, updated_at) ON profiles TO keepword_app;

-- A number to sort by: a field, with a minus in front the other way round. Times keep their microseconds.
CREATE FUNCTION profile_rank(type memory_type_enum, created_at timestamptz, updated_at timestamptz, wanted text)
RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN wanted LIKE '-%' THEN -1 ELSE 1 END * CASE ltrim(wanted, '-')
        WHEN 'created_at' THEN extract(epoch FROM created_at)
        WHEN 'updated_at' THEN extract(epoch FROM updated_at)
        WHEN 'type' THEN CASE type WHEN 'user' THEN 0 ELSE 1 END
    END
$$;
