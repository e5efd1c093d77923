-- Trees of files: each change of a tree under a lock of its own, as the caller and behind the walls.

CREATE OR REPLACE FUNCTION tree_lock_key(tenant uuid, run text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT hashtextextended(run, uuid_hash_extended(tenant, 31)) $$;

CREATE OR REPLACE FUNCTION sha256_of(given text) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT encode(sha256(convert_to(given, 'UTF8')), 'hex') $$;

-- Whether a path is the folder or inside it: '0' is the character after '/'.
CREATE OR REPLACE FUNCTION is_in_folder(at_path text, folder text) RETURNS boolean LANGUAGE sql IMMUTABLE AS
    $$ SELECT at_path = folder OR (at_path COLLATE "C" > folder || '/' AND at_path COLLATE "C" < folder || '0') $$;

-- What stands in the way of a file at this path: a folder of that name, or a file where it needs a folder.
CREATE OR REPLACE FUNCTION file_obstacle(tenant uuid, run text, at_path text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN EXISTS (
            SELECT FROM file_versions f
            WHERE f.tenant_id = tenant AND f.run_id = run AND f.is_current
                AND f.path > at_path || '/' AND f.path < at_path || '0') THEN 'folder'
        WHEN EXISTS (
            SELECT FROM file_versions f
            WHERE f.tenant_id = tenant AND f.run_id = run AND f.is_current AND f.path = ANY (ARRAY(
                SELECT array_to_string((string_to_array(at_path, '/'))[:names], '/')
                FROM generate_series(3, array_length(string_to_array(at_path, '/'), 1) - 1) AS names))) THEN 'no folder'
    END
$$;

-- Whether a file of that size has no room in a tree: it holds too many others, or too much text with it.
CREATE OR REPLACE FUNCTION is_tree_full(tenant uuid, run text, at_path text, more bigint, most bigint, most_bytes bigint)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT count(*) >= most OR COALESCE(sum(size), 0) + more > most_bytes
    FROM file_versions WHERE tenant_id = tenant AND run_id = run AND is_current AND path <> at_path
$$;

-- Writes the next version of a path: without content its deletion.
CREATE OR REPLACE FUNCTION add_file_version(tenant uuid, run text, at_path text, given text, writer text)
RETURNS SETOF file_versions LANGUAGE plpgsql AS $$
DECLARE
    last bigint;
    was boolean;
BEGIN
    SELECT max(f.version), bool_or(f.is_current) INTO last, was
    FROM file_versions f WHERE f.tenant_id = tenant AND f.run_id = run AND f.path = at_path;
    UPDATE file_versions f SET is_current = false
    WHERE f.tenant_id = tenant AND f.run_id = run AND f.path = at_path AND f.is_current;
    RETURN QUERY INSERT INTO file_versions (
        tenant_id, run_id, path, version, operation, is_current, content, size, sha256, author)
    VALUES (
        tenant, run, at_path, 1 + COALESCE(last, 0),
        CASE WHEN given IS NULL THEN 'deleted' WHEN was THEN 'modified' ELSE 'created' END,
        given IS NOT NULL, given, octet_length(given), sha256_of(given), writer)
    RETURNING *;
END
$$;

-- `expected` is the sha256 that the file must have, '' if there must be none. The outcome says what was done, or why
-- nothing was.
CREATE OR REPLACE FUNCTION put_file(
    grant_ text, tenant uuid, run text, at_path text, given text, writer text, expected text, most bigint,
    most_bytes bigint
) RETURNS TABLE (outcome text, path text, version bigint, size integer, sha256 text, author text, written_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    held file_versions;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(tree_lock_key(tenant, run));
    SELECT f.* INTO held FROM file_versions f
    WHERE f.tenant_id = tenant AND f.run_id = run AND f.path = at_path AND f.is_current;
    outcome := CASE
        WHEN held.path IS NOT NULL AND expected = '' THEN 'exists'
        WHEN held.path IS NULL AND expected <> '' THEN 'absent'
        WHEN held.sha256 <> expected THEN 'outdated'
        WHEN held.content = given THEN 'same'
        WHEN is_tree_full(tenant, run, at_path, octet_length(given), most, most_bytes) THEN 'full'
        WHEN held.path IS NOT NULL THEN 'changed'
        ELSE COALESCE(file_obstacle(tenant, run, at_path), 'made')
    END;
    IF outcome IN ('made', 'changed') THEN
        SELECT f.* INTO held FROM add_file_version(tenant, run, at_path, given, writer) f;
    END IF;
    IF outcome IN ('made', 'changed', 'same') THEN
        path := held.path; version := held.version; size := held.size; sha256 := held.sha256;
        author := held.author; written_at := held.written_at;
    END IF;
    RETURN NEXT;
END
$$;

-- Deletes a file, or a folder with all in it; NULL if the one file has another sha256 than expected.
CREATE OR REPLACE FUNCTION delete_files(grant_ text, tenant uuid, run text, at_path text, writer text, expected text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    amount bigint := 0;
    one text;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(tree_lock_key(tenant, run));
    IF EXISTS (
        SELECT FROM file_versions f
        WHERE f.tenant_id = tenant AND f.run_id = run AND f.path = at_path AND f.is_current AND f.sha256 <> expected) THEN
        RETURN NULL;
    END IF;
    FOR one IN
        SELECT f.path FROM file_versions f
        WHERE f.tenant_id = tenant AND f.run_id = run AND f.is_current AND is_in_folder(f.path, at_path)
    LOOP
        PERFORM add_file_version(tenant, run, one, NULL, writer);
        amount := amount + 1;
    END LOOP;
    RETURN amount;
END
$$;

CREATE OR REPLACE FUNCTION rename_files(grant_ text, tenant uuid, run text, old_path text, new_path text, writer text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    one record;
    obstacle text;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(tree_lock_key(tenant, run));
    IF NOT EXISTS (
        SELECT FROM file_versions f
        WHERE f.tenant_id = tenant AND f.run_id = run AND f.is_current AND is_in_folder(f.path, old_path)) THEN
        RETURN 'absent';
    END IF;
    obstacle := file_obstacle(tenant, run, new_path);
    IF obstacle = 'folder' OR EXISTS (
        SELECT FROM file_versions f
        WHERE f.tenant_id = tenant AND f.run_id = run AND f.is_current AND f.path = new_path) THEN
        RETURN 'exists';
    ELSIF obstacle IS NOT NULL THEN
        RETURN obstacle;
    END IF;
    FOR one IN
        SELECT f.path, f.content FROM file_versions f
        WHERE f.tenant_id = tenant AND f.run_id = run AND f.is_current AND is_in_folder(f.path, old_path)
    LOOP
        PERFORM add_file_version(tenant, run, one.path, NULL, writer);
        PERFORM add_file_version(tenant, run, new_path || substr(one.path, length(old_path) + 1), one.content, writer);
    END LOOP;
    RETURN 'moved';
END
$$;

-- Erases the words of a former version: false if it is the current one, NULL if there is none.
CREATE OR REPLACE FUNCTION redact_file(grant_ text, tenant uuid, run text, at_path text, wanted bigint, who text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    current boolean;
BEGIN
    PERFORM set_config('keepword.grant', grant_, true), pg_advisory_xact_lock(tree_lock_key(tenant, run));
    SELECT f.is_current INTO current FROM file_versions f
    WHERE f.tenant_id = tenant AND f.run_id = run AND f.path = at_path AND f.version = wanted;
    IF current IS NULL OR current THEN
        RETURN NOT current;
    END IF;
    UPDATE file_versions f SET content = NULL, sha256 = NULL, redacted_by = who, redacted_at = clock_timestamp()
    WHERE f.tenant_id = tenant AND f.run_id = run AND f.path = at_path AND f.version = wanted AND f.content IS NOT NULL;
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION audit_redacted_file() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_audit(granted(), NEW.tenant_id, 'file.redacted', NEW.run_id, jsonb_build_object('version', NEW.version));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER redacted_files_are_audited AFTER UPDATE ON file_versions
    FOR EACH ROW WHEN (OLD.redacted_at IS NULL AND NEW.redacted_at IS NOT NULL) EXECUTE FUNCTION audit_redacted_file();
