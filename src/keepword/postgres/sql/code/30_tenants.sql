-- Tenants: their keys, settings and quotas.

CREATE OR REPLACE FUNCTION find_key(wanted text)
RETURNS TABLE (
    id text, tenant_id uuid, tenant text, role text, agent text, user_id text,
    digest bytea, expires_at timestamptz, revoked_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT k.id, k.tenant_id, t.name, k.role, k.agent, k.user_id, k.digest, k.expires_at, k.revoked_at
    FROM keys k JOIN tenants t ON t.id = k.tenant_id
    WHERE k.id = wanted AND NOT EXISTS (SELECT FROM imports i WHERE i.tenant_id = t.id)
$$;

-- The tenant that needs no key: `default`, as long as nobody has ever made a key.
CREATE OR REPLACE FUNCTION keyless_tenant()
RETURNS TABLE (id uuid, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT t.id, t.name FROM tenants t
    WHERE t.name = 'default' AND NOT EXISTS (SELECT FROM keys)
        AND NOT EXISTS (SELECT FROM imports i WHERE i.tenant_id = t.id)
$$;

-- A tenant's keys, the newest first, without what they are checked by; `after` is the last of the page before.
CREATE OR REPLACE FUNCTION find_keys(grant_ text, tenant uuid, after text, most integer)
RETURNS TABLE (
    id text, role text, agent text, user_id text, created_at timestamptz, expires_at timestamptz, revoked_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    RETURN QUERY
        SELECT k.id, k.role, k.agent, k.user_id, k.created_at, k.expires_at, k.revoked_at FROM keys k
        WHERE k.tenant_id = tenant AND (after IS NULL OR (k.created_at, k.id) < (
            SELECT l.created_at, l.id FROM keys l WHERE l.tenant_id = tenant AND l.id = after))
        ORDER BY k.created_at DESC, k.id DESC LIMIT most;
END
$$;

-- Makes a key of which only the digest is known here, and its user if that is new.
CREATE OR REPLACE FUNCTION make_key(
    grant_ text, tenant uuid, new_id text, its_role text, its_agent text, its_user text, its_digest bytea,
    until timestamptz
) RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    made timestamptz;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    -- for the audit, which a trigger writes
    PERFORM set_config('keepword.grant', grant_, true);
    IF its_user IS NOT NULL THEN
        INSERT INTO users (tenant_id, id) VALUES (tenant, its_user) ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO keys (id, tenant_id, role, agent, user_id, digest, expires_at)
    VALUES (new_id, tenant, its_role, its_agent, its_user, its_digest, until) RETURNING created_at INTO made;
    RETURN made;
END
$$;

-- Ends a key: `revoked`, also one that was before; `absent`; or `last`, of the one that alone manages the tenant, which stays.
CREATE OR REPLACE FUNCTION revoke_key(grant_ text, tenant uuid, wanted text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    managing text[];
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    PERFORM set_config('keepword.grant', grant_, true);
    -- locked, so that two that revoke each other leave one
    managing := ARRAY(
        SELECT id FROM keys
        WHERE tenant_id = tenant AND role = 'admin' AND agent IS NULL AND user_id IS NULL AND revoked_at IS NULL
            AND (expires_at IS NULL OR expires_at > now())
        ORDER BY id FOR UPDATE);
    IF managing = ARRAY[wanted] THEN
        RETURN 'last';
    END IF;
    UPDATE keys SET revoked_at = COALESCE(revoked_at, now()) WHERE tenant_id = tenant AND id = wanted;
    RETURN CASE WHEN FOUND THEN 'revoked' ELSE 'absent' END;
END
$$;

CREATE OR REPLACE FUNCTION find_settings(in_tenant uuid) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT settings FROM tenants WHERE id = in_tenant
$$;

CREATE OR REPLACE FUNCTION change_settings(grant_ text, tenant uuid, changes jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    changed jsonb;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    -- for the audit, which a trigger writes
    PERFORM set_config('keepword.grant', grant_, true);
    UPDATE tenants SET settings = settings || changes WHERE id = tenant RETURNING settings INTO changed;
    RETURN changed;
END
$$;

-- Counts messages and bytes unless that goes over a limit; null is none. Negative numbers give back.
CREATE OR REPLACE FUNCTION take_quota(
    tenant uuid, on_day date, new_messages bigint, new_bytes bigint, most_messages bigint, most_bytes bigint
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    INSERT INTO usage_by_day (tenant_id, day) VALUES (tenant, on_day) ON CONFLICT DO NOTHING;
    UPDATE usage_by_day SET messages = messages + new_messages, bytes = bytes + new_bytes
    WHERE tenant_id = tenant AND day = on_day
        AND (most_messages IS NULL OR messages + new_messages <= most_messages)
        AND (most_bytes IS NULL OR bytes + new_bytes <= most_bytes);
    RETURN FOUND;
END
$$;

-- How long the background may work for a tenant on a day: its own limit, else the one that all have; null is none.
CREATE OR REPLACE FUNCTION background_limit(tenant uuid, default_ms bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT COALESCE((settings ->> 'quota_background_seconds')::bigint * 1000, default_ms) FROM keepword.tenants
    WHERE id = tenant
$$;

-- Adds what the background did for tenants that have a limit.
CREATE OR REPLACE FUNCTION count_background(tenants uuid[], on_day date, milliseconds bigint[], most_ms bigint)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO usage_by_day AS u (tenant_id, day, background_ms)
    SELECT n.tenant, on_day, n.ms FROM unnest(tenants, milliseconds) AS n (tenant, ms)
    WHERE background_limit(n.tenant, most_ms) IS NOT NULL ORDER BY n.tenant
    ON CONFLICT (tenant_id, day) DO UPDATE SET background_ms = u.background_ms + excluded.background_ms
$$;

CREATE OR REPLACE FUNCTION is_over_background(tenant uuid, on_day date, most_ms bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (SELECT FROM usage_by_day
                   WHERE tenant_id = tenant AND day = on_day AND background_ms >= background_limit(tenant, most_ms))
$$;
