"""What commands on this machine use without asking the service: the database, or those of several servers."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeVar

import typer

from keepword.cli.server_list import home_of, server_of
from keepword.config import Settings, read_settings
from keepword.errors import Unavailable, UnfitDatabase
from keepword.postgres import migrate
from keepword.postgres.driver_errors import mapped_errors
from keepword.postgres.embedded import database_for_command

T = TypeVar("T")


@contextmanager
def database(settings: Settings | None = None, tenant: str | None = None) -> Iterator[str]:
    """Lend the database, starting the embedded one if it is down; of several servers that of the tenant."""
    chosen = settings or read_settings().settings
    if chosen.servers and tenant is not None:
        chosen = chosen.on(server_of(chosen, tenant))
    with database_for_command(chosen.home, chosen.main_url) as conninfo:
        yield conninfo


@contextmanager
def database_of_new(tenant: str) -> Iterator[str]:
    """Lend the database in which a tenant is, or is to be made."""
    chosen = read_settings().settings
    if not chosen.servers:
        with database(chosen) as conninfo:
            yield conninfo
        return
    for server in chosen.servers:
        with suppress(UnfitDatabase):  # whether one that is away is needed shows below
            migrate.migrate(server.url.get_secret_value())
    with home_of(chosen, tenant) as server:
        yield server.url.get_secret_value()


def on_each(work: Callable[[str], T]) -> dict[str, T]:
    """Do it with the database, named "", or with that of each server; those that can't are told and left out."""
    chosen = read_settings().settings
    if not chosen.servers:
        with database(chosen) as conninfo, mapped_errors():
            return {"": work(conninfo)}
    answers = {}
    for server in chosen.servers:
        try:
            with mapped_errors():
                answers[server.name] = work(server.url.get_secret_value())
        except (UnfitDatabase, Unavailable) as exc:
            typer.echo(f"server {server.name}: {exc}", err=True)
    if not answers:
        raise UnfitDatabase("no server of KEEPWORD_SERVERS answers")
    return answers


def on_each_as_owner(work: Callable[[Any], T]) -> dict[str, T]:
    """Do `on_each` with a connection as the owner."""

    def do(conninfo: str) -> T:
        with migrate.owner(conninfo) as conn:
            return work(conn)

    return on_each(do)


def load(part: Literal["main", "background"]) -> Any:
    """Load a part of the composition root: that takes a second, which commands that ask the service need not wait."""
    return importlib.import_module(f"keepword.{part}")
