-- What can be searched. An entry is written with what it is made from, in one transaction: its words and its vector
-- in the instant space are there at once. Everything here can be made again from the transcript.

CREATE TABLE entries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('message', 'summary', 'memory', 'landmark')),
    source_id uuid NOT NULL,
    part smallint NOT NULL DEFAULT 0,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    conversation_id uuid,
    seq bigint,
    role text,
    user_id text,
    agent text,
    created_at timestamptz NOT NULL,
    importance real NOT NULL DEFAULT 0.5,
    -- false: nothing in it that could be searched for (base64, binary); then all below is null
    searchable boolean NOT NULL,
    -- what was indexed, where that is not the whole content of the message
    text text,
    -- packed for the scoring: a 4-byte hash of each distinct word's stem, and the 2-byte numbers of its tokens
    words bytea,
    pieces bytea,
    -- for the index: the same hashes, once salted with the tenant and once with the run, so that what others say in
    -- other places does not lengthen the lists that a search walks
    lexemes integer[],
    instant halfvec(256),
    UNIQUE (tenant_id, source_id, part),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    CHECK (searchable = (words IS NOT NULL) AND searchable = (instant IS NOT NULL))
);
-- scans of small scopes read these columns of every row: out of line they would take ten times as long
ALTER TABLE entries ALTER COLUMN instant SET STORAGE PLAIN, ALTER COLUMN words SET STORAGE MAIN,
    ALTER COLUMN pieces SET STORAGE MAIN;

CREATE INDEX entries_in_scope ON entries (tenant_id, run_id, created_at);
CREATE INDEX entries_in_talk ON entries (tenant_id, conversation_id, seq);
-- the pending list makes appends cheap; a worker empties it before it gets long
CREATE INDEX entries_by_lexeme ON entries USING gin (lexemes) WITH (fastupdate = on, gin_pending_list_limit = 16384);
CREATE INDEX entries_by_trigram ON entries USING gin (text gin_trgm_ops) WHERE text IS NOT NULL;

CALL wall_in_content('entries');
GRANT SELECT, INSERT ON entries TO keepword_app;

-- Vectors are told apart by space: a model and what it was told to do. `serving` is what searches use; a model that is
-- being introduced fills its own space while the old one serves.
CREATE TABLE spaces (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    dimensions integer NOT NULL CHECK (dimensions BETWEEN 1 AND 4000),
    is_instant boolean NOT NULL DEFAULT false,
    serving boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX spaces_serving ON spaces (is_instant) WHERE serving;
ALTER TABLE spaces ENABLE ROW LEVEL SECURITY;
CREATE POLICY known ON spaces FOR SELECT TO keepword_app USING (true);
GRANT SELECT ON spaces TO keepword_app;
INSERT INTO spaces (name, dimensions, is_instant, serving) VALUES
    ('instant-v1', 256, true, true), ('minilm-l6-v2-int8', 384, false, true);

-- The indexed vectors: of the instant space as soon as a worker has come by (until then a search compares with the
-- entries themselves), of the deep space one for each chunk that the model can see at once.
CREATE TABLE vectors (
    space_id smallint NOT NULL REFERENCES spaces (id),
    entry_id bigint NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
    part smallint NOT NULL,
    tenant_id uuid NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    vector halfvec NOT NULL,
    PRIMARY KEY (space_id, entry_id, part)
);
ALTER TABLE vectors ALTER COLUMN vector SET STORAGE PLAIN;
CREATE INDEX vectors_in_scope ON vectors (tenant_id, run_id, space_id);
CREATE INDEX vectors_instant_v1 ON vectors USING hnsw ((vector::halfvec(256)) halfvec_ip_ops)
    WITH (ef_construction = 100) WHERE space_id = 1;
CREATE INDEX vectors_minilm_l6_v2_int8 ON vectors USING hnsw ((vector::halfvec(384)) halfvec_ip_ops)
    WITH (ef_construction = 100) WHERE space_id = 2;

CALL wall_in_content('vectors');
GRANT SELECT ON vectors TO keepword_app;

-- What is still to be done with an entry, one row for each space. Ids only: nothing of what was said.
CREATE TABLE backlog (
    space_id smallint NOT NULL REFERENCES spaces (id),
    entry_id bigint NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
    tenant_id uuid NOT NULL,
    queued_at timestamptz NOT NULL DEFAULT now(),
    attempts smallint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    failed boolean NOT NULL DEFAULT false,
    error text,
    PRIMARY KEY (space_id, entry_id)
);
CREATE INDEX backlog_by_tenant ON backlog (tenant_id, space_id);

-- In how many entries of a tenant a word occurs, by the hash of its stem; counted when a worker comes by.
CREATE TABLE lexicon (
    tenant_id uuid NOT NULL,
    word integer NOT NULL,
    entries integer NOT NULL,
    PRIMARY KEY (tenant_id, word)
);
CREATE TABLE census (
    tenant_id uuid PRIMARY KEY,
    entries bigint NOT NULL
);

-- How often an entry was given to an agent, and when last.
CREATE TABLE uses (
    entry_id bigint PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,
    tenant_id uuid NOT NULL,
    times integer NOT NULL,
    last_at timestamptz NOT NULL
);

-- Behind functions alone: counts and ids of all tenants.
ALTER TABLE backlog ENABLE ROW LEVEL SECURITY;
ALTER TABLE lexicon ENABLE ROW LEVEL SECURITY;
ALTER TABLE census ENABLE ROW LEVEL SECURITY;
ALTER TABLE uses ENABLE ROW LEVEL SECURITY;

-- NOTIFY makes commits wait for one another, so it is sent only to a worker that says that it sleeps.
CREATE TABLE alarm (
    name text PRIMARY KEY,
    is_asleep boolean NOT NULL
);
INSERT INTO alarm VALUES ('entries', false);
ALTER TABLE alarm ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION sleep_until_entries() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE alarm SET is_asleep = true WHERE name = 'entries' AND NOT is_asleep
$$;

CREATE FUNCTION queue_entries() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
BEGIN
    INSERT INTO backlog (space_id, entry_id, tenant_id)
    SELECT s.id, n.id, n.tenant_id FROM fresh n CROSS JOIN spaces s WHERE n.searchable;
    -- who is waking it right now may still roll back; then the worker's own sweep finds the work
    PERFORM FROM alarm WHERE name = 'entries' AND is_asleep FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE alarm SET is_asleep = false WHERE name = 'entries';
        NOTIFY keepword_entries;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER entries_are_queued AFTER INSERT ON entries
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION queue_entries();

-- Moves entries from the backlog of the instant space into its index and counts their words. One at a time.
CREATE FUNCTION settle_entries(amount integer) RETURNS integer
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
    WHERE e.id = ANY (settled) GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (tenant_id, word) DO UPDATE SET entries = l.entries + excluded.entries;
    INSERT INTO census AS c (tenant_id, entries)
    SELECT tenant_id, count(*) FROM entries WHERE id = ANY (settled) GROUP BY 1 ORDER BY 1
    ON CONFLICT (tenant_id) DO UPDATE SET entries = c.entries + excluded.entries;
    RETURN cardinality(settled);
END
$$;

CREATE FUNCTION flush_lexemes() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT gin_clean_pending_list('keepword.entries_by_lexeme'::regclass)
$$;

-- Claims entries for the deep space, newest first; a claim that is neither stored nor given up is due again later.
CREATE FUNCTION claim_backlog(of_space smallint, amount integer, lease interval)
RETURNS TABLE (tenant_id uuid, entry_id bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE backlog b SET attempts = attempts + 1, due_at = now() + lease
    WHERE (b.space_id, b.entry_id) IN (
        SELECT c.space_id, c.entry_id FROM backlog c
        WHERE c.space_id = of_space AND c.due_at <= now() AND NOT c.failed
        ORDER BY c.entry_id DESC LIMIT amount FOR UPDATE SKIP LOCKED)
    RETURNING b.tenant_id, b.entry_id
$$;

-- The scope is copied from the entry: who stores a vector can't give it another.
CREATE FUNCTION store_vectors(in_space smallint, entry_ids bigint[], parts smallint[], made halfvec[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp, public AS $$
    INSERT INTO vectors (space_id, entry_id, part, tenant_id, run_id, visibility, private_to, vector)
    SELECT in_space, e.id, v.part, e.tenant_id, e.run_id, e.visibility, e.private_to, v.vector
    FROM unnest(entry_ids, parts, made) AS v (entry_id, part, vector) JOIN entries e ON e.id = v.entry_id
    ON CONFLICT DO NOTHING;
    DELETE FROM backlog WHERE space_id = in_space AND entry_id = ANY (entry_ids);
$$;

-- Gives claims back: due again after a pause that grows, and after the last attempt shown as failed.
CREATE FUNCTION give_up_backlog(in_space smallint, entry_ids bigint[], reason text, max_attempts integer, pause interval)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE backlog SET error = reason, failed = attempts >= max_attempts, due_at = now() + pause * (2 ^ (attempts - 1))
    WHERE space_id = in_space AND entry_id = ANY (entry_ids)
$$;

REVOKE EXECUTE ON FUNCTION sleep_until_entries(), queue_entries(), settle_entries(integer), flush_lexemes(),
    claim_backlog(smallint, integer, interval), store_vectors(smallint, bigint[], smallint[], halfvec[]),
    give_up_backlog(smallint, bigint[], text, integer, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sleep_until_entries(), settle_entries(integer), flush_lexemes(),
    claim_backlog(smallint, integer, interval), store_vectors(smallint, bigint[], smallint[], halfvec[]),
    give_up_backlog(smallint, bigint[], text, integer, interval) TO keepword_app;

-- Entries of messages, written under the grant of the append, as the caller.
CREATE FUNCTION index_messages(
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
    JOIN messages m ON m.tenant_id = granted_tenant() AND m.id = i.message_id;
END
$$;

DROP FUNCTION append_messages(text, uuid, uuid, integer, json);
CREATE FUNCTION append_messages(
    grant_ text, tenant uuid, conversation uuid, amount integer, incoming json,
    message_ids uuid[], parts smallint[], texts text[], words bytea[], pieces bytea[], lexemes text[], instants halfvec[]
) RETURNS TABLE (seq bigint, created_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('keepword.grant', grant_, true);
    RETURN QUERY
    WITH place AS (
        UPDATE conversations c SET last_seq = last_seq + amount, updated_at = now()
        WHERE c.tenant_id = tenant AND c.id = conversation
        RETURNING c.tenant_id, c.run_id, c.visibility, c.private_to, last_seq - amount AS base, clock_timestamp() AS now
    )
    INSERT INTO messages AS m (
        tenant_id, id, conversation_id, seq, run_id, visibility, private_to, role, user_id, agent, content,
        tool_name, tool_args, tool_result, attachments, metadata, created_at)
    SELECT p.tenant_id, i.id, conversation, p.base + i.ordinal, p.run_id, p.visibility, p.private_to, i.role,
        i.user_id, i.agent, i.content, i.tool_name, i.tool_args, i.tool_result, i.attachments, i.metadata,
        COALESCE(i.created_at, p.now)
    FROM place p CROSS JOIN json_to_recordset(incoming) AS i (
        ordinal bigint, id uuid, role text, user_id text, agent text, content text, tool_name text, tool_args jsonb,
        tool_result text, attachments jsonb, metadata jsonb, created_at timestamptz)
    RETURNING m.seq, m.created_at;
    PERFORM index_messages(message_ids, parts, texts, words, pieces, lexemes, instants);
END
$$;
