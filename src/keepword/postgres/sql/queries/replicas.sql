-- name: state
-- What tells a standby of this primary from any other server, and how far it is.
SELECT pg_is_in_recovery() AS is_standby,
    (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END
        - '0/0'::pg_lsn)::int8 AS log_end,
    (SELECT system_identifier FROM pg_control_system()) AS system,
    (SELECT oid::int8 FROM pg_database WHERE datname = current_database()) AS database,
    CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
        ELSE ('x' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8))::bit(32)::int4 END AS timeline
