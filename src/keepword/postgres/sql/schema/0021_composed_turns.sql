-- Composed turns as they were: ids, sizes, scores and reasons. No words: these are read again when somebody looks.

CREATE TABLE composed_turns (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    agent text NOT NULL,
    user_id text,
    asked uuid,
    template text NOT NULL,
    recipe text NOT NULL,
    reach text,
    window_tokens bigint NOT NULL,
    tokens bigint NOT NULL,
    injected_tokens bigint NOT NULL,
    proposed_tokens bigint NOT NULL,
    compacted bigint NOT NULL,
    sections jsonb NOT NULL CHECK (jsonb_typeof(sections) = 'array'),
    left_out jsonb NOT NULL CHECK (jsonb_typeof(left_out) = 'array'),
    degraded jsonb NOT NULL CHECK (jsonb_typeof(degraded) = 'array'),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility) ON DELETE CASCADE
);
CREATE INDEX composed_turns_in_conversation ON composed_turns (tenant_id, conversation_id, created_at, id);
CREATE INDEX composed_turns_in_time ON composed_turns (created_at);

ALTER TABLE composed_turns ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON composed_turns TO keepword_app;
