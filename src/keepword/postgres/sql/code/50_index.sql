-- The index: entries wait in a backlog until a worker has stored their vectors.

CREATE OR REPLACE FUNCTION request_wakeup() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE worker_wakeups SET is_asleep = true WHERE name = 'entries' AND NOT is_asleep
$$;

CREATE OR REPLACE FUNCTION queue_entries() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    INSERT INTO backlog (tenant_id, space_id, entry_id)
    SELECT n.tenant_id, s.id, n.id FROM fresh n CROSS JOIN spaces s WHERE n.searchable AND s.filling;
    -- who is waking it right now may still roll back; then the worker's own sweep finds the work
    PERFORM FROM worker_wakeups WHERE name = 'entries' AND is_asleep FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE worker_wakeups SET is_asleep = false WHERE name = 'entries';
        NOTIFY keepword_entries;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER entries_are_queued AFTER INSERT ON entries
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION queue_entries();

CREATE OR REPLACE FUNCTION note_deleted_entries() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    INSERT INTO deleted_entries (tenant_id, run_id, entry_id) SELECT tenant_id, run_id, id FROM gone;
    -- some of the old ones, and none that another is taking: nobody waits for that
    DELETE FROM deleted_entries WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM deleted_entries WHERE deleted_at < now() - interval '2 hours'
        ORDER BY deleted_at LIMIT 1000 FOR UPDATE SKIP LOCKED));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER deletions_are_noted AFTER DELETE ON entries
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note_deleted_entries();

-- The tenants with anything in the backlog, each once, by the index: not every row of it. None that is being moved, or lives
-- elsewhere.
CREATE OR REPLACE FUNCTION find_waiting_tenants() RETURNS SETOF uuid LANGUAGE sql STABLE AS $$
    WITH RECURSIVE waiting AS (
        (SELECT b.tenant_id FROM backlog b ORDER BY b.tenant_id LIMIT 1)
        UNION ALL
        SELECT (SELECT b.tenant_id FROM backlog b WHERE b.tenant_id > w.tenant_id ORDER BY b.tenant_id LIMIT 1)
        FROM waiting w WHERE w.tenant_id IS NOT NULL
    )
    SELECT w.tenant_id FROM waiting w WHERE w.tenant_id IS NOT NULL AND NOT is_resting(w.tenant_id)
$$;

-- Moves the oldest entries of each tenant, as many of one as of another, from the backlog of the instant space into its
-- index and counts their words. One worker at a time.
CREATE OR REPLACE FUNCTION index_instant_vectors(amount integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    instant_space smallint := (SELECT id FROM spaces WHERE is_instant AND serving);
    tenants uuid[];
    settled bigint[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('keepword.index_instant_vectors')) THEN
        RETURN 0;
    END IF;
    WITH due AS MATERIALIZED (
        SELECT w.tenant_id FROM find_waiting_tenants() AS w (tenant_id)
        WHERE EXISTS (SELECT FROM backlog b WHERE b.tenant_id = w.tenant_id AND b.space_id = instant_space)
        ORDER BY random() LIMIT amount
    ), gone AS (
        DELETE FROM backlog WHERE ctid = ANY (ARRAY(
            SELECT c.ctid FROM due d CROSS JOIN LATERAL (
                SELECT b.ctid FROM backlog b WHERE b.tenant_id = d.tenant_id AND b.space_id = instant_space
                ORDER BY b.entry_id
                LIMIT (SELECT GREATEST(1, amount / GREATEST(1, count(*))) FROM due)
                FOR UPDATE SKIP LOCKED
            ) AS c))
        RETURNING tenant_id, entry_id
    )
    SELECT array_agg(tenant_id ORDER BY tenant_id, entry_id), array_agg(entry_id ORDER BY tenant_id, entry_id)
    INTO tenants, settled FROM gone;
    IF settled IS NULL THEN
        RETURN 0;
    END IF;
    INSERT INTO vectors (tenant_id, entry_id, space_id, part, run_id, visibility, private_to, vector)
    SELECT e.tenant_id, e.id, instant_space, 0, e.run_id, e.visibility, e.private_to, e.instant
    FROM unnest(tenants, settled) AS s (tenant_id, id)
    CROSS JOIN LATERAL (SELECT * FROM entries o WHERE o.tenant_id = s.tenant_id AND o.id = s.id OFFSET 0) AS e
    ON CONFLICT DO NOTHING;
    -- the first half of the lexemes are those salted with the tenant
    INSERT INTO document_frequencies AS l (tenant_id, word, entries)
    SELECT e.tenant_id, w.word, count(*)
    FROM unnest(tenants, settled) AS s (tenant_id, id)
    CROSS JOIN LATERAL (SELECT * FROM entries o WHERE o.tenant_id = s.tenant_id AND o.id = s.id OFFSET 0) AS e
    CROSS JOIN LATERAL unnest(e.lexemes[:cardinality(e.lexemes) / 2]) AS w (word)
    WHERE e.kind = 'message' GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (tenant_id, word) DO UPDATE SET entries = l.entries + excluded.entries;
    INSERT INTO entry_counts AS c (tenant_id, entries)
    SELECT e.tenant_id, count(*)
    FROM unnest(tenants, settled) AS s (tenant_id, id)
    CROSS JOIN LATERAL (SELECT * FROM entries o WHERE o.tenant_id = s.tenant_id AND o.id = s.id OFFSET 0) AS e
    WHERE e.kind = 'message' GROUP BY 1 ORDER BY 1
    ON CONFLICT (tenant_id) DO UPDATE SET entries = c.entries + excluded.entries;
    RETURN cardinality(settled);
END
$$;

CREATE OR REPLACE FUNCTION flush_pending_lexemes() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT gin_clean_pending_list('keepword.entries_by_lexeme'::regclass)
$$;

-- Gives a table its first statistics once it has 32 pages. Until then its plans are those for an empty table, which
-- connections keep: the check of a reference to `entries` read all of a tenant's. The server's own daemon comes once a
-- minute, and a first import brings ten thousand messages by then. One table a call, which its lock is held for.
CREATE OR REPLACE FUNCTION analyze_new_table() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    new_table regclass := (
        SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = 'keepword'::regnamespace AND c.relkind = 'r' AND c.reltuples < 0
            AND pg_relation_size(c.oid) >= 32 * current_setting('block_size')::bigint
        ORDER BY pg_relation_size(c.oid) DESC LIMIT 1);
BEGIN
    IF new_table IS NOT NULL THEN
        EXECUTE format('ANALYZE %s', new_table);
    END IF;
END
$$;

-- Tenants into which a history is being imported: their background work waits for its end.
CREATE OR REPLACE FUNCTION find_importing_tenants() RETURNS SETOF uuid LANGUAGE sql STABLE AS $$
    SELECT tenant_id FROM history_imports WHERE state = 'running' AND NOT dry_run AND lease_until >= now()
$$;

CREATE OR REPLACE FUNCTION is_importing() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (SELECT FROM find_importing_tenants())
$$;

-- Claims the newest of each tenant, as many of one as of another. Where more tenants wait than are claimed, chance
-- decides. A claim that is neither stored nor given up is due again later. A tenant whose background work took as
-- long today as it may has no more of it until tomorrow.
CREATE OR REPLACE FUNCTION claim_backlog(of_space smallint, amount integer, lease interval, most_ms bigint DEFAULT NULL)
RETURNS TABLE (tenant_id uuid, entry_id bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    WITH due AS MATERIALIZED (
        SELECT w.tenant_id FROM find_waiting_tenants() AS w (tenant_id)
        WHERE EXISTS (
            SELECT FROM backlog b
            WHERE b.tenant_id = w.tenant_id AND b.space_id = of_space AND b.due_at <= now() AND NOT b.failed)
            AND NOT is_over_background(w.tenant_id, (now() AT TIME ZONE 'UTC')::date, most_ms)
            AND w.tenant_id NOT IN (SELECT find_importing_tenants())
        ORDER BY random() LIMIT amount
    )
    UPDATE backlog b SET attempts = attempts + 1, due_at = now() + lease
    WHERE b.ctid = ANY (ARRAY(
        SELECT c.ctid FROM due d CROSS JOIN LATERAL (
            SELECT o.ctid FROM backlog o
            WHERE o.tenant_id = d.tenant_id AND o.space_id = of_space AND o.due_at <= now() AND NOT o.failed
            ORDER BY o.entry_id DESC
            LIMIT (SELECT GREATEST(1, amount / GREATEST(1, count(*))) FROM due)
            FOR UPDATE SKIP LOCKED
        ) AS c))
    RETURNING b.tenant_id, b.entry_id
$$;

-- The scope is copied from the entry: who stores a vector can't give it another. What was claimed of a tenant that has moved
-- away since is left out, so that the vectors of others in the same batch are stored.
CREATE OR REPLACE FUNCTION store_vectors(
    in_space smallint, tenants uuid[], entry_ids bigint[], parts smallint[], made public.halfvec[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO vectors (tenant_id, entry_id, space_id, part, run_id, visibility, private_to, vector)
    SELECT e.tenant_id, e.id, in_space, v.part, e.run_id, e.visibility, e.private_to, v.vector
    FROM unnest(tenants, entry_ids, parts, made) AS v (tenant_id, entry_id, part, vector)
    CROSS JOIN LATERAL (SELECT * FROM entries WHERE tenant_id = v.tenant_id AND id = v.entry_id OFFSET 0) AS e
    WHERE NOT EXISTS (SELECT FROM moved_tenants t WHERE t.tenant_id = v.tenant_id)
    ON CONFLICT DO NOTHING;
    DELETE FROM backlog b WHERE b.ctid = ANY (ARRAY(SELECT lock_backlog(in_space, tenants, entry_ids)));
$$;

-- Gives claims back: due again after a pause that grows, and after the last attempt shown as failed.
CREATE OR REPLACE FUNCTION give_up_backlog(
    in_space smallint, tenants uuid[], entry_ids bigint[], reason text, max_attempts integer, pause interval
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE backlog SET error = reason, failed = attempts >= max_attempts, due_at = now() + pause * (2 ^ (attempts - 1))
    WHERE ctid = ANY (ARRAY(SELECT lock_backlog(in_space, tenants, entry_ids)))
$$;

-- Lets entries that were given up be embedded again, from the first attempt on; or only counts them.
CREATE OR REPLACE FUNCTION retry_vectors(of_tenant uuid, with_error text, only_count boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    retried bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM backlog
                WHERE tenant_id = of_tenant AND failed
                    AND (with_error IS NULL OR strpos(lower(error), lower(with_error)) > 0));
    END IF;
    UPDATE backlog SET failed = false, attempts = 0, due_at = now()
    WHERE tenant_id = of_tenant AND failed AND (with_error IS NULL OR strpos(lower(error), lower(with_error)) > 0);
    GET DIAGNOSTICS retried = ROW_COUNT;
    RETURN retried;
END
$$;

-- A worker that stops gives its claims back, as if it had not made them.
CREATE OR REPLACE FUNCTION release_backlog(in_space smallint, tenants uuid[], entry_ids bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE backlog SET attempts = attempts - 1, due_at = now()
    WHERE ctid = ANY (ARRAY(SELECT lock_backlog(in_space, tenants, entry_ids))) AND attempts > 0
$$;

-- Where rows of the backlog are, each looked up by its key and locked: a join could be turned into reading all of it.
CREATE OR REPLACE FUNCTION lock_backlog(in_space smallint, tenants uuid[], entry_ids bigint[]) RETURNS SETOF tid
LANGUAGE sql AS $$
    SELECT l.ctid FROM (
        SELECT DISTINCT tenant_id, entry_id FROM unnest(tenants, entry_ids) AS u (tenant_id, entry_id)
        WHERE NOT EXISTS (SELECT FROM moved_tenants t WHERE t.tenant_id = u.tenant_id) ORDER BY 1, 2
    ) AS w
    CROSS JOIN LATERAL (
        SELECT b.ctid FROM backlog b
        WHERE b.tenant_id = w.tenant_id AND b.space_id = in_space AND b.entry_id = w.entry_id FOR UPDATE
    ) AS l
$$;

-- How much waits and how much failed, in all tenants together that live here: numbers alone.
CREATE OR REPLACE FUNCTION count_backlog() RETURNS TABLE (space text, waiting bigint, failed bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT s.name, count(*) FILTER (WHERE NOT b.failed), count(*) FILTER (WHERE b.failed)
    FROM spaces s LEFT JOIN backlog b ON b.space_id = s.id
        AND NOT EXISTS (SELECT FROM moved_tenants m WHERE m.tenant_id = b.tenant_id)
    GROUP BY s.id ORDER BY s.id
$$;

-- Makes a space with its index, or finds it. Before anything is stored, a new space serves at once.
CREATE OR REPLACE FUNCTION make_space(wanted text, wanted_dimensions integer) RETURNS smallint LANGUAGE plpgsql AS $$
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
        'CREATE INDEX %I ON vectors USING hnsw ((vector::public.halfvec(%s)) public.halfvec_ip_ops) '
        'WITH (m = 24, ef_construction = 128) WHERE space_id = %s',
        left(format('vectors_%s_%s', made, regexp_replace(lower(wanted), '[^a-z0-9]+', '_', 'g')), 63),
        wanted_dimensions, made);
    IF NOT EXISTS (SELECT FROM entries) THEN
        PERFORM serve_space(made);
    END IF;
    RETURN made;
END
$$;

-- Lets searches use this deep space; the one that served is retired.
CREATE OR REPLACE FUNCTION serve_space(chosen smallint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE spaces SET serving = false, filling = false WHERE serving AND NOT is_instant AND id <> chosen;
    UPDATE spaces SET serving = true, filling = true WHERE id = chosen;
    DELETE FROM backlog b USING spaces s WHERE s.id = b.space_id AND NOT s.filling AND NOT is_resting(b.tenant_id);
END
$$;

-- Queues what lacks a vector in the space, or failed to get one, among the next entries after one, tenant by tenant; the
-- answer is how many were queued and where to go on, null at the end.
CREATE OR REPLACE FUNCTION queue_missing(in_space smallint, after_tenant uuid, after_id bigint, amount integer)
RETURNS TABLE (queued bigint, last_tenant uuid, last_id bigint) LANGUAGE sql AS $$
    WITH next AS MATERIALIZED (
        SELECT tenant_id, id, searchable FROM entries WHERE (tenant_id, id) > (after_tenant, after_id)
        ORDER BY tenant_id, id LIMIT amount
    ), added AS (
        INSERT INTO backlog AS b (tenant_id, space_id, entry_id)
        SELECT n.tenant_id, in_space, n.id FROM next n
        WHERE n.searchable AND NOT is_resting(n.tenant_id) AND NOT EXISTS (
            SELECT FROM vectors v WHERE v.tenant_id = n.tenant_id AND v.entry_id = n.id AND v.space_id = in_space)
        ORDER BY n.tenant_id, n.id
        ON CONFLICT (tenant_id, space_id, entry_id)
            DO UPDATE SET attempts = 0, failed = false, error = NULL, due_at = now() WHERE b.failed
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM added), l.tenant_id, l.id
    FROM (VALUES (1)) AS one LEFT JOIN (SELECT * FROM next ORDER BY tenant_id DESC, id DESC LIMIT 1) AS l ON true
$$;

CREATE OR REPLACE FUNCTION index_summary(tenant uuid, p packed_entries) RETURNS void LANGUAGE sql AS $$
    INSERT INTO entries (tenant_id, kind, source_id, part, run_id, visibility, private_to, conversation_id, user_id,
        agent, created_at, searchable, text, words, pieces, lexemes, instant)
    SELECT tenant, 'summary', s.id, i.part, s.run_id, s.visibility, s.private_to, s.conversation_id, s.user_id,
        s.agent, s.latest_at, true, i.text, i.words, i.pieces, i.lexemes::integer[], i.instant
    FROM unnest((p).source_ids, (p).parts, (p).texts, (p).words, (p).pieces, (p).lexemes, (p).instants)
        AS i (source_id, part, text, words, pieces, lexemes, instant)
    CROSS JOIN LATERAL (SELECT * FROM summaries o WHERE o.tenant_id = tenant AND o.id = i.source_id OFFSET 0) AS s
$$;

-- With the place and speaker of the message: a landmark and its message are one thing that was said. One that was not
-- stored, because the message had it already, gets no entry.
CREATE OR REPLACE FUNCTION index_landmarks(tenant uuid, p packed_entries) RETURNS void LANGUAGE sql AS $$
    INSERT INTO entries (tenant_id, kind, source_id, part, run_id, visibility, private_to, conversation_id, seq, role,
        user_id, agent, created_at, searchable, text, words, pieces, lexemes, instant)
    SELECT tenant, 'landmark', l.id, i.part, l.run_id, l.visibility, l.private_to, l.conversation_id, l.seq, m.role,
        m.user_id, m.agent, m.created_at, true, i.text, i.words, i.pieces, i.lexemes::integer[], i.instant
    FROM unnest((p).source_ids, (p).parts, (p).texts, (p).words, (p).pieces, (p).lexemes, (p).instants)
        AS i (source_id, part, text, words, pieces, lexemes, instant)
    CROSS JOIN LATERAL (SELECT * FROM landmarks o WHERE o.tenant_id = tenant AND o.id = i.source_id OFFSET 0) AS l
    CROSS JOIN LATERAL (
        SELECT * FROM messages o
        WHERE o.tenant_id = tenant AND o.conversation_id = l.conversation_id AND o.seq = l.seq OFFSET 0
    ) AS m
$$;

-- The sentence of a tool call is a further part of its message.
CREATE OR REPLACE FUNCTION index_sentence(tenant uuid, conversation uuid, of_seq bigint, p packed_entries) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO entries (tenant_id, kind, source_id, part, run_id, visibility, private_to, conversation_id, seq, role,
        user_id, agent, created_at, searchable, text, words, pieces, lexemes, instant)
    SELECT tenant, 'message', m.id, n.next + i.part, m.run_id, m.visibility, m.private_to, m.conversation_id, m.seq,
        m.role, m.user_id, m.agent, m.created_at, true, i.text, i.words, i.pieces, i.lexemes::integer[], i.instant
    FROM unnest((p).parts, (p).texts, (p).words, (p).pieces, (p).lexemes, (p).instants)
        AS i (part, text, words, pieces, lexemes, instant)
    CROSS JOIN LATERAL (
        SELECT * FROM messages o
        WHERE o.tenant_id = tenant AND o.conversation_id = conversation AND o.seq = of_seq OFFSET 0
    ) AS m
    CROSS JOIN LATERAL (
        SELECT COALESCE(max(part) + 1, 0)::smallint AS next FROM entries e
        WHERE e.tenant_id = tenant AND e.source_id = m.id OFFSET 0
    ) AS n
$$;
