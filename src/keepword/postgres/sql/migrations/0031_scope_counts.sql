-- How often words occur is told of what the grant opens: the tenant's counts, of what others said as well, are its
-- owner's alone.
-- depends: 0022_arms_first

CREATE OR REPLACE FUNCTION find_frequencies(in_tenant uuid, words integer[], OUT frequencies integer[], OUT entries bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT
        (SELECT array_agg(GREATEST(l.entries, 4) ORDER BY w.place)
         FROM unnest(words) WITH ORDINALITY AS w (word, place)
         LEFT JOIN lexicon l ON l.tenant_id = in_tenant AND l.word = w.word),
        COALESCE((SELECT c.entries FROM census c WHERE c.tenant_id = in_tenant), 0)
    WHERE (SELECT granted_everything()) AND in_tenant = (SELECT granted_tenant())
$$;

-- In how many entries of a scope each word occurs: counted for the tenant's owner, for others expected from its size.
CREATE FUNCTION weigh_words(
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

DROP FUNCTION recall_found(text, scope, sieve, integer[], integer[], text[], halfvec, text[], integer, integer);
DROP FUNCTION recall_candidates(
    text, scope, sieve, integer[], integer[], text[], halfvec, text[], halfvec, smallint, text, integer, integer, bigint[],
    bigint[], real[]);

-- The arms alone; without hits where the scope is so small that it is compared whole.
CREATE FUNCTION recall_found(
    grant_ text, s scope, f sieve, tenant_words integer[], run_words integer[], rates real[], patterns text[], instant_ halfvec,
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
    SELECT q.frequencies, q.entries INTO frequencies, known FROM weigh_words(s, tenant_words, rates, size) q;
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
    rates real[],            -- the share of turns of public talk that each word occurs in
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
    SELECT q.frequencies, q.entries INTO frequencies, entries FROM weigh_words(s, tenant_words, rates, size) q;
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
    IF NOT granted_everything() THEN
        frequencies := NULL;  -- an estimate to find candidates by; they are weighed by what the scope itself holds
    END IF;
    IF deep_ IS NOT NULL AND hits IS NULL THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_of_runs(s, deep_space, deep_) p;
    ELSIF deep_ IS NOT NULL THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_of_hits(deep_space, deep_, hits) p;
    END IF;
END
$$;
