-- The arms of a search. Row-level security keeps most operators of a search from their indexes, because they could tell of rows that
-- they must not show. So the arms that walk indexes are functions of the owner: they apply the scope that they are
-- handed and tell ids alone. Whatever they tell, the rows are then read as the caller, behind the wall.
-- Types and operators of extensions are written with their schema: names that others may make are never looked up.

-- libraries have to be loaded before functions may name their settings
DO $$ BEGIN PERFORM '[1]'::public.halfvec, public.similarity('', ''); END $$;

CREATE OR REPLACE FUNCTION in_scope(s scope, run_id text, visibility text, private_to text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (s).everything OR (run_id = ANY ((s).run_ids) AND visibility = ANY ((s).visibilities)
                              AND (private_to IS NULL OR private_to = (s).private_to))
$$;

CREATE OR REPLACE FUNCTION matches_filter(f search_filter, kind text, agent text, user_id text, created_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT ((f).kinds IS NULL OR kind = ANY ((f).kinds)) AND ((f).agent IS NULL OR agent = (f).agent)
        AND ((f).user_id IS NULL OR user_id = (f).user_id)
        AND ((f).since IS NULL OR created_at >= (f).since) AND ((f).before IS NULL OR created_at < (f).before)
$$;

-- How much a scope holds, roughly and quickly: what decides between comparing everything and walking an index.
CREATE OR REPLACE FUNCTION find_scope_size(s scope) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    size bigint;
BEGIN
    IF NOT s.everything THEN
        RETURN (SELECT COALESCE(sum(last_seq), 0) FROM conversations
                WHERE tenant_id = s.tenant_id AND run_id = ANY (s.run_ids));
    END IF;
    SELECT entries INTO size FROM entry_counts WHERE tenant_id = s.tenant_id;
    IF size > 100000 THEN
        RETURN size;
    END IF;
    RETURN GREATEST(size, (SELECT sum(last_seq) FROM conversations WHERE tenant_id = s.tenant_id), 0);
END
$$;

-- Whether a scope's entries are compared one by one: where an index of everything would find mostly others'.
CREATE OR REPLACE FUNCTION is_compared(size bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT size <= GREATEST(6000, LEAST(50000, 0.02 * (SELECT reltuples FROM pg_class WHERE oid = 'entries'::regclass)))
$$;

-- In how many entries of the tenant each word occurs, by its hash salted with the tenant, and how many entries there
-- are. What occurs in fewer than 4 looks as if it occurred in 4: whether a word was ever said where the caller can't
-- read is not told.
CREATE OR REPLACE FUNCTION find_frequencies(in_tenant uuid, words integer[], OUT frequencies integer[], OUT entries bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT
        (SELECT array_agg(GREATEST(l.entries, 4) ORDER BY w.place)
         FROM unnest(words) WITH ORDINALITY AS w (word, place)
         LEFT JOIN document_frequencies l ON l.tenant_id = in_tenant AND l.word = w.word),
        COALESCE((SELECT c.entries FROM entry_counts c WHERE c.tenant_id = in_tenant), 0)
    WHERE (SELECT granted_everything()) AND in_tenant = (SELECT granted_tenant())
$$;

-- Entries that hold the given words, those first that hold more of their weight. The words are as they stand in the
-- index: of each one for the tenant, or one for each run.
CREATE OR REPLACE FUNCTION find_by_words(s scope, f search_filter, words integer[], weights real[], amount integer)
RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = keepword, pg_temp SET enable_seqscan = off SET enable_bitmapscan = on AS $$
    SELECT found.id FROM unnest(words, weights) AS q (word, weight)
    CROSS JOIN LATERAL (
        SELECT e.id, octet_length(e.words) / 4 AS length FROM entries e
        WHERE e.lexemes @> ARRAY[q.word] AND e.tenant_id = (s).tenant_id
            AND in_scope(s, e.run_id, e.visibility, e.private_to)
            AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
    ) AS found
    GROUP BY found.id, found.length
    ORDER BY sum(q.weight) * length_share(found.length) DESC, found.id DESC
    LIMIT amount
$$;

-- Nearest entries of the instant space that are not in its index yet: the newest of them.
CREATE OR REPLACE FUNCTION find_nearest_fresh(s scope, f search_filter, wanted public.halfvec, amount integer) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT e.id FROM (
        SELECT b.entry_id FROM backlog b
        WHERE b.tenant_id = (s).tenant_id AND b.space_id = (SELECT id FROM spaces WHERE is_instant AND serving)
        ORDER BY b.entry_id DESC LIMIT 5000
    ) AS fresh JOIN entries e ON e.tenant_id = (s).tenant_id AND e.id = fresh.entry_id
    WHERE in_scope(s, e.run_id, e.visibility, e.private_to)
        AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
    ORDER BY e.instant OPERATOR(public.<#>) wanted LIMIT amount
$$;

-- Entries with the turns beside them. A conversation has one scope, so what is beside an entry is in its scope.
CREATE OR REPLACE FUNCTION find_neighbours(s scope, hits bigint[]) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT h.id FROM unnest(hits) AS h (id)
    UNION
    SELECT n.id FROM (SELECT DISTINCT unnest(hits) AS id) AS h
    CROSS JOIN LATERAL (
        SELECT e.conversation_id, e.seq FROM entries e WHERE e.id = h.id AND e.tenant_id = (s).tenant_id OFFSET 0
    ) AS m
    CROSS JOIN LATERAL (
        SELECT e.id FROM entries e
        WHERE e.tenant_id = (s).tenant_id AND e.conversation_id = m.conversation_id
            AND e.seq >= m.seq - 2 AND e.seq <= m.seq + 2
        OFFSET 0
    ) AS n
$$;

-- Nearest entries by comparing with every one of the scope: one function for the tenant and one for runs, because an
-- index on runs is of no use to a condition that may ask for all.
CREATE OR REPLACE FUNCTION find_nearest_in_runs(s scope, f search_filter, wanted public.halfvec, amount integer)
RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp SET enable_seqscan = off AS $$
    SELECT e.id FROM entries e
    WHERE e.tenant_id = (s).tenant_id AND e.run_id = ANY ((s).run_ids) AND e.searchable
        AND in_scope(s, e.run_id, e.visibility, e.private_to) AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
    ORDER BY e.instant OPERATOR(public.<#>) wanted LIMIT amount
$$;

CREATE OR REPLACE FUNCTION find_nearest_in_tenant(s scope, f search_filter, wanted public.halfvec, amount integer)
RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp SET enable_seqscan = off AS $$
    SELECT e.id FROM entries e
    WHERE e.tenant_id = (s).tenant_id AND e.searchable
        AND in_scope(s, e.run_id, e.visibility, e.private_to) AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
    ORDER BY e.instant OPERATOR(public.<#>) wanted LIMIT amount
$$;

-- The same through a space's index. The index goes on until enough of what it finds is in the scope.
CREATE OR REPLACE FUNCTION find_nearest_instant(s scope, f search_filter, wanted public.halfvec, amount integer)
RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp
SET enable_seqscan = off SET enable_sort = off SET hnsw.ef_search = 300 SET hnsw.iterative_scan = relaxed_order
SET hnsw.max_scan_tuples = 40000 AS $$
    SELECT v.entry_id FROM vectors v
    CROSS JOIN LATERAL (
        SELECT WHERE f IS NULL
        UNION ALL
        SELECT FROM entries e
        WHERE NOT (f IS NULL) AND e.tenant_id = (s).tenant_id AND e.id = v.entry_id
            AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
    ) AS passed
    WHERE v.space_id = 1 AND v.tenant_id = (s).tenant_id AND in_scope(s, v.run_id, v.visibility, v.private_to)
    ORDER BY v.vector::public.halfvec(256) OPERATOR(public.<#>) wanted LIMIT amount
$$;

-- Nearest entries of a deep space: by comparing where the scope is small, else through the space's own index, which a
-- condition finds only if it names the space as a constant.
CREATE OR REPLACE FUNCTION find_nearest_deep(
    s scope, f search_filter, of_space smallint, wanted public.halfvec, exactly boolean, amount integer
) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp
SET enable_seqscan = off SET hnsw.ef_search = 300 SET hnsw.iterative_scan = relaxed_order
SET hnsw.max_scan_tuples = 40000 AS $$
DECLARE
    dimensions integer := (SELECT p.dimensions FROM spaces p WHERE p.id = of_space);
BEGIN
    IF dimensions IS DISTINCT FROM public.vector_dims(wanted) THEN
        RETURN;
    ELSIF exactly AND NOT s.everything THEN
        RETURN QUERY SELECT e.id FROM vectors v JOIN entries e ON e.tenant_id = s.tenant_id AND e.id = v.entry_id
        WHERE v.tenant_id = s.tenant_id AND v.run_id = ANY (s.run_ids) AND v.space_id = of_space
            AND in_scope(s, v.run_id, v.visibility, v.private_to)
            AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
        ORDER BY v.vector OPERATOR(public.<#>) wanted LIMIT amount;
    ELSE
        RETURN QUERY EXECUTE format(
            'SELECT v.entry_id FROM vectors v
             CROSS JOIN LATERAL (
                 SELECT WHERE $2 IS NULL
                 UNION ALL
                 SELECT FROM entries e
                 WHERE NOT ($2 IS NULL) AND e.tenant_id = ($1).tenant_id AND e.id = v.entry_id
                     AND matches_filter($2, e.kind, e.agent, e.user_id, e.created_at)
             ) AS passed
             WHERE v.space_id = %s AND v.tenant_id = ($1).tenant_id
                 AND in_scope($1, v.run_id, v.visibility, v.private_to)
             ORDER BY v.vector::public.halfvec(%s) OPERATOR(public.<#>) $3 LIMIT $4', of_space, dimensions)
        USING s, f, wanted, amount;
    END IF;
END
$$;

-- What these two look through: the text of every entry, which for most messages is the transcript's own.
CREATE OR REPLACE FUNCTION find_literals(s scope, f search_filter, patterns text[], exactly boolean, amount integer)
RETURNS TABLE (id bigint, share real)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = keepword, pg_temp SET enable_seqscan = off SET enable_bitmapscan = on AS $$
BEGIN
    RETURN QUERY
    SELECT t.id, (count(*)::real / cardinality(patterns))::real FROM unnest(patterns) AS p (pattern)
    CROSS JOIN LATERAL (
        SELECT e.id FROM messages m JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
        WHERE NOT (exactly AND NOT (s).everything) AND m.content ILIKE p.pattern AND m.tenant_id = (s).tenant_id
            AND in_scope(s, m.run_id, m.visibility, m.private_to) AND e.text IS NULL
            AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
        UNION ALL
        SELECT e.id FROM messages m JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
        WHERE exactly AND NOT (s).everything AND m.content ILIKE p.pattern AND m.tenant_id = (s).tenant_id
            AND m.run_id = ANY ((s).run_ids) AND in_scope(s, m.run_id, m.visibility, m.private_to) AND e.text IS NULL
            AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
        UNION ALL
        SELECT e.id FROM entries e
        WHERE e.text ILIKE p.pattern AND e.tenant_id = (s).tenant_id
            AND in_scope(s, e.run_id, e.visibility, e.private_to)
            AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
    ) AS t
    GROUP BY t.id ORDER BY 2 DESC, 1 DESC LIMIT amount;
END
$$;

CREATE OR REPLACE FUNCTION find_resembling(s scope, f search_filter, wanted text, exactly boolean, amount integer)
RETURNS TABLE (id bigint, likeness real)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = keepword, pg_temp SET enable_seqscan = off SET enable_bitmapscan = on
SET pg_trgm.word_similarity_threshold = 0.4 AS $$
BEGIN
    RETURN QUERY
    -- of a message in parts the part that comes nearest stands for it
    SELECT t.id, t.nearness FROM (
        SELECT DISTINCT ON (u.source_id) u.id, public.word_similarity(wanted, u.text) AS nearness FROM (
            SELECT e.id, e.source_id, m.content AS text FROM messages m
            JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
            WHERE NOT (exactly AND NOT (s).everything) AND wanted OPERATOR(public.<%) m.content AND m.tenant_id = (s).tenant_id
                AND in_scope(s, m.run_id, m.visibility, m.private_to)
                AND e.text IS NULL AND e.searchable AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
            UNION ALL
            SELECT e.id, e.source_id, m.content FROM messages m
            JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
            WHERE exactly AND NOT (s).everything AND wanted OPERATOR(public.<%) m.content AND m.tenant_id = (s).tenant_id
                AND m.run_id = ANY ((s).run_ids) AND in_scope(s, m.run_id, m.visibility, m.private_to)
                AND e.text IS NULL AND e.searchable AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
            UNION ALL
            SELECT e.id, e.source_id, e.text FROM entries e
            WHERE wanted OPERATOR(public.<%) e.text AND e.tenant_id = (s).tenant_id
                AND in_scope(s, e.run_id, e.visibility, e.private_to)
                AND matches_filter(f, e.kind, e.agent, e.user_id, e.created_at)
        ) AS u ORDER BY u.source_id, 2 DESC, 1
    ) AS t ORDER BY 2 DESC, 1 DESC LIMIT amount;
END
$$;

CREATE OR REPLACE FUNCTION find_uses(in_tenant uuid, entry_ids bigint[])
RETURNS TABLE (entry_id bigint, times integer, last_at timestamptz) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT u.entry_id, u.times, u.last_at FROM uses u WHERE u.tenant_id = in_tenant AND u.entry_id = ANY (entry_ids)
$$;

-- Capped: what is popular must not crowd out what is right.
CREATE OR REPLACE FUNCTION count_uses(in_tenant uuid, entry_ids bigint[], amounts integer[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO uses AS u (tenant_id, entry_id, times, last_at)
    SELECT e.tenant_id, e.id, LEAST(g.amount, 50), now()
    FROM unnest(entry_ids, amounts) AS g (id, amount)
    JOIN entries e ON e.tenant_id = in_tenant AND e.id = g.id ORDER BY e.id
    ON CONFLICT (tenant_id, entry_id) DO UPDATE SET times = LEAST(u.times + excluded.times, 50), last_at = now()
$$;
