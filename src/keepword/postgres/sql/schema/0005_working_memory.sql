-- A conversation's scratch fields with a lifetime, and the ledger of what was injected into it.

-- `fields` holds each field's stored text as a string: as JSON, numbers and the order of keys would not stay as they came.
-- No index on what changes with every read: the refresh is an update in place.
-- Reading refreshes the lifetime, so a read is a write, also for who may only read. The application can't write the
-- table at all: it calls functions, which apply the grant that they are given as the policies would.
CREATE TABLE working_memories (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    fields jsonb NOT NULL CHECK (fields <> '{}'),
    ttl_seconds integer NOT NULL CHECK (ttl_seconds BETWEEN 1 AND 2592000),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, conversation_id),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility)
) WITH (fillfactor = 50);

CREATE TABLE ledger_marks (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    item_key text NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    value text NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, conversation_id, item_key),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility)
);

ALTER TABLE working_memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger_marks ENABLE ROW LEVEL SECURITY;
GRANT SELECT, DELETE ON working_memories TO keepword_app;
GRANT SELECT, INSERT, DELETE ON ledger_marks TO keepword_app;
