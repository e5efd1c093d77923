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

ALTER TABLE introductions ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON introductions TO keepword_app;
GRANT UPDATE (introduced_by, introduced_at, withdrawn_by, withdrawn_at) ON introductions TO keepword_app;

-- Whoever has a conversation of their own with an agent by now was introduced to it.
INSERT INTO introductions (tenant_id, agent, user_id, introduced_at)
SELECT tenant_id, agent, user_id, min(created_at) FROM conversations
WHERE kind <> 'room' AND user_id IS NOT NULL GROUP BY 1, 2, 3;

-- Who made a conversation. `by_bound_key`: with a key that is bound to an agent or a user.
ALTER TABLE conversations ADD made_by text, ADD by_bound_key boolean NOT NULL DEFAULT false;
