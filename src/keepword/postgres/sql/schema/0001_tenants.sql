-- Tenants, their keys, and what they used. The application reads all of it through functions, which never return a secret.

CREATE TABLE tenants (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL UNIQUE CHECK (name <> ''),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- what each may be is checked where it is changed
    settings jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(settings) = 'object')
);
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
INSERT INTO tenants (name) VALUES ('default');

CREATE TABLE keys (
    id text PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    role text NOT NULL CHECK (role IN ('admin', 'agent', 'reader')),
    agent text,
    user_id text,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX keys_by_tenant ON keys (tenant_id, created_at);
ALTER TABLE keys ENABLE ROW LEVEL SECURITY;

-- A tenant that is being imported. `header` is the digest of the file's first line; up to `block`, with `digest`, all is stored.
CREATE TABLE imports (
    tenant_id uuid PRIMARY KEY REFERENCES tenants (id),
    header bytea NOT NULL,
    block bigint NOT NULL DEFAULT 0,
    digest bytea NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE imports ENABLE ROW LEVEL SECURITY;

-- What each tenant used on a day (UTC), for quotas: numbers alone. Kept only while a quota is set.
CREATE TABLE usage_by_day (
    tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    day date NOT NULL,
    messages bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    background_ms bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day)
);
ALTER TABLE usage_by_day ENABLE ROW LEVEL SECURITY;
