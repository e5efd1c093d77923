-- A profile is a list of lines, each with where it comes from: lines that were said (memories, read live) and lines
-- that were shared by hand.

-- The id of a user's profile as long as nothing was written into it by hand; it looks like all the others.
CREATE FUNCTION first_profile_id(tenant uuid, person text) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    $$ SELECT overlay(overlay(md5(tenant::text || ':' || person) PLACING '4' FROM 13) PLACING 'a' FROM 17)::uuid $$;
CREATE INDEX users_by_first_profile ON users (tenant_id, first_profile_id(tenant_id, id));

CREATE TYPE memory_type_enum AS ENUM ('user', 'workspace');

-- A profile's row holds its id, when it was first written by hand, and since when what was remembered before is
-- replaced by that.
CREATE TABLE profiles (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    type memory_type_enum NOT NULL DEFAULT 'user',
    user_id text,
    created_at timestamptz NOT NULL DEFAULT now(),
    shared_at timestamptz,
    written_at timestamptz,
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

-- The lines that were written by hand, in their order. A line that repeats what is remembered stays where that was
-- said: it is the owner's to read here, and others read it as the memories that it repeats. `is_filler` marks
-- headings and empty lines beside repeated ones.
CREATE TABLE profile_texts (
    tenant_id uuid NOT NULL,
    profile_id uuid NOT NULL,
    line integer NOT NULL CHECK (line >= 0),
    content text NOT NULL,
    memory_ids uuid[] NOT NULL DEFAULT '{}',
    is_filler boolean NOT NULL DEFAULT false,
    run_id text NOT NULL,
    visibility text NOT NULL GENERATED ALWAYS AS ('shared') STORED,
    private_to text CHECK (private_to IS NULL),  -- none is private; the wall asks
    PRIMARY KEY (tenant_id, profile_id, line),
    FOREIGN KEY (tenant_id, profile_id) REFERENCES profiles (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX profile_texts_in_scope ON profile_texts (tenant_id, run_id);

-- Every text that was written by hand, and who wrote it; a deletion is a version without a text. For the owner alone.
CREATE TABLE profile_versions (
    tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    run_id text NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    profile_id uuid NOT NULL,
    memory text,
    by_whom text,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, run_id, version)
);

ALTER TABLE profiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE profile_texts ENABLE ROW LEVEL SECURITY;
ALTER TABLE profile_versions ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON profiles, profile_texts, profile_versions TO keepword_app;
