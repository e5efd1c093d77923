"""The files whose tests take long: `make test` leaves them out, `make test-all` has them.

They start and kill many processes, try every pattern on hostile text, or compare millions of cells of the leak matrix.
Together they take two thirds of the time. A new file belongs here if it takes over 20 seconds.
"""

LONG = frozenset(
    {
        "acceptance/test_as_root.py",
        "acceptance/test_demo.py",
        "acceptance/test_docs.py",
        "acceptance/test_durability.py",
        "acceptance/test_embedding.py",
        "acceptance/test_first_start.py",
        "acceptance/test_first_turn.py",
        "acceptance/test_openapi.py",
        "acceptance/test_python_embedded.py",
        "acceptance/test_said_alone.py",
        "acceptance/test_start_and_stop.py",
        "acceptance/test_worker_is_killed.py",
        "faults/test_disk_full.py",
        "faults/test_faults.py",
        "integration/test_archive.py",
        "integration/test_compose_windows.py",
        "integration/test_connections.py",
        "integration/test_database_away.py",
        "integration/test_fair_turns.py",
        "integration/test_hostile_text.py",
        "integration/test_keys.py",
        "integration/test_large_bodies.py",
        "integration/test_redis_away.py",
        "leaks/test_compose_leaks.py",
        "leaks/test_matrix.py",
        "leaks/test_profile_settings.py",
        "leaks/test_state_machine.py",
        "migration/test_migrate.py",
        "unit/test_patterns.py",
    }
)
