-- Items: values by namespace and key. They are read behind the wall, and written by functions that ask the grant.

-- The value of a filter's key: of that name, else along a path of names with dots between them.
CREATE OR REPLACE FUNCTION item_member(value jsonb, name text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT COALESCE(value -> name, value #> string_to_array(name, '.'), 'null'::jsonb)
$$;

-- Numbers compare as numbers and texts as texts; what is of different types is neither larger nor smaller.
CREATE OR REPLACE FUNCTION item_compares(member jsonb, operator text, wanted jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    sign integer;
BEGIN
    IF operator = '$eq' THEN
        RETURN member = wanted;
    ELSIF operator = '$ne' THEN
        RETURN member <> wanted;
    ELSIF jsonb_typeof(member) <> jsonb_typeof(wanted) OR jsonb_typeof(member) NOT IN ('number', 'string') THEN
        RETURN false;
    ELSIF jsonb_typeof(member) = 'number' THEN
        sign := sign(member::numeric - wanted::numeric);
    ELSE
        sign := CASE WHEN member #>> '{}' COLLATE "C" < wanted #>> '{}' THEN -1
                     WHEN member #>> '{}' COLLATE "C" > wanted #>> '{}' THEN 1 ELSE 0 END;
    END IF;
    RETURN CASE operator
        WHEN '$gt' THEN sign > 0 WHEN '$gte' THEN sign >= 0 WHEN '$lt' THEN sign < 0 WHEN '$lte' THEN sign <= 0
        ELSE false END;
END
$$;

-- An object with operators is asked operator by operator; another object, or a list, member by member.
CREATE OR REPLACE FUNCTION item_has(member jsonb, wanted jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF jsonb_typeof(wanted) = 'object' AND EXISTS (
        SELECT FROM jsonb_object_keys(wanted) AS k (name) WHERE starts_with(k.name, '$')
    ) THEN
        RETURN NOT EXISTS (
            SELECT FROM jsonb_each(wanted) AS w (operator, operand)
            WHERE NOT item_compares(member, w.operator, w.operand));
    ELSIF jsonb_typeof(wanted) = 'object' THEN
        RETURN jsonb_typeof(member) = 'object' AND NOT EXISTS (
            SELECT FROM jsonb_each(wanted) AS w (name, value)
            WHERE NOT item_has(COALESCE(member -> w.name, 'null'::jsonb), w.value));
    ELSIF jsonb_typeof(wanted) = 'array' THEN
        RETURN jsonb_typeof(member) = 'array' AND jsonb_array_length(member) = jsonb_array_length(wanted)
            AND NOT EXISTS (
                SELECT FROM jsonb_array_elements(wanted) WITH ORDINALITY AS w (value, place)
                WHERE NOT item_has(member -> (w.place - 1)::integer, w.value));
    END IF;
    RETURN member = wanted;
END
$$;

CREATE OR REPLACE FUNCTION matches_item_filter(value jsonb, wanted jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM jsonb_each(wanted) AS w (name, condition)
        WHERE NOT item_has(item_member(value, w.name), w.condition));
END
$$;

CREATE OR REPLACE FUNCTION item_labels(path text) RETURNS text[] LANGUAGE sql IMMUTABLE AS
    $$ SELECT string_to_array(left(path, -1), '.') $$;

-- Whether the labels begin, or end, with the wanted ones; '*' stands for any one label.
CREATE OR REPLACE FUNCTION matches_labels(labels text[], wanted text[], at_end boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT cardinality(labels) >= cardinality(wanted) AND NOT EXISTS (
        SELECT FROM unnest(wanted) WITH ORDINALITY AS w (label, place)
        WHERE w.label <> '*' AND w.label <> labels[
            w.place::integer + CASE WHEN at_end THEN cardinality(labels) - cardinality(wanted) ELSE 0 END])
$$;

-- Stores what is searched of items, and queues it for the deep spaces.
CREATE OR REPLACE FUNCTION index_items(
    tenant uuid, items uuid[], parts smallint[], texts text[], words bytea[], pieces bytea[], instants public.halfvec[]
) RETURNS void LANGUAGE sql AS $$
    WITH fresh AS (
        INSERT INTO item_parts (tenant_id, item_id, part, run_id, text, words, pieces, instant)
        SELECT tenant, i.id, u.part, i.run_id, u.text, u.words, u.pieces, u.instant
        FROM unnest(items, parts, texts, words, pieces, instants) AS u (item, part, text, words, pieces, instant)
        CROSS JOIN LATERAL (SELECT * FROM items o WHERE o.tenant_id = tenant AND o.id = u.item OFFSET 0) AS i
        RETURNING id
    )
    INSERT INTO item_backlog (tenant_id, space_id, part_id)
    SELECT tenant, s.id, f.id FROM fresh f CROSS JOIN spaces s WHERE s.filling AND NOT s.is_instant
$$;

-- Stores values and deletes those that are none, in one transaction. One that expired was not there any more.
CREATE OR REPLACE FUNCTION write_items(
    grant_ text, tenant uuid, run text, of_agent text, of_user text, changes jsonb, p_items uuid[], p_parts smallint[],
    p_texts text[], p_words bytea[], p_pieces bytea[], p_instants public.halfvec[]
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    at timestamptz := clock_timestamp();
    wanted uuid[];  -- as the caller named new ones
    held uuid[];    -- as they are stored, in the same order
    changed uuid[];
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, run, 'shared', NULL);
    DELETE FROM items i USING jsonb_to_recordset(changes) AS c (path text, key text, value jsonb)
    WHERE i.tenant_id = tenant AND i.run_id = run AND i.path = c.path AND i.key = c.key
        AND (c.value IS NULL OR i.expires_at <= at);
    WITH put AS (
        INSERT INTO items AS i (
            tenant_id, id, agent, user_id, path, key, value, indexed, created_at, updated_at, ttl_seconds, expires_at)
        SELECT tenant, c.id, of_agent, of_user, c.path, c.key, c.value, c.indexed, at, at, c.ttl_seconds,
            at + make_interval(secs => c.ttl_seconds)
        FROM jsonb_to_recordset(changes) AS c (
            id uuid, path text, key text, value jsonb, indexed text[], ttl_seconds double precision)
        WHERE c.value IS NOT NULL ORDER BY c.path COLLATE "C", c.key COLLATE "C"
        ON CONFLICT (tenant_id, run_id, path, key) DO UPDATE SET
            value = excluded.value, indexed = excluded.indexed, version = i.version + 1,
            updated_at = GREATEST(excluded.updated_at, i.updated_at + interval '1 microsecond'),
            ttl_seconds = excluded.ttl_seconds, expires_at = excluded.expires_at
        RETURNING i.id, i.path, i.key, i.version
    )
    SELECT array_agg(c.id), array_agg(p.id), COALESCE(array_agg(p.id) FILTER (WHERE p.version > 1), '{}')
    INTO wanted, held, changed FROM put p
    JOIN jsonb_to_recordset(changes) AS c (id uuid, path text, key text) ON c.path = p.path AND c.key = p.key;
    -- now that their rows are locked, nobody else writes parts of them
    DELETE FROM item_parts q WHERE q.tenant_id = tenant AND q.item_id = ANY (changed);
    PERFORM index_items(tenant, ARRAY(
        SELECT h.id FROM unnest(p_items) WITH ORDINALITY AS u (item, place)
        JOIN unnest(wanted, held) AS h (item, id) ON h.item = u.item ORDER BY u.place
    ), p_parts, p_texts, p_words, p_pieces, p_instants);
END
$$;

-- Begins the lifetime of items anew, for whoever may read them. One that expired stays expired.
CREATE OR REPLACE FUNCTION refresh_items(grant_ text, tenant uuid, run text, wanted uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF grant_opens(grant_::jsonb, tenant, run, 'shared', NULL) THEN
        UPDATE items SET expires_at = clock_timestamp() + make_interval(secs => ttl_seconds)
        WHERE tenant_id = tenant AND run_id = run AND id = ANY (wanted) AND expires_at > clock_timestamp();
    END IF;
END
$$;

-- Deletes what expired, in all tenants, so many at once.
CREATE OR REPLACE FUNCTION sweep_items(amount integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    WITH gone AS (
        DELETE FROM items WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM items WHERE expires_at <= clock_timestamp() AND NOT is_resting(tenant_id)
            ORDER BY expires_at LIMIT amount FOR UPDATE SKIP LOCKED))
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

-- The vectors of parts, as those of entries: claimed with a lease, given up or stored.
CREATE OR REPLACE FUNCTION claim_item_parts(of_space smallint, amount integer, lease interval, most_ms bigint)
RETURNS TABLE (tenant_id uuid, entry_id bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    WITH waiting AS MATERIALIZED (
        SELECT b.tenant_id, row_number() OVER (PARTITION BY b.tenant_id ORDER BY b.part_id DESC) AS place, b.part_id
        FROM item_backlog b WHERE b.space_id = of_space AND b.due_at <= now() AND NOT b.failed
    ), chosen AS MATERIALIZED (
        SELECT w.tenant_id, w.part_id FROM waiting w
        WHERE NOT is_over_background(w.tenant_id, (now() AT TIME ZONE 'UTC')::date, most_ms) AND NOT is_resting(w.tenant_id)
        ORDER BY w.place LIMIT amount
    )
    UPDATE item_backlog b SET attempts = b.attempts + 1, due_at = now() + lease
    WHERE b.ctid = ANY (ARRAY(
        SELECT o.ctid FROM item_backlog o JOIN chosen c ON c.tenant_id = o.tenant_id AND c.part_id = o.part_id
        WHERE o.space_id = of_space AND o.due_at <= now() FOR UPDATE OF o SKIP LOCKED))
    RETURNING b.tenant_id, b.part_id
$$;

CREATE OR REPLACE FUNCTION store_item_vectors(
    in_space smallint, tenants uuid[], ids bigint[], chunks smallint[], made public.halfvec[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO item_vectors (tenant_id, part_id, space_id, chunk, run_id, vector)
    SELECT q.tenant_id, q.id, in_space, u.chunk, q.run_id, u.vector
    FROM unnest(tenants, ids, chunks, made) AS u (tenant_id, id, chunk, vector)
    CROSS JOIN LATERAL (SELECT * FROM item_parts o WHERE o.tenant_id = u.tenant_id AND o.id = u.id OFFSET 0) AS q
    WHERE NOT EXISTS (SELECT FROM moved_tenants t WHERE t.tenant_id = u.tenant_id)
    ON CONFLICT DO NOTHING;
    DELETE FROM item_backlog b USING unnest(tenants, ids) AS u (tenant_id, id)
    WHERE b.tenant_id = u.tenant_id AND b.space_id = in_space AND b.part_id = u.id
        AND NOT EXISTS (SELECT FROM moved_tenants t WHERE t.tenant_id = u.tenant_id);
$$;

CREATE OR REPLACE FUNCTION give_up_item_parts(
    in_space smallint, tenants uuid[], ids bigint[], reason text, max_attempts integer, pause interval
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE item_backlog b
    SET error = reason, failed = attempts >= max_attempts, due_at = now() + pause * (2 ^ (attempts - 1))
    FROM unnest(tenants, ids) AS u (tenant_id, id)
    WHERE b.tenant_id = u.tenant_id AND b.space_id = in_space AND b.part_id = u.id
        AND NOT EXISTS (SELECT FROM moved_tenants t WHERE t.tenant_id = u.tenant_id)
$$;

CREATE OR REPLACE FUNCTION release_item_parts(in_space smallint, tenants uuid[], ids bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE item_backlog b SET attempts = attempts - 1, due_at = now()
    FROM unnest(tenants, ids) AS u (tenant_id, id)
    WHERE b.tenant_id = u.tenant_id AND b.space_id = in_space AND b.part_id = u.id AND b.attempts > 0
        AND NOT EXISTS (SELECT FROM moved_tenants t WHERE t.tenant_id = u.tenant_id)
$$;

-- Queues what has no vector in a space that is being filled: after a change of the model.
CREATE OR REPLACE FUNCTION queue_item_parts(in_space smallint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO item_backlog (tenant_id, space_id, part_id)
    SELECT q.tenant_id, in_space, q.id FROM item_parts q
    WHERE EXISTS (SELECT FROM spaces s WHERE s.id = in_space AND s.filling) AND NOT is_resting(q.tenant_id)
        AND NOT EXISTS (SELECT FROM item_vectors v
                        WHERE v.tenant_id = q.tenant_id AND v.part_id = q.id AND v.space_id = in_space)
    ON CONFLICT DO NOTHING
$$;
