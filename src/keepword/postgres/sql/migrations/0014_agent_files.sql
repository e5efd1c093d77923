-- An agent's own files, every version of each. A version without content says that the file was deleted.

CREATE TABLE agent_files (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    agent text NOT NULL,
    name text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
    version bigint NOT NULL CHECK (version > 0),
    content text,
    written_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, agent, name, version)
);

-- As agents are: written for the tenant's owner, and read inside the tenant, because a turn in any place needs them.
-- There is no UPDATE and no DELETE: history stays.
CALL wall_in_registry('agent_files');
CREATE POLICY known ON agent_files FOR SELECT TO keepword_app USING (tenant_id = (SELECT granted_tenant()));
GRANT SELECT, INSERT ON agent_files TO keepword_app;
