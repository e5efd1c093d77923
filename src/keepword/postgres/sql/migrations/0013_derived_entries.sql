-- depends: 0007_recall 0010_summaries 0011_embedding
-- What is derived can be found: summaries, landmarks and the sentences of tool calls have entries, written in the
-- transaction that stores them, by the functions that store them. Their scope is copied from what they belong to.

-- Packed entries on their way: one element of each array belongs to one part of a text.
CREATE TYPE packed_entries AS (
    source_ids uuid[], parts smallint[], texts text[], words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
);

CREATE FUNCTION index_summary(tenant uuid, p packed_entries) RETURNS void LANGUAGE sql AS $$
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
CREATE FUNCTION index_landmarks(tenant uuid, p packed_entries) RETURNS void LANGUAGE sql AS $$
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
CREATE FUNCTION index_sentence(tenant uuid, conversation uuid, of_seq bigint, p packed_entries) RETURNS void
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

REVOKE EXECUTE ON FUNCTION index_summary(uuid, packed_entries), index_landmarks(uuid, packed_entries),
    index_sentence(uuid, uuid, bigint, packed_entries) FROM PUBLIC;

DROP FUNCTION store_summary(text, uuid, uuid, jsonb, uuid[]);
-- Stores a summary with its entries and hands it its children, all or nothing. False means that it, or one like it,
-- was there before. Those of older versions that it stands for are no longer found; they can still be read.
CREATE FUNCTION store_summary(
    grant_ text, tenant uuid, conversation uuid, s jsonb, children uuid[], entries_ packed_entries
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
DECLARE
    taken bigint;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    IF NOT insert_summary(tenant, conversation, s) THEN
        RETURN false;
    END IF;
    UPDATE summaries SET parent_id = (s ->> 'id')::uuid
    WHERE tenant_id = tenant AND id = ANY (children) AND conversation_id = conversation AND parent_id IS NULL
        AND pipeline_version = (s ->> 'pipeline_version')::integer;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken <> cardinality(children) THEN
        RAISE EXCEPTION 'another summary took some of these children' USING ERRCODE = 'serialization_failure';
    END IF;
    UPDATE compactions SET covered_seq = GREATEST(covered_seq, (s ->> 'last_seq')::bigint)
    WHERE tenant_id = tenant AND conversation_id = conversation AND s ->> 'tier' = 'thread';
    -- leaves tile and parents follow them, so what ended before this one's end was replaced by it or by its predecessors
    DELETE FROM entries e USING summaries o
    WHERE o.tenant_id = tenant AND o.conversation_id = conversation AND o.tier = s ->> 'tier'
        AND o.pipeline_version < (s ->> 'pipeline_version')::integer AND o.last_seq <= (s ->> 'last_seq')::bigint
        AND e.tenant_id = tenant AND e.source_id = o.id;
    PERFORM index_summary(tenant, entries_);
    RETURN true;
END
$$;

DROP FUNCTION store_told_summary(text, uuid, uuid, jsonb);
-- A summary that an agent wrote, in the place that its grant lets it write.
CREATE FUNCTION store_told_summary(grant_ text, tenant uuid, conversation uuid, s jsonb, entries_ packed_entries)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, c.run_id, c.visibility, c.private_to)
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation;
    IF NOT FOUND OR NOT insert_summary(tenant, conversation, s || '{"tier": "stored"}') THEN
        RETURN false;
    END IF;
    PERFORM index_summary(tenant, entries_);
    RETURN true;
END
$$;

DROP FUNCTION store_sentence(text, uuid, uuid, bigint, text, text, text);
CREATE FUNCTION store_sentence(
    grant_ text, tenant uuid, conversation uuid, of_seq bigint, sentence text, by_model text, because text,
    entries_ packed_entries
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    INSERT INTO tool_sentences (tenant_id, conversation_id, seq, run_id, visibility, private_to, content, model, reason)
    SELECT tenant, c.id, of_seq, c.run_id, c.visibility, c.private_to, sentence, by_model, because
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = conversation
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM index_sentence(tenant, conversation, of_seq, entries_);
    END IF;
    DELETE FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = 'describe' AND seq = of_seq;
END
$$;

DROP FUNCTION store_landmarks(text, uuid, uuid, bigint, jsonb);
CREATE FUNCTION store_landmarks(
    grant_ text, tenant uuid, conversation uuid, of_seq bigint, marks jsonb, entries_ packed_entries
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    INSERT INTO landmarks (tenant_id, id, conversation_id, seq, run_id, visibility, private_to, kind, content)
    SELECT tenant, (f ->> 'id')::uuid, c.id, of_seq, c.run_id, c.visibility, c.private_to, f ->> 'kind', f ->> 'text'
    FROM jsonb_array_elements(marks) AS f
    CROSS JOIN conversations c
    WHERE c.tenant_id = tenant AND c.id = conversation
        AND NOT EXISTS (SELECT FROM landmarks l WHERE l.tenant_id = tenant AND l.conversation_id = conversation
                            AND l.seq = of_seq AND l.kind = f ->> 'kind')
    ON CONFLICT DO NOTHING;
    PERFORM index_landmarks(tenant, entries_);
    DELETE FROM outbox
    WHERE tenant_id = tenant AND conversation_id = conversation AND task = 'landmark' AND seq = of_seq;
END
$$;

DROP FUNCTION pin_landmark(text, uuid, uuid, uuid, uuid, text, text, text);
-- Pins a part of a message. The outcome says what came of it.
CREATE FUNCTION pin_landmark(
    grant_ text, tenant uuid, conversation uuid, new_id uuid, of_message uuid, as_kind text, part text, by_whom text,
    entries_ packed_entries
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
DECLARE
    m messages%ROWTYPE;
BEGIN
    SELECT * INTO m FROM messages WHERE tenant_id = tenant AND id = of_message AND conversation_id = conversation;
    IF NOT FOUND THEN
        RETURN 'no message';
    END IF;
    PERFORM require_writes(grant_::jsonb, tenant, m.run_id, m.visibility, m.private_to);
    IF part = '' THEN
        RETURN 'no words';
    ELSIF strpos(m.content, part) = 0 THEN
        RETURN 'other words';
    END IF;
    INSERT INTO landmarks (
        tenant_id, id, conversation_id, seq, run_id, visibility, private_to, kind, content, pinned_by)
    VALUES (tenant, new_id, conversation, m.seq, m.run_id, m.visibility, m.private_to, as_kind, part, by_whom)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN 'pinned before';
    END IF;
    PERFORM index_landmarks(tenant, entries_);
    RETURN 'pinned';
END
$$;

-- What is unpinned is no longer found.
CREATE OR REPLACE FUNCTION unpin_landmark(grant_ text, tenant uuid, wanted uuid, by_whom text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
DECLARE
    g jsonb := grant_;
BEGIN
    UPDATE landmarks l SET unpinned_at = clock_timestamp(), unpinned_by = by_whom
    WHERE l.tenant_id = tenant AND l.id = wanted AND l.unpinned_at IS NULL AND l.run_id = g ->> 'writes'
        AND grant_opens(g, l.tenant_id, l.run_id, l.visibility, l.private_to);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = wanted;
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION
    store_summary(text, uuid, uuid, jsonb, uuid[], packed_entries),
    store_told_summary(text, uuid, uuid, jsonb, packed_entries),
    store_sentence(text, uuid, uuid, bigint, text, text, text, packed_entries),
    store_landmarks(text, uuid, uuid, bigint, jsonb, packed_entries),
    pin_landmark(text, uuid, uuid, uuid, uuid, text, text, text, packed_entries)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    store_summary(text, uuid, uuid, jsonb, uuid[], packed_entries),
    store_told_summary(text, uuid, uuid, jsonb, packed_entries),
    store_sentence(text, uuid, uuid, bigint, text, text, text, packed_entries),
    store_landmarks(text, uuid, uuid, bigint, jsonb, packed_entries),
    pin_landmark(text, uuid, uuid, uuid, uuid, text, text, text, packed_entries)
TO keepword_app;

-- As before, but how rare a word is is counted in what was said alone: what is derived repeats it.
CREATE OR REPLACE FUNCTION settle_entries(amount integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
DECLARE
    instant_space smallint := (SELECT id FROM spaces WHERE is_instant AND serving);
    settled bigint[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('keepword.settle_entries')) THEN
        RETURN 0;
    END IF;
    WITH gone AS (
        DELETE FROM backlog WHERE (space_id, entry_id) IN (
            SELECT space_id, entry_id FROM backlog WHERE space_id = instant_space
            ORDER BY entry_id LIMIT amount FOR UPDATE SKIP LOCKED)
        RETURNING entry_id
    )
    SELECT array_agg(entry_id ORDER BY entry_id) INTO settled FROM gone;
    IF settled IS NULL THEN
        RETURN 0;
    END IF;
    INSERT INTO vectors (space_id, entry_id, part, tenant_id, run_id, visibility, private_to, vector)
    SELECT instant_space, id, 0, tenant_id, run_id, visibility, private_to, instant
    FROM entries WHERE id = ANY (settled) ON CONFLICT DO NOTHING;
    -- the first half of the lexemes are those salted with the tenant
    INSERT INTO lexicon AS l (tenant_id, word, entries)
    SELECT e.tenant_id, w.word, count(*) FROM entries e
    CROSS JOIN LATERAL unnest(e.lexemes[:cardinality(e.lexemes) / 2]) AS w (word)
    WHERE e.id = ANY (settled) AND e.kind = 'message' GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (tenant_id, word) DO UPDATE SET entries = l.entries + excluded.entries;
    INSERT INTO census AS c (tenant_id, entries)
    SELECT tenant_id, count(*) FROM entries WHERE id = ANY (settled) AND kind = 'message' GROUP BY 1 ORDER BY 1
    ON CONFLICT (tenant_id) DO UPDATE SET entries = c.entries + excluded.entries;
    RETURN cardinality(settled);
END
$$;

-- As before, but the kind is told, and what is no message is no turn of the talk: a summary stands beside nothing.
DO $make$
DECLARE
    template constant text := $template$
        CREATE OR REPLACE FUNCTION pack_entries_of_{name}(
            s scope, f sieve, wanted halfvec, asker text, hits bigint[],
            OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
            OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea
        ) LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
            SELECT
                string_agg(int8send(e.id), ''),
                string_agg(uuid_send(CASE WHEN e.seq IS NULL THEN e.source_id ELSE e.conversation_id END), ''),
                string_agg(int8send(COALESCE(e.seq, 0)), ''),
                -- the first letter of the role, then what passes the sieve, then what the asker said, then the kind
                string_agg(int2send((
                    COALESCE(ascii(e.role), 0) + CASE WHEN e.user_id = asker THEN 512 ELSE 0 END
                    + CASE WHEN f IS NULL OR passes(f, e.kind, e.agent, e.user_id, e.created_at) THEN 256 ELSE 0 END
                    + CASE e.kind WHEN 'message' THEN 0 WHEN 'summary' THEN 1024 WHEN 'memory' THEN 2048 ELSE 3072 END
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

-- What a summary was made from, packed like the candidates of a search: its children, and of its messages those that
-- come nearest to the question. As the caller, behind the wall.
CREATE FUNCTION recall_inside(
    grant_ text, s scope, f sieve, of_summary uuid, instant_ halfvec, deep_ halfvec, deep_space smallint, asker text,
    amount integer,
    OUT ids bytea, OUT talks bytea, OUT seqs bytea, OUT flags bytea, OUT times bytea, OUT words bytea,
    OUT word_counts bytea, OUT pieces bytea, OUT piece_counts bytea, OUT instants bytea,
    OUT deep_ids bytea, OUT deeps bytea
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    hits bigint[];
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    IF granted_sessions_of() IS NOT NULL THEN
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
        ORDER BY e.instant <#> instant_ LIMIT amount
    ) || ARRAY(
        SELECT e.id FROM summaries x
        CROSS JOIN LATERAL (
            SELECT o.id FROM entries o WHERE o.tenant_id = s.tenant_id AND o.source_id = x.id AND o.searchable OFFSET 0
        ) AS e
        WHERE x.tenant_id = s.tenant_id AND x.parent_id = of_summary
    );
    SELECT p.* INTO ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants
    FROM pack_entries_of_hits(s, f, instant_, asker, hits) p;
    IF deep_ IS NOT NULL THEN
        SELECT p.* INTO deep_ids, deeps FROM pack_deep_of_hits(deep_space, deep_, hits) p;
    END IF;
END
$$;
