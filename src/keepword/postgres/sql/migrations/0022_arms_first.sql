-- In a large scope, what words and the instant space find is looked for while the deep model still thinks: the arms have
-- a function of their own, and the candidates take what it found.

DROP FUNCTION recall_candidates(
    text, scope, sieve, integer[], integer[], text[], halfvec, text[], halfvec, smallint, text, integer, integer);
DROP FUNCTION recall_hits(
    scope, sieve, integer[], integer[], integer[], bigint, halfvec, halfvec, smallint, bigint, integer, bigint[]);

-- What words and the instant space find, the turns beside it not yet among it.
CREATE FUNCTION recall_arms(
    s scope, f sieve, tenant_words integer[], run_words integer[], frequencies integer[], known bigint,
    instant_ halfvec, size bigint, amount integer
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

-- The arms alone; without hits where the scope is so small that it is compared whole.
CREATE FUNCTION recall_found(
    grant_ text, s scope, f sieve, tenant_words integer[], run_words integer[], patterns text[], instant_ halfvec,
    arms text[], small integer, amount integer, OUT hits bigint[], OUT held bigint[], OUT held_shares real[]
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    size bigint;
    known bigint;
    frequencies integer[];
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    IF granted_sessions_of() IS NOT NULL THEN
        s.run_ids := s.run_ids || ARRAY(SELECT granted_sessions());
    END IF;
    size := find_scope_size(s);
    IF size <= small THEN
        RETURN;
    END IF;
    SELECT q.frequencies, q.entries INTO frequencies, known FROM find_frequencies(s.tenant_id, tenant_words) q;
    IF cardinality(patterns) > 0 THEN
        SELECT array_agg(h.id), array_agg(h.share) INTO held, held_shares
        FROM find_holding(s, f, patterns, is_compared(size), amount) h;
    END IF;
    hits := recall_arms(
        s, f, tenant_words, run_words, frequencies, known, CASE WHEN 'instant' = ANY (arms) THEN instant_ END, size, amount);
END
$$;

CREATE FUNCTION recall_candidates(
    grant_ text, s scope, f sieve,
    tenant_words integer[],  -- the question's words, salted with the tenant
    run_words integer[],     -- the same for each run in turn, if there are few runs
    patterns text[],         -- for ILIKE: what the question means to the letter
    instant_ halfvec, arms text[], deep_ halfvec, deep_space smallint, asker text, small integer, amount integer,
    hits_known bigint[], INOUT held bigint[], INOUT held_shares real[],  -- what recall_found has said, if it was asked
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea,
    OUT deep_ids bytea, OUT deeps bytea, OUT frequencies integer[], OUT entries bigint, OUT is_whole boolean
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
    is_whole := hits_known IS NULL AND size <= small;
    IF hits_known IS NULL AND cardinality(patterns) > 0 THEN
        SELECT array_agg(h.id), array_agg(h.share) INTO held, held_shares
        FROM find_holding(s, f, patterns, is_compared(size), amount) h;
    END IF;
    IF NOT is_whole THEN
        IF hits_known IS NULL THEN
            hits := recall_arms(
                s, f, tenant_words, run_words, frequencies, entries,
                CASE WHEN 'instant' = ANY (arms) THEN instant_ END, size, amount);
        ELSE
            -- ids alone: whatever they are, the rows are read below as the caller, behind the wall
            hits := hits_known;
        END IF;
        IF deep_ IS NOT NULL THEN
            hits := hits || ARRAY(SELECT find_nearest_deep(s, f, deep_space, deep_, is_compared(size), amount));
        END IF;
        hits := ARRAY(SELECT find_beside(s, COALESCE(held, '{}') || hits));
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
