"""The files whose tests take long: `make test` leaves them out, `make test-all` has them.

They start and kill many processes, try every pattern on hostile text, or compare millions of cells of the leak matrix.
Together they take two thirds of the time. A new file belongs here if it takes over 20 seconds.
"""

LONG = frozenset(
    {
        "acceptance/cli/test_command_line.py",
        "acceptance/cli/test_command_line_places.py",
        "acceptance/cli/test_demo.py",
        "acceptance/cli/test_doctor.py",
        "acceptance/test_as_root.py",
        "acceptance/test_docs.py",
        "acceptance/test_durability.py",
        "acceptance/test_embedding.py",
        "acceptance/test_first_start.py",
        "acceptance/test_first_turn.py",
        "acceptance/test_openapi.py",
        "acceptance/test_python_embedded.py",
        "acceptance/test_said_alone.py",
        "acceptance/test_start_and_stop.py",
        "acceptance/test_typescript.py",
        "acceptance/test_worker_is_killed.py",
        "faults/test_disk_full.py",
        "faults/test_erase_is_killed.py",
        "faults/test_faults.py",
        "integration/access/test_keys.py",
        "integration/archive/test_archive.py",
        "integration/compose/test_compose_windows.py",
        "integration/erasure/test_erase.py",
        "integration/histories/test_import_from.py",
        "integration/histories/test_imports.py",
        "integration/http/test_connections.py",
        "integration/http/test_fair_turns.py",
        "integration/http/test_fuzz.py",
        "integration/http/test_hostile_text.py",
        "integration/http/test_large_bodies.py",
        "integration/postgres/test_database_away.py",
        "integration/postgres/test_replicas.py",
        "integration/redis/test_redis_away.py",
        "integration/redis/test_redis_failover.py",
        "integration/telemetry/test_otlp.py",
        "leaks/test_compose_leaks.py",
        "leaks/test_matrix.py",
        "leaks/test_mem0.py",
        "leaks/test_profile_settings.py",
        "leaks/test_replica_leaks.py",
        "leaks/test_state_machine.py",
        "migration/test_migrate.py",
        "migration/test_restored.py",
        "unit/test_patterns.py",
    }
)
