-- A look-up on the primary, with where its log is afterwards: a replica that has replayed that far shows at least what
-- the look-up saw, and all that was acknowledged before it. Evaluated last, when the look-up has its snapshot.
SELECT located.*, (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::int8 AS log_position,
    pg_postmaster_start_time() AS server_since
FROM (
-- the query
) AS located
