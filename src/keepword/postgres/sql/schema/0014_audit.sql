-- Who changed rights or removed something, what, where and when; never a word of what was said.

CREATE TABLE audit (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- NULL: no key, but the command line on the service's machine, or work in the background
    key_id text,
    -- user:ann, agent:ada, owner, key:ID of one that is bound to nobody, command line, background
    actor text NOT NULL,
    action text NOT NULL CHECK (action ~ '^[a-z]+([.][a-z_]+)?$'),
    place text,
    -- what it was done to: ids, names of settings, numbers
    ids jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(ids) = 'object'),
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX audit_in_time ON audit (tenant_id, at, id);

ALTER TABLE audit ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON audit TO keepword_app;
