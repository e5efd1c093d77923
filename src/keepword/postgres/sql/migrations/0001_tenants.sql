-- Tenants and their keys. The application role reads keys only through one function that never returns a secret.

CREATE TABLE tenants (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL UNIQUE CHECK (name <> ''),
    created_at timestamptz NOT NULL DEFAULT now()
);

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

CREATE FUNCTION find_key(wanted text)
RETURNS TABLE (
    id text, tenant_id uuid, tenant text, role text, agent text, user_id text,
    digest bytea, expires_at timestamptz, revoked_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT k.id, k.tenant_id, t.name, k.role, k.agent, k.user_id, k.digest, k.expires_at, k.revoked_at
    FROM keys k JOIN tenants t ON t.id = k.tenant_id
    WHERE k.id = wanted
$$;

-- The tenant that needs no key: `default`, as long as nobody has ever made a key.
CREATE FUNCTION keyless_tenant()
RETURNS TABLE (id uuid, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT t.id, t.name FROM tenants t
    WHERE t.name = 'default' AND NOT EXISTS (SELECT FROM keys)
$$;

REVOKE EXECUTE ON FUNCTION find_key(text), keyless_tenant() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_key(text), keyless_tenant() TO keepword_app;
