-- What is being erased right now: 67_erasure.sql erases it, and everything else leaves it out.

-- What policies ask; answered from the erasures that run in the tenant, of which there is seldom one.
CREATE OR REPLACE FUNCTION granted_erasing() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM keepword.erasures WHERE tenant_id = granted_tenant() AND state = 'running')
$$;

CREATE OR REPLACE FUNCTION granted_erasing_conversations() RETURNS SETOF uuid LANGUAGE sql STABLE AS $$
    SELECT unnest(conversation_ids) FROM keepword.erasures WHERE tenant_id = granted_tenant() AND state = 'running'
$$;

CREATE OR REPLACE FUNCTION granted_erasing_users() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT user_id FROM keepword.erasures
    WHERE tenant_id = granted_tenant() AND state = 'running' AND user_id IS NOT NULL
$$;

-- What functions of the owner ask.
CREATE OR REPLACE FUNCTION is_erasing(tenant uuid, conversation uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM keepword.erasures e
                   WHERE e.tenant_id = tenant AND e.state = 'running' AND conversation = ANY (e.conversation_ids))
$$;

CREATE OR REPLACE FUNCTION is_erasing_user(tenant uuid, person text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM keepword.erasures e
                   WHERE e.tenant_id = tenant AND e.state = 'running' AND e.user_id = person)
$$;
