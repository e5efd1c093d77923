-- The worker's further needs: spaces that come and go, claims that are given back, and a view of what waits.

-- a space that is retired keeps its vectors, and nothing is queued for it any more
ALTER TABLE spaces ADD COLUMN filling boolean NOT NULL DEFAULT true;

CREATE OR REPLACE FUNCTION queue_entries() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
BEGIN
    INSERT INTO backlog (space_id, entry_id, tenant_id)
    SELECT s.id, n.id, n.tenant_id FROM fresh n CROSS JOIN spaces s WHERE n.searchable AND s.filling;
    -- who is waking it right now may still roll back; then the worker's own sweep finds the work
    PERFORM FROM alarm WHERE name = 'entries' AND is_asleep FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE alarm SET is_asleep = false WHERE name = 'entries';
        NOTIFY keepword_entries;
    END IF;
    RETURN NULL;
END
$$;

-- A worker that stops gives its claims back, as if it had not made them.
CREATE FUNCTION release_backlog(in_space smallint, entry_ids bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE backlog SET attempts = attempts - 1, due_at = now()
    WHERE space_id = in_space AND entry_id = ANY (entry_ids) AND attempts > 0
$$;

-- How much waits and how much failed, in all tenants together: numbers alone.
CREATE FUNCTION count_backlog() RETURNS TABLE (space text, waiting bigint, failed bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT s.name, count(*) FILTER (WHERE NOT b.failed), count(*) FILTER (WHERE b.failed)
    FROM spaces s LEFT JOIN backlog b ON b.space_id = s.id GROUP BY s.id ORDER BY s.id
$$;

REVOKE EXECUTE ON FUNCTION release_backlog(smallint, bigint[]), count_backlog() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION release_backlog(smallint, bigint[]), count_backlog() TO keepword_app;

-- The owner's alone: making, filling and switching spaces.

-- Makes a space with its index, or finds it. Before anything is stored, a new space serves at once.
CREATE FUNCTION make_space(wanted text, wanted_dimensions integer) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
    made smallint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('keepword.make_space'));
    SELECT id INTO made FROM spaces WHERE name = wanted;
    IF FOUND THEN
        RETURN made;
    END IF;
    INSERT INTO spaces (name, dimensions) VALUES (wanted, wanted_dimensions) RETURNING id INTO made;
    EXECUTE format(
        'CREATE INDEX %I ON vectors USING hnsw ((vector::halfvec(%s)) halfvec_ip_ops) WHERE space_id = %s',
        left(format('vectors_%s_%s', made, regexp_replace(lower(wanted), '[^a-z0-9]+', '_', 'g')), 63),
        wanted_dimensions, made);
    IF NOT EXISTS (SELECT FROM entries) THEN
        PERFORM serve_space(made);
    END IF;
    RETURN made;
END
$$;

-- Lets searches use this deep space; the one that served is retired.
CREATE FUNCTION serve_space(chosen smallint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE spaces SET serving = false, filling = false WHERE serving AND NOT is_instant AND id <> chosen;
    UPDATE spaces SET serving = true, filling = true WHERE id = chosen;
    DELETE FROM backlog b USING spaces s WHERE s.id = b.space_id AND NOT s.filling;
END
$$;

-- Queues what lacks a vector in the space, or failed to get one, among the next entries after one; the answer is how
-- many were queued and where to go on, null at the end.
CREATE FUNCTION queue_missing(in_space smallint, after bigint, amount integer)
RETURNS TABLE (queued bigint, last_id bigint) LANGUAGE sql AS $$
    WITH next AS MATERIALIZED (
        SELECT id, tenant_id, searchable FROM entries WHERE id > after ORDER BY id LIMIT amount
    ), added AS (
        INSERT INTO backlog AS b (space_id, entry_id, tenant_id)
        SELECT in_space, n.id, n.tenant_id FROM next n
        WHERE n.searchable AND NOT EXISTS (SELECT FROM vectors v WHERE v.space_id = in_space AND v.entry_id = n.id)
        ORDER BY n.id
        ON CONFLICT (space_id, entry_id) DO UPDATE SET attempts = 0, failed = false, error = NULL, due_at = now()
        WHERE b.failed
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM added), (SELECT max(id) FROM next)
$$;

REVOKE EXECUTE ON FUNCTION make_space(text, integer), serve_space(smallint), queue_missing(smallint, bigint, integer)
    FROM PUBLIC;

-- Joins that a plan made for an empty table can't turn round: each given row looks its own up by the key. Connections
-- keep their plans, and a first import would otherwise read everything before it again with each batch.
CREATE OR REPLACE FUNCTION index_messages(
    message_ids uuid[], parts smallint[], texts text[], words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO entries (tenant_id, kind, source_id, part, run_id, visibility, private_to, conversation_id, seq, role,
        user_id, agent, created_at, searchable, text, words, pieces, lexemes, instant)
    SELECT m.tenant_id, 'message', m.id, i.part, m.run_id, m.visibility, m.private_to, m.conversation_id, m.seq, m.role,
        m.user_id, m.agent, m.created_at, i.words IS NOT NULL, i.text, i.words, i.pieces, i.lexemes::integer[], i.instant
    FROM unnest(message_ids, parts, texts, words, pieces, lexemes, instants)
        AS i (message_id, part, text, words, pieces, lexemes, instant)
    CROSS JOIN LATERAL (
        -- written as a range in an order that only the index on the id has: an equation could be had from others, which
        -- look as cheap as long as the table is empty
        SELECT * FROM messages
        WHERE tenant_id = granted_tenant() AND id >= i.message_id AND id <= i.message_id ORDER BY id LIMIT 1
    ) AS m;
END
$$;

CREATE OR REPLACE FUNCTION store_vectors(in_space smallint, entry_ids bigint[], parts smallint[], made halfvec[])
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
    INSERT INTO vectors (space_id, entry_id, part, tenant_id, run_id, visibility, private_to, vector)
    SELECT in_space, e.id, v.part, e.tenant_id, e.run_id, e.visibility, e.private_to, v.vector
    FROM unnest(entry_ids, parts, made) AS v (entry_id, part, vector)
    CROSS JOIN LATERAL (SELECT * FROM entries WHERE id = v.entry_id OFFSET 0) AS e
    ON CONFLICT DO NOTHING;
    DELETE FROM backlog WHERE space_id = in_space AND entry_id = ANY (entry_ids);
$$;
