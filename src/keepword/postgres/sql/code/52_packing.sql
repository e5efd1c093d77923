-- Written by scripts/generate_sql.py from scripts/sql/52_packing.sql: change it there.

-- The format is that of src/keepword/embedding/entry_format.py.
-- What scoring needs of entries, packed column by column: a few thousand rows would take longer to parse than to find.
-- As the caller, so every row passes the wall. One function for each way to the entries: a condition that could mean any
-- of them would keep the planner from all their indexes. What is no message is no turn of the talk: a summary stands
-- beside nothing.

CREATE OR REPLACE FUNCTION pack_entries_of_runs(
    s scope, f search_filter, wanted public.halfvec, asker text, named text[], hits bigint[],
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea
) LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT
        string_agg(int8send(e.id), ''),
        string_agg(uuid_send(CASE WHEN e.seq IS NULL THEN e.source_id ELSE e.conversation_id END), ''),
        string_agg(int8send(COALESCE(e.seq, 0)), ''),
        -- the first letter of the role, then what passes the search_filter, then what the asker said, then what was said
        -- by whom the question names, then the kind
        string_agg(int2send((
            COALESCE(ascii(e.role), 0) + CASE WHEN e.user_id = asker THEN 512 ELSE 0 END
            + CASE WHEN f IS NULL OR matches_filter(f, e.kind, e.agent, e.user_id, e.created_at) THEN 256 ELSE 0 END
            + CASE
                WHEN e.role = 'user' AND lower(substring(e.user_id FROM '[^ ._@:/+-]+')) = ANY (named) THEN 4096 ELSE 0
            END
            + CASE e.kind WHEN 'message' THEN 0 WHEN 'summary' THEN 1024 WHEN 'memory' THEN 2048 WHEN 'landmark' THEN 3072 END
        )::int2), ''),
        string_agg(timestamptz_send(e.created_at), ''),
        string_agg(e.words, ''), string_agg(int4send(octet_length(e.words) / 4), ''),
        string_agg(e.pieces, ''), string_agg(int4send(octet_length(e.pieces) / 2), ''),
        string_agg(float4send((-(e.instant OPERATOR(public.<#>) wanted))::real), '')
    FROM entries e
    WHERE e.tenant_id = (s).tenant_id AND e.searchable
        AND in_scope(s, e.run_id, e.visibility, e.private_to)
        AND e.run_id = ANY ((s).run_ids)
$$;

CREATE OR REPLACE FUNCTION pack_entries_of_tenant(
    s scope, f search_filter, wanted public.halfvec, asker text, named text[], hits bigint[],
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea
) LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT
        string_agg(int8send(e.id), ''),
        string_agg(uuid_send(CASE WHEN e.seq IS NULL THEN e.source_id ELSE e.conversation_id END), ''),
        string_agg(int8send(COALESCE(e.seq, 0)), ''),
        -- the first letter of the role, then what passes the search_filter, then what the asker said, then what was said
        -- by whom the question names, then the kind
        string_agg(int2send((
            COALESCE(ascii(e.role), 0) + CASE WHEN e.user_id = asker THEN 512 ELSE 0 END
            + CASE WHEN f IS NULL OR matches_filter(f, e.kind, e.agent, e.user_id, e.created_at) THEN 256 ELSE 0 END
            + CASE
                WHEN e.role = 'user' AND lower(substring(e.user_id FROM '[^ ._@:/+-]+')) = ANY (named) THEN 4096 ELSE 0
            END
            + CASE e.kind WHEN 'message' THEN 0 WHEN 'summary' THEN 1024 WHEN 'memory' THEN 2048 WHEN 'landmark' THEN 3072 END
        )::int2), ''),
        string_agg(timestamptz_send(e.created_at), ''),
        string_agg(e.words, ''), string_agg(int4send(octet_length(e.words) / 4), ''),
        string_agg(e.pieces, ''), string_agg(int4send(octet_length(e.pieces) / 2), ''),
        string_agg(float4send((-(e.instant OPERATOR(public.<#>) wanted))::real), '')
    FROM entries e
    WHERE e.tenant_id = (s).tenant_id AND e.searchable
        AND in_scope(s, e.run_id, e.visibility, e.private_to)
$$;

CREATE OR REPLACE FUNCTION pack_entries_of_hits(
    s scope, f search_filter, wanted public.halfvec, asker text, named text[], hits bigint[],
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea
) LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT
        string_agg(int8send(e.id), ''),
        string_agg(uuid_send(CASE WHEN e.seq IS NULL THEN e.source_id ELSE e.conversation_id END), ''),
        string_agg(int8send(COALESCE(e.seq, 0)), ''),
        -- the first letter of the role, then what passes the search_filter, then what the asker said, then what was said
        -- by whom the question names, then the kind
        string_agg(int2send((
            COALESCE(ascii(e.role), 0) + CASE WHEN e.user_id = asker THEN 512 ELSE 0 END
            + CASE WHEN f IS NULL OR matches_filter(f, e.kind, e.agent, e.user_id, e.created_at) THEN 256 ELSE 0 END
            + CASE
                WHEN e.role = 'user' AND lower(substring(e.user_id FROM '[^ ._@:/+-]+')) = ANY (named) THEN 4096 ELSE 0
            END
            + CASE e.kind WHEN 'message' THEN 0 WHEN 'summary' THEN 1024 WHEN 'memory' THEN 2048 WHEN 'landmark' THEN 3072 END
        )::int2), ''),
        string_agg(timestamptz_send(e.created_at), ''),
        string_agg(e.words, ''), string_agg(int4send(octet_length(e.words) / 4), ''),
        string_agg(e.pieces, ''), string_agg(int4send(octet_length(e.pieces) / 2), ''),
        string_agg(float4send((-(e.instant OPERATOR(public.<#>) wanted))::real), '')
    FROM unnest(hits) AS h (id)
    -- one lookup for each: a join could be turned into reading everything
    CROSS JOIN LATERAL (SELECT * FROM entries o WHERE o.tenant_id = (s).tenant_id AND o.id = h.id OFFSET 0) AS e
    WHERE e.tenant_id = (s).tenant_id AND e.searchable
        AND in_scope(s, e.run_id, e.visibility, e.private_to)
$$;

-- The same for a copy: what came since a snapshot, for the runs of a scope, and for whoever asks for all and leaves it
-- to the wall.
CREATE OR REPLACE FUNCTION pack_changed_of_runs(
    s scope, seen pg_snapshot, since xid8,
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea, OUT users text[],
    OUT agents text[]
) LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT
        string_agg(int8send(e.id), ''),
        string_agg(uuid_send(CASE WHEN e.seq IS NULL THEN e.source_id ELSE e.conversation_id END), ''),
        string_agg(int8send(COALESCE(e.seq, 0)), ''),
        -- the first letter of the role, then the kind
        string_agg(int2send((
            COALESCE(ascii(e.role), 0)
            + CASE e.kind WHEN 'message' THEN 0 WHEN 'summary' THEN 1024 WHEN 'memory' THEN 2048 WHEN 'landmark' THEN 3072 END
        )::int2), ''),
        string_agg(timestamptz_send(e.created_at), ''),
        string_agg(e.words, ''), string_agg(int4send(octet_length(e.words) / 4), ''),
        string_agg(e.pieces, ''), string_agg(int4send(octet_length(e.pieces) / 2), ''),
        -- without the four bytes that say how many there are
        string_agg(substring(public.halfvec_send(e.instant) FROM 5), ''),
        array_agg(COALESCE(e.user_id, '')), array_agg(COALESCE(e.agent, ''))
    FROM entries e
    WHERE e.tenant_id = (s).tenant_id AND e.searchable
        AND in_scope(s, e.run_id, e.visibility, e.private_to)
        AND (seen IS NULL OR NOT pg_visible_in_snapshot(e.created_xid, seen))
        AND e.run_id = ANY ((s).run_ids) AND e.created_xid >= since
$$;

CREATE OR REPLACE FUNCTION pack_changed_of_tenant(
    s scope, seen pg_snapshot, since xid8,
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea, OUT users text[],
    OUT agents text[]
) LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT
        string_agg(int8send(e.id), ''),
        string_agg(uuid_send(CASE WHEN e.seq IS NULL THEN e.source_id ELSE e.conversation_id END), ''),
        string_agg(int8send(COALESCE(e.seq, 0)), ''),
        -- the first letter of the role, then the kind
        string_agg(int2send((
            COALESCE(ascii(e.role), 0)
            + CASE e.kind WHEN 'message' THEN 0 WHEN 'summary' THEN 1024 WHEN 'memory' THEN 2048 WHEN 'landmark' THEN 3072 END
        )::int2), ''),
        string_agg(timestamptz_send(e.created_at), ''),
        string_agg(e.words, ''), string_agg(int4send(octet_length(e.words) / 4), ''),
        string_agg(e.pieces, ''), string_agg(int4send(octet_length(e.pieces) / 2), ''),
        -- without the four bytes that say how many there are
        string_agg(substring(public.halfvec_send(e.instant) FROM 5), ''),
        array_agg(COALESCE(e.user_id, '')), array_agg(COALESCE(e.agent, ''))
    FROM entries e
    WHERE e.tenant_id = (s).tenant_id AND e.searchable
        AND in_scope(s, e.run_id, e.visibility, e.private_to)
        AND (seen IS NULL OR NOT pg_visible_in_snapshot(e.created_xid, seen))
$$;
