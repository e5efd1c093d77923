-- Search: candidates with the raw values of their signals, for a scope as it is and for a copy that a process keeps.

-- In how many entries of a scope each word occurs: counted for the tenant's owner, for others expected from its size.
CREATE OR REPLACE FUNCTION estimate_frequencies(
    s scope, words integer[], rates real[], size bigint, OUT frequencies integer[], OUT entries bigint
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT q.frequencies, q.entries INTO frequencies, entries FROM find_frequencies(s.tenant_id, words) q;
    IF entries IS NULL THEN
        entries := size;
        frequencies := ARRAY(
            SELECT GREATEST(r.rate * size, 4)::integer FROM unnest(rates) WITH ORDINALITY AS r (rate, place) ORDER BY r.place);
    END IF;
END
$$;

-- How near the chunks of entries are in a deep space: entry and nearness of each chunk.
CREATE OR REPLACE FUNCTION pack_deep_of_runs(
    s scope, of_space smallint, wanted public.halfvec, OUT ids bytea, OUT nearness bytea
) LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT string_agg(int8send(v.entry_id), ''), string_agg(float4send((-(v.vector OPERATOR(public.<#>) wanted))::real), '')
    FROM vectors v
    WHERE v.tenant_id = (s).tenant_id AND v.run_id = ANY ((s).run_ids) AND v.space_id = of_space
        AND in_scope(s, v.run_id, v.visibility, v.private_to)
$$;

CREATE OR REPLACE FUNCTION pack_deep_of_hits(
    s scope, of_space smallint, wanted public.halfvec, hits bigint[], OUT ids bytea, OUT nearness bytea
) LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    SELECT string_agg(int8send(v.entry_id), ''), string_agg(float4send((-(v.vector OPERATOR(public.<#>) wanted))::real), '')
    FROM unnest(hits) AS h (id)
    CROSS JOIN LATERAL (
        SELECT * FROM vectors o
        WHERE o.tenant_id = (s).tenant_id AND o.entry_id = h.id AND o.space_id = of_space OFFSET 0
    ) AS v
$$;

-- The deep vectors of given entries, one for each chunk.
CREATE OR REPLACE FUNCTION pack_deep_vectors(
    s scope, of_space smallint, wanted bigint[], OUT ids bytea, OUT vectors bytea
) LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    SELECT string_agg(int8send(v.entry_id), ''), string_agg(substring(public.halfvec_send(v.vector) FROM 5), '')
    FROM unnest(wanted) AS h (id)
    CROSS JOIN LATERAL (
        SELECT * FROM vectors o
        WHERE o.tenant_id = (s).tenant_id AND o.entry_id = h.id AND o.space_id = of_space OFFSET 0
    ) AS v
$$;

CREATE OR REPLACE FUNCTION find_deleted_entries(s scope, seen pg_snapshot) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp SET enable_seqscan = off AS $$
    SELECT d.entry_id FROM deleted_entries d
    WHERE NOT (s).everything AND d.tenant_id = (s).tenant_id AND d.run_id = ANY ((s).run_ids)
        AND d.created_xid >= pg_snapshot_xmin(seen) AND NOT pg_visible_in_snapshot(d.created_xid, seen)
    UNION ALL
    SELECT d.entry_id FROM deleted_entries d
    WHERE (s).everything AND d.tenant_id = (s).tenant_id AND d.created_xid >= pg_snapshot_xmin(seen)
        AND NOT pg_visible_in_snapshot(d.created_xid, seen)
$$;

-- What words and the instant space find, the turns beside it not yet among it.
CREATE OR REPLACE FUNCTION recall_arms(
    s scope, f search_filter, tenant_words integer[], run_words integer[], frequencies integer[], known bigint,
    instant_ public.halfvec, size bigint, amount integer
) RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    is_exact boolean := is_compared(size);
    hits bigint[] := '{}';
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
    RETURN hits;
END
$$;

-- The candidates of a search with the raw values of their signals, in one row. A small scope is returned whole; of a
-- large one, what the arms find and the turns beside it.
CREATE OR REPLACE FUNCTION search_candidates(
    grant_ text, s scope, f search_filter,
    tenant_words integer[],  -- the question's words, salted with the tenant
    run_words integer[],     -- the same for each run in turn, if there are few runs
    rates real[],            -- the share of turns of public talk that each word occurs in
    patterns text[],         -- for ILIKE: what the question means to the letter
    instant_ public.halfvec, by_instant boolean, deep_ public.halfvec, deep_space smallint, asker text, named text[],
    small integer,
    amount integer,
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea,
    OUT deep_ids bytea, OUT deeps bytea, OUT frequencies integer[], OUT entries bigint, OUT is_whole boolean,
    OUT held bigint[], OUT held_shares real[]  -- what holds the question's literals
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    hits bigint[];
    size bigint;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    IF granted_more_sessions() THEN
        s.run_ids := s.run_ids || ARRAY(SELECT granted_sessions());
    END IF;
    size := find_scope_size(s);
    SELECT q.frequencies, q.entries INTO frequencies, entries FROM estimate_frequencies(s, tenant_words, rates, size) q;
    is_whole := size <= small;
    IF cardinality(patterns) > 0 THEN
        SELECT array_agg(h.id), array_agg(h.share) INTO held, held_shares
        FROM find_literals(s, f, patterns, is_compared(size), amount) h;
    END IF;
    IF NOT is_whole THEN
        -- ids alone: whatever they are, the rows are read below as the caller, behind the wall
        hits := recall_arms(
            s, f, tenant_words, run_words, frequencies, entries, CASE WHEN by_instant THEN instant_ END, size, amount);
        IF deep_ IS NOT NULL THEN
            hits := hits || ARRAY(SELECT find_nearest_deep(s, f, deep_space, deep_, is_compared(size), amount));
        END IF;
        hits := ARRAY(SELECT find_neighbours(s, COALESCE(held, '{}') || hits));
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants
        FROM pack_entries_of_hits(s, f, instant_, asker, named, hits) p;
    ELSIF s.everything THEN
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants
        FROM pack_entries_of_tenant(s, f, instant_, asker, named, hits) p;
        IF deep_ IS NOT NULL THEN
            hits := ARRAY(SELECT e.id FROM keepword.entries e WHERE e.tenant_id = s.tenant_id AND e.searchable);
        END IF;
    ELSE
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants
        FROM pack_entries_of_runs(s, f, instant_, asker, named, hits) p;
    END IF;
    IF NOT granted_everything() THEN
        frequencies := NULL;  -- an estimate to find candidates by; they are weighed by what the scope itself holds
    END IF;
    IF deep_ IS NOT NULL AND hits IS NULL THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_of_runs(s, deep_space, deep_) p;
    ELSIF deep_ IS NOT NULL THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_of_hits(s, deep_space, deep_, hits) p;
    END IF;
END
$$;

-- What a summary was made from, packed like the candidates of a search: its children, and of its messages those that
-- come nearest to the question. As the caller, behind the wall.
CREATE OR REPLACE FUNCTION recall_inside(
    grant_ text, s scope, f search_filter, of_summary uuid, instant_ public.halfvec, deep_ public.halfvec,
    deep_space smallint, asker text, named text[], amount integer,
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea,
    OUT deep_ids bytea, OUT deeps bytea
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    hits bigint[];
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    IF granted_more_sessions() THEN
        s.run_ids := s.run_ids || ARRAY(SELECT granted_sessions());
    END IF;
    f.kinds := ARRAY['message', 'summary'];
    hits := ARRAY(
        SELECT e.id FROM summaries x
        CROSS JOIN LATERAL (
            SELECT o.id, o.instant FROM entries o
            WHERE o.tenant_id = s.tenant_id AND o.conversation_id = x.conversation_id AND o.seq >= x.first_seq
                AND o.seq <= x.last_seq AND o.kind = 'message' AND o.searchable
            OFFSET 0
        ) AS e
        WHERE x.tenant_id = s.tenant_id AND x.id = of_summary
        ORDER BY e.instant OPERATOR(public.<#>) instant_ LIMIT amount
    ) || ARRAY(
        SELECT e.id FROM summaries x
        CROSS JOIN LATERAL (
            SELECT o.id FROM entries o WHERE o.tenant_id = s.tenant_id AND o.source_id = x.id AND o.searchable OFFSET 0
        ) AS e
        WHERE x.tenant_id = s.tenant_id AND x.parent_id = of_summary
    );
    SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants
    FROM pack_entries_of_hits(s, f, instant_, asker, named, hits) p;
    IF deep_ IS NOT NULL THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_of_hits(s, deep_space, deep_, hits) p;
    END IF;
END
$$;

-- What a search needs that has a copy: the news since `seen`, and how rare the words are.
CREATE OR REPLACE FUNCTION changed_entries(
    grant_ text, s scope, seen pg_snapshot, tenant_words integer[], deep_space smallint, undeep bigint[],
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea, OUT users text[],
    OUT agents text[], OUT departed bigint[], OUT now_seen pg_snapshot, OUT deep_ids bytea, OUT deeps bytea,
    OUT frequencies integer[], OUT entries bigint, OUT server_since timestamptz
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    -- a constant of its own: row-level security keeps conditions with more in them from the index
    since xid8 := COALESCE(pg_snapshot_xmin(seen), '0');
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    now_seen := pg_current_snapshot();
    IF pg_is_in_recovery() THEN
        -- a standby's snapshot does not list the transactions that are open on the primary: what they commit later would
        -- pass for seen. Only what is older than all of them is; the rest is told again.
        now_seen := (pg_snapshot_xmin(now_seen)::text || ':' || pg_snapshot_xmin(now_seen)::text || ':')::pg_snapshot;
    ELSE
        -- after a failover the numbers of transactions may be given out a second time
        server_since := pg_postmaster_start_time();
    END IF;
    IF s.everything THEN
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants, users, agents
        FROM pack_changed_of_tenant(s, seen, since) p;
    ELSE
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants, users, agents
        FROM pack_changed_of_runs(s, seen, since) p;
    END IF;
    IF seen IS NOT NULL THEN
        departed := ARRAY(SELECT find_deleted_entries(s, seen));
    END IF;
    SELECT q.frequencies, q.entries INTO frequencies, entries FROM find_frequencies(s.tenant_id, tenant_words) q;
    IF cardinality(undeep) > 0 THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_vectors(s, deep_space, undeep) p;
    END IF;
END
$$;

-- What is read beside an entry has the scope of the entry itself, so whoever may read the one may read the other.
CREATE OR REPLACE FUNCTION in_the_scope_of(e entries, run text, seen text, only_for text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT run = (e).run_id AND seen = (e).visibility AND only_for IS NOT DISTINCT FROM (e).private_to
$$;

-- The memory that holds now in place of one that was read from a message; null if none was superseded.
CREATE OR REPLACE FUNCTION find_successor(e entries, message uuid) RETURNS uuid LANGUAGE sql STABLE AS $$
    WITH RECURSIVE later AS (
        SELECT o.superseded_by AS id, 1 AS steps FROM memory_sources r
        JOIN memories o ON o.tenant_id = (e).tenant_id AND o.id = r.memory_id AND o.deleted_at IS NULL
        WHERE r.tenant_id = (e).tenant_id AND r.message_id = message AND o.superseded_by IS NOT NULL
            AND in_the_scope_of(e, o.run_id, o.visibility, o.private_to)
        UNION ALL
        SELECT o.superseded_by, l.steps + 1 FROM later l
        JOIN memories o ON o.tenant_id = (e).tenant_id AND o.id = l.id
        WHERE o.superseded_by IS NOT NULL AND l.steps < 20 AND in_the_scope_of(e, o.run_id, o.visibility, o.private_to)
    )
    SELECT o.id FROM later l JOIN memories o ON o.tenant_id = (e).tenant_id AND o.id = l.id
    WHERE o.superseded_by IS NULL AND o.valid_to IS NULL AND o.deleted_at IS NULL
        AND in_the_scope_of(e, o.run_id, o.visibility, o.private_to)
    ORDER BY l.steps LIMIT 1
$$;
