-- depends: 0022_arms_first
-- Tenants take turns in the background, and pages end by their bytes.

-- How much of a page a message takes. The length of a text is known without reading it; JSON that may be compressed is
-- read to be measured.
CREATE FUNCTION json_bytes(value jsonb) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_column_size(value) > 200 THEN octet_length(value::text) ELSE COALESCE(pg_column_size(value), 0) END
$$;

CREATE FUNCTION message_bytes(content text, tool_args jsonb, tool_result text, attachments jsonb, metadata jsonb)
RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT COALESCE(octet_length(content), 0) + json_bytes(tool_args) + COALESCE(octet_length(tool_result), 0)
        + json_bytes(attachments) + json_bytes(metadata)
$$;

REVOKE EXECUTE ON FUNCTION json_bytes(jsonb), message_bytes(text, jsonb, text, jsonb, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION json_bytes(jsonb), message_bytes(text, jsonb, text, jsonb, jsonb) TO keepword_app;

-- newest first within each tenant
DROP INDEX backlog_by_tenant;
CREATE INDEX backlog_by_tenant ON backlog (tenant_id, space_id, entry_id);

-- Lets tenants take turns in the queue: a tenant's first job comes before any other's second, its second and third before
-- any other's fourth, and so on by powers of two, so that few rows change when a job is done. One worker at a time does it.
CREATE FUNCTION share_turns() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    moved bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('keepword.share_turns')) THEN
        RETURN 0;
    END IF;
    WITH first AS MATERIALIZED (
        SELECT id, priority, args ->> 'tenant_id' AS tenant FROM procrastinate_jobs
        WHERE status = 'todo' AND queue_name = 'keepword' ORDER BY priority DESC, id LIMIT 10000
    ), ranked AS (
        SELECT id, priority, -floor(log(2, row_number() OVER (PARTITION BY tenant ORDER BY id)))::integer AS turn FROM first
    )
    UPDATE procrastinate_jobs j SET priority = r.turn FROM ranked r
    WHERE j.id = r.id AND j.status = 'todo' AND r.priority <> r.turn;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END
$$;

REVOKE EXECUTE ON FUNCTION share_turns() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION share_turns() TO keepword_app;

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

-- Counts messages and bytes unless that goes over a limit; null is none. Negative numbers give back.
CREATE FUNCTION take_quota(
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

-- Adds what the background did for tenants.
CREATE FUNCTION note_background(tenants uuid[], on_day date, milliseconds bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO usage_by_day AS u (tenant_id, day, background_ms)
    SELECT n.tenant, on_day, n.ms FROM unnest(tenants, milliseconds) AS n (tenant, ms) ORDER BY n.tenant
    ON CONFLICT (tenant_id, day) DO UPDATE SET background_ms = u.background_ms + excluded.background_ms
$$;

CREATE FUNCTION is_over_background(tenant uuid, on_day date, most_ms bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (SELECT FROM usage_by_day WHERE tenant_id = tenant AND day = on_day AND background_ms >= most_ms)
$$;

REVOKE EXECUTE ON FUNCTION take_quota(uuid, date, bigint, bigint, bigint, bigint), note_background(uuid[], date, bigint[]),
    is_over_background(uuid, date, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION take_quota(uuid, date, bigint, bigint, bigint, bigint), note_background(uuid[], date, bigint[]),
    is_over_background(uuid, date, bigint) TO keepword_app;

-- Claims the newest of each tenant, as many of one as of another. Where more tenants wait than are claimed, chance decides. A tenant
-- whose background work took `most_ms` today has no more of it until tomorrow.
DROP FUNCTION claim_backlog(smallint, integer, interval);
CREATE FUNCTION claim_backlog(of_space smallint, amount integer, lease interval, most_ms bigint DEFAULT NULL)
RETURNS TABLE (tenant_id uuid, entry_id bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    WITH RECURSIVE waiting AS (
        -- each tenant once, by the index: not every row of it
        (SELECT b.tenant_id FROM backlog b ORDER BY b.tenant_id LIMIT 1)
        UNION ALL
        SELECT (SELECT b.tenant_id FROM backlog b WHERE b.tenant_id > w.tenant_id ORDER BY b.tenant_id LIMIT 1)
        FROM waiting w WHERE w.tenant_id IS NOT NULL
    ), due AS MATERIALIZED (
        SELECT w.tenant_id FROM waiting w
        WHERE w.tenant_id IS NOT NULL AND EXISTS (
            SELECT FROM backlog b WHERE b.tenant_id = w.tenant_id AND b.space_id = of_space AND b.due_at <= now() AND NOT b.failed)
            AND (most_ms IS NULL OR NOT is_over_background(w.tenant_id, (now() AT TIME ZONE 'UTC')::date, most_ms))
        ORDER BY random() LIMIT amount
    ), claimed AS MATERIALIZED (
        SELECT c.entry_id FROM due d CROSS JOIN LATERAL (
            SELECT b.entry_id FROM backlog b
            WHERE b.tenant_id = d.tenant_id AND b.space_id = of_space AND b.due_at <= now() AND NOT b.failed
            ORDER BY b.entry_id DESC
            LIMIT (SELECT GREATEST(1, amount / GREATEST(1, count(*))) FROM due)
            FOR UPDATE SKIP LOCKED
        ) AS c
    )
    UPDATE backlog b SET attempts = attempts + 1, due_at = now() + lease
    WHERE b.space_id = of_space AND b.entry_id IN (SELECT entry_id FROM claimed)
    RETURNING b.tenant_id, b.entry_id
$$;

REVOKE EXECUTE ON FUNCTION claim_backlog(smallint, integer, interval, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_backlog(smallint, integer, interval, bigint) TO keepword_app;
