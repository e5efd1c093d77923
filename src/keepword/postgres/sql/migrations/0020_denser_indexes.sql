-- depends: 0019_news
-- Denser graphs, and more of them walked: of 50,000 entries of an artificial language, which has no topics to speak of,
-- the first ones found nine of the ten nearest.

-- libraries have to be loaded before functions may name their settings
DO $$ BEGIN PERFORM '[1]'::halfvec; END $$;

DROP INDEX IF EXISTS vectors_instant_v1, vectors_minilm_l6_v2_int8;
CREATE INDEX vectors_instant_v1 ON vectors USING hnsw ((vector::halfvec(256)) halfvec_ip_ops)
    WITH (m = 24, ef_construction = 128) WHERE space_id = 1;
CREATE INDEX vectors_minilm_l6_v2_int8 ON vectors USING hnsw ((vector::halfvec(384)) halfvec_ip_ops)
    WITH (m = 24, ef_construction = 128) WHERE space_id = 2;

ALTER FUNCTION find_nearest_instant(scope, sieve, halfvec, integer) SET hnsw.ef_search = 300;
ALTER FUNCTION find_nearest_deep(scope, sieve, smallint, halfvec, boolean, integer) SET hnsw.ef_search = 300;

-- As before, with the same density.
CREATE OR REPLACE FUNCTION make_space(wanted text, wanted_dimensions integer) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
    made smallint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('keepword.make_space'));
    SELECT id INTO made FROM spaces WHERE name = wanted;
    IF FOUND THEN
        RETURN made;
    END IF;
    INSERT INTO spaces (name, dimensions) VALUES (wanted, wanted_dimensions) RETURNING id INTO made;
    EXECUTE format(
        'CREATE INDEX %I ON vectors USING hnsw ((vector::halfvec(%s)) halfvec_ip_ops) '
        'WITH (m = 24, ef_construction = 128) WHERE space_id = %s',
        left(format('vectors_%s_%s', made, regexp_replace(lower(wanted), '[^a-z0-9]+', '_', 'g')), 63),
        wanted_dimensions, made);
    IF NOT EXISTS (SELECT FROM entries) THEN
        PERFORM serve_space(made);
    END IF;
    RETURN made;
END
$$;
