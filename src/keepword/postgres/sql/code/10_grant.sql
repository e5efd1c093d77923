-- What the grant of the transaction says, and the questions that functions of the owner ask before they act.

CREATE OR REPLACE FUNCTION granted() RETURNS jsonb LANGUAGE sql STABLE AS
    $$ SELECT NULLIF(current_setting('keepword.grant', true), '')::jsonb $$;

CREATE OR REPLACE FUNCTION granted_tenant() RETURNS uuid LANGUAGE sql STABLE AS
    $$ SELECT (granted() ->> 'tenant')::uuid $$;

CREATE OR REPLACE FUNCTION granted_everything() RETURNS boolean LANGUAGE sql STABLE AS
    $$ SELECT COALESCE((granted() ->> 'everything')::boolean, false) $$;

CREATE OR REPLACE FUNCTION granted_run_ids() RETURNS SETOF text LANGUAGE sql STABLE AS
    $$ SELECT jsonb_array_elements_text(granted() -> 'run_ids') $$;

-- most reads are of one place: comparing costs less than building and asking a hash table
CREATE OR REPLACE FUNCTION granted_first_run() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() -> 'run_ids' ->> 0 $$;

-- written as an array literal: a function with a sub-select in it could not be inlined
CREATE OR REPLACE FUNCTION granted_visibilities() RETURNS text[] LANGUAGE sql STABLE AS
    $$ SELECT (granted() ->> 'visibilities')::text[] $$;

CREATE OR REPLACE FUNCTION granted_private_to() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() ->> 'private_to' $$;

CREATE OR REPLACE FUNCTION granted_writes() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() ->> 'writes' $$;

CREATE OR REPLACE FUNCTION granted_sessions_of() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() ->> 'sessions_of' $$;

CREATE OR REPLACE FUNCTION granted_thread_user() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() #>> '{threads_of,user}' $$;

CREATE OR REPLACE FUNCTION granted_thread_agent() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() #>> '{threads_of,agent}' $$;

-- Whether sessions open that the grant does not name one by one.
CREATE OR REPLACE FUNCTION granted_more_sessions() RETURNS boolean LANGUAGE sql STABLE AS
    $$ SELECT COALESCE(granted() ->> 'sessions_of', granted() #>> '{threads_of,user}') IS NOT NULL $$;

-- Those of a project, and those of a user with an agent outside isolated projects, as they are now.
-- as the owner: the policy of conversations would only ask the same again
CREATE OR REPLACE FUNCTION granted_sessions() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT run_id FROM conversations
    WHERE tenant_id = (SELECT granted_tenant()) AND project_id = (SELECT granted_sessions_of()) AND kind = 'session'
        AND NOT is_erasing(tenant_id, id)
    UNION ALL
    SELECT c.run_id FROM conversations c
    LEFT JOIN projects j ON j.tenant_id = c.tenant_id AND j.id = c.project_id
    WHERE c.tenant_id = (SELECT granted_tenant()) AND c.user_id = (SELECT granted_thread_user())
        AND c.agent = (SELECT granted_thread_agent()) AND c.kind = 'session' AND NOT COALESCE(j.isolated, false)
        AND NOT is_erasing(c.tenant_id, c.id)
$$;

CREATE OR REPLACE FUNCTION granted_shares() RETURNS SETOF text LANGUAGE sql STABLE AS
    $$ SELECT jsonb_array_elements_text(granted() -> 'shares') $$;

-- Whether the caller's key vouches for the users that it speaks of: all do but those that are bound to an agent alone.
CREATE OR REPLACE FUNCTION granted_vouches() RETURNS boolean LANGUAGE sql STABLE AS
    $$ SELECT COALESCE((granted() ->> 'vouches')::boolean, false) $$;

-- The caller is the tenant's owner, in whatever place they act.
CREATE OR REPLACE FUNCTION grants_owner(g jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS
    $$ SELECT COALESCE((g ->> 'everything')::boolean, false) OR COALESCE((g ->> 'owner')::boolean, false) $$;

CREATE OR REPLACE FUNCTION granted_owner() RETURNS boolean LANGUAGE sql STABLE AS $$ SELECT grants_owner(granted()) $$;

-- Of whose profiles lines may be shown: those said in the run_ids, with `lines_of_theirs` also those from their
-- sessions and from rooms in which they sit; with an agent, only those said to it.
CREATE OR REPLACE FUNCTION granted_profiles_of() RETURNS text[] LANGUAGE sql STABLE AS
    $$ SELECT ARRAY(SELECT jsonb_array_elements_text(granted() -> 'profiles_of')) $$;

CREATE OR REPLACE FUNCTION granted_lines_in() RETURNS text[] LANGUAGE sql STABLE AS
    $$ SELECT ARRAY(SELECT jsonb_array_elements_text(granted() -> 'lines_in')) $$;

CREATE OR REPLACE FUNCTION granted_lines_of_theirs() RETURNS boolean LANGUAGE sql STABLE AS
    $$ SELECT COALESCE((granted() ->> 'lines_of_theirs')::boolean, false) $$;

CREATE OR REPLACE FUNCTION granted_lines_to() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() ->> 'lines_to' $$;

-- Functions that read and write as the owner, for speed or past a table that is closed, ask one of the next five first: the
-- whole of their access control.
CREATE OR REPLACE FUNCTION is_session_of(tenant uuid, run text, project text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM conversations
        WHERE tenant_id = tenant AND run_id = run AND kind = 'session' AND project_id = project
            AND NOT is_erasing(tenant, id))
$$;

CREATE OR REPLACE FUNCTION is_thread_of(tenant uuid, run text, person text, with_agent text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM conversations c
        LEFT JOIN projects j ON j.tenant_id = c.tenant_id AND j.id = c.project_id
        WHERE c.tenant_id = tenant AND c.run_id = run AND c.kind = 'session' AND c.user_id = person
            AND c.agent = with_agent AND NOT COALESCE(j.isolated, false) AND NOT is_erasing(tenant, c.id))
$$;

CREATE OR REPLACE FUNCTION grant_opens(g jsonb, tenant uuid, run text, seen text, only_for text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    -- one expression without a sub-select, so that it is inlined where it is asked
    SELECT (g ->> 'tenant')::uuid = tenant
        AND ((g ->> 'everything')::boolean
             OR (seen = ANY ((g ->> 'visibilities')::text[])
                 AND (seen <> 'private' OR COALESCE(only_for = g ->> 'private_to', false))
                 AND (jsonb_exists(g -> 'run_ids', run)
                      OR (g ->> 'sessions_of' IS NOT NULL AND is_session_of(tenant, run, g ->> 'sessions_of'))
                      OR (g #>> '{threads_of,user}' IS NOT NULL
                          AND is_thread_of(tenant, run, g #>> '{threads_of,user}', g #>> '{threads_of,agent}')))))
$$;

CREATE OR REPLACE FUNCTION require_writes(g jsonb, tenant uuid, run text, seen text, only_for text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF (g ->> 'writes') IS DISTINCT FROM run OR NOT grant_opens(g, tenant, run, seen, only_for) THEN
        RAISE EXCEPTION 'the grant does not let write %', run USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;

-- The jobs' functions: each asks for the grant of a whole tenant, and copies the scope from the conversation.
CREATE OR REPLACE FUNCTION require_everything(g jsonb, tenant uuid) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF (g ->> 'tenant')::uuid IS DISTINCT FROM tenant OR NOT COALESCE((g ->> 'everything')::boolean, false) THEN
        RAISE EXCEPTION 'the grant does not open the tenant' USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;

-- Tells whether all of a fact's origins may be told of the user, by the same rule as lines of profiles.
CREATE OR REPLACE FUNCTION opens_fact_origins(
    tenant uuid, person text, origins uuid[], people text[], lines_in text[], of_theirs boolean, lines_to text
) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    RETURN person = ANY (people) AND NOT EXISTS (
        SELECT FROM unnest(origins) AS o (id)
        LEFT JOIN conversations c ON c.tenant_id = tenant AND c.id = o.id
        LEFT JOIN rooms r ON r.tenant_id = tenant AND r.id = c.room_id
        LEFT JOIN projects j ON j.tenant_id = tenant AND j.id = COALESCE(c.project_id, r.project_id)
        WHERE NOT CASE
            WHEN c.id IS NULL THEN of_theirs AND lines_to IS NULL
            ELSE NOT COALESCE(j.isolated, false) AND (c.kind = 'room' OR COALESCE(c.user_id = person, false))
                AND (lines_to IS NULL OR c.agent = lines_to)
                AND (c.run_id = ANY (lines_in)
                     OR (of_theirs AND (c.kind = 'session' OR (c.kind = 'room' AND EXISTS (
                         SELECT FROM participants p
                         WHERE p.tenant_id = tenant AND p.room_id = c.room_id AND p.user_id = person)))))
            END);
END
$$;
