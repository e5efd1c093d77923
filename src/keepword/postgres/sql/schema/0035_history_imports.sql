-- Histories of other programs that were uploaded, and what became of them.

CREATE TABLE history_imports (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    kind text NOT NULL,
    -- what the uploaded file is called: its ending tells what it is
    file text NOT NULL,
    options jsonb NOT NULL CHECK (jsonb_typeof(options) = 'object'),
    state text NOT NULL DEFAULT 'uploading' CHECK (
        state IN ('uploading', 'waiting', 'running', 'cancelling', 'checked', 'done', 'failed', 'cancelled')),
    dry_run boolean NOT NULL DEFAULT false,
    -- of the key that started it; what it stores is noted as done by that key
    key_id text,
    uploaded_bytes bigint NOT NULL DEFAULT 0,
    read_bytes bigint NOT NULL DEFAULT 0,
    total_bytes bigint NOT NULL DEFAULT 0,
    report jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(report) = 'object'),
    error text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz,
    -- whoever runs it holds the lease; without news it may be taken over after that time
    lease uuid,
    lease_until timestamptz,
    run_after timestamptz,
    -- how often it was begun since it last came further, and how far in messages that was
    attempts smallint NOT NULL DEFAULT 0,
    furthest bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX history_imports_in_time ON history_imports (tenant_id, created_at, id);
CREATE INDEX history_imports_to_do ON history_imports (changed_at) WHERE state IN ('waiting', 'running', 'cancelling');

-- The uploaded file, until its import ends.
CREATE TABLE history_import_parts (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    number integer NOT NULL CHECK (number BETWEEN 1 AND 100000),
    data bytea NOT NULL,
    PRIMARY KEY (tenant_id, import_id, number),
    FOREIGN KEY (tenant_id, import_id) REFERENCES history_imports (tenant_id, id) ON DELETE CASCADE
);
-- most uploads are packed
ALTER TABLE history_import_parts ALTER COLUMN data SET STORAGE EXTERNAL;

ALTER TABLE history_imports ENABLE ROW LEVEL SECURITY;
ALTER TABLE history_import_parts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON history_imports TO keepword_app;
