"""The embedded server for those who do not serve: for a task of the command line, or for a worker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import SecretStr

from keepword.errors import AlreadyRunning, StartError
from keepword.postgres.embedded.cluster import Cluster
from keepword.postgres.embedded.folder import LOOK_SECONDS, ServerUse, lock_data_folder, use_server

# a service starts its server again when that dies, or was about to stop both
ANSWER_SECONDS = 30
# a process that starts or stops the server for longer has taken it over
LEAVE_SECONDS = 2


@contextmanager
def database_for_command(home: Path, url: SecretStr | None) -> Iterator[str]:
    """Lend the database, starting the embedded one if it is down."""
    if url:
        yield url.get_secret_value()
        return
    with running(home) as cluster:
        yield cluster.conninfo


@contextmanager
def running(home: Path) -> Iterator[Cluster]:
    """Lend the server of `home`: the service's own if it runs, else one that stops with its last user.

    The folder stays free: a service that starts meanwhile takes the server over.
    """
    cluster = Cluster(home)
    with use_server(home) as mine:
        try:
            _bring_up(cluster)
            yield cluster
        finally:
            cluster.abandon()
            _stop_unless_used(cluster, mine)


def _bring_up(cluster: Cluster) -> None:
    """Start the server, or wait until the one of another holder answers."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        try:
            with lock_data_folder(cluster.home) as holder:
                holder.brief()
                return cluster.start()
        except AlreadyRunning as exc:
            if cluster.answers():
                return None
            if time.monotonic() > deadline:
                raise StartError(f"{exc}; its PostgreSQL does not answer, see {cluster.log}") from exc
        time.sleep(LOOK_SECONDS)


def _stop_unless_used(cluster: Cluster, mine: ServerUse) -> None:
    mine.end()
    with suppress(AlreadyRunning), lock_data_folder(cluster.home, brief_seconds=LEAVE_SECONDS) as holder:
        holder.brief()
        if mine.was_last():
            cluster.stop()
