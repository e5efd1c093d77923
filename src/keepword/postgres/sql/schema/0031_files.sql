-- Files as memory: trees of text files of an agent, a user with an agent, a room and a project, with every version.

-- Of each path at most one version is current; a deletion is a version without content, and so is one whose words were
-- erased, which has a time of that.
CREATE TABLE file_versions (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    run_id text NOT NULL,
    path text COLLATE "C" NOT NULL CHECK (path LIKE '/memories/%' AND octet_length(path) <= 1024),
    version bigint NOT NULL CHECK (version > 0),
    operation text NOT NULL CHECK (operation IN ('created', 'modified', 'deleted')),
    is_current boolean NOT NULL,
    content text,
    size integer,
    sha256 text,
    author text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    redacted_by text,
    redacted_at timestamptz,
    -- of a user with an agent `files:<user>:<agent>`, and an agent's slug has no colon
    visibility text NOT NULL GENERATED ALWAYS AS (
        CASE WHEN run_id LIKE 'room:%' THEN 'public' WHEN run_id LIKE 'files:%' THEN 'private' ELSE 'shared' END) STORED,
    private_to text GENERATED ALWAYS AS (substring(run_id FROM '^files:(.*):[^:]*$')) STORED,
    PRIMARY KEY (tenant_id, run_id, path, version),
    CHECK (run_id ~ '^(agent|files|room|project):'),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    CHECK ((content IS NULL) = (operation = 'deleted' OR redacted_at IS NOT NULL)),
    CHECK (NOT is_current OR content IS NOT NULL),
    CHECK ((size IS NULL) = (operation = 'deleted') AND (sha256 IS NULL) = (content IS NULL))
);
CREATE UNIQUE INDEX current_files ON file_versions (tenant_id, run_id, path) WHERE is_current;
ALTER TABLE file_versions ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT ON file_versions TO keepword_app;
-- what was written stays as it was: it is no longer current, or its words are erased
GRANT UPDATE (is_current, content, sha256, redacted_by, redacted_at) ON file_versions TO keepword_app;
