-- depends: 0021_scopes_are_read 0022_arms_first 0015_recompact
-- Every use counts.

-- How often each entry was given to an agent since it was last counted. Capped: what is popular must not crowd out what
-- is right.
DROP FUNCTION count_uses(uuid, bigint[]);
CREATE FUNCTION count_uses(in_tenant uuid, entry_ids bigint[], amounts integer[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    INSERT INTO uses AS u (entry_id, tenant_id, times, last_at)
    SELECT e.id, e.tenant_id, LEAST(g.amount, 50), now()
    FROM unnest(entry_ids, amounts) AS g (id, amount)
    JOIN entries e ON e.tenant_id = in_tenant AND e.id = g.id ORDER BY e.id
    ON CONFLICT (entry_id) DO UPDATE SET times = LEAST(u.times + excluded.times, 50), last_at = now()
$$;
REVOKE EXECUTE ON FUNCTION count_uses(uuid, bigint[], integer[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION count_uses(uuid, bigint[], integer[]) TO keepword_app;
