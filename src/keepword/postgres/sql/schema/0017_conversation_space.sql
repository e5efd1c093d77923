-- The bundled model is another one, so its vectors have a space of their own. Where the old bundled one served, the new
-- one does from now on, and a worker embeds everything again, the newest first; meanwhile searches answer from words and
-- the instant space. Nothing makes query vectors for the old space any more: its vectors go.
DO $$
DECLARE
    old record;
    made smallint;
BEGIN
    SELECT id, serving INTO old FROM spaces WHERE name = 'minilm-l6-v2-int8';
    IF NOT EXISTS (SELECT FROM entries) THEN
        UPDATE spaces SET name = 'minilm-conversation-v1' WHERE id = old.id;
        ALTER INDEX vectors_minilm_l6_v2_int8 RENAME TO vectors_minilm_conversation_v1;
        RETURN;
    END IF;
    -- a process of the older release may still store vectors for the old number: it is not given out again
    INSERT INTO spaces (name, dimensions, filling) VALUES ('minilm-conversation-v1', 384, old.serving) RETURNING id INTO made;
    DROP INDEX vectors_minilm_l6_v2_int8;
    EXECUTE format(
        'CREATE INDEX vectors_minilm_conversation_v1 ON vectors USING hnsw ((vector::public.halfvec(384)) public.halfvec_ip_ops) '
        'WITH (m = 24, ef_construction = 128) WHERE space_id = %s', made);
    DELETE FROM backlog WHERE space_id = old.id;
    DELETE FROM vectors WHERE space_id = old.id;
    UPDATE spaces SET serving = false, filling = false WHERE id = old.id;
    IF old.serving THEN
        UPDATE spaces SET serving = true WHERE id = made;
        INSERT INTO backlog (tenant_id, space_id, entry_id) SELECT tenant_id, made, id FROM entries WHERE searchable;
    END IF;
END
$$;
