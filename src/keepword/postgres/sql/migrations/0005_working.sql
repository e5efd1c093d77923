-- Working memory and the ledger, for when there is no Redis, and the version that a cached buffer is compared with.

-- Walls in a table of content whose rows change: read as all content is, changed only in the place that may be written.
CREATE PROCEDURE wall_in_changing_content(walled regclass) LANGUAGE plpgsql AS $$
BEGIN
    CALL wall_in_content(walled);
    EXECUTE format($policy$
        CREATE POLICY changeable ON %s FOR UPDATE TO keepword_app
            USING (tenant_id = (SELECT granted_tenant()) AND run_id = (SELECT granted_writes()))
    $policy$, walled);
    EXECUTE format($policy$
        CREATE POLICY deletable ON %s FOR DELETE TO keepword_app
            USING (tenant_id = (SELECT granted_tenant()) AND run_id = (SELECT granted_writes()))
    $policy$, walled);
END
$$;

-- `fields` holds each field's stored text as a string: as JSON, numbers and the order of keys would not stay as they came.
-- No index on what changes with every read: the refresh is an update in place.
CREATE TABLE working_memories (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    fields jsonb NOT NULL CHECK (fields <> '{}'),
    ttl_seconds integer NOT NULL CHECK (ttl_seconds BETWEEN 1 AND 2592000),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, conversation_id),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility)
) WITH (fillfactor = 50);

-- Reading refreshes the lifetime, so a read is a write, also for who may only read. The application can't write the
-- table at all: it calls the functions below, which apply the grant that they are given as the policies would.
CALL wall_in_changing_content('working_memories');
GRANT SELECT, DELETE ON working_memories TO keepword_app;

CREATE TABLE ledger_marks (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    item_key text NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    value text NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, conversation_id, item_key),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility)
);

CALL wall_in_changing_content('ledger_marks');
GRANT SELECT, INSERT, DELETE ON ledger_marks TO keepword_app;

-- Those who write one working memory take turns under this lock; who refreshes it does not wait for them.
CREATE FUNCTION working_turn(conversation uuid) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT uuid_hash_extended(conversation, 5) $$;

-- The functions that read and write working memory do so as the owner, for speed and for the refresh, and each asks
-- one of these two first: the whole of their access control.
CREATE FUNCTION is_session_of(tenant uuid, run text, project text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM conversations
        WHERE tenant_id = tenant AND run_id = run AND kind = 'session' AND project_id = project)
$$;

CREATE FUNCTION grant_opens(g jsonb, tenant uuid, run text, seen text, only_for text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    -- one expression without a sub-select, so that it is inlined where it is asked
    SELECT (g ->> 'tenant')::uuid = tenant
        AND ((g ->> 'everything')::boolean
             OR (seen = ANY ((g ->> 'visibilities')::text[])
                 AND (seen <> 'private' OR COALESCE(only_for = g ->> 'private_to', false))
                 AND (jsonb_exists(g -> 'run_ids', run)
                      OR (g ->> 'sessions_of' IS NOT NULL AND is_session_of(tenant, run, g ->> 'sessions_of')))))
$$;

CREATE FUNCTION require_writes(g jsonb, tenant uuid, run text, seen text, only_for text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF (g ->> 'writes') IS DISTINCT FROM run OR NOT grant_opens(g, tenant, run, seen, only_for) THEN
        RAISE EXCEPTION 'the grant does not let write %', run USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;

CREATE FUNCTION get_working(grant_ text, tenant uuid, conversation uuid, place text, at timestamptz)
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

CREATE FUNCTION put_working(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text,
    given jsonb, given_ttl integer, default_ttl integer, most_bytes bigint, most_fields bigint, at timestamptz
) RETURNS TABLE (stored boolean, bytes bigint, amount bigint, held_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    held jsonb;
    held_ttl integer;
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, place, seen, only_for),
        pg_advisory_xact_lock(working_turn(conversation));
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
CREATE FUNCTION delete_working(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text, names text[], at timestamptz
) RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    held jsonb;
    missing text[];
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, place, seen, only_for),
        pg_advisory_xact_lock(working_turn(conversation));
    SELECT m.fields INTO held FROM working_memories m
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place AND m.expires_at > at;
    missing := ARRAY(SELECT DISTINCT name FROM unnest(names) AS wanted (name)
                     WHERE NOT COALESCE(jsonb_exists(held, name), false));
    IF cardinality(missing) > 0 THEN
        RETURN missing;
    END IF;
    IF held - names = '{}' THEN
        DELETE FROM working_memories m
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place;
    ELSE
        UPDATE working_memories m SET fields = held - names, expires_at = at + m.ttl_seconds * interval '1 second'
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place;
    END IF;
    RETURN missing;
END
$$;

-- Under a grant of its own, as the caller and behind the walls, in one statement: a round trip costs as much as the rest.
CREATE FUNCTION mark_item(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text, item text, marker text
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    INSERT INTO ledger_marks (tenant_id, conversation_id, item_key, run_id, visibility, private_to, value)
    VALUES (tenant, conversation, item, place, seen, only_for, marker)
    ON CONFLICT (tenant_id, conversation_id, item_key) DO NOTHING;
    RETURN FOUND;
END
$$;

-- The sweep goes through all tenants, which no grant does; it frees only what had expired at the time given.
-- A memory that is just being made anew is left for the next sweep.
CREATE FUNCTION sweep_working(at timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    expired record;
    freed bigint := 0;
BEGIN
    FOR expired IN SELECT tenant_id, conversation_id FROM working_memories WHERE expires_at <= at LOOP
        IF pg_try_advisory_xact_lock(working_turn(expired.conversation_id)) THEN
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
CREATE FUNCTION find_buffer_version(in_tenant uuid, conversation uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT COALESCE(CASE WHEN count(*) <= 16 THEN ';' || string_agg(id || '=' || last_seq || ';', '' ORDER BY id)
                         ELSE 'sum=' || sum(last_seq) END, '')
    FROM conversations
    WHERE tenant_id = in_tenant AND last_seq > 0
        AND run_id = (SELECT run_id FROM conversations WHERE tenant_id = in_tenant AND id = conversation)
$$;

REVOKE EXECUTE ON FUNCTION
    get_working(text, uuid, uuid, text, timestamptz),
    put_working(text, uuid, uuid, text, text, text, jsonb, integer, integer, bigint, bigint, timestamptz),
    delete_working(text, uuid, uuid, text, text, text, text[], timestamptz),
    sweep_working(timestamptz), find_buffer_version(uuid, uuid)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    get_working(text, uuid, uuid, text, timestamptz),
    put_working(text, uuid, uuid, text, text, text, jsonb, integer, integer, bigint, bigint, timestamptz),
    delete_working(text, uuid, uuid, text, text, text, text[], timestamptz),
    sweep_working(timestamptz), find_buffer_version(uuid, uuid)
TO keepword_app;
