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
CREATE TABLE working_memories (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    fields jsonb NOT NULL CHECK (fields <> '{}'),
    PRIMARY KEY (tenant_id, conversation_id),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    FOREIGN KEY (tenant_id, conversation_id, run_id, visibility)
        REFERENCES conversations (tenant_id, id, run_id, visibility)
) WITH (fillfactor = 70);

CALL wall_in_changing_content('working_memories');
GRANT SELECT, INSERT, DELETE, UPDATE (fields) ON working_memories TO keepword_app;

-- Reading refreshes the lifetime, so who may read must be able to write it: it stands in a table of its own, where
-- the wall lets a reader move an end of life and nothing else. Narrow rows without an index on what changes also make the
-- refresh an update in place.
CREATE TABLE working_lifetimes (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    ttl_seconds integer NOT NULL CHECK (ttl_seconds BETWEEN 1 AND 2592000),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, conversation_id),
    FOREIGN KEY (tenant_id, conversation_id)
        REFERENCES working_memories (tenant_id, conversation_id) ON DELETE CASCADE
) WITH (fillfactor = 50);

CALL wall_in_content('working_lifetimes');
-- together with the policy `readable`, which holds for every update that looks at a column: what is seen is refreshed
CREATE POLICY refreshable ON working_lifetimes FOR UPDATE TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()));
GRANT SELECT, INSERT, UPDATE (ttl_seconds, expires_at) ON working_lifetimes TO keepword_app;

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

-- How many bytes, in how many fields.
CREATE FUNCTION working_size(fields jsonb) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY[COALESCE(sum(octet_length(key) + octet_length(value)), 0)::bigint, count(*)] FROM jsonb_each_text(fields)
$$;

-- Those who write one working memory take turns under this lock; who refreshes it does not wait for them.
CREATE FUNCTION working_turn(conversation uuid) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT uuid_hash_extended(conversation, 5) $$;

-- What follows works under a grant of its own, as the caller and behind the walls, in one statement each: a round trip
-- costs as much as the rest.

CREATE FUNCTION get_working(grant_ text, tenant uuid, conversation uuid, place text, at timestamptz)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    held jsonb;
BEGIN
    -- a crash of the server may forget the last refreshes, never a field: so a read does not wait for the disk
    PERFORM set_config('keepword.grant', grant_, true), set_config('synchronous_commit', 'off', true);
    UPDATE working_lifetimes l SET expires_at = at + l.ttl_seconds * interval '1 second'
    FROM working_memories m
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place
        AND l.tenant_id = tenant AND l.conversation_id = conversation AND l.expires_at > at
    RETURNING m.fields INTO held;
    RETURN held;
END
$$;

CREATE FUNCTION put_working(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text,
    given jsonb, given_ttl integer, default_ttl integer, most_bytes bigint, most_fields bigint, at timestamptz
) RETURNS TABLE (stored boolean, bytes bigint, amount bigint, held_bytes bigint) LANGUAGE plpgsql AS $$
DECLARE
    held jsonb;
    held_ttl integer;
    size bigint[];
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(working_turn(conversation));
    SELECT m.fields, l.ttl_seconds INTO held, held_ttl FROM working_memories m
    JOIN working_lifetimes l ON l.tenant_id = m.tenant_id AND l.conversation_id = m.conversation_id
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place AND l.expires_at > at;
    given := COALESCE(held, '{}') || given;
    held_ttl := COALESCE(given_ttl, held_ttl, default_ttl);
    size := working_size(given);
    bytes := size[1];
    amount := size[2];
    stored := bytes <= most_bytes AND amount <= most_fields;
    IF NOT stored THEN
        size := working_size(COALESCE(held, '{}'));
        held_bytes := size[1];
    ELSIF held IS NOT NULL THEN
        UPDATE working_memories m SET fields = given WHERE m.tenant_id = tenant AND m.conversation_id = conversation;
        UPDATE working_lifetimes l SET ttl_seconds = held_ttl, expires_at = at + held_ttl * interval '1 second'
        WHERE l.tenant_id = tenant AND l.conversation_id = conversation;
    ELSIF amount > 0 THEN
        INSERT INTO working_memories (tenant_id, conversation_id, run_id, visibility, private_to, fields)
        VALUES (tenant, conversation, place, seen, only_for, given)
        ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET fields = excluded.fields;
        INSERT INTO working_lifetimes
            (tenant_id, conversation_id, run_id, visibility, private_to, ttl_seconds, expires_at)
        VALUES (tenant, conversation, place, seen, only_for, held_ttl, at + held_ttl * interval '1 second')
        ON CONFLICT (tenant_id, conversation_id) DO UPDATE
            SET ttl_seconds = excluded.ttl_seconds, expires_at = excluded.expires_at;
    END IF;
    RETURN NEXT;
END
$$;

-- Deletes all of the named fields, or none and returns those that are missing. A memory without fields is none.
CREATE FUNCTION delete_working(
    grant_ text, tenant uuid, conversation uuid, place text, names text[], at timestamptz
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    held jsonb;
    missing text[];
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(working_turn(conversation));
    SELECT m.fields INTO held FROM working_memories m
    JOIN working_lifetimes l ON l.tenant_id = m.tenant_id AND l.conversation_id = m.conversation_id
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place AND l.expires_at > at;
    missing := ARRAY(SELECT DISTINCT name FROM unnest(names) AS wanted (name)
                     WHERE NOT COALESCE(jsonb_exists(held, name), false));
    IF cardinality(missing) > 0 THEN
        RETURN missing;
    END IF;
    IF held - names = '{}' THEN
        DELETE FROM working_memories m WHERE m.tenant_id = tenant AND m.conversation_id = conversation;
    ELSE
        UPDATE working_memories m SET fields = held - names
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation;
        UPDATE working_lifetimes l SET expires_at = at + l.ttl_seconds * interval '1 second'
        WHERE l.tenant_id = tenant AND l.conversation_id = conversation;
    END IF;
    RETURN missing;
END
$$;

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
    FOR expired IN SELECT tenant_id, conversation_id FROM working_lifetimes WHERE expires_at <= at LOOP
        IF pg_try_advisory_xact_lock(working_turn(expired.conversation_id)) THEN
            DELETE FROM working_memories m USING working_lifetimes l
            WHERE m.tenant_id = expired.tenant_id AND m.conversation_id = expired.conversation_id
                AND l.tenant_id = m.tenant_id AND l.conversation_id = m.conversation_id AND l.expires_at <= at;
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

REVOKE EXECUTE ON FUNCTION sweep_working(timestamptz), find_buffer_version(uuid, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sweep_working(timestamptz), find_buffer_version(uuid, uuid) TO keepword_app;
