-- Addresses that are told of changes, and what each is still to be told: ids, and never a word of what was said.

CREATE TABLE webhooks (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    name text NOT NULL DEFAULT '' CHECK (char_length(name) <= 200),
    url text NOT NULL CHECK (url ~ '^https?://' AND char_length(url) <= 2000),
    -- memory.added, all of a kind such as memory, or * for everything
    events text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 50),
    -- deliveries are signed with it
    secret text NOT NULL CHECK (char_length(secret) BETWEEN 16 AND 200),
    is_active boolean NOT NULL DEFAULT true,
    -- why the service itself stopped telling it; NULL while it is active, or where somebody stopped it
    stopped_because text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX webhooks_by_age ON webhooks (tenant_id, created_at, id);

CREATE TABLE webhook_deliveries (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    webhook_id uuid NOT NULL,
    event text NOT NULL,
    place text,
    ids jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(ids) = 'object'),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts integer NOT NULL DEFAULT 0,
    -- when to try it next, or how long whoever tries it now has for that; NULL: it arrived, or was given up
    due_at timestamptz DEFAULT clock_timestamp(),
    delivered_at timestamptz,
    status integer,
    error text,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_in_time ON webhook_deliveries (tenant_id, webhook_id, at, id);
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (at) WHERE due_at IS NULL;

ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
-- nobody reads a secret again; whoever delivers gets it from claim_deliveries
GRANT SELECT (tenant_id, id, name, url, events, is_active, stopped_because, created_at, updated_at) ON webhooks TO keepword_app;
GRANT INSERT (tenant_id, name, url, events, secret) ON webhooks TO keepword_app;
GRANT UPDATE (name, url, events, is_active, stopped_because, updated_at) ON webhooks TO keepword_app;
GRANT DELETE ON webhooks TO keepword_app;
GRANT SELECT ON webhook_deliveries TO keepword_app;
