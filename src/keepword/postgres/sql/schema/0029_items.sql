-- Items: JSON values under a namespace and a key, as LangGraph's stores keep them. Each belongs to one owner: an agent,
-- a user, an agent with one user, or the tenant's keys that name neither.

CREATE TABLE items (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL,
    agent text,
    user_id text,
    run_id text NOT NULL GENERATED ALWAYS AS ('items:' || COALESCE(agent, '') || ':' || COALESCE(user_id, '')) STORED,
    visibility text NOT NULL GENERATED ALWAYS AS ('shared') STORED,
    private_to text CHECK (private_to IS NULL),  -- no item is private; the wall asks
    -- the labels of the namespace, each with a dot behind it: no label holds a dot
    path text COLLATE "C" NOT NULL CHECK (path <> ''),
    key text COLLATE "C" NOT NULL,
    value jsonb NOT NULL CHECK (jsonb_typeof(value) = 'object'),
    -- what of the value is searched: NULL is all of it, no path is nothing
    indexed text[],
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    ttl_seconds double precision CHECK (ttl_seconds > 0),
    expires_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CHECK ((ttl_seconds IS NULL) = (expires_at IS NULL))
);
CREATE UNIQUE INDEX items_by_path ON items (tenant_id, run_id, path, key);
CREATE INDEX items_by_expiry ON items (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX items_of_users ON items (tenant_id, user_id) WHERE user_id IS NOT NULL;

-- What can be searched of an item: pieces of its texts, packed like the entries of messages, which no other search reads.
CREATE TABLE item_parts (
    tenant_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    item_id uuid NOT NULL,
    part smallint NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL GENERATED ALWAYS AS ('shared') STORED,
    private_to text CHECK (private_to IS NULL),
    text text NOT NULL,
    words bytea NOT NULL,
    pieces bytea NOT NULL,
    instant public.halfvec(256) NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, item_id, part),
    FOREIGN KEY (tenant_id, item_id) REFERENCES items (tenant_id, id) ON DELETE CASCADE
);
ALTER TABLE item_parts ALTER COLUMN instant SET STORAGE PLAIN, ALTER COLUMN words SET STORAGE MAIN,
    ALTER COLUMN pieces SET STORAGE MAIN;

-- Their vectors in the deep spaces, one for each chunk that a model can see at once.
CREATE TABLE item_vectors (
    tenant_id uuid NOT NULL,
    part_id bigint NOT NULL,
    space_id smallint NOT NULL REFERENCES spaces (id),
    chunk smallint NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL GENERATED ALWAYS AS ('shared') STORED,
    private_to text CHECK (private_to IS NULL),
    vector public.halfvec NOT NULL,
    PRIMARY KEY (tenant_id, part_id, space_id, chunk),
    FOREIGN KEY (tenant_id, part_id) REFERENCES item_parts (tenant_id, id) ON DELETE CASCADE
);
ALTER TABLE item_vectors ALTER COLUMN vector SET STORAGE PLAIN;

-- Which parts wait for a vector. Ids alone: nothing of what they say.
CREATE TABLE item_backlog (
    tenant_id uuid NOT NULL,
    space_id smallint NOT NULL REFERENCES spaces (id),
    part_id bigint NOT NULL,
    attempts smallint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    failed boolean NOT NULL DEFAULT false,
    error text,
    PRIMARY KEY (tenant_id, space_id, part_id),
    FOREIGN KEY (tenant_id, part_id) REFERENCES item_parts (tenant_id, id) ON DELETE CASCADE
);

ALTER TABLE items ENABLE ROW LEVEL SECURITY;
ALTER TABLE item_parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE item_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE item_backlog ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON items, item_parts, item_vectors TO keepword_app;
