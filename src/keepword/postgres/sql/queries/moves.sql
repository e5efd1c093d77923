-- name: tables
-- The tables of tenants, those that others refer to first.
WITH RECURSIVE owned AS (
    SELECT c.oid, c.relname::text AS name FROM pg_class c
    WHERE c.relnamespace = 'keepword'::regnamespace AND c.relkind = 'r' AND (c.relname = 'tenants' OR EXISTS (
        SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped))
), refers AS (
    SELECT DISTINCT k.conrelid AS child, k.confrelid AS parent FROM pg_constraint k
    WHERE k.contype = 'f' AND k.conrelid <> k.confrelid
), depths AS (
    SELECT o.oid, 0 AS depth FROM owned o
    UNION
    SELECT r.child, d.depth + 1 FROM depths d JOIN refers r ON r.parent = d.oid WHERE d.depth < 20
)
SELECT o.name FROM owned o JOIN depths d ON d.oid = o.oid GROUP BY o.name ORDER BY max(d.depth), o.name

-- name: unfit_tables
-- Tables whose rows can't be changed while those of one tenant are published: what identifies a row lacks the tenant.
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = 'keepword'::regnamespace AND c.relname = ANY (%(tables)s) AND c.relreplident <> 'f'
    AND NOT EXISTS (
        SELECT FROM pg_index i
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
            AND a.attname = CASE c.relname WHEN 'tenants' THEN 'id' ELSE 'tenant_id' END
        WHERE i.indrelid = c.oid AND CASE c.relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END)

-- name: numbered_columns
SELECT c.relname, a.attname, pg_get_serial_sequence(c.oid::regclass::text, a.attname)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
WHERE c.relnamespace = 'keepword'::regnamespace AND c.relname = ANY (%(tables)s) ORDER BY 1, 2

-- name: raise_sequence
SELECT setval(%(sequence)s::regclass, %(least)s)
WHERE COALESCE(pg_sequence_last_value(%(sequence)s::regclass), 0) < %(least)s

-- name: number_server
INSERT INTO server_numbers (number, server)
SELECT COALESCE(max(number), 0) + 1, %(server)s FROM server_numbers
HAVING NOT EXISTS (SELECT FROM server_numbers WHERE server = %(server)s)

-- name: number_of
SELECT number FROM server_numbers WHERE server = %(server)s

-- name: lock
SELECT pg_try_advisory_lock(hashtextextended('mover of ' || %(tenant)s::text, 0))

-- name: take_turn
SELECT pg_try_advisory_lock(hashtextextended('mover as ' || %(turn)s, 0))

-- name: begin
INSERT INTO tenant_moves AS m (tenant_id, source, target, step, keep_days) VALUES (%(tenant)s, %(source)s, %(target)s, 'begun', %(keep)s)
ON CONFLICT (tenant_id) DO UPDATE SET source = excluded.source, target = excluded.target, step = excluded.step,
    keep_days = excluded.keep_days, started_at = clock_timestamp(), changed_at = clock_timestamp(), moved_at = NULL

-- name: note
UPDATE tenant_moves SET step = %(step)s, changed_at = clock_timestamp(),
    moved_at = CASE WHEN %(step)s = 'moved' THEN COALESCE(moved_at, clock_timestamp()) ELSE moved_at END
WHERE tenant_id = %(tenant)s

-- name: move_of
SELECT tenant_id, source, target, step, keep_days, moved_at FROM tenant_moves WHERE tenant_id = %(tenant)s

-- name: finished
SELECT tenant_id, source, target, step, keep_days, moved_at FROM tenant_moves WHERE step = 'moved' ORDER BY moved_at

-- name: forget
DELETE FROM tenant_moves WHERE tenant_id = %(tenant)s

-- name: tenant
SELECT t.id FROM tenants t
WHERE t.name = %(name)s AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = t.id)

-- name: arriving
SELECT t.id FROM tenants t JOIN moved_tenants m ON m.tenant_id = t.id WHERE t.name = %(name)s

-- name: schema
SELECT name, checksum FROM schema_files ORDER BY name

-- name: spaces
SELECT id, name, dimensions FROM spaces ORDER BY id

-- name: busy
-- Why the tenant can't be moved right now; null where it can.
SELECT CASE
    WHEN EXISTS (SELECT FROM imports WHERE tenant_id = %(tenant)s) THEN 'it is being imported'
    WHEN EXISTS (SELECT FROM erasures WHERE tenant_id = %(tenant)s AND state <> 'done') THEN 'something is being erased in it'
END

-- name: sees_all
SELECT NOT row_security_active('keepword.messages')

-- name: close
SELECT close_tenant(%(tenant)s, make_interval(secs => %(seconds)s))

-- name: reopen
DELETE FROM closed_tenants WHERE tenant_id = %(tenant)s

-- name: writers
SELECT find_tenant_writers(%(tenant)s)

-- name: give
SELECT give_closed_tenant(%(tenant)s, %(server)s)

-- name: take
SELECT take_moved_tenant(%(tenant)s)

-- name: publication
SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = %(name)s)

-- name: slot
SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %(name)s)

-- name: make_slot
SELECT pg_create_logical_replication_slot(%(name)s, 'pgoutput')

-- name: drop_slots
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
WHERE database = current_database() AND NOT active AND slot_name = %(name)s

-- name: subscription
SELECT oid::bigint FROM pg_subscription
WHERE subname = %(name)s AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: copied
SELECT count(*) FILTER (WHERE r.srsubstate = 'r'), count(*)
FROM pg_subscription_rel r JOIN pg_subscription s ON s.oid = r.srsubid WHERE s.subname = %(name)s

-- name: applying
SELECT EXISTS (SELECT FROM pg_stat_subscription WHERE subname = %(name)s AND relid IS NULL AND pid IS NOT NULL)

-- name: copying
-- Copies of tables for subscriptions that are gone.
SELECT EXISTS (
    SELECT FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.backend_type = 'logical replication tablesync worker'
        AND NOT EXISTS (SELECT FROM pg_stat_subscription s WHERE s.pid = a.pid))

-- name: failures
SELECT apply_error_count + sync_error_count FROM pg_stat_subscription_stats WHERE subname = %(name)s

-- name: log_end
SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint

-- name: passed
SELECT (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint FROM pg_replication_slots WHERE slot_name = %(name)s

-- name: wal_level
SHOW wal_level

-- name: triggers
SELECT c.relname, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = 'keepword'::regnamespace AND starts_with(t.tgname, %(prefix)s)

-- name: pass_fence
SELECT set_config('keepword.fence_pass', %(tenant)s, false)

-- name: open_copy
-- Rows of a tenant that is being imported may be deleted, and what goes with them is noted and told nowhere. A copy that was
-- cut off may lack the tenant itself.
WITH held AS (
    INSERT INTO tenants (id, name) VALUES (%(tenant)s, 'copy ' || %(tenant)s::text) ON CONFLICT (id) DO NOTHING
)
INSERT INTO imports (tenant_id, header, digest) VALUES (%(tenant)s, '', '') ON CONFLICT DO NOTHING

-- name: drop_jobs
DELETE FROM procrastinate_jobs WHERE args ->> 'tenant_id' = %(tenant)s::text AND status <> 'doing'

-- name: unlock
SELECT pg_advisory_unlock(hashtextextended('mover of ' || %(tenant)s::text, 0))

-- name: lives_here
SELECT EXISTS (SELECT FROM tenants WHERE id = %(tenant)s)
    AND NOT EXISTS (SELECT FROM moved_tenants WHERE tenant_id = %(tenant)s)

-- name: has_rows
SELECT EXISTS (SELECT FROM tenants WHERE id = %(tenant)s)
