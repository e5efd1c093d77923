-- Search. Row-level security keeps most operators of a search from their indexes, because they could tell of rows that
-- they must not show. So the arms that walk indexes are functions of the owner: they apply the scope that they are
-- handed and tell ids alone. Whatever they tell, the rows are then read as the caller, behind the wall.

-- libraries have to be loaded before functions may name their settings
DO $$ BEGIN PERFORM '[1]'::halfvec, similarity('', ''); END $$;

CREATE INDEX messages_by_trigram ON messages USING gin (content gin_trgm_ops);

-- A grant as the first wall asks for it; `everything` is the tenant's owner.
CREATE TYPE scope AS (tenant_id uuid, everything boolean, run_ids text[], visibilities text[], private_to text);
-- What else a caller asked for. NULL does not restrict.
CREATE TYPE sieve AS (kinds text[], agent text, user_id text, since timestamptz, before timestamptz);

CREATE FUNCTION in_scope(s scope, run_id text, visibility text, private_to text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (s).everything OR (run_id = ANY ((s).run_ids) AND visibility = ANY ((s).visibilities)
                              AND (private_to IS NULL OR private_to = (s).private_to))
$$;
CREATE FUNCTION passes(f sieve, kind text, agent text, user_id text, created_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT ((f).kinds IS NULL OR kind = ANY ((f).kinds)) AND ((f).agent IS NULL OR agent = (f).agent)
        AND ((f).user_id IS NULL OR user_id = (f).user_id)
        AND ((f).since IS NULL OR created_at >= (f).since) AND ((f).before IS NULL OR created_at < (f).before)
$$;

-- How much a scope holds, roughly and quickly: what decides between comparing everything and walking an index.
CREATE FUNCTION find_scope_size(s scope) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    size bigint;
BEGIN
    IF NOT s.everything THEN
        RETURN (SELECT COALESCE(sum(last_seq), 0) FROM conversations
                WHERE tenant_id = s.tenant_id AND run_id = ANY (s.run_ids));
    END IF;
    SELECT entries INTO size FROM census WHERE tenant_id = s.tenant_id;
    IF size > 100000 THEN
        RETURN size;
    END IF;
    RETURN GREATEST(size, (SELECT sum(last_seq) FROM conversations WHERE tenant_id = s.tenant_id), 0);
END
$$;

-- Whether a scope's entries are compared one by one: where an index of everything would find mostly others'.
CREATE FUNCTION is_compared(size bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT size <= GREATEST(6000, LEAST(50000, 0.02 * (SELECT reltuples FROM pg_class WHERE oid = 'entries'::regclass)))
$$;

-- In how many entries of the tenant each word occurs, by its hash salted with the tenant, and how many entries there
-- are. What occurs in fewer than 4 looks as if it occurred in 4: whether a word was ever said where the caller can't
-- read is not told.
CREATE FUNCTION find_frequencies(in_tenant uuid, words integer[], OUT frequencies integer[], OUT entries bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT
        (SELECT array_agg(GREATEST(l.entries, 4) ORDER BY w.place)
         FROM unnest(words) WITH ORDINALITY AS w (word, place)
         LEFT JOIN lexicon l ON l.tenant_id = in_tenant AND l.word = w.word),
        COALESCE((SELECT c.entries FROM census c WHERE c.tenant_id = in_tenant), 0)
$$;

-- Entries that hold the given words, those first that hold more of their weight. The words are as they stand in the
-- index: of each one for the tenant, or one for each run.
CREATE FUNCTION find_by_words(s scope, f sieve, words integer[], weights real[], amount integer) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp SET enable_seqscan = off SET enable_bitmapscan = on AS $$
    SELECT found.id FROM unnest(words, weights) AS q (word, weight)
    CROSS JOIN LATERAL (
        SELECT e.id, octet_length(e.words) / 4 AS length FROM entries e
        WHERE e.lexemes @> ARRAY[q.word] AND e.tenant_id = (s).tenant_id
            AND in_scope(s, e.run_id, e.visibility, e.private_to)
            AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
    ) AS found
    GROUP BY found.id, found.length
    ORDER BY sum(q.weight) / (1 + GREATEST(found.length - 20, 0) / 80.0) DESC, found.id DESC
    LIMIT amount
$$;

-- Nearest entries of the instant space that are not in its index yet: the newest of them.
CREATE FUNCTION find_nearest_fresh(s scope, f sieve, wanted halfvec, amount integer) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
    SELECT e.id FROM (
        SELECT b.entry_id FROM backlog b WHERE b.space_id = (SELECT id FROM spaces WHERE is_instant AND serving)
        ORDER BY b.entry_id DESC LIMIT 5000
    ) AS fresh JOIN entries e ON e.id = fresh.entry_id
    WHERE e.tenant_id = (s).tenant_id AND in_scope(s, e.run_id, e.visibility, e.private_to)
        AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
    ORDER BY e.instant <#> wanted LIMIT amount
$$;

-- Entries with the turns beside them. A conversation has one scope, so what is beside an entry is in its scope.
CREATE FUNCTION find_beside(s scope, hits bigint[]) RETURNS SETOF bigint
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
CREATE FUNCTION find_nearest_in_runs(s scope, f sieve, wanted halfvec, amount integer) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp, public SET enable_seqscan = off AS $$
    SELECT e.id FROM entries e
    WHERE e.tenant_id = (s).tenant_id AND e.run_id = ANY ((s).run_ids) AND e.searchable
        AND in_scope(s, e.run_id, e.visibility, e.private_to) AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
    ORDER BY e.instant <#> wanted LIMIT amount
$$;
CREATE FUNCTION find_nearest_in_tenant(s scope, f sieve, wanted halfvec, amount integer) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp, public SET enable_seqscan = off AS $$
    SELECT e.id FROM entries e
    WHERE e.tenant_id = (s).tenant_id AND e.searchable
        AND in_scope(s, e.run_id, e.visibility, e.private_to) AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
    ORDER BY e.instant <#> wanted LIMIT amount
$$;

-- The same through a space's index. The index goes on until enough of what it finds is in the scope.
CREATE FUNCTION find_nearest_instant(s scope, f sieve, wanted halfvec, amount integer) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp, public
SET enable_seqscan = off SET enable_sort = off SET hnsw.ef_search = 160 SET hnsw.iterative_scan = relaxed_order
SET hnsw.max_scan_tuples = 40000 AS $$
    SELECT v.entry_id FROM vectors v
    CROSS JOIN LATERAL (
        SELECT WHERE f IS NULL
        UNION ALL
        SELECT FROM entries e
        WHERE NOT (f IS NULL) AND e.id = v.entry_id AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
    ) AS passed
    WHERE v.space_id = 1 AND v.tenant_id = (s).tenant_id AND in_scope(s, v.run_id, v.visibility, v.private_to)
    ORDER BY v.vector::halfvec(256) <#> wanted LIMIT amount
$$;

REVOKE EXECUTE ON FUNCTION find_scope_size(scope), find_frequencies(uuid, integer[]),
    find_by_words(scope, sieve, integer[], real[], integer), find_beside(scope, bigint[]), find_nearest_fresh(scope, sieve, halfvec, integer),
    find_nearest_in_runs(scope, sieve, halfvec, integer), find_nearest_in_tenant(scope, sieve, halfvec, integer),
    find_nearest_instant(scope, sieve, halfvec, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_scope_size(scope), find_frequencies(uuid, integer[]),
    find_by_words(scope, sieve, integer[], real[], integer), find_beside(scope, bigint[]), find_nearest_fresh(scope, sieve, halfvec, integer),
    find_nearest_in_runs(scope, sieve, halfvec, integer), find_nearest_in_tenant(scope, sieve, halfvec, integer),
    find_nearest_instant(scope, sieve, halfvec, integer) TO keepword_app;

-- Nearest entries of a deep space: by comparing where the scope is small, else through the space's own index, which a
-- condition finds only if it names the space as a constant.
CREATE FUNCTION find_nearest_deep(s scope, f sieve, of_space smallint, wanted halfvec, exactly boolean, amount integer)
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp, public
SET enable_seqscan = off SET hnsw.ef_search = 160 SET hnsw.iterative_scan = relaxed_order
SET hnsw.max_scan_tuples = 40000 AS $$
DECLARE
    dimensions integer := (SELECT p.dimensions FROM spaces p WHERE p.id = of_space);
BEGIN
    IF dimensions IS DISTINCT FROM vector_dims(wanted) THEN
        RETURN;
    ELSIF exactly AND NOT s.everything THEN
        RETURN QUERY SELECT e.id FROM vectors v JOIN entries e ON e.id = v.entry_id
        WHERE v.tenant_id = s.tenant_id AND v.run_id = ANY (s.run_ids) AND v.space_id = of_space
            AND in_scope(s, v.run_id, v.visibility, v.private_to)
            AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
        ORDER BY v.vector <#> wanted LIMIT amount;
    ELSE
        RETURN QUERY EXECUTE format(
            'SELECT v.entry_id FROM vectors v
             CROSS JOIN LATERAL (
                 SELECT WHERE $2 IS NULL
                 UNION ALL
                 SELECT FROM entries e
                 WHERE NOT ($2 IS NULL) AND e.id = v.entry_id AND passes($2, e.kind, e.agent, e.user_id, e.created_at)
             ) AS passed
             WHERE v.space_id = %s AND v.tenant_id = ($1).tenant_id
                 AND in_scope($1, v.run_id, v.visibility, v.private_to)
             ORDER BY v.vector::halfvec(%s) <#> $3 LIMIT $4', of_space, dimensions)
        USING s, f, wanted, amount;
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION find_nearest_deep(scope, sieve, smallint, halfvec, boolean, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_nearest_deep(scope, sieve, smallint, halfvec, boolean, integer) TO keepword_app;

-- What the two below look through: the text of every entry, which for most messages is the transcript's own.
CREATE FUNCTION find_holding(s scope, f sieve, patterns text[], exactly boolean, amount integer)
RETURNS TABLE (id bigint, share real)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp, public SET enable_seqscan = off SET enable_bitmapscan = on AS $$
BEGIN
    RETURN QUERY
    SELECT t.id, (count(*)::real / cardinality(patterns))::real FROM unnest(patterns) AS p (pattern)
    CROSS JOIN LATERAL (
        SELECT e.id FROM messages m JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
        WHERE NOT (exactly AND NOT (s).everything) AND m.content ILIKE p.pattern AND m.tenant_id = (s).tenant_id
            AND in_scope(s, m.run_id, m.visibility, m.private_to) AND e.text IS NULL
            AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
        UNION ALL
        SELECT e.id FROM messages m JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
        WHERE exactly AND NOT (s).everything AND m.content ILIKE p.pattern AND m.tenant_id = (s).tenant_id
            AND m.run_id = ANY ((s).run_ids) AND in_scope(s, m.run_id, m.visibility, m.private_to) AND e.text IS NULL
            AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
        UNION ALL
        SELECT e.id FROM entries e
        WHERE e.text ILIKE p.pattern AND e.tenant_id = (s).tenant_id
            AND in_scope(s, e.run_id, e.visibility, e.private_to)
            AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
    ) AS t
    GROUP BY t.id ORDER BY 2 DESC, 1 DESC LIMIT amount;
END
$$;

CREATE FUNCTION find_resembling(s scope, f sieve, wanted text, exactly boolean, amount integer)
RETURNS TABLE (id bigint, likeness real)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp, public SET enable_seqscan = off SET enable_bitmapscan = on
SET pg_trgm.word_similarity_threshold = 0.4 AS $$
BEGIN
    RETURN QUERY
    -- of a message in parts the part that comes nearest stands for it
    SELECT t.id, t.nearness FROM (
        SELECT DISTINCT ON (u.source_id) u.id, word_similarity(wanted, u.text) AS nearness FROM (
            SELECT e.id, e.source_id, m.content AS text FROM messages m
            JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
            WHERE NOT (exactly AND NOT (s).everything) AND wanted <% m.content AND m.tenant_id = (s).tenant_id
                AND in_scope(s, m.run_id, m.visibility, m.private_to)
                AND e.text IS NULL AND e.searchable AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
            UNION ALL
            SELECT e.id, e.source_id, m.content FROM messages m
            JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
            WHERE exactly AND NOT (s).everything AND wanted <% m.content AND m.tenant_id = (s).tenant_id
                AND m.run_id = ANY ((s).run_ids) AND in_scope(s, m.run_id, m.visibility, m.private_to)
                AND e.text IS NULL AND e.searchable AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
            UNION ALL
            SELECT e.id, e.source_id, e.text FROM entries e
            WHERE wanted <% e.text AND e.tenant_id = (s).tenant_id AND in_scope(s, e.run_id, e.visibility, e.private_to)
                AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
        ) AS u ORDER BY u.source_id, 2 DESC, 1
    ) AS t ORDER BY 2 DESC, 1 DESC LIMIT amount;
END
$$;

CREATE FUNCTION find_matching(s scope, f sieve, pattern text, exactly boolean, amount integer)
RETURNS TABLE (id bigint, likeness real)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp, public SET enable_seqscan = off SET enable_bitmapscan = on AS $$
BEGIN
    PERFORM '' ~* pattern;  -- a pattern that is none is refused even where there is nothing to match
    RETURN QUERY
    SELECT t.id, 1::real FROM (
        SELECT DISTINCT ON (u.source_id) u.id, u.created_at FROM (
            SELECT e.id, e.source_id, e.created_at FROM messages m
            JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
            WHERE NOT (exactly AND NOT (s).everything) AND m.content ~* pattern AND m.tenant_id = (s).tenant_id
                AND in_scope(s, m.run_id, m.visibility, m.private_to)
                AND e.text IS NULL AND e.searchable AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
            UNION ALL
            SELECT e.id, e.source_id, e.created_at FROM messages m
            JOIN entries e ON e.tenant_id = m.tenant_id AND e.source_id = m.id
            WHERE exactly AND NOT (s).everything AND m.content ~* pattern AND m.tenant_id = (s).tenant_id
                AND m.run_id = ANY ((s).run_ids) AND in_scope(s, m.run_id, m.visibility, m.private_to)
                AND e.text IS NULL AND e.searchable AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
            UNION ALL
            SELECT e.id, e.source_id, e.created_at FROM entries e
            WHERE e.text ~* pattern AND e.tenant_id = (s).tenant_id AND in_scope(s, e.run_id, e.visibility, e.private_to)
                AND passes(f, e.kind, e.agent, e.user_id, e.created_at)
        ) AS u ORDER BY u.source_id, u.id
    ) AS t ORDER BY t.created_at DESC, 1 DESC LIMIT amount;
END
$$;

CREATE FUNCTION find_uses(in_tenant uuid, entry_ids bigint[]) RETURNS TABLE (entry_id bigint, times integer, last_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT u.entry_id, u.times, u.last_at FROM uses u WHERE u.tenant_id = in_tenant AND u.entry_id = ANY (entry_ids)
$$;

-- Capped: what is popular must not crowd out what is right.
CREATE FUNCTION count_uses(in_tenant uuid, entry_ids bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO uses AS u (entry_id, tenant_id, times, last_at)
    SELECT e.id, e.tenant_id, 1, now() FROM entries e
    WHERE e.tenant_id = in_tenant AND e.id = ANY (entry_ids) ORDER BY e.id
    ON CONFLICT (entry_id) DO UPDATE SET times = LEAST(u.times + 1, 50), last_at = now()
$$;

REVOKE EXECUTE ON FUNCTION find_holding(scope, sieve, text[], boolean, integer),
    find_resembling(scope, sieve, text, boolean, integer), find_matching(scope, sieve, text, boolean, integer),
    find_uses(uuid, bigint[]), count_uses(uuid, bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_holding(scope, sieve, text[], boolean, integer),
    find_resembling(scope, sieve, text, boolean, integer), find_matching(scope, sieve, text, boolean, integer),
    find_uses(uuid, bigint[]), count_uses(uuid, bigint[]) TO keepword_app;

-- What scoring needs of entries, packed column by column: a few thousand rows would take longer to parse than to find.
-- As the caller, so every row passes the wall. Three functions from one text, for three ways to the entries: a condition
-- that could mean any of them would keep the planner from all their indexes.
DO $make$
DECLARE
    template constant text := $template$
        CREATE FUNCTION pack_entries_of_{name}(
            s scope, f sieve, wanted halfvec, asker text, hits bigint[],
            OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
            OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea
        ) LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
            SELECT
                string_agg(int8send(e.id), ''), string_agg(uuid_send(COALESCE(e.conversation_id, e.source_id)), ''),
                string_agg(int8send(COALESCE(e.seq, 0)), ''),
                -- the first letter of the role, then what passes the sieve, then what the asker said
                string_agg(int2send((
                    COALESCE(ascii(e.role), 0) + CASE WHEN e.user_id = asker THEN 512 ELSE 0 END
                    + CASE WHEN f IS NULL OR passes(f, e.kind, e.agent, e.user_id, e.created_at) THEN 256 ELSE 0 END
                )::int2), ''),
                string_agg(timestamptz_send(e.created_at), ''),
                string_agg(e.words, ''), string_agg(int4send(octet_length(e.words) / 4), ''),
                string_agg(e.pieces, ''), string_agg(int4send(octet_length(e.pieces) / 2), ''),
                string_agg(float4send((-(e.instant <#> wanted))::real), '')
            FROM {source}
            WHERE e.tenant_id = (s).tenant_id AND e.searchable
                AND in_scope(s, e.run_id, e.visibility, e.private_to) {condition}
        $body$ $template$;
    ways constant text[] := ARRAY[
        ARRAY['runs', 'entries e', 'AND e.run_id = ANY ((s).run_ids)'],
        ARRAY['tenant', 'entries e', ''],
        -- one lookup for each: a join could be turned into reading everything
        ARRAY['hits', 'unnest(hits) AS h (id) CROSS JOIN LATERAL (SELECT * FROM entries o WHERE o.id = h.id OFFSET 0) AS e', '']
    ];
    way text[];
BEGIN
    FOREACH way SLICE 1 IN ARRAY ways LOOP
        EXECUTE replace(replace(replace(template, '{name}', way[1]), '{source}', way[2]), '{condition}', way[3]);
    END LOOP;
END
$make$;

-- How near the chunks of entries are in a deep space: entry and nearness of each chunk.
CREATE FUNCTION pack_deep_of_runs(s scope, of_space smallint, wanted halfvec, OUT ids bytea, OUT nearness bytea)
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT string_agg(int8send(v.entry_id), ''), string_agg(float4send((-(v.vector <#> wanted))::real), '')
    FROM vectors v
    WHERE v.tenant_id = (s).tenant_id AND v.run_id = ANY ((s).run_ids) AND v.space_id = of_space
        AND in_scope(s, v.run_id, v.visibility, v.private_to)
$$;
CREATE FUNCTION pack_deep_of_hits(of_space smallint, wanted halfvec, hits bigint[], OUT ids bytea, OUT nearness bytea)
LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    SELECT string_agg(int8send(v.entry_id), ''), string_agg(float4send((-(v.vector <#> wanted))::real), '')
    FROM unnest(hits) AS h (id)
    CROSS JOIN LATERAL (SELECT * FROM vectors o WHERE o.space_id = of_space AND o.entry_id = h.id OFFSET 0) AS v
$$;

-- The candidates of a search with the raw values of their signals, in one row. A small scope is returned whole; of a
-- large one, what the arms find and the turns beside it.
CREATE FUNCTION recall_candidates(
    grant_ text, s scope, f sieve,
    tenant_words integer[],  -- the question's words, salted with the tenant
    run_words integer[],     -- the same for each run in turn, if there are few runs
    patterns text[],         -- for ILIKE: what the question means to the letter
    instant_ halfvec, arms text[], deep_ halfvec, deep_space smallint, asker text, small integer, amount integer,
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea,
    OUT deep_ids bytea, OUT deeps bytea, OUT frequencies integer[], OUT entries bigint, OUT is_whole boolean,
    OUT held bigint[], OUT held_shares real[]
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    hits bigint[];
    size bigint;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    IF granted_sessions_of() IS NOT NULL THEN
        s.run_ids := s.run_ids || ARRAY(SELECT granted_sessions());
    END IF;
    size := find_scope_size(s);
    SELECT q.frequencies, q.entries INTO frequencies, entries FROM find_frequencies(s.tenant_id, tenant_words) q;
    is_whole := size <= small;
    IF cardinality(patterns) > 0 THEN
        SELECT array_agg(h.id), array_agg(h.share) INTO held, held_shares
        FROM find_holding(s, f, patterns, is_compared(size), amount) h;
    END IF;
    IF NOT is_whole THEN
        hits := recall_hits(
            s, f, tenant_words, run_words, frequencies, entries, CASE WHEN 'instant' = ANY (arms) THEN instant_ END,
            deep_, deep_space, size, amount, held);
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants
        FROM pack_entries_of_hits(s, f, instant_, asker, hits) p;
    ELSIF s.everything THEN
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants
        FROM pack_entries_of_tenant(s, f, instant_, asker, hits) p;
        IF deep_ IS NOT NULL THEN
            hits := ARRAY(SELECT e.id FROM keepword.entries e WHERE e.tenant_id = s.tenant_id AND e.searchable);
        END IF;
    ELSE
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants
        FROM pack_entries_of_runs(s, f, instant_, asker, hits) p;
    END IF;
    IF deep_ IS NOT NULL AND hits IS NULL THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_of_runs(s, deep_space, deep_) p;
    ELSIF deep_ IS NOT NULL THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_of_hits(deep_space, deep_, hits) p;
    END IF;
END
$$;

CREATE FUNCTION recall_hits(
    s scope, f sieve, tenant_words integer[], run_words integer[], frequencies integer[], known bigint,
    instant_ halfvec, deep_ halfvec, deep_space smallint, size bigint, amount integer, held bigint[]
) RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    is_exact boolean := is_compared(size);
    hits bigint[] := COALESCE(held, '{}');
    chosen integer[];
    weights real[];
BEGIN
    -- the rarest words drive: until what they stand in is as much as can be looked at
    SELECT array_agg(w.word), array_agg(w.weight) INTO chosen, weights FROM (
        SELECT r.word, r.weight, sum(r.amount) OVER (ORDER BY r.frequency, r.place, r.run) AS total,
            row_number() OVER (ORDER BY r.frequency, r.place, r.run) AS rank
        FROM (
            SELECT COALESCE(u.word, q.word) AS word, q.frequency, q.place, u.run,
                q.frequency * CASE WHEN u.word IS NULL THEN 1 ELSE LEAST(size::real / GREATEST(known, 1), 1) END AS amount,
                ln(1 + (GREATEST(known, q.frequency) - q.frequency + 0.5) / (q.frequency + 0.5))::real AS weight
            FROM unnest(tenant_words, frequencies) WITH ORDINALITY AS q (word, frequency, place)
            LEFT JOIN LATERAL (
                SELECT o.word, o.place AS run FROM unnest(run_words) WITH ORDINALITY AS o (word, place)
                WHERE (o.place - 1) % cardinality(tenant_words) = q.place - 1
            ) AS u ON true
        ) AS r
    ) AS w WHERE w.total <= 2500 OR w.rank = 1;
    IF chosen IS NOT NULL THEN
        hits := hits || ARRAY(SELECT find_by_words(s, f, chosen, weights, amount));
    END IF;
    IF instant_ IS NOT NULL AND is_exact AND s.everything THEN
        hits := hits || ARRAY(SELECT find_nearest_in_tenant(s, f, instant_, amount));
    ELSIF instant_ IS NOT NULL AND is_exact THEN
        hits := hits || ARRAY(SELECT find_nearest_in_runs(s, f, instant_, amount));
    ELSIF instant_ IS NOT NULL THEN
        hits := hits || ARRAY(SELECT find_nearest_instant(s, f, instant_, amount))
            || ARRAY(SELECT find_nearest_fresh(s, f, instant_, amount));
    END IF;
    IF deep_ IS NOT NULL THEN
        hits := hits || ARRAY(SELECT find_nearest_deep(s, f, deep_space, deep_, is_exact, amount));
    END IF;
    RETURN ARRAY(SELECT find_beside(s, hits));
END
$$;

-- For the tenant's owner: what waits and what failed. Reasons are the embedder's words, never an entry's.
CREATE FUNCTION find_queues(in_tenant uuid)
RETURNS TABLE (space text, waiting bigint, failed bigint, last_error text, oldest_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT s.name, count(b.entry_id) FILTER (WHERE NOT b.failed), count(b.entry_id) FILTER (WHERE b.failed),
        max(b.error), EXTRACT(epoch FROM now() - min(b.queued_at) FILTER (WHERE NOT b.failed))::double precision
    FROM spaces s LEFT JOIN backlog b ON b.space_id = s.id AND b.tenant_id = in_tenant
    GROUP BY s.id ORDER BY s.id
$$;

CREATE FUNCTION find_coverage(in_tenant uuid) RETURNS TABLE (space text, entries bigint, embedded bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT s.name, c.entries, c.entries - (SELECT count(*) FROM backlog b WHERE b.space_id = s.id AND b.tenant_id = in_tenant)
    FROM spaces s CROSS JOIN (SELECT count(*) AS entries FROM entries WHERE tenant_id = in_tenant AND searchable) AS c
    ORDER BY s.id
$$;
REVOKE EXECUTE ON FUNCTION find_queues(uuid), find_coverage(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_queues(uuid), find_coverage(uuid) TO keepword_app;
