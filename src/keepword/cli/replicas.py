"""The doctor's look at the replicas: whether each is one, and how far behind."""

from collections.abc import Iterator, Sequence

import psycopg

from keepword.checks import Check
from keepword.postgres import migrate
from keepword.postgres.logins import without_password
from keepword.postgres.replicas import ServerState, name_of, state_of

CONNECT_SECONDS = 5
# more than what a busy primary writes in a moment: searches would mostly go to the primary
LAG_BYTES = 16 * 2**20


def examine_replicas(urls: Sequence[str], conninfo: str) -> Iterator[Check]:
    if not urls:
        return
    with migrate.connect(conninfo) as conn:
        primary = state_of(conn)
    for url in urls:
        yield _examine(url, primary)


def _examine(url: str, primary: ServerState) -> Check:
    name = f"replica {name_of(url)}"
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as conn:
            state = state_of(conn)
    except psycopg.Error as exc:
        problem = without_password(str(exc).strip(), url)
        return Check(name, ok=False, found=problem, fix="start it, or correct KEEPWORD_REPLICA_URLS")
    fault = state.fault_beside(primary)
    if fault is not None:
        return Check(name, ok=False, found=fault, fix="make it a streaming standby of this primary, or leave it out")
    lag = max(0, primary.log_end - state.log_end)
    found = f"{lag:,} bytes of the log behind"
    return Check(
        name, lag < LAG_BYTES, found, "see pg_stat_replication on the primary; is its replay paused or its disk slow?"
    )
