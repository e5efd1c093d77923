-- depends: 0022_arms_first
-- A profile is a list of lines, each with where it comes from: lines that were said (memories, read live) and lines
-- that were shared by hand. Who sees which line where is decided by the grant, line by line.

-- Settings of a tenant. What each may be is checked where they are changed.
ALTER TABLE tenants ADD COLUMN settings jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(settings) = 'object');

CREATE FUNCTION find_settings(in_tenant uuid) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT settings FROM tenants WHERE id = in_tenant
$$;

CREATE FUNCTION change_settings(grant_ text, tenant uuid, changes jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    changed jsonb;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    UPDATE tenants SET settings = settings || changes WHERE id = tenant RETURNING settings INTO changed;
    RETURN changed;
END
$$;

-- Of whose profiles lines may be shown: those said in the run_ids, with `lines_of_theirs` also those from their
-- sessions and from rooms in which they sit; with an agent, only those said to it.
CREATE FUNCTION granted_profiles_of() RETURNS text[] LANGUAGE sql STABLE AS
    $$ SELECT ARRAY(SELECT jsonb_array_elements_text(granted() -> 'profiles_of')) $$;
CREATE FUNCTION granted_lines_in() RETURNS text[] LANGUAGE sql STABLE AS
    $$ SELECT ARRAY(SELECT jsonb_array_elements_text(granted() -> 'lines_in')) $$;
CREATE FUNCTION granted_lines_of_theirs() RETURNS boolean LANGUAGE sql STABLE AS
    $$ SELECT COALESCE((granted() ->> 'lines_of_theirs')::boolean, false) $$;
CREATE FUNCTION granted_lines_to() RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT granted() ->> 'lines_to' $$;

-- A line as it stands in a profile: on one line, without a list's dash.
CREATE FUNCTION flatten_line(line text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT regexp_replace(btrim(regexp_replace(line, '\s+', ' ', 'g')), '^[-*] ', '') $$;

-- The id of a user's profile as long as nothing was written into it by hand; it looks like all the others.
CREATE FUNCTION first_profile_id(tenant uuid, person text) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    $$ SELECT overlay(overlay(md5(tenant::text || ':' || person) PLACING '4' FROM 13) PLACING 'a' FROM 17)::uuid $$;
CREATE INDEX users_by_first_profile ON users (tenant_id, first_profile_id(tenant_id, id));

-- A profile's row holds its id, when it was first written by hand, and since when what was remembered before is
-- replaced by that.
ALTER TABLE profiles ADD COLUMN shared_at timestamptz, ADD COLUMN written_at timestamptz;

-- The lines that were written by hand, in their order. A line that repeats what is remembered stays where that was
-- said: it is the owner's to read here, and others read it as the memories that it repeats. `is_filler` marks
-- headings and empty lines beside repeated ones.
CREATE TABLE profile_texts (
    tenant_id uuid NOT NULL,
    profile_id uuid NOT NULL,
    line integer NOT NULL CHECK (line >= 0),
    content text NOT NULL,
    memory_ids uuid[] NOT NULL DEFAULT '{}',
    is_filler boolean NOT NULL DEFAULT false,
    run_id text NOT NULL,
    visibility text NOT NULL GENERATED ALWAYS AS ('shared') STORED,
    private_to text CHECK (private_to IS NULL),  -- none is private; the wall asks
    PRIMARY KEY (tenant_id, profile_id, line),
    FOREIGN KEY (tenant_id, profile_id) REFERENCES profiles (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX profile_texts_in_scope ON profile_texts (tenant_id, run_id);
CALL wall_in_content('profile_texts');
ALTER POLICY readable ON profile_texts USING (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR (memory_ids = '{}' AND run_id IN (SELECT granted_run_ids())
             AND visibility = ANY ((SELECT granted_visibilities())::text[]))));
DROP POLICY writable ON profile_texts;
GRANT SELECT ON profile_texts TO keepword_app;

-- Every text that was written by hand, and who wrote it; a deletion is a version without a text. For the owner alone.
CREATE TABLE profile_versions (
    tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    run_id text NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    profile_id uuid NOT NULL,
    memory text,
    by_whom text,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, run_id, version)
);
ALTER TABLE profile_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON profile_versions FOR SELECT TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()) AND (SELECT granted_everything()));
GRANT SELECT ON profile_versions TO keepword_app;

-- Splits a text into lines. A line that repeats a memory of the user word for word is marked with all such memories.
CREATE FUNCTION set_profile_text(tenant uuid, profile uuid, whose text, text_ text) RETURNS void
LANGUAGE sql SET search_path = keepword, pg_temp AS $$
    DELETE FROM profile_texts WHERE tenant_id = tenant AND profile_id = profile;
    WITH lines AS (
        SELECT n - 1 AS line, content FROM unnest(
            CASE WHEN text_ = '' THEN ARRAY[''] ELSE string_to_array(text_, chr(10)) END) WITH ORDINALITY AS l (content, n)
    ),
    known AS (
        SELECT flatten_line(m.content) AS content, array_agg(m.id ORDER BY m.id) AS ids FROM memories m
        WHERE m.tenant_id = tenant AND m.user_id = whose AND m.valid_to IS NULL AND m.deleted_at IS NULL GROUP BY 1
    ),
    marked AS (
        SELECT l.line, l.content, COALESCE(k.ids, '{}') AS ids FROM lines l
        LEFT JOIN known k ON k.content = flatten_line(l.content)
    )
    INSERT INTO profile_texts (tenant_id, profile_id, line, content, memory_ids, is_filler, run_id)
    SELECT tenant, profile, line, content, ids,
        ids = '{}' AND bool_or(ids <> '{}') OVER () AND btrim(content) IN
            ('', 'Preferences', 'Corrections', 'Facts', 'Decisions', 'Tasks', 'Action items'),
        CASE WHEN whose IS NULL THEN 'global' ELSE 'profile:' || whose END
    FROM marked
$$;

-- What was written by hand so far has the time of its writing as the time of its source; the rest was made from
-- memories, and is made from them again whenever it is read.
DO $$
BEGIN
    PERFORM set_profile_text(tenant_id, id, user_id, memory) FROM profiles WHERE source_time = updated_at;
END
$$;
INSERT INTO profile_versions (tenant_id, run_id, version, profile_id, memory, written_at)
SELECT tenant_id, run_id, 1, id, memory, updated_at FROM profiles WHERE source_time = updated_at;
UPDATE profiles SET written_at = updated_at, shared_at = created_at WHERE source_time = updated_at;
ALTER TABLE profiles DROP COLUMN memory, DROP COLUMN source_time, DROP COLUMN updated_at;
DROP POLICY owned ON profiles;
DROP POLICY writable ON profiles;
REVOKE INSERT, DELETE, UPDATE ON profiles FROM keepword_app;

-- Valid memories of users as lines of their profiles, live: what is moved, deleted or superseded counts from the next
-- read on. A line needs the messages that it comes from. It has the rights of the tables' owner, so it applies the
-- grant itself; as with row-level security, the owner of the tables passes.
CREATE VIEW profile_lines WITH (security_barrier) AS
SELECT m.tenant_id, m.id, COALESCE(p.id, first_profile_id(m.tenant_id, m.user_id)) AS profile_id, m.user_id, m.agent,
    m.type, flatten_line(m.content) AS content, m.importance, m.said_at, m.created_at, m.updated_at,
    m.run_id, m.visibility, m.private_to, c.kind, c.external_id AS conversation, t.line AS repeated_at,
    ARRAY(SELECT s.message_id FROM memory_sources s
          WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id ORDER BY 1) AS sources,
    COALESCE(j.isolated, false) AS isolated,
    -- theirs to take along: from their own session, or from a room in which they sit
    c.kind = 'session' OR (c.kind = 'room' AND EXISTS (
        SELECT FROM participants o
        WHERE o.tenant_id = m.tenant_id AND o.room_id = c.room_id AND o.user_id = m.user_id)) AS is_theirs
FROM memories m
JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
LEFT JOIN rooms r ON r.tenant_id = m.tenant_id AND r.id = c.room_id
LEFT JOIN projects j ON j.tenant_id = m.tenant_id AND j.id = COALESCE(c.project_id, r.project_id)
LEFT JOIN profiles p ON p.tenant_id = m.tenant_id AND p.user_id = m.user_id
LEFT JOIN LATERAL (
    SELECT min(line) AS line FROM profile_texts
    WHERE tenant_id = m.tenant_id AND profile_id = p.id AND m.id = ANY (memory_ids)
) AS t ON p.written_at IS NOT NULL
WHERE m.user_id IS NOT NULL AND m.valid_to IS NULL AND m.deleted_at IS NULL
    AND (c.kind = 'room' OR c.user_id = m.user_id)
    AND EXISTS (SELECT FROM memory_sources s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id)
    AND (p.written_at IS NULL OR m.updated_at > p.written_at OR t.line IS NOT NULL)
    AND ((SELECT current_user) = 'keepword_owner'
         OR (m.tenant_id = (SELECT granted_tenant()) AND (SELECT granted_everything()))
         OR (m.tenant_id = (SELECT granted_tenant())
             AND m.user_id = ANY ((SELECT granted_profiles_of())::text[])
             AND NOT COALESCE(j.isolated, false)
             AND (m.visibility <> 'private' OR m.private_to = (SELECT granted_private_to()))
             AND ((SELECT granted_lines_to()) IS NULL OR m.agent = (SELECT granted_lines_to()))
             AND (m.run_id = ANY ((SELECT granted_lines_in())::text[])
                  OR ((SELECT granted_lines_of_theirs())
                      AND (c.kind = 'session' OR (c.kind = 'room' AND EXISTS (
                          SELECT FROM participants o WHERE o.tenant_id = m.tenant_id
                              AND o.room_id = c.room_id AND o.user_id = m.user_id)))))));
GRANT SELECT ON profile_lines TO keepword_app;

-- Whose profile an id belongs to: an id, from which what may be read of it is looked up.
CREATE FUNCTION find_profile_user(in_tenant uuid, wanted uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT user_id FROM profiles WHERE tenant_id = in_tenant AND id = wanted
    UNION ALL
    SELECT u.id FROM users u
    WHERE u.tenant_id = in_tenant AND first_profile_id(u.tenant_id, u.id) = wanted
        AND NOT EXISTS (SELECT FROM profiles p WHERE p.tenant_id = in_tenant AND p.user_id = u.id)
    LIMIT 1
$$;

-- Who writes a profile takes turns, also while there is no row that could be locked.
CREATE FUNCTION lock_profile(tenant uuid, person text) RETURNS void LANGUAGE sql AS
    $$ SELECT pg_advisory_xact_lock(hashtextextended(COALESCE('profile:' || person, 'global'), uuid_hash_extended(tenant, 9))) $$;

CREATE FUNCTION note_profile(tenant uuid, profile uuid, text_ text, who text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO profile_versions (tenant_id, run_id, version, profile_id, memory, by_whom)
    SELECT tenant, p.run_id, 1 + COALESCE((SELECT max(version) FROM profile_versions v
                                           WHERE v.tenant_id = tenant AND v.run_id = p.run_id), 0), profile, text_, who
    FROM profiles p WHERE p.tenant_id = tenant AND p.id = profile
$$;

-- Writes a profile by hand, as a whole: it replaces what was remembered so far, but for what it repeats of it.
CREATE FUNCTION write_profile(grant_ text, tenant uuid, person text, text_ text, who text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    profile uuid;
    at timestamptz;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_profile(tenant, person);
    at := clock_timestamp();
    SELECT id INTO profile FROM profiles WHERE tenant_id = tenant AND user_id IS NOT DISTINCT FROM person;
    IF NOT FOUND THEN
        INSERT INTO profiles (tenant_id, id, type, user_id, created_at)
        SELECT tenant, COALESCE(first_profile_id(tenant, person), gen_random_uuid()),
            CASE WHEN person IS NULL THEN 'workspace' ELSE 'user' END::memory_type_enum, person,
            COALESCE((SELECT min(created_at) FROM profile_lines WHERE tenant_id = tenant AND user_id = person), at)
        RETURNING id INTO profile;
    END IF;
    PERFORM set_profile_text(tenant, profile, person, text_);
    UPDATE profiles SET written_at = at, shared_at = COALESCE(shared_at, at) WHERE tenant_id = tenant AND id = profile;
    PERFORM note_profile(tenant, profile, text_, who);
    RETURN profile;
END
$$;

-- Takes away what was written by hand, and what was remembered so far. What is said later makes a new profile.
CREATE FUNCTION delete_profile(grant_ text, tenant uuid, wanted uuid, who text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    person text := find_profile_user(tenant, wanted);
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_profile(tenant, person);
    PERFORM note_profile(tenant, wanted, NULL, who);
    DELETE FROM profiles WHERE tenant_id = tenant AND id = wanted;
    IF person IS NOT NULL THEN
        INSERT INTO profiles (tenant_id, type, user_id, created_at, written_at)
        VALUES (tenant, 'user', person, clock_timestamp(), clock_timestamp()) ON CONFLICT DO NOTHING;
    END IF;
END
$$;

-- A profile is read live: nothing is to be made anew when a session or its project moves.
DROP TRIGGER moves_are_noted ON conversations;
DROP TRIGGER isolation_is_noted ON projects;
DROP FUNCTION note_move();

-- Facts about a user: the conversations that a fact comes from, by the place it was set in and by its source. A fact
-- from none was put by the owner, and is shared by hand. The zero id stands for one that nobody knows.
ALTER TABLE facts ADD COLUMN said_in uuid[] NOT NULL DEFAULT '{}';
ALTER TABLE fact_versions ADD COLUMN said_in uuid[] NOT NULL DEFAULT '{}';

ALTER TABLE facts DISABLE TRIGGER facts_keep_their_versions;
UPDATE facts f SET said_in = ARRAY[COALESCE(
    (SELECT conversation_id FROM messages m WHERE m.tenant_id = f.tenant_id AND m.id = f.source_id),
    '00000000-0000-0000-0000-000000000000')]
WHERE scope_kind = 'user';
ALTER TABLE facts ENABLE TRIGGER facts_keep_their_versions;
UPDATE fact_versions f SET said_in = ARRAY[COALESCE(
    (SELECT conversation_id FROM messages m WHERE m.tenant_id = f.tenant_id AND m.id = f.source_id),
    '00000000-0000-0000-0000-000000000000')]
WHERE scope_kind = 'user';

CREATE FUNCTION set_fact_origin() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    NEW.said_in := CASE WHEN NEW.scope_kind = 'user' THEN ARRAY(
        SELECT id FROM conversations WHERE tenant_id = NEW.tenant_id AND run_id = granted_writes()
        UNION
        SELECT conversation_id FROM messages WHERE tenant_id = NEW.tenant_id AND id = NEW.source_id
    ) ELSE '{}' END;
    RETURN NEW;
END
$$;
CREATE TRIGGER facts_know_their_origin BEFORE INSERT OR UPDATE ON facts
    FOR EACH ROW WHEN (current_user = 'keepword_app') EXECUTE FUNCTION set_fact_origin();

-- Tells whether all of a fact's origins may be told of the user, by the same rule as lines of profiles.
CREATE FUNCTION opens_origins(
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

DO $$
DECLARE
    walled text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['facts', 'fact_versions'] LOOP
        EXECUTE format($policy$
            ALTER POLICY readable ON %I USING (
                tenant_id = (SELECT granted_tenant())
                AND ((SELECT granted_everything())
                     OR ((run_id = (SELECT granted_first_run()) OR run_id IN (SELECT granted_run_ids()))
                         AND visibility = ANY ((SELECT granted_visibilities())::text[])
                         AND (said_in = '{}' OR opens_origins(
                             tenant_id, scope_id, said_in, (SELECT granted_profiles_of()), (SELECT granted_lines_in()),
                             (SELECT granted_lines_of_theirs()), (SELECT granted_lines_to()))))))
        $policy$, walled);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION keep_fact_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO fact_versions (tenant_id, scope_kind, scope_id, key, version, run_id, visibility, said_in)
        VALUES (OLD.tenant_id, OLD.scope_kind, OLD.scope_id, OLD.key, OLD.version + 1, OLD.run_id, OLD.visibility,
                OLD.said_in);
        RETURN OLD;
    END IF;
    INSERT INTO fact_versions (
        tenant_id, scope_kind, scope_id, key, version, value, type, source_id, confidence, run_id, visibility, said_in)
    VALUES (NEW.tenant_id, NEW.scope_kind, NEW.scope_id, NEW.key, NEW.version, NEW.value, NEW.type, NEW.source_id,
            NEW.confidence, NEW.run_id, NEW.visibility, NEW.said_in);
    RETURN NEW;
END
$$;

-- The last version of a fact, also of one that can't be read: a number, so that no version is given twice.
CREATE FUNCTION last_fact_version(tenant uuid, run text, wanted text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT COALESCE(max(version), 0) FROM fact_versions WHERE tenant_id = tenant AND run_id = run AND key = wanted
$$;

-- As before, and: what was set in a conversation, put again by the owner, is shared by hand from then on.
CREATE OR REPLACE FUNCTION put_fact(
    grant_ text, tenant uuid, kind text, scope text, run text, wanted text, given json, given_type text,
    keeps_type boolean, source uuid, sure double precision, expected bigint
) RETURNS TABLE (outcome text, held_version bigint, held_type text, made_at timestamptz, changed_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    held facts;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(fact_turn(tenant, run, wanted));
    SELECT f.* INTO held FROM facts f WHERE f.tenant_id = tenant AND f.run_id = run AND f.key = wanted;
    held_version := COALESCE(held.version, 0);
    made_at := held.created_at;
    changed_at := held.updated_at;
    held_type := CASE WHEN keeps_type THEN held.type ELSE given_type END;
    outcome := CASE
        WHEN expected <> held_version THEN 'outdated'
        WHEN NOT is_of_type(given, held_type) THEN 'wrong type'
        WHEN source IS NOT NULL AND NOT EXISTS (
            SELECT FROM messages m WHERE m.tenant_id = tenant AND m.id = source) THEN 'no source'
        WHEN held.value::text = given::text AND held_type IS NOT DISTINCT FROM held.type
            AND source IS NOT DISTINCT FROM held.source_id AND sure IS NOT DISTINCT FROM held.confidence
            AND (held.said_in = '{}' OR source IS NOT NULL OR NOT granted_everything()) THEN 'same'
        WHEN held_version > 0 THEN 'changed'
        ELSE 'made'
    END;
    IF outcome = 'changed' THEN
        UPDATE facts f SET value = given, type = held_type, version = held_version + 1, source_id = source,
            confidence = sure, updated_at = now()
        WHERE f.tenant_id = tenant AND f.run_id = run AND f.key = wanted
        RETURNING f.version, f.updated_at INTO held_version, changed_at;
    ELSIF outcome = 'made' THEN
        -- versions go on where a deleted fact's ended: a version never means two values
        INSERT INTO facts AS f (tenant_id, scope_kind, scope_id, key, value, type, version, source_id, confidence)
        VALUES (tenant, kind, scope, wanted, given, held_type, 1 + last_fact_version(tenant, run, wanted), source, sure)
        RETURNING f.version, f.created_at, f.updated_at INTO held_version, made_at, changed_at;
    END IF;
    RETURN NEXT;
END
$$;

REVOKE EXECUTE ON FUNCTION
    find_settings(uuid), change_settings(text, uuid, jsonb), set_profile_text(uuid, uuid, text, text),
    find_profile_user(uuid, uuid), lock_profile(uuid, text), note_profile(uuid, uuid, text, text),
    write_profile(text, uuid, text, text, text), delete_profile(text, uuid, uuid, text), set_fact_origin(),
    opens_origins(uuid, text, uuid[], text[], text[], boolean, text), last_fact_version(uuid, text, text)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    find_settings(uuid), change_settings(text, uuid, jsonb), find_profile_user(uuid, uuid),
    write_profile(text, uuid, text, text, text), delete_profile(text, uuid, uuid, text),
    opens_origins(uuid, text, uuid[], text[], text[], boolean, text), last_fact_version(uuid, text, text)
TO keepword_app;
