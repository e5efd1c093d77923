-- What was extracted from messages, with its sources and its history.

-- A memory is of a conversation's place, or of a project: then it is shared, and by no user in particular.
CREATE TABLE memories (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid,
    project_id text,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    user_id text,
    agent text,
    type text NOT NULL CHECK (type IN ('correction', 'preference', 'decision', 'fact', 'task', 'action')),
    content text NOT NULL CHECK (content <> ''),
    -- of what it means, without the small words
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    importance real NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    times integer NOT NULL DEFAULT 1 CHECK (times >= 1),
    version integer NOT NULL DEFAULT 1,
    valid_from timestamptz NOT NULL,
    said_at timestamptz NOT NULL,
    valid_to timestamptz,
    superseded_by uuid,
    deleted_at timestamptz,
    model text NOT NULL,
    pipeline_version integer NOT NULL,
    -- all the messages that it was found in are vouched for, or whoever told it vouches
    vouched boolean NOT NULL DEFAULT true,
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
    categories text[] NOT NULL DEFAULT '{}',
    -- from then on it is not true any more; expire_memories ends it
    expires_at timestamptz,
    feedback text CHECK (feedback IN ('positive', 'negative', 'very_negative')),
    feedback_reason text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, id),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    CHECK (superseded_by IS NULL OR valid_to IS NOT NULL),
    CHECK ((conversation_id IS NULL) = (project_id IS NOT NULL)),
    CHECK (conversation_id IS NULL OR agent IS NOT NULL),
    CHECK (project_id IS NULL OR (
        run_id = 'project:' || project_id AND visibility = 'shared' AND private_to IS NULL AND user_id IS NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility),
    FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id),
    FOREIGN KEY (tenant_id, superseded_by) REFERENCES memories (tenant_id, id) DEFERRABLE INITIALLY DEFERRED
);
-- two workers at once can't make a duplicate
CREATE UNIQUE INDEX memories_once ON memories (tenant_id, run_id, digest) WHERE valid_to IS NULL AND deleted_at IS NULL;
CREATE INDEX memories_in_scope ON memories (tenant_id, run_id, valid_from, id);
CREATE INDEX memories_in_time ON memories (tenant_id, valid_from, id);
CREATE INDEX memories_of_user ON memories (tenant_id, user_id);
CREATE INDEX memories_to_expire ON memories (expires_at)
    WHERE expires_at IS NOT NULL AND valid_to IS NULL AND deleted_at IS NULL;

CREATE TABLE memory_sources (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    message_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    -- what was found in the message, which the memory may have been changed from since
    digest bytea NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, message_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id),
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id)
);
CREATE INDEX memory_sources_by_message ON memory_sources (tenant_id, message_id);

CREATE TABLE memory_versions (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    version integer NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    event text NOT NULL CHECK (event IN (
        'added', 'merged', 'superseded', 'changed', 'deleted', 'restored', 'expired', 'rated')),
    type text NOT NULL,
    content text NOT NULL,
    importance real NOT NULL,
    confidence real NOT NULL,
    superseded_by uuid,
    by_whom text,
    metadata jsonb NOT NULL DEFAULT '{}',
    categories text[] NOT NULL DEFAULT '{}',
    expires_at timestamptz,
    feedback text,
    feedback_reason text,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, memory_id, version),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES memories (tenant_id, id)
);

ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_versions ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON memories, memory_sources, memory_versions TO keepword_app;

-- Behind functions alone. A scope's revision is its lock, and tells whether what was decided on is still so.
CREATE TABLE memory_revisions (
    tenant_id uuid NOT NULL,
    run_id text NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, run_id)
);

-- How far each conversation was read.
CREATE TABLE extractions (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    done_seq bigint NOT NULL,
    waiting boolean NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, conversation_id)
);
CREATE INDEX extractions_waiting ON extractions (tenant_id, conversation_id) WHERE waiting;

ALTER TABLE memory_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE extractions ENABLE ROW LEVEL SECURITY;
