"""The driver's errors, turned into Keepword's own in one place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from keepword.errors import Conflict, InvalidInput, NotFound, TookTooLong, Unavailable


@contextmanager
def mapped_errors() -> Iterator[None]:
    """Map the driver's errors to Keepword's own, once."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, PoolClosed) as exc:
        raise translate(exc) from exc


def translate(exc: Exception) -> Exception:
    """Return Keepword's error for one of the driver's, or the same if nobody foresaw it."""
    for kinds, make_error in _TRANSLATIONS:
        if isinstance(exc, kinds):
            return make_error(exc)
    return exc


def _said(exc: Any) -> str:
    return str(exc.diag.message_primary)


_TRANSLATIONS: tuple[tuple[tuple[type[Exception], ...], Callable[[Any], Exception]], ...] = (
    (
        (errors.QueryCanceled,),
        lambda _: TookTooLong("the database took too long for this; try again, or ask for less"),
    ),
    (
        (errors.DeadlockDetected, errors.SerializationFailure),
        lambda _: Unavailable("this collided with another write; nothing was stored. Try again"),
    ),
    (
        (errors.UntranslatableCharacter, errors.CharacterNotInRepertoire),
        lambda exc: InvalidInput(f"text that the database can't hold: {_said(exc)}"),
    ),
    (
        (errors.NumericValueOutOfRange, errors.InvalidTextRepresentation, errors.ProgramLimitExceeded),
        lambda exc: InvalidInput(f"a value that the database can't hold: {_said(exc)}"),
    ),
    (
        (errors.DatetimeFieldOverflow, errors.InvalidDatetimeFormat),
        lambda exc: InvalidInput(f"a time that the database can't hold: {_said(exc)}"),
    ),
    (
        # behind row-level security the server does not name the value; callers that know it check before
        (errors.ForeignKeyViolation,),
        lambda exc: NotFound(f"it refers to something that is not there ({exc.diag.constraint_name})"),
    ),
    (
        (errors.UniqueViolation,),
        lambda exc: Conflict(f"it exists already: {exc.diag.message_detail}"),
    ),
    (
        (errors.ObjectInUse,),
        lambda exc: Conflict(f"{_said(exc)}; try again when it is done"),
    ),
    (
        (errors.UndefinedFunction, errors.UndefinedTable, errors.UndefinedColumn),
        lambda exc: Unavailable(f"the database's schema is not this version's ({_said(exc)}); run: keepword doctor"),
    ),
    (
        # a tenant that is being moved is closed to writes for a moment; the words are ours
        (errors.LockNotAvailable,),
        lambda exc: Unavailable(_said(exc)),
    ),
    (
        (errors.DiskFull,),
        lambda _: Unavailable("the database's disk is full; nothing was stored. Make room on it, then try again"),
    ),
    (
        # a standby, a server that is being promoted, or one that an administrator closed to writes
        (errors.ReadOnlySqlTransaction,),
        lambda _: Unavailable("the database can only be read right now; nothing was stored. Try again in a moment"),
    ),
    (
        (errors.IdleInTransactionSessionTimeout,),
        lambda _: Unavailable("the database ended a pausing transaction; nothing was stored. Try again"),
    ),
    (
        (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed),
        lambda _: Unavailable("the database is away; nothing was stored. Try again in a moment"),
    ),
)
