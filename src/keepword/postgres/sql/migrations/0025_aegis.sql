-- depends: 0022_arms_first
-- AEGIS' ways: fields that are not there are passed over, a mark overwrites.

-- Deletes those of the named fields that are there. A memory without fields is none.
DROP FUNCTION delete_working(text, uuid, uuid, text, text, text, text[], timestamptz);
CREATE FUNCTION delete_working(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text, names text[], at timestamptz
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    held jsonb;
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, place, seen, only_for),
        pg_advisory_xact_lock(working_turn(conversation));
    SELECT m.fields - names INTO held FROM working_memories m
    WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place AND m.expires_at > at;
    IF held = '{}' THEN
        DELETE FROM working_memories m
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place;
    ELSIF held IS NOT NULL THEN
        UPDATE working_memories m SET fields = held, expires_at = at + m.ttl_seconds * interval '1 second'
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.run_id = place;
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION delete_working(text, uuid, uuid, text, text, text, text[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_working(text, uuid, uuid, text, text, text, text[], timestamptz) TO keepword_app;

-- Marks items with their values and returns the keys that are new: of all who mark an item, one adds it.
-- As the owner, so that the application can't update the table, under the grant that it is given. Rows are taken in the
-- order of their keys, so that no two callers wait for each other.
DROP FUNCTION mark_item(text, uuid, uuid, text, text, text, text, text);
CREATE FUNCTION mark_items(
    grant_ text, tenant uuid, conversation uuid, place text, seen text, only_for text, items jsonb
) RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    added text[];
BEGIN
    PERFORM require_writes(grant_::jsonb, tenant, place, seen, only_for);
    WITH marked AS (
        INSERT INTO ledger_marks AS l (tenant_id, conversation_id, item_key, run_id, visibility, private_to, value)
        SELECT tenant, conversation, i.key, place, seen, only_for, i.value FROM jsonb_each_text(items) AS i
        ORDER BY i.key
        ON CONFLICT (tenant_id, conversation_id, item_key) DO UPDATE SET value = excluded.value
            WHERE l.run_id = excluded.run_id
        RETURNING l.item_key, l.xmax = 0 AS is_new
    )
    SELECT COALESCE(array_agg(m.item_key) FILTER (WHERE m.is_new), '{}') INTO added FROM marked m;
    RETURN added;
END
$$;
REVOKE EXECUTE ON FUNCTION mark_items(text, uuid, uuid, text, text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mark_items(text, uuid, uuid, text, text, text, jsonb) TO keepword_app;

-- What an agent stores may be null, as in AEGIS' table.
ALTER TABLE summaries ALTER key_decisions DROP NOT NULL, ALTER entities_mentioned DROP NOT NULL,
    ALTER tools_called DROP NOT NULL;
