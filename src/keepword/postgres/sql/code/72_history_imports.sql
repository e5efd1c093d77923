-- Imports of histories: made and ended by the tenant's owner, run by a worker that holds a lease.

CREATE OR REPLACE FUNCTION lock_history_imports(tenant uuid) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('history imports ' || tenant, 0))
$$;

-- Makes one; NULL where as many are open as may be.
CREATE OR REPLACE FUNCTION make_history_import(
    grant_ text, tenant uuid, kind_ text, file_ text, options_ jsonb, most_open integer
) RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    made uuid;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_history_imports(tenant);
    INSERT INTO history_imports (tenant_id, kind, file, options)
    SELECT tenant, kind_, file_, options_
    WHERE (SELECT count(*) FROM history_imports h WHERE h.tenant_id = tenant
           AND h.state IN ('uploading', 'waiting', 'running', 'cancelling', 'checked')) < most_open
    RETURNING id INTO made;
    RETURN made;
END
$$;

-- Keeps a part of the upload, in place of one with that number. Tells what came of it: stored, absent, full, or the
-- state in which no more is taken.
CREATE OR REPLACE FUNCTION put_history_part(
    grant_ text, tenant uuid, import uuid, part integer, content bytea, most_bytes bigint
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    now_in text;
    more bigint;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_history_imports(tenant);
    SELECT state INTO now_in FROM history_imports WHERE tenant_id = tenant AND id = import;
    IF now_in IS DISTINCT FROM 'uploading' THEN
        RETURN COALESCE(now_in, 'absent');
    END IF;
    more := octet_length(content) - COALESCE((
        SELECT octet_length(data) FROM history_import_parts
        WHERE tenant_id = tenant AND import_id = import AND number = part), 0);
    IF more + (SELECT COALESCE(sum(uploaded_bytes), 0) FROM history_imports WHERE tenant_id = tenant
               AND state IN ('uploading', 'waiting', 'running', 'cancelling', 'checked')) > most_bytes THEN
        RETURN 'full';
    END IF;
    INSERT INTO history_import_parts (tenant_id, import_id, number, data) VALUES (tenant, import, part, content)
    ON CONFLICT (tenant_id, import_id, number) DO UPDATE SET data = EXCLUDED.data;
    UPDATE history_imports SET uploaded_bytes = uploaded_bytes + more, changed_at = clock_timestamp()
    WHERE tenant_id = tenant AND id = import;
    RETURN 'stored';
END
$$;

-- Lets a worker take it. Tells what came of it: waiting, absent, a gap in the parts, erasing while something is erased, or
-- the state that it can't be started in.
CREATE OR REPLACE FUNCTION start_history_import(grant_ text, tenant uuid, import uuid, only_check boolean, by_key text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    now_in text;
    of_kind text;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_history_imports(tenant);
    SELECT state, kind INTO now_in, of_kind FROM history_imports WHERE tenant_id = tenant AND id = import;
    IF now_in IS NULL OR now_in NOT IN ('uploading', 'checked') THEN
        RETURN COALESCE(now_in, 'absent');
    END IF;
    IF EXISTS (SELECT FROM erasures e WHERE e.tenant_id = tenant AND e.state = 'running') THEN
        RETURN 'erasing';
    END IF;
    IF (SELECT count(*) = 0 OR count(*) <> max(number) FROM history_import_parts
        WHERE tenant_id = tenant AND import_id = import) THEN
        RETURN 'gap';
    END IF;
    UPDATE history_imports SET state = 'waiting', dry_run = only_check, key_id = by_key, changed_at = clock_timestamp(),
        report = '{}', read_bytes = 0, total_bytes = 0, error = NULL, attempts = 0, furthest = 0, started_at = NULL,
        finished_at = NULL
    WHERE tenant_id = tenant AND id = import;
    IF NOT only_check THEN
        PERFORM note_audit(grant_::jsonb, tenant, 'import.started', NULL, jsonb_build_object('import', import, 'kind', of_kind));
    END IF;
    RETURN 'waiting';
END
$$;

-- Ends it: at once, or as soon as whoever runs it hears of it. Tells the state that it is in then; NULL: it is not there.
CREATE OR REPLACE FUNCTION cancel_history_import(grant_ text, tenant uuid, import uuid)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    now_in text;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_history_imports(tenant);
    SELECT state INTO now_in FROM history_imports WHERE tenant_id = tenant AND id = import FOR UPDATE;
    IF now_in = 'running' THEN
        UPDATE history_imports SET state = 'cancelling', changed_at = clock_timestamp() WHERE tenant_id = tenant AND id = import;
        RETURN 'cancelling';
    ELSIF now_in IN ('uploading', 'waiting', 'checked') THEN
        PERFORM end_history_import(tenant, import, 'cancelled', NULL);
        RETURN 'cancelled';
    END IF;
    RETURN now_in;
END
$$;

-- Forgets one that has ended, with its report. Tells the state that it was in; NULL: it is not there.
CREATE OR REPLACE FUNCTION delete_history_import(grant_ text, tenant uuid, import uuid)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    now_in text;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), lock_history_imports(tenant);
    SELECT state INTO now_in FROM history_imports WHERE tenant_id = tenant AND id = import FOR UPDATE;
    DELETE FROM history_imports WHERE tenant_id = tenant AND id = import AND state IN ('checked', 'done', 'failed', 'cancelled');
    RETURN now_in;
END
$$;

-- After a dry run the upload stays: it is started in earnest next, most often.
CREATE OR REPLACE FUNCTION end_history_import(tenant uuid, import uuid, into_state text, because text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE history_imports SET state = into_state, error = because, lease = NULL, lease_until = NULL, run_after = NULL,
        changed_at = clock_timestamp(), finished_at = clock_timestamp()
    WHERE tenant_id = tenant AND id = import;
    IF into_state <> 'checked' THEN
        DELETE FROM history_import_parts WHERE tenant_id = tenant AND import_id = import;
    END IF;
END
$$;

-- Takes one that waits, or whose worker is gone, for a time; at most one of a tenant runs.
CREATE OR REPLACE FUNCTION claim_history_import(lease_seconds integer, most_attempts integer)
RETURNS TABLE (tenant_id uuid, id uuid, tenant text, kind text, file text, options jsonb, dry_run boolean, key_id text,
    lease uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
DECLARE
    h history_imports;
BEGIN
    FOR h IN
        SELECT * FROM history_imports i
        WHERE ((i.state = 'waiting' AND COALESCE(i.run_after <= now(), true))
               OR (i.state IN ('running', 'cancelling') AND i.lease_until < now()))
            AND NOT EXISTS (SELECT FROM imports o WHERE o.tenant_id = i.tenant_id) AND NOT is_resting(i.tenant_id)
            AND NOT EXISTS (SELECT FROM erasures e WHERE e.tenant_id = i.tenant_id AND e.state = 'running')
            AND NOT EXISTS (SELECT FROM history_imports o WHERE o.tenant_id = i.tenant_id AND o.id <> i.id
                AND o.state IN ('running', 'cancelling') AND o.lease_until >= now())
        ORDER BY i.changed_at FOR UPDATE SKIP LOCKED
    LOOP
        IF NOT pg_try_advisory_xact_lock(hashtextextended('history imports ' || h.tenant_id, 0)) THEN
            CONTINUE;
        ELSIF h.state = 'cancelling' THEN
            PERFORM end_history_import(h.tenant_id, h.id, 'cancelled', NULL);
        ELSIF h.attempts >= most_attempts THEN
            PERFORM end_history_import(h.tenant_id, h.id, 'failed',
                'the process that read it ended ' || h.attempts || ' times at the same place; ' || COALESCE(h.error, 'nothing is known of why'));
        ELSIF h.key_id <> 'none' AND EXISTS (
            SELECT FROM keys k WHERE k.id = h.key_id AND (k.revoked_at IS NOT NULL OR k.expires_at <= now())
        ) THEN
            PERFORM end_history_import(h.tenant_id, h.id, 'failed', 'the key that started it was revoked, or expired; start it with another one');
        ELSE
            RETURN QUERY
            UPDATE history_imports i SET state = 'running', lease = gen_random_uuid(), attempts = i.attempts + 1,
                lease_until = now() + make_interval(secs => lease_seconds), run_after = NULL,
                started_at = COALESCE(i.started_at, now()), changed_at = clock_timestamp()
            FROM tenants t
            WHERE i.tenant_id = h.tenant_id AND i.id = h.id AND t.id = i.tenant_id
            RETURNING i.tenant_id, i.id, t.name, i.kind, i.file, i.options, i.dry_run, i.key_id, i.lease;
            RETURN;
        END IF;
    END LOOP;
END
$$;

-- A part of the upload, for whoever holds the lease; no row after the last one.
CREATE OR REPLACE FUNCTION read_history_part(tenant uuid, import uuid, held uuid, part integer) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT p.data FROM history_import_parts p JOIN history_imports i ON i.tenant_id = p.tenant_id AND i.id = p.import_id
    WHERE p.tenant_id = tenant AND p.import_id = import AND p.number = part AND i.lease = held
$$;

-- Whether it is still to be run under this lease.
CREATE OR REPLACE FUNCTION is_history_import_held(tenant uuid, import uuid, held uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM history_imports
        WHERE tenant_id = tenant AND id = import AND lease = held AND state = 'running' AND lease_until >= now())
$$;

-- How many messages are safe by what a run tells: those that it stored, or found stored. A dry run reads.
CREATE OR REPLACE FUNCTION history_import_progress(said jsonb, only_check boolean) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN only_check THEN (said ->> 'messages')::bigint
        ELSE (said ->> 'stored')::bigint + (said ->> 'known')::bigint END
$$;

-- Keeps how far it is, and the lease. False: it is to stop, because it was cancelled or another one runs it.
CREATE OR REPLACE FUNCTION note_history_import(
    tenant uuid, import uuid, held uuid, lease_seconds integer, said jsonb, bytes_read bigint, bytes_total bigint
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    UPDATE history_imports SET lease_until = now() + make_interval(secs => lease_seconds), report = said,
        read_bytes = bytes_read, total_bytes = bytes_total,
        attempts = CASE WHEN history_import_progress(said, dry_run) > furthest THEN 0 ELSE attempts END,
        furthest = GREATEST(furthest, history_import_progress(said, dry_run))
    WHERE tenant_id = tenant AND id = import AND lease = held AND state = 'running';
    RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION finish_history_import(
    tenant uuid, import uuid, held uuid, into_state text, because text, said jsonb, bytes_read bigint
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    now_in text;
BEGIN
    SELECT state INTO now_in FROM history_imports
    WHERE tenant_id = tenant AND id = import AND lease = held AND state IN ('running', 'cancelling') FOR UPDATE;
    IF now_in IS NULL THEN
        RETURN;
    END IF;
    UPDATE history_imports SET report = said, read_bytes = bytes_read WHERE tenant_id = tenant AND id = import;
    PERFORM end_history_import(tenant, import, CASE now_in WHEN 'cancelling' THEN 'cancelled' ELSE into_state END, because);
END
$$;

-- Gives it back, to be run again later. `counts` says whether that was its own fault.
CREATE OR REPLACE FUNCTION release_history_import(
    tenant uuid, import uuid, held uuid, after_ timestamptz, because text, counts boolean
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    now_in text;
BEGIN
    SELECT state INTO now_in FROM history_imports WHERE tenant_id = tenant AND id = import AND lease = held FOR UPDATE;
    IF now_in = 'cancelling' THEN
        PERFORM end_history_import(tenant, import, 'cancelled', NULL);
    ELSIF now_in = 'running' THEN
        UPDATE history_imports SET state = 'waiting', lease = NULL, lease_until = NULL, run_after = after_,
            error = because, changed_at = clock_timestamp(),
            attempts = CASE WHEN counts THEN attempts ELSE GREATEST(attempts - 1, 0) END
        WHERE tenant_id = tenant AND id = import;
    END IF;
END
$$;

-- Whether a history is on its way into a conversation: being imported, or uploaded. Without one: into the tenant at all.
-- An import's conversations begin with its kind.
CREATE OR REPLACE FUNCTION is_being_imported(tenant uuid, conversation text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM history_imports i
        WHERE i.tenant_id = tenant AND i.state IN ('uploading', 'waiting', 'running', 'cancelling', 'checked')
            AND (conversation IS NULL OR starts_with(conversation, i.kind || ':')))
$$;

-- Takes a person out of what is told of imports: their name, and what the source calls them.
CREATE OR REPLACE FUNCTION forget_in_history_imports(tenant uuid, person text) RETURNS void LANGUAGE sql AS $$
    UPDATE history_imports SET
        report = CASE WHEN report ? 'people' THEN jsonb_set(report, '{people}', (
            SELECT COALESCE(jsonb_agg(p), '[]') FROM jsonb_array_elements(report -> 'people') AS p
            WHERE p ->> 'user' IS DISTINCT FROM person)) ELSE report END,
        options = (CASE WHEN options ->> 'user' = person THEN options - 'user' ELSE options END) || CASE
            WHEN jsonb_typeof(options -> 'map') = 'object' THEN jsonb_build_object('map', (
                SELECT COALESCE(jsonb_object_agg(m.key, m.value), '{}') FROM jsonb_each_text(options -> 'map') AS m
                WHERE m.value <> person))
            ELSE '{}' END
    WHERE tenant_id = tenant AND (
        options ->> 'user' = person
        OR EXISTS (SELECT FROM jsonb_each_text(
            CASE WHEN jsonb_typeof(options -> 'map') = 'object' THEN options -> 'map' ELSE '{}' END) AS m WHERE m.value = person)
        OR report -> 'people' @> jsonb_build_array(jsonb_build_object('user', person)))
$$;

-- Ends uploads that nobody went on with, and forgets what ended long ago, in all tenants.
CREATE OR REPLACE FUNCTION sweep_history_imports(abandoned timestamptz, forgotten timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    swept bigint;
BEGIN
    PERFORM end_history_import(i.tenant_id, i.id, 'cancelled', 'nobody went on with it')
    FROM (SELECT tenant_id, id FROM history_imports
          WHERE state IN ('uploading', 'checked') AND changed_at < abandoned AND NOT is_resting(tenant_id) FOR UPDATE SKIP LOCKED) AS i;
    GET DIAGNOSTICS swept = ROW_COUNT;
    DELETE FROM history_imports WHERE state IN ('done', 'failed', 'cancelled') AND finished_at < forgotten
        AND NOT is_resting(tenant_id);
    RETURN swept;
END
$$;
