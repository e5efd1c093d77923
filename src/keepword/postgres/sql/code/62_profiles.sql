-- Profiles: lines that were said, read live, and lines that were written by hand.

CREATE OR REPLACE FUNCTION refuse_other_profile() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.tenant_id, NEW.id, NEW.type, NEW.created_at) IS DISTINCT FROM
       (OLD.tenant_id, OLD.id, OLD.type, OLD.created_at) OR NEW.user_id IS DISTINCT FROM OLD.user_id
    THEN
        RAISE EXCEPTION 'a profile''s id, scope and created_at never change' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER profiles_stay_whose_they_are BEFORE UPDATE ON profiles
    FOR EACH ROW EXECUTE FUNCTION refuse_other_profile();

-- A number to sort by: a field, with a minus in front the other way round. Times keep their microseconds.
CREATE OR REPLACE FUNCTION profile_rank(type memory_type_enum, created_at timestamptz, updated_at timestamptz, wanted text)
RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN wanted LIKE '-%' THEN -1 ELSE 1 END * CASE ltrim(wanted, '-')
        WHEN 'created_at' THEN extract(epoch FROM created_at)
        WHEN 'updated_at' THEN extract(epoch FROM updated_at)
        WHEN 'type' THEN CASE type WHEN 'user' THEN 0 ELSE 1 END
    END
$$;

-- A line as it stands in a profile: on one line, without a list's dash.
CREATE OR REPLACE FUNCTION flatten_line(line text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT regexp_replace(btrim(regexp_replace(line, '\s+', ' ', 'g')), '^[-*] ', '') $$;

-- Splits a text into lines. A line that repeats a memory of the user word for word is marked with all such memories, but
-- for those that nobody vouches for: whoever writes such a line says it themselves.
CREATE OR REPLACE FUNCTION set_profile_text(tenant uuid, profile uuid, whose text, text_ text) RETURNS void
LANGUAGE sql SET search_path = keepword, pg_temp AS $$
    DELETE FROM profile_texts WHERE tenant_id = tenant AND profile_id = profile;
    WITH lines AS (
        SELECT n - 1 AS line, content FROM unnest(
            CASE WHEN text_ = '' THEN ARRAY[''] ELSE string_to_array(text_, chr(10)) END) WITH ORDINALITY AS l (content, n)
    ),
    known AS (
        SELECT flatten_line(m.content) AS content, array_agg(m.id ORDER BY m.id) AS ids FROM memories m
        WHERE m.tenant_id = tenant AND m.user_id = whose AND m.valid_to IS NULL AND m.deleted_at IS NULL
            AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())
            AND m.vouched GROUP BY 1
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

-- Valid memories of users as lines of their profiles, live: what is moved, deleted or superseded counts from the next
-- read on. A line needs the messages that it comes from. It has the rights of the tables' owner, so it applies the
-- grant itself; as with row-level security, the owner of the tables passes.
CREATE OR REPLACE VIEW profile_lines WITH (security_barrier) AS
SELECT m.tenant_id, m.id, COALESCE(p.id, first_profile_id(m.tenant_id, m.user_id)) AS profile_id, m.user_id, m.agent,
    m.type, flatten_line(m.content) AS content, m.importance, m.said_at, m.created_at, m.updated_at,
    m.run_id, m.visibility, m.private_to, c.kind, c.external_id AS conversation, t.line AS repeated_at,
    ARRAY(SELECT s.message_id FROM memory_sources s
          WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id ORDER BY 1) AS sources,
    COALESCE(j.isolated, false) AS isolated,
    -- theirs to take along: from their own session, or from a room in which they sit
    c.kind = 'session' OR (c.kind = 'room' AND EXISTS (
        SELECT FROM participants o
        WHERE o.tenant_id = m.tenant_id AND o.room_id = c.room_id AND o.user_id = m.user_id)) AS is_theirs,
    m.vouched
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
    AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())
    AND (c.kind = 'room' OR c.user_id = m.user_id)
    AND EXISTS (SELECT FROM memory_sources s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id)
    AND NOT is_erasing(m.tenant_id, m.conversation_id) AND NOT is_erasing_user(m.tenant_id, m.user_id)
    AND (p.written_at IS NULL OR m.updated_at > p.written_at OR t.line IS NOT NULL)
    -- what is not vouched for stands in the profile where it was said, and nowhere else
    AND (m.vouched OR (SELECT current_user) = 'keepword_owner'
         OR m.run_id = ANY ((SELECT granted_lines_in())::text[]))
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
CREATE OR REPLACE FUNCTION find_profile_user(in_tenant uuid, wanted uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT user_id FROM profiles WHERE tenant_id = in_tenant AND id = wanted
    UNION ALL
    SELECT u.id FROM users u
    WHERE u.tenant_id = in_tenant AND first_profile_id(u.tenant_id, u.id) = wanted
        AND NOT EXISTS (SELECT FROM profiles p WHERE p.tenant_id = in_tenant AND p.user_id = u.id)
    LIMIT 1
$$;

-- Who writes a profile takes turns, also while there is no row that could be locked.
CREATE OR REPLACE FUNCTION lock_profile(tenant uuid, person text) RETURNS void LANGUAGE sql AS
    $$ SELECT pg_advisory_xact_lock(hashtextextended(COALESCE('profile:' || person, 'global'), uuid_hash_extended(tenant, 9))) $$;

CREATE OR REPLACE FUNCTION note_profile(tenant uuid, profile uuid, text_ text, who text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO profile_versions (tenant_id, run_id, version, profile_id, memory, by_whom)
    SELECT tenant, p.run_id, 1 + COALESCE((SELECT max(version) FROM profile_versions v
                                           WHERE v.tenant_id = tenant AND v.run_id = p.run_id), 0), profile, text_, who
    FROM profiles p WHERE p.tenant_id = tenant AND p.id = profile
$$;

-- Writes a profile by hand, as a whole: it replaces what was remembered so far, but for what it repeats of it.
CREATE OR REPLACE FUNCTION write_profile(grant_ text, tenant uuid, person text, text_ text, who text) RETURNS uuid
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
    PERFORM note_audit(grant_::jsonb, tenant, 'profile.written', COALESCE('profile:' || person, 'global'),
        jsonb_build_object('profile', profile, 'user', person));
    RETURN profile;
END
$$;

-- Takes away what was written by hand, and what was remembered so far. What is said later makes a new profile.
CREATE OR REPLACE FUNCTION delete_profile(grant_ text, tenant uuid, wanted uuid, who text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    person text := find_profile_user(tenant, wanted);
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_profile(tenant, person);
    PERFORM note_profile(tenant, wanted, NULL, who);
    PERFORM note_audit(grant_::jsonb, tenant, 'profile.deleted', COALESCE('profile:' || person, 'global'),
        jsonb_build_object('profile', wanted, 'user', person));
    DELETE FROM profiles WHERE tenant_id = tenant AND id = wanted;
    IF person IS NOT NULL THEN
        INSERT INTO profiles (tenant_id, type, user_id, created_at, written_at)
        VALUES (tenant, 'user', person, clock_timestamp(), clock_timestamp()) ON CONFLICT DO NOTHING;
    END IF;
END
$$;
