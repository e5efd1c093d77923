-- depends: 0014_compaction_counts 0014_memories 0014_agent_files
-- What came and went in a scope since a search last looked. A process keeps a copy of the scopes that are searched
-- again and again, and asks for the news alone; what it keeps was read behind the wall, under the same grant.

-- libraries have to be loaded before functions may name their types
DO $$ BEGIN PERFORM '[1]'::halfvec; END $$;

-- the transaction that wrote it: numbers of rows are given out before they are committed, and not in that order
ALTER TABLE entries ADD COLUMN born xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX entries_by_birth ON entries (tenant_id, run_id, born);
DROP INDEX entries_in_scope;

-- Entries that are no more. Ids only; forgotten after a while, and so are the copies that did not ask for so long.
CREATE TABLE departures (
    tenant_id uuid NOT NULL,
    run_id text NOT NULL,
    entry_id bigint NOT NULL,
    born xid8 NOT NULL DEFAULT pg_current_xact_id(),
    left_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX departures_by_birth ON departures (tenant_id, run_id, born);
CREATE INDEX departures_by_time ON departures (left_at);
ALTER TABLE departures ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION note_departures() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    INSERT INTO departures (tenant_id, run_id, entry_id) SELECT tenant_id, run_id, id FROM gone;
    -- some of the old ones, and none that another is taking: nobody waits for that
    DELETE FROM departures WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM departures WHERE left_at < now() - interval '2 hours'
        ORDER BY left_at LIMIT 1000 FOR UPDATE SKIP LOCKED));
    RETURN NULL;
END
$$;
CREATE TRIGGER departures_are_noted AFTER DELETE ON entries
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note_departures();

CREATE FUNCTION find_departures(s scope, seen pg_snapshot) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp SET enable_seqscan = off AS $$
    SELECT d.entry_id FROM departures d
    WHERE d.tenant_id = (s).tenant_id AND d.run_id = ANY ((s).run_ids) AND d.born >= pg_snapshot_xmin(seen)
        AND NOT pg_visible_in_snapshot(d.born, seen)
$$;

-- One for the runs of a scope, and one for whoever asks for all and leaves it to the wall.
DO $make$
DECLARE
    template constant text := $template$
        CREATE FUNCTION pack_news_of_{name}(
            s scope, seen pg_snapshot, since xid8,
            OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
            OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea, OUT users text[],
            OUT agents text[]
        ) LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
            SELECT
                string_agg(int8send(e.id), ''),
                string_agg(uuid_send(CASE WHEN e.seq IS NULL THEN e.source_id ELSE e.conversation_id END), ''),
                string_agg(int8send(COALESCE(e.seq, 0)), ''),
                -- the first letter of the role, then the kind
                string_agg(int2send((
                    COALESCE(ascii(e.role), 0)
                    + CASE e.kind WHEN 'message' THEN 0 WHEN 'summary' THEN 1024 WHEN 'memory' THEN 2048 ELSE 3072 END
                )::int2), ''),
                string_agg(timestamptz_send(e.created_at), ''),
                string_agg(e.words, ''), string_agg(int4send(octet_length(e.words) / 4), ''),
                string_agg(e.pieces, ''), string_agg(int4send(octet_length(e.pieces) / 2), ''),
                -- without the four bytes that say how many there are
                string_agg(substring(halfvec_send(e.instant) FROM 5), ''),
                array_agg(COALESCE(e.user_id, '')), array_agg(COALESCE(e.agent, ''))
            FROM entries e
            WHERE e.tenant_id = (s).tenant_id AND e.searchable
                AND in_scope(s, e.run_id, e.visibility, e.private_to)
                AND (seen IS NULL OR NOT pg_visible_in_snapshot(e.born, seen)) {condition}
        $body$ $template$;
BEGIN
    EXECUTE replace(replace(template, '{name}', 'runs'), '{condition}',
        'AND e.run_id = ANY ((s).run_ids) AND e.born >= since');
    EXECUTE replace(replace(template, '{name}', 'tenant'), '{condition}', '');
END
$make$;

-- The deep vectors of given entries, one for each chunk.
CREATE FUNCTION pack_deep_vectors(of_space smallint, wanted bigint[], OUT ids bytea, OUT vectors bytea)
LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    SELECT string_agg(int8send(v.entry_id), ''), string_agg(substring(halfvec_send(v.vector) FROM 5), '')
    FROM unnest(wanted) AS h (id)
    CROSS JOIN LATERAL (SELECT * FROM vectors o WHERE o.space_id = of_space AND o.entry_id = h.id OFFSET 0) AS v
$$;

-- What a search needs that has a copy: the news since `seen`, and how rare the words are.
CREATE FUNCTION recall_news(
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
    -- after a failover the numbers of transactions may be given out a second time
    server_since := pg_postmaster_start_time();
    IF s.everything THEN
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants, users, agents
        FROM pack_news_of_tenant(s, seen, since) p;
    ELSE
        SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants, users, agents
        FROM pack_news_of_runs(s, seen, since) p;
    END IF;
    IF seen IS NOT NULL THEN
        departed := ARRAY(SELECT find_departures(s, seen));
    END IF;
    SELECT q.frequencies, q.entries INTO frequencies, entries FROM find_frequencies(s.tenant_id, tenant_words) q;
    IF cardinality(undeep) > 0 THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_vectors(deep_space, undeep) p;
    END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION note_departures(), find_departures(scope, pg_snapshot) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_departures(scope, pg_snapshot) TO keepword_app;
