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
        AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = t.id)
$$;

-- The server that a key's tenant moved to, or has not left yet; null where it is not known or lives here.
CREATE OR REPLACE FUNCTION find_moved_key(wanted text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT m.server FROM keys k JOIN moved_tenants m ON m.tenant_id = k.tenant_id WHERE k.id = wanted
$$;

-- The directory's hint by a key's public part.
CREATE OR REPLACE FUNCTION find_key_place(wanted text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT p.server FROM key_places k JOIN tenant_places p ON p.tenant_id = k.tenant_id WHERE k.key_id = wanted
$$;

-- Notes where a key and its tenant were found. It corrects the directory, which decides nothing.
CREATE OR REPLACE FUNCTION note_key_place(wanted text, tenant uuid, at_server text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO key_places AS k (key_id, tenant_id) VALUES (wanted, tenant)
    ON CONFLICT (key_id) DO UPDATE SET tenant_id = excluded.tenant_id WHERE k.tenant_id <> excluded.tenant_id;
    INSERT INTO tenant_places AS p (tenant_id, server) VALUES (tenant, at_server)
    ON CONFLICT (tenant_id) DO UPDATE SET server = excluded.server, placed_at = excluded.placed_at
    WHERE p.server <> excluded.server;
$$;

-- The tenant that needs no key: `default`, as long as nobody has ever made a key; those of demos do not count.
CREATE OR REPLACE FUNCTION keyless_tenant()
RETURNS TABLE (id uuid, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT t.id, t.name FROM tenants t
    WHERE t.name = 'default'
        AND NOT EXISTS (SELECT FROM keys k JOIN tenants o ON o.id = k.tenant_id WHERE o.demo_of IS NULL)
        AND NOT EXISTS (SELECT FROM imports i WHERE i.tenant_id = t.id)
        AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = t.id)
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

-- Opens the tenant in which the demo's story is played for this one, made if there is none, by a key that manages it; keys made
-- for it before end. No row: this tenant is such a demo itself.
CREATE OR REPLACE FUNCTION open_demo(grant_ text, tenant uuid, new_id text, its_digest bytea, until timestamptz)
RETURNS TABLE (demo text, is_told boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    held tenants%ROWTYPE;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    -- two that open it at once take turns
    PERFORM FROM tenants t WHERE t.id = tenant AND t.demo_of IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO held FROM tenants t WHERE t.demo_of = tenant AND t.name NOT LIKE 'erased %';
    IF held.id IS NULL THEN
        INSERT INTO tenants (name, demo_of) VALUES ('demo-' || left(replace(gen_random_uuid()::text, '-', ''), 12), tenant)
        RETURNING * INTO held;
    END IF;
    PERFORM set_config('keepword.grant', grant_, true);
    UPDATE keys SET revoked_at = clock_timestamp() WHERE tenant_id = held.id AND revoked_at IS NULL;
    INSERT INTO keys (id, tenant_id, role, digest, expires_at) VALUES (new_id, held.id, 'admin', its_digest, until);
    RETURN QUERY SELECT held.name, EXISTS (SELECT FROM conversations c WHERE c.tenant_id = held.id);
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

-- Adds what the background did for tenants that have a limit. One that has just moved away is left out, so that the time of the
-- others is kept.
CREATE OR REPLACE FUNCTION count_background(tenants uuid[], on_day date, milliseconds bigint[], most_ms bigint)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO usage_by_day AS u (tenant_id, day, background_ms)
    SELECT n.tenant, on_day, n.ms FROM unnest(tenants, milliseconds) AS n (tenant, ms)
    WHERE background_limit(n.tenant, most_ms) IS NOT NULL AND NOT is_resting(n.tenant) ORDER BY n.tenant
    ON CONFLICT (tenant_id, day) DO UPDATE SET background_ms = u.background_ms + excluded.background_ms
$$;

CREATE OR REPLACE FUNCTION is_over_background(tenant uuid, on_day date, most_ms bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (SELECT FROM usage_by_day
                   WHERE tenant_id = tenant AND day = on_day AND background_ms >= background_limit(tenant, most_ms))
$$;
