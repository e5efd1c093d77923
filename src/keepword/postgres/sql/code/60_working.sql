-- Working memory and ledger, read and written as the owner: each function asks for the grant first.

-- Those who write one working memory take turns under this lock; who refreshes it does not wait for them.
CREATE OR REPLACE FUNCTION working_lock_key(tenant uuid, conversation uuid) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT uuid_hash_extended(conversation, uuid_hash_extended(tenant, 5)) $$;

CREATE OR REPLACE FUNCTION get_working(grant_ text, tenant uuid, conversation uuid, place text, at timestamptz)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    g jsonb := grant_;
    held jsonb;
BEGIN
    -- a crash of the server may forget the last refreshes, never a field: so a read does not wait for the disk
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE working_memories m SET expires_at = at + m.ttl_seconds * interval '1 second'
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place AND m.expires_at > at
        AND grant_opens(g, m.tenant_id, m.run_id, m.visibility, m.private_to)
    RETURNING m.fields INTO held;
    RETURN held;
END
$$;

CREATE OR REPLACE FUNCTION put_working(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text,
    given jsonb, given_ttl integer, default_ttl integer, most_bytes bigint, most_fields bigint, at timestamptz
) RETURNS TABLE (stored boolean, bytes bigint, amount bigint, held_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    held jsonb;
    held_ttl integer;
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, place, seen, only_for),
        pg_advisory_xact_lock(working_lock_key(tenant, conversation));
    SELECT m.fields, m.ttl_seconds INTO held, held_ttl FROM working_memories m
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place AND m.expires_at > at;
    given := COALESCE(held, '{}') || given;
    held_ttl := COALESCE(given_ttl, held_ttl, default_ttl);
    SELECT COALESCE(sum(octet_length(f.key) + octet_length(f.value)), 0), count(*) INTO bytes, amount
    FROM jsonb_each_text(given) AS f;
    stored := bytes <= most_bytes AND amount <= most_fields;
    IF NOT stored THEN
        SELECT COALESCE(sum(octet_length(f.key) + octet_length(f.value)), 0) INTO held_bytes
        FROM jsonb_each_text(COALESCE(held, '{}')) AS f;
    ELSIF amount > 0 THEN
        -- the foreign key sees to it that the place is the conversation's own
        INSERT INTO working_memories AS m
            (tenant_id, conversation_id, run_id, visibility, private_to, fields, ttl_seconds, expires_at)
        VALUES (tenant, conversation, place, seen, only_for, given, held_ttl, at + held_ttl * interval '1 second')
        ON CONFLICT (tenant_id, conversation_id) DO UPDATE
            SET fields = excluded.fields, ttl_seconds = excluded.ttl_seconds, expires_at = excluded.expires_at
            WHERE m.run_id = excluded.run_id;
    END IF;
    RETURN NEXT;
END
$$;

-- Deletes all of the named fields, or none and returns those that are missing. A memory without fields is none.
CREATE OR REPLACE FUNCTION delete_working(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text, names text[], at timestamptz
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    held jsonb;
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, place, seen, only_for),
        pg_advisory_xact_lock(working_lock_key(tenant, conversation));
    SELECT m.fields - names INTO held FROM working_memories m
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place AND m.expires_at > at;
    IF held = '{}' THEN
        DELETE FROM working_memories m
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place;
    ELSIF held IS NOT NULL THEN
        UPDATE working_memories m SET fields = held, expires_at = at + m.ttl_seconds * interval '1 second'
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION mark_items(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text, items jsonb
) RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    added text[];
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, place, seen, only_for);
    WITH marked AS (
        INSERT INTO ledger_marks AS l (tenant_id, conversation_id, item_key, run_id, visibility, private_to, value)
        SELECT tenant, conversation, i.key, place, seen, only_for, i.value FROM jsonb_each_text(items) AS i
        ORDER BY i.key
        ON CONFLICT (tenant_id, conversation_id, item_key) DO UPDATE SET value = excluded.value
            WHERE l.run_id = excluded.run_id
        RETURNING l.item_key, l.xmax = 0 AS is_new
    )
    SELECT COALESCE(array_agg(m.item_key) FILTER (WHERE m.is_new), '{}') INTO added FROM marked m;
    RETURN added;
END
$$;

-- The sweep goes through all tenants, which no grant does; it frees only what had expired at the time given.
-- A memory that is just being made anew is left for the next sweep.
CREATE OR REPLACE FUNCTION sweep_working(at timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    expired record;
    freed bigint := 0;
BEGIN
    FOR expired IN SELECT tenant_id, conversation_id FROM working_memories
        WHERE expires_at <= at AND NOT is_resting(tenant_id)
    LOOP
        IF pg_try_advisory_xact_lock(working_lock_key(expired.tenant_id, expired.conversation_id)) THEN
            DELETE FROM working_memories m
            WHERE m.tenant_id = expired.tenant_id AND m.conversation_id = expired.conversation_id
                AND m.expires_at <= at;
            freed := freed + CASE WHEN FOUND THEN 1 ELSE 0 END;
        END IF;
    END LOOP;
    RETURN freed;
END
$$;

-- Names the messages that a place has: each conversation with its last sequence number. Where there are too many of
-- them, their sum: it names a state as well, because states follow each other and each has more messages.
CREATE OR REPLACE FUNCTION find_buffer_version(in_tenant uuid, conversation uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT COALESCE(CASE WHEN count(*) <= 16 THEN ';' || string_agg(id || '=' || last_seq || ';', '' ORDER BY id)
                         ELSE 'sum=' || sum(last_seq) END, '')
        -- what was taken back: a later one is newer than any before it, so no two states have one name
        || COALESCE((SELECT 'retracted=' || count(*) || '@' || extract(epoch FROM max(r.retracted_at)) FROM retractions r
                     WHERE r.tenant_id = in_tenant AND r.run_id = max(c.run_id) HAVING count(*) > 0), '')
    FROM conversations c
    WHERE tenant_id = in_tenant AND last_seq > 0 AND NOT is_erasing(in_tenant, id)
        AND run_id = (SELECT run_id FROM conversations WHERE tenant_id = in_tenant AND id = conversation)
$$;
