-- The transcript: append-only, complete, and refused to everyone who would change it.

CREATE TABLE messages (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    role text NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    user_id text,
    agent text,
    content text NOT NULL,
    tool_name text,
    tool_args jsonb,
    tool_result text,
    attachments jsonb NOT NULL,
    metadata jsonb NOT NULL,
    event_id text,
    digest bytea,
    created_at timestamptz NOT NULL,
    -- appended by a key that vouches for the user who is said to have written it
    vouched boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, conversation_id, seq),
    UNIQUE (tenant_id, id),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    CHECK ((event_id IS NULL) = (digest IS NULL)),
    -- a message can't claim another place than its conversation's
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility)
);

CREATE UNIQUE INDEX messages_event ON messages (tenant_id, conversation_id, event_id) WHERE event_id IS NOT NULL;
CREATE INDEX messages_in_time ON messages (tenant_id, conversation_id, created_at, seq);
CREATE INDEX messages_in_scope ON messages (tenant_id, run_id, created_at, id);
CREATE INDEX messages_in_tenant ON messages (tenant_id, created_at, id);
CREATE INDEX messages_by_trigram ON messages USING gin (content public.gin_trgm_ops);

ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON messages TO keepword_app;
