-- On the first of several servers alone: whose key it is, so that the directory finds the server of a tenant by the public
-- part of its key. A hint, like the directory: the server that it leads to knows whether it is so.
CREATE TABLE key_places (
    key_id text PRIMARY KEY,
    tenant_id uuid NOT NULL
);
ALTER TABLE key_places ENABLE ROW LEVEL SECURITY;

-- Where the next tenant of this name is to be made; gone as soon as it is.
CREATE TABLE placed_names (
    name text PRIMARY KEY CHECK (name <> ''),
    server text NOT NULL CHECK (server <> ''),
    placed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE placed_names ENABLE ROW LEVEL SECURITY;
