"""Binds the service's port, and prints its address."""

import ipaddress
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from keepword.config import Settings
from keepword.errors import StartError

BACKLOG = 2048


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def bound(settings: Settings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, settings.port))
        except OSError as exc:
            raise _cannot_listen(settings, exc) from exc
        yield listener


def listen(settings: Settings, listener: socket.socket) -> None:
    # of two that start at once both may have bound the port; the second learns it here
    try:
        listener.listen(BACKLOG)
    except OSError as exc:
        raise _cannot_listen(settings, exc) from exc


def _cannot_listen(settings: Settings, exc: OSError) -> StartError:
    return StartError(
        f"can't listen on {settings.host}:{settings.port}: {exc.strerror}; "
        "name another with KEEPWORD_HOST and KEEPWORD_PORT"
    )


def announce(settings: Settings) -> None:
    """Say what a first start is about to do: it takes some seconds, and nothing else is said meanwhile."""
    if settings.main_url is None and not (settings.home / "postgres" / "PG_VERSION").exists():
        sys.stdout.write(f"Making a database in {settings.home} (once, some seconds) ...\n")
        sys.stdout.flush()


def greet(settings: Settings, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    where = (
        f"{len(settings.servers)} PostgreSQL servers (KEEPWORD_SERVERS)" if settings.servers
        else "another PostgreSQL (KEEPWORD_DATABASE_URL)" if settings.database_url else str(settings.home)
    )  # fmt: skip
    sys.stdout.write(
        f"Keepword listens on {url}\n"
        f"Its data lies in {where}\n"
        "Try it:\n"
        f"  curl -X PUT {url}/v1/conversations/demo -H 'Content-Type: application/json' -d '{{\"title\": \"Hello\"}}'\n"
        f"Every route is described at {url}/docs. Ctrl-C stops it.\n"
    )
    sys.stdout.flush()
