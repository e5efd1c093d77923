-- Exact typed values under a key and scope, with every version.

CREATE FUNCTION is_of_type(given json, declared text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN declared IS NULL THEN true
        WHEN declared = 'integer' THEN json_typeof(given) = 'number' AND given::text !~ '[.eE]'
        ELSE json_typeof(given) = declared
    END
$$;

CREATE FUNCTION fact_run_id(kind text, id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE kind WHEN 'user' THEN 'profile:' || id WHEN 'global' THEN 'global' ELSE kind || ':' || id END
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
    -- the conversations that a fact about a user comes from, by the place it was set in and by its source: one from none
    -- was put by the owner, and is shared by hand; the zero id stands for one that nobody knows
    said_in uuid[] NOT NULL DEFAULT '{}',
    -- the tenant's owner wrote it, and nobody else changes it
    by_owner boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- given, not generated: a key for logical replication holds no generated column
    run_id text NOT NULL CHECK (run_id = fact_run_id(scope_kind, scope_id)),
    visibility text NOT NULL GENERATED ALWAYS AS (CASE scope_kind WHEN 'room' THEN 'public' ELSE 'shared' END) STORED,
    private_to text CHECK (private_to IS NULL),  -- no fact is private; the wall asks
    user_id text GENERATED ALWAYS AS (CASE scope_kind WHEN 'user' THEN scope_id END) STORED,
    project_id text GENERATED ALWAYS AS (CASE scope_kind WHEN 'project' THEN scope_id END) STORED,
    room_id text GENERATED ALWAYS AS (CASE scope_kind WHEN 'room' THEN scope_id END) STORED,
    PRIMARY KEY (tenant_id, run_id, key),
    CHECK ((scope_kind = 'global') = (scope_id IS NULL)),
    CONSTRAINT facts_value_is_of_its_type CHECK (is_of_type(value, type)),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id),
    FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id),
    FOREIGN KEY (tenant_id, room_id) REFERENCES rooms (tenant_id, id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES messages (tenant_id, id)
);

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
    said_in uuid[] NOT NULL DEFAULT '{}',
    written_at timestamptz NOT NULL DEFAULT now(),
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text CHECK (private_to IS NULL),
    PRIMARY KEY (tenant_id, run_id, key, version)
);

ALTER TABLE facts ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_versions ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, DELETE ON facts TO keepword_app;
GRANT UPDATE (value, type, version, source_id, confidence, updated_at) ON facts TO keepword_app;
GRANT SELECT ON fact_versions TO keepword_app;
