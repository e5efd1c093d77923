-- What compaction makes, and what it has still to do.

-- Leaves tile their conversation: each begins where its predecessor ends, the first at 1, and no two begin or end at the
-- same message. So each message is in at most one leaf of a pipeline version, and there is never a gap before a leaf.
-- A summary with the tier `stored` was written by an agent, whose lists may be null, and covers no messages in
-- particular. Of each conversation one version serves; one that is being made does not yet, one that was replaced no
-- longer.
CREATE TABLE summaries (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    tier text NOT NULL CHECK (tier IN ('thread', 'session', 'day', 'week', 'stored')),
    pipeline_version integer NOT NULL CHECK (pipeline_version >= 0),
    parent_id uuid,
    first_seq bigint,
    last_seq bigint,
    earliest_at timestamptz NOT NULL,
    latest_at timestamptz NOT NULL,
    message_count bigint NOT NULL CHECK (message_count >= 0),
    message_tokens bigint NOT NULL CHECK (message_tokens >= 0),
    content text NOT NULL CHECK (content <> ''),
    model text NOT NULL,
    share real NOT NULL CHECK (share BETWEEN 0 AND 1),
    reason text,
    key_decisions jsonb,
    entities_mentioned jsonb,
    tools_called jsonb,
    agent text NOT NULL,
    user_id text,
    serving boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    leaf_first bigint GENERATED ALWAYS AS (CASE tier WHEN 'thread' THEN first_seq END) STORED,
    leaf_last bigint GENERATED ALWAYS AS (CASE tier WHEN 'thread' THEN last_seq END) STORED,
    leaf_follows bigint GENERATED ALWAYS AS (CASE WHEN tier = 'thread' AND first_seq > 1 THEN first_seq - 1 END) STORED,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, conversation_id, pipeline_version, leaf_first),
    UNIQUE (tenant_id, conversation_id, pipeline_version, leaf_last),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    CHECK ((tier = 'stored') = (first_seq IS NULL) AND (first_seq IS NULL) = (last_seq IS NULL)),
    CHECK (first_seq >= 1 AND last_seq >= first_seq),
    CHECK (parent_id IS NULL OR tier IN ('thread', 'session', 'day')),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility),
    FOREIGN KEY (tenant_id, parent_id) REFERENCES summaries (tenant_id, id),
    FOREIGN KEY (tenant_id, conversation_id, pipeline_version, leaf_follows)
        REFERENCES summaries (tenant_id, conversation_id, pipeline_version, leaf_last),
    FOREIGN KEY (tenant_id, conversation_id, leaf_last) REFERENCES messages (tenant_id, conversation_id, seq)
);
CREATE INDEX summaries_in_conversation ON summaries (tenant_id, conversation_id, tier, first_seq);
CREATE INDEX summaries_by_parent ON summaries (tenant_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX summaries_without_parent ON summaries (tenant_id, conversation_id, tier)
    WHERE parent_id IS NULL AND tier IN ('thread', 'session', 'day');

-- An unpinned landmark stays as history, and is never found again in the same message.
CREATE TABLE landmarks (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    kind text NOT NULL CHECK (kind IN ('decision', 'spec', 'code', 'action', 'question', 'link', 'pin')),
    content text NOT NULL CHECK (content <> ''),
    pinned_by text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    unpinned_at timestamptz,
    unpinned_by text,
    PRIMARY KEY (tenant_id, id),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility),
    FOREIGN KEY (tenant_id, conversation_id, seq) REFERENCES messages (tenant_id, conversation_id, seq)
);
CREATE UNIQUE INDEX landmarks_pinned ON landmarks (tenant_id, conversation_id, seq, kind) WHERE unpinned_at IS NULL;
CREATE INDEX landmarks_in_message ON landmarks (tenant_id, conversation_id, seq, kind);
CREATE INDEX landmarks_in_scope ON landmarks (tenant_id, run_id, created_at, id);

CREATE TABLE tool_sentences (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    content text NOT NULL CHECK (content <> ''),
    model text NOT NULL,
    reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, conversation_id, seq),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility),
    FOREIGN KEY (tenant_id, conversation_id, seq) REFERENCES messages (tenant_id, conversation_id, seq)
);

ALTER TABLE summaries ENABLE ROW LEVEL SECURITY;
ALTER TABLE landmarks ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_sentences ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON summaries, landmarks, tool_sentences TO keepword_app;

-- What is still to be done, as ids only; the application reaches these tables through functions alone.
-- A row of the outbox is one message's task; it goes in the transaction that stores what the task makes. `recompact` is
-- the task of a whole conversation, with a seq of 0. A task that failed too often is given up until somebody retries it.
CREATE TABLE outbox (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    task text NOT NULL CHECK (task IN ('describe', 'landmark', 'recompact')),
    seq bigint NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, conversation_id, task, seq)
);

-- A conversation with anything left to compact. Up to `covered_seq` it has leaves; at `next_at` a day or week ends;
-- below `due_seq` there is no use in looking again.
CREATE TABLE compactions (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    covered_seq bigint NOT NULL,
    due_seq bigint NOT NULL DEFAULT 0,
    next_at timestamptz,
    PRIMARY KEY (tenant_id, conversation_id)
);

-- Why a conversation's job failed last; a job that succeeds clears it.
CREATE TABLE job_errors (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    task text NOT NULL,
    error text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, conversation_id, task)
);

ALTER TABLE outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE compactions ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_errors ENABLE ROW LEVEL SECURITY;
