-- What can be searched. An entry is written with what it is made from, in one transaction: its words and its vector
-- in the instant space are there at once. Everything here can be made again from the transcript.

-- A grant as the first wall asks for it; `everything` is the tenant's owner.
CREATE TYPE scope AS (tenant_id uuid, everything boolean, run_ids text[], visibilities text[], private_to text);
-- What else a caller asked for. NULL does not restrict.
CREATE TYPE search_filter AS (kinds text[], agent text, user_id text, since timestamptz, before timestamptz);
-- Packed entries on their way: one element of each array belongs to one part of a text.
CREATE TYPE packed_entries AS (
    source_ids uuid[], parts smallint[], texts text[], words bytea[], pieces bytea[], lexemes text[],
    instants public.halfvec[]
);

CREATE TABLE entries (
    tenant_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
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
    instant public.halfvec(256),
    -- the transaction that wrote it: numbers of rows are given out before they are committed, and not in that order
    created_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, source_id, part),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    CHECK (searchable = (words IS NOT NULL) AND searchable = (instant IS NOT NULL))
);
-- scans of small scopes read these columns of every row: out of line they would take ten times as long
ALTER TABLE entries ALTER COLUMN instant SET STORAGE PLAIN, ALTER COLUMN words SET STORAGE MAIN,
    ALTER COLUMN pieces SET STORAGE MAIN;
CREATE INDEX entries_in_talk ON entries (tenant_id, conversation_id, seq);
CREATE INDEX entries_by_xid ON entries (tenant_id, run_id, created_xid);
-- the pending list makes appends cheap; a worker empties it before it gets long
CREATE INDEX entries_by_lexeme ON entries USING gin (lexemes) WITH (fastupdate = on, gin_pending_list_limit = 16384);
CREATE INDEX entries_by_trigram ON entries USING gin (text public.gin_trgm_ops) WHERE text IS NOT NULL;

-- Vectors are told apart by space: a model and what it was told to do. `serving` is what searches use; a model that is
-- being introduced fills its own space while the old one serves; one that is retired keeps its vectors and gets no more.
CREATE TABLE spaces (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    dimensions integer NOT NULL CHECK (dimensions BETWEEN 1 AND 4000),
    is_instant boolean NOT NULL DEFAULT false,
    serving boolean NOT NULL DEFAULT false,
    filling boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX spaces_serving ON spaces (is_instant) WHERE serving;
INSERT INTO spaces (name, dimensions, is_instant, serving) VALUES
    ('instant-v1', 256, true, true), ('minilm-l6-v2-int8', 384, false, true);

-- The indexed vectors: of the instant space as soon as a worker has come by (until then a search compares with the
-- entries themselves), of the deep space one for each chunk that the model can see at once.
CREATE TABLE vectors (
    tenant_id uuid NOT NULL,
    entry_id bigint NOT NULL,
    space_id smallint NOT NULL REFERENCES spaces (id),
    part smallint NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    vector public.halfvec NOT NULL,
    -- in this order for what deletes an entry: it asks for all vectors of it
    PRIMARY KEY (tenant_id, entry_id, space_id, part),
    FOREIGN KEY (tenant_id, entry_id) REFERENCES entries (tenant_id, id) ON DELETE CASCADE
);
ALTER TABLE vectors ALTER COLUMN vector SET STORAGE PLAIN;
CREATE INDEX vectors_in_scope ON vectors (tenant_id, run_id, space_id);
CREATE INDEX vectors_instant_v1 ON vectors USING hnsw ((vector::public.halfvec(256)) public.halfvec_ip_ops)
    WITH (m = 24, ef_construction = 128) WHERE space_id = 1;
CREATE INDEX vectors_minilm_l6_v2_int8 ON vectors USING hnsw ((vector::public.halfvec(384)) public.halfvec_ip_ops)
    WITH (m = 24, ef_construction = 128) WHERE space_id = 2;

-- What is still to be done with an entry, one row for each space. Ids only: nothing of what was said.
CREATE TABLE backlog (
    tenant_id uuid NOT NULL,
    space_id smallint NOT NULL REFERENCES spaces (id),
    entry_id bigint NOT NULL,
    queued_at timestamptz NOT NULL DEFAULT now(),
    attempts smallint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    failed boolean NOT NULL DEFAULT false,
    error text,
    -- in this order for who claims: the newest of a tenant in a space
    PRIMARY KEY (tenant_id, space_id, entry_id),
    FOREIGN KEY (tenant_id, entry_id) REFERENCES entries (tenant_id, id) ON DELETE CASCADE
);

-- In how many entries of a tenant a word occurs, by the hash of its stem; counted when a worker comes by.
CREATE TABLE document_frequencies (
    tenant_id uuid NOT NULL,
    word integer NOT NULL,
    entries integer NOT NULL,
    PRIMARY KEY (tenant_id, word)
);
CREATE TABLE entry_counts (
    tenant_id uuid PRIMARY KEY,
    entries bigint NOT NULL
);

-- How often an entry was given to an agent, and when last.
CREATE TABLE uses (
    tenant_id uuid NOT NULL,
    entry_id bigint NOT NULL,
    times integer NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, entry_id),
    FOREIGN KEY (tenant_id, entry_id) REFERENCES entries (tenant_id, id) ON DELETE CASCADE
);

-- Entries that are no more. Ids only; forgotten after a while, and so are the copies that did not ask for so long.
CREATE TABLE deleted_entries (
    tenant_id uuid NOT NULL,
    run_id text NOT NULL,
    entry_id bigint NOT NULL,
    created_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    deleted_at timestamptz NOT NULL DEFAULT now(),
    -- in this order for who asks what went since a snapshot
    PRIMARY KEY (tenant_id, run_id, created_xid, entry_id)
);
CREATE INDEX deleted_entries_by_time ON deleted_entries (deleted_at);

-- The server whose transactions `created_xid` counts, and the database there. Where it is another one, a dump was restored.
CREATE TABLE home_server (
    system_identifier bigint NOT NULL,
    database_oid oid NOT NULL,
    PRIMARY KEY (system_identifier, database_oid)
);

-- NOTIFY makes commits wait for one another, so it is sent only to a worker that says that it sleeps.
CREATE TABLE worker_wakeups (
    name text PRIMARY KEY,
    is_asleep boolean NOT NULL
);
INSERT INTO worker_wakeups VALUES ('entries', false);

ALTER TABLE entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE vectors ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON entries TO keepword_app;
GRANT SELECT ON spaces, vectors TO keepword_app;
-- behind functions alone: counts and ids of all tenants
ALTER TABLE backlog ENABLE ROW LEVEL SECURITY;
ALTER TABLE document_frequencies ENABLE ROW LEVEL SECURITY;
ALTER TABLE entry_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE uses ENABLE ROW LEVEL SECURITY;
ALTER TABLE deleted_entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE worker_wakeups ENABLE ROW LEVEL SECURITY;
ALTER TABLE home_server ENABLE ROW LEVEL SECURITY;
