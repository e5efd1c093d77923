-- Moves of tenants between servers: a tenant has one server that writes to it, and none while it changes over.

-- Tells whether background work leaves a tenant alone here: it lives elsewhere, or changes over right now.
CREATE OR REPLACE FUNCTION is_resting(tenant uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM keepword.moved_tenants m WHERE m.tenant_id = tenant)
        OR EXISTS (SELECT FROM keepword.closed_tenants c WHERE c.tenant_id = tenant AND c.closed_until > statement_timestamp())
$$;

-- What everybody who writes to a tenant that is being moved holds, shared, until the end of the transaction.
CREATE OR REPLACE FUNCTION move_lock_key(tenant uuid) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended('move of ' || tenant, 0)
$$;

-- The mover puts this on every table of a tenant, for its rows alone, and takes it away at the end. Who holds the lock asked
-- before the tenant was closed, and the mover waits for them; all others see that it is closed.
CREATE OR REPLACE FUNCTION refuse_while_moving() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    tenant uuid := TG_ARGV[0]::uuid;
BEGIN
    -- the owner says of which tenant it drops or repairs a copy; the setting `role` is the caller's, also in here
    IF current_setting('keepword.fence_pass', true) = TG_ARGV[0] AND current_setting('role') = 'keepword_owner' THEN
        RETURN COALESCE(NEW, OLD);
    END IF;
    PERFORM pg_advisory_xact_lock_shared(move_lock_key(tenant));
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a tenant that is being moved is written to under read committed alone'
            USING ERRCODE = 'serialization_failure';
    END IF;
    IF is_resting(tenant) THEN
        RAISE EXCEPTION 'the tenant is being moved to another server; nothing was stored. Try again in a moment'
            USING ERRCODE = 'lock_not_available';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END
$$;

-- Closes a tenant to writes, for so long at most.
CREATE OR REPLACE FUNCTION close_tenant(tenant uuid, lease interval) RETURNS void LANGUAGE sql AS $$
    INSERT INTO closed_tenants AS c (tenant_id, closed_until) VALUES (tenant, clock_timestamp() + lease)
    ON CONFLICT (tenant_id) DO UPDATE SET closed_until = excluded.closed_until
$$;

-- The transactions that may still write to the tenant: they asked before it was closed, or are just being refused.
CREATE OR REPLACE FUNCTION find_tenant_writers(tenant uuid) RETURNS text[] LANGUAGE sql VOLATILE AS $$
    SELECT COALESCE(array_agg(l.virtualtransaction), '{}') FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.mode = 'ShareLock' AND l.granted
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND (l.classid::bigint << 32 | l.objid::bigint) = move_lock_key(tenant)
$$;

-- Gives the closed tenant to another server, with the jobs that wait for it; false where it was not closed all the time.
CREATE OR REPLACE FUNCTION give_closed_tenant(tenant uuid, server_ text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- whoever asks from now on waits for this transaction, and then finds the tenant gone
    PERFORM pg_advisory_xact_lock(move_lock_key(tenant));
    PERFORM FROM closed_tenants c WHERE c.tenant_id = tenant AND c.closed_until > clock_timestamp();
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO moved_tenants (tenant_id, server) VALUES (tenant, server_)
    ON CONFLICT (tenant_id) DO UPDATE SET server = excluded.server, moved_at = excluded.moved_at;
    DELETE FROM closed_tenants c WHERE c.tenant_id = tenant;
    DELETE FROM procrastinate_jobs WHERE args ->> 'tenant_id' = tenant::text AND status IN ('todo', 'failed');
    RETURN true;
END
$$;

-- Serves the tenant from here on. What was given up where it came from is tried again: its failed jobs stayed there.
CREATE OR REPLACE FUNCTION take_moved_tenant(tenant uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM moved_tenants m WHERE m.tenant_id = tenant;
    UPDATE outbox o SET attempts = 0 WHERE o.tenant_id = tenant AND o.attempts > 0;
END
$$;

-- Rows that another server wrote are of a transaction here: cached scopes compare these numbers.
CREATE OR REPLACE FUNCTION renumber_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.created_xid := pg_current_xact_id();
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER arrivals_are_renumbered BEFORE INSERT OR UPDATE ON entries
    FOR EACH ROW EXECUTE FUNCTION renumber_transaction();
-- it fires for replicated rows alone
ALTER TABLE entries ENABLE REPLICA TRIGGER arrivals_are_renumbered;
