-- Moves of tenants between servers: how far each is, and which tenants are closed to writes meanwhile.

-- On the first server alone: the moves, each noted after every step, so that one that was killed goes on or is undone.
CREATE TABLE tenant_moves (
    tenant_id uuid PRIMARY KEY,
    source text NOT NULL CHECK (source <> ''),
    target text NOT NULL CHECK (target <> '' AND target <> source),
    step text NOT NULL,
    keep_days integer NOT NULL CHECK (keep_days >= 0),
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- since then the new server serves it
    moved_at timestamptz
);
ALTER TABLE tenant_moves ENABLE ROW LEVEL SECURITY;

-- On the first server alone: servers have numbers, and each gives rows ids of its own range.
CREATE TABLE server_numbers (
    number integer PRIMARY KEY CHECK (number BETWEEN 1 AND 511),
    server text NOT NULL UNIQUE CHECK (server <> '')
);
ALTER TABLE server_numbers ENABLE ROW LEVEL SECURITY;

-- On each server: tenants that nobody may write to until a time. It passes by itself, so that a killed move closes nothing.
CREATE TABLE closed_tenants (
    tenant_id uuid PRIMARY KEY,
    closed_until timestamptz NOT NULL
);
ALTER TABLE closed_tenants ENABLE ROW LEVEL SECURITY;

-- Logical replication of one tenant's rows needs its id in what identifies a row.
CREATE UNIQUE INDEX keys_of_tenant ON keys (tenant_id, id);
ALTER TABLE keys REPLICA IDENTITY USING INDEX keys_of_tenant;
