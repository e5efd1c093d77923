-- Which server each tenant lives on, where several share them. Servers have the names of the setting KEEPWORD_SERVERS.

-- On the first server alone: the directory. It is a hint, which saves asking all servers: a tenant's own server decides.
CREATE TABLE tenant_places (
    tenant_id uuid PRIMARY KEY,
    server text NOT NULL CHECK (server <> ''),
    placed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX tenant_places_by_time ON tenant_places (placed_at);
ALTER TABLE tenant_places ENABLE ROW LEVEL SECURITY;

-- On each server: the tenants that live on another one, whatever rows of theirs are here. Those that were given away, and
-- those that are still being copied to here. No key of theirs opens anything here.
CREATE TABLE moved_tenants (
    tenant_id uuid PRIMARY KEY,
    server text NOT NULL CHECK (server <> ''),
    moved_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE moved_tenants ENABLE ROW LEVEL SECURITY;

-- On the first server alone: the servers that are being emptied, where no new tenant is made.
CREATE TABLE draining_servers (
    server text PRIMARY KEY CHECK (server <> ''),
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);
