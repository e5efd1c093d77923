"""The embedded server's log stays short, and holds no statements."""

import psycopg
import pytest

from keepword.postgres.embedded import Cluster, cluster, running


@pytest.fixture
def server(make_migrated_home):
    with running(make_migrated_home()) as found:
        yield found


def fail(server: Cluster, number: int) -> None:
    with psycopg.connect(server.conninfo, autocommit=True) as conn, pytest.raises(psycopg.errors.DivisionByZero):
        conn.execute(f"SELECT 1 / 0 AS the_words_of_statement_{number}, '{'long ' * 300}'")


def test_a_log_that_is_long_begins_anew_while_the_server_goes_on_writing(server, monkeypatch):
    monkeypatch.setattr(cluster, "MAX_LOG_BYTES", 2000)
    for number in range(30):
        fail(server, number)
    assert server.log.stat().st_size > 2000
    server.rotate_log()
    assert server.log.stat().st_size == 0
    assert "division by zero" in server.log.with_name("postgres.log.1").read_text()
    assert server.log.with_name("postgres.log.1").stat().st_mode & 0o077 == 0
    fail(server, 31)
    assert server.log.read_text().count("division by zero") == 1
    assert "\0" not in server.log.read_text()


def test_a_statement_that_fails_costs_one_line(server):
    before = server.log.stat().st_size
    fail(server, 1)
    assert "the_words_of_statement" not in server.log.read_text()
    assert server.log.stat().st_size - before < 300
