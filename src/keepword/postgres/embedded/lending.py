"""The embedded server for those who do not serve: for a task of the command line, or for a worker."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import SecretStr

from keepword.errors import AlreadyRunning
from keepword.postgres.embedded.cluster import Cluster
from keepword.postgres.embedded.folder import hold


@contextmanager
def lend(home: Path, url: SecretStr | None) -> Iterator[str]:
    """Lend the database for a short task of the command line, starting the embedded one if it is down."""
    if url:
        yield url.get_secret_value()
        return
    with running(home) as cluster:
        yield cluster.conninfo


@contextmanager
def running(home: Path) -> Iterator[Cluster]:
    """Lend the server of `home` for a short task: the service's own if it runs, else one for the moment."""
    cluster = Cluster(home)
    try:
        with hold(home):
            try:
                cluster.start()
                yield cluster
            finally:
                cluster.abandon()
                cluster.stop()
    except AlreadyRunning:
        yield cluster


@contextmanager
def share(home: Path, url: SecretStr | None) -> Iterator[str]:
    """Lend the database for long. The folder stays free: a service that starts meanwhile takes the server over."""
    if url:
        yield url.get_secret_value()
        return
    cluster = Cluster(home)
    try:
        try:
            with hold(home):
                cluster.start()
        except AlreadyRunning:
            cluster.wait()
        yield cluster.conninfo
    finally:
        cluster.abandon()
        with suppress(AlreadyRunning), hold(home):
            cluster.stop()
