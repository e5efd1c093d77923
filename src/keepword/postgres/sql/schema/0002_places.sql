-- Users, agents, rooms, projects and conversations: where things are said.

CREATE TABLE users (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id text NOT NULL,
    name text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE agents (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    slug text NOT NULL,
    name text,
    context_window integer NOT NULL DEFAULT 128000 CHECK (context_window BETWEEN 1 AND 100000000),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, slug)
);

-- Every version of an agent's files; one without content is deleted. There is no UPDATE and no DELETE: history stays.
CREATE TABLE agent_files (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    agent text NOT NULL,
    name text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
    version bigint NOT NULL CHECK (version > 0),
    content text,
    written_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, agent, name, version)
);

CREATE TABLE projects (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id text NOT NULL,
    name text,
    isolated boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE rooms (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id text NOT NULL,
    name text,
    project_id text,
    run_id text NOT NULL GENERATED ALWAYS AS ('room:' || id) STORED,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)
);
CREATE INDEX rooms_by_project ON rooms (tenant_id, project_id) WHERE project_id IS NOT NULL;

CREATE TABLE participants (
    tenant_id uuid NOT NULL,
    room_id text NOT NULL,
    user_id text,
    agent text,
    run_id text NOT NULL GENERATED ALWAYS AS ('room:' || room_id) STORED,
    joined_at timestamptz NOT NULL DEFAULT now(),
    -- the two above in one, which is never null: part of the key
    member text NOT NULL,
    PRIMARY KEY (tenant_id, room_id, member),
    CHECK (num_nonnulls(user_id, agent) = 1),
    CHECK (member = COALESCE('user:' || user_id, 'agent:' || agent)),
    FOREIGN KEY (tenant_id, room_id) REFERENCES rooms (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id)
);
CREATE INDEX participants_by_user ON participants (tenant_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX participants_by_agent ON participants (tenant_id, agent) WHERE agent IS NOT NULL;

CREATE TABLE conversations (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL,
    external_id text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('room', 'direct', 'session')),
    user_id text,
    agent text NOT NULL,
    room_id text,
    project_id text,
    run_id text NOT NULL GENERATED ALWAYS AS (
        CASE kind
            WHEN 'room' THEN 'room:' || room_id
            WHEN 'direct' THEN 'dm:' || user_id || ':' || agent
            ELSE 'session:' || external_id
        END
    ) STORED,
    visibility text NOT NULL GENERATED ALWAYS AS (CASE kind WHEN 'direct' THEN 'private' ELSE 'public' END) STORED,
    private_to text GENERATED ALWAYS AS (CASE kind WHEN 'direct' THEN user_id END) STORED,
    channel text NOT NULL DEFAULT 'api',
    channel_id text,
    bot_identity text,
    title text,
    settings jsonb NOT NULL DEFAULT '{}',
    active boolean NOT NULL DEFAULT true,
    -- who made it; `by_bound_key`: with a key that is bound to an agent or a user
    made_by text,
    by_bound_key boolean NOT NULL DEFAULT false,
    -- what a session outside projects reads: itself, or all sessions of its user with its agent; NULL is the tenant's choice
    reach text CHECK (reach IN ('own', 'user')),
    -- a session that was made without naming its agent may be given one, once; so may one without a user be given its user
    agent_open boolean NOT NULL DEFAULT false,
    last_seq bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, external_id),
    UNIQUE (tenant_id, id, run_id, visibility),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id),
    FOREIGN KEY (tenant_id, room_id) REFERENCES rooms (tenant_id, id),
    FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id),
    -- a room's project is the room's; a direct conversation is one user and one agent
    CHECK ((kind = 'room') = (room_id IS NOT NULL)),
    CHECK (kind <> 'room' OR (project_id IS NULL AND user_id IS NULL)),
    CHECK (kind <> 'direct' OR user_id IS NOT NULL),
    CHECK (kind = 'session' OR (NOT agent_open AND reach IS NULL))
) WITH (fillfactor = 70);  -- every append updates last_seq: room for updates in place
CREATE UNIQUE INDEX conversations_direct ON conversations (tenant_id, user_id, agent) WHERE kind = 'direct';
CREATE INDEX conversations_by_run ON conversations (tenant_id, run_id);
CREATE INDEX conversations_by_project ON conversations (tenant_id, project_id, kind) INCLUDE (run_id)
    WHERE project_id IS NOT NULL;
CREATE INDEX conversations_by_user ON conversations (tenant_id, user_id, agent) WHERE user_id IS NOT NULL;
CREATE INDEX conversations_by_agent ON conversations (tenant_id, agent);
CREATE INDEX conversations_by_age ON conversations (tenant_id, created_at, id);

-- Which users were introduced to which agents. A key that is bound to an agent alone acts with these users and no others.
-- Withdrawing keeps the row: a conversation that is made later does not introduce the two again, only a person does.
CREATE TABLE introductions (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    agent text NOT NULL,
    user_id text NOT NULL,
    run_id text NOT NULL GENERATED ALWAYS AS ('introduced:' || agent || ':' || user_id) STORED,
    introduced_by text,
    introduced_at timestamptz NOT NULL DEFAULT now(),
    withdrawn_by text,
    withdrawn_at timestamptz,
    PRIMARY KEY (tenant_id, agent, user_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

-- Which session was given whom, by which key. The owner alone reads it.
CREATE TABLE session_assignments (
    tenant_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    agent text,
    user_id text,
    key_id text,
    assigned_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, conversation_id, id),
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations (tenant_id, id) ON DELETE CASCADE
);

-- Further names of a direct conversation. The application reads them through find_conversation alone.
CREATE TABLE conversation_aliases (
    tenant_id uuid NOT NULL,
    alias text NOT NULL,
    external_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, alias),
    FOREIGN KEY (tenant_id, external_id) REFERENCES conversations (tenant_id, external_id) ON DELETE CASCADE
);
CREATE INDEX conversation_aliases_by_name ON conversation_aliases (tenant_id, external_id);

ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_files ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE rooms ENABLE ROW LEVEL SECURITY;
ALTER TABLE participants ENABLE ROW LEVEL SECURITY;
ALTER TABLE conversations ENABLE ROW LEVEL SECURITY;
ALTER TABLE introductions ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_assignments ENABLE ROW LEVEL SECURITY;
ALTER TABLE conversation_aliases ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON users, agents, projects, rooms TO keepword_app;
GRANT SELECT, INSERT ON agent_files, conversations, introductions TO keepword_app;
GRANT UPDATE (introduced_by, introduced_at, withdrawn_by, withdrawn_at) ON introductions TO keepword_app;
GRANT SELECT, INSERT, DELETE ON participants TO keepword_app;
-- a conversation's place is fixed: its kind, name, user, agent and room can't be changed by anyone
GRANT UPDATE (project_id, channel, channel_id, bot_identity, title, settings, active, reach, last_seq, updated_at)
    ON conversations TO keepword_app;
