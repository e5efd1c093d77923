"""keepword export and import: a tenant as a file."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from keepword import archive
from keepword.cli.local import database, database_of_new
from keepword.config import read_settings
from keepword.embedding import TextIndexer
from keepword.errors import BrokenArchive, Conflict, InvalidInput, NotFound, Unavailable
from keepword.model import check_name
from keepword.postgres import migrate
from keepword.postgres.archive import PostgresImport, snapshot
from keepword.postgres.personal import personal_data

PIPE = Path("-")
PARTIAL = ".partial"


def export(
    file: Annotated[Path, typer.Argument(help="Where to write; - is the standard output.")],
    tenant: Annotated[str, typer.Option(help="The tenant.")] = "default",
    user: Annotated[str | None, typer.Option(help="Only what is kept of this user, as JSON lines to hand out.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write all of a tenant that can't be made again into a file, as it is at one moment; or all of one user."""
    settings = read_settings().settings
    if user is not None:
        _export_user(file, tenant, user, force=force)
        return
    size = 0
    with (
        database(settings, tenant) as conninfo,
        migrate.owner(conninfo) as conn,
        snapshot(conn, tenant) as (about, records),
        _written(file, force=force) as target,
        _progress("exported") as show,
    ):
        for number, line in enumerate(archive.write(about, records)):
            target.write(line)
            size += len(line)
            show(number)
    typer.echo(f"exported the tenant {tenant!r}: {size:,} bytes", err=True)
    if settings.redis_url:
        typer.echo(
            "Working memory and ledger lie in Redis and are not in this file; back Redis up by itself.", err=True
        )


def _export_user(file: Path, tenant: str, user: str, *, force: bool) -> None:
    count = 0
    with (
        database(tenant=tenant) as conninfo,
        migrate.owner(conninfo) as conn,
        personal_data(conn, tenant, user) as lines,
        _written(file, force=force) as target,
    ):
        for line in lines:
            target.write(line)
            count += 1
    typer.echo(f"exported what is kept of {user!r}: {count:,} lines", err=True)


def import_(
    file: Annotated[Path | None, typer.Argument(help="What `keepword export` wrote; - is the standard input.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Import under this name instead of the file's.")] = None,
    with_keys: Annotated[
        bool,
        typer.Option("--with-keys", help="Take the file's API keys along: whoever holds one gets its rights here."),
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only check the file; change nothing.")] = False,
    drop_unfinished: Annotated[
        bool, typer.Option("--drop-unfinished", help="Take back what an interrupted import into --tenant stored.")
    ] = False,
) -> None:
    """Make a tenant from a file that `keepword export` wrote. An interrupted import goes on when it is run again."""
    if tenant is not None:
        check_name(tenant, "tenant")
    if drop_unfinished:
        _drop(tenant)
        return
    if file is None:
        raise InvalidInput("name the file to import, or - for the standard input", "file")
    if check:
        _check(file)
        return
    if file != PIPE:
        _check(file)  # so that a file that is broken leaves nothing behind
    with _opened(file) as source, _database_for(tenant) as conninfo:
        migrate.migrate(conninfo)
        with migrate.owner(conninfo) as conn, _progress("imported") as show:
            without = set() if with_keys else {"key"}
            taken = archive.import_archive(source, PostgresImport(conn, TextIndexer()), tenant, without, show)
    if taken.resumed_after:
        typer.echo(f"went on after block {taken.resumed_after}, where an earlier import was interrupted", err=True)
    for kind, amount in taken.records.items():
        print(f"{amount:>12,}  {kind}")
    typer.echo(f"imported the tenant {taken.tenant!r}; it can be searched. A worker makes the deep vectors.", err=True)
    if not with_keys:
        typer.echo(
            f"The file's API keys were left out; make one: keepword keys create --tenant {taken.tenant}", err=True
        )


def _database_for(tenant: str | None) -> AbstractContextManager[str]:
    if tenant is not None:
        return database_of_new(tenant)
    if read_settings().settings.servers:
        raise InvalidInput("with several servers say into which tenant, with --tenant: its name says where", "tenant")
    return database()


def _drop(tenant: str | None) -> None:
    if tenant is None:
        raise InvalidInput("say whose unfinished import to drop, with --tenant", "tenant")
    with database(tenant=tenant) as conninfo, migrate.owner(conninfo) as conn:
        if not PostgresImport(conn, TextIndexer()).drop(tenant):
            raise NotFound(f"there is no unfinished import into the tenant {tenant!r}; nothing was changed")
    print(f"dropped the unfinished import into {tenant}")


def _check(file: Path) -> None:
    with _opened(file) as source:
        totals = archive.check(source)
    typer.echo(f"the file is complete: {sum(totals.records.values()):,} records in {totals.blocks:,} blocks", err=True)


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    if file == PIPE:
        yield sys.stdin.buffer
        return
    try:
        with file.open("rb") as source:
            yield source
    except OSError as exc:
        raise BrokenArchive(f"can't read {file}: {exc.strerror}") from exc


@contextmanager
def _written(file: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Lend a file that gets its name only when all of it is on disk."""
    if file != PIPE and file.exists() and not force:
        raise Conflict(f"{file} exists; name another file, or replace it with --force")
    try:
        if file == PIPE:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            yield from _replaced(file)
    except OSError as exc:
        raise Unavailable(f"can't write {file}: {exc.strerror}; nothing is kept of this export") from exc


def _replaced(file: Path) -> Iterator[IO[bytes]]:
    partial = file.with_name(file.name + PARTIAL)
    # for its owner alone: everything that was ever said is in it
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        partial.rename(file)
        _sync_folder(file.absolute().parent)
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _progress(what: str) -> Iterator[archive.Show]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(what)
        yield lambda records: progress.update(task, description=f"{what} {records:,} records")
