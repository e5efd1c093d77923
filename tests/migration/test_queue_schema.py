"""The queue's schema comes from its library: a new release of that may need a migration of ours."""

from importlib import resources


def test_the_library_has_no_migration_that_we_do_not_know():
    found = sorted(file.name for file in resources.files("procrastinate").joinpath("sql", "migrations").iterdir())
    assert [name for name in found if name.endswith(".sql")][-1] == (
        "03.04.00_50_post_add_retry_failed_job_procedure.sql"
    ), "add a migration that runs the library's new ones on a database that was made with the old schema"
