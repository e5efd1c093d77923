"""Values from rows by the names of their columns; the order in which a query names them means nothing."""

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from psycopg.rows import no_result

# a named tuple, whose fields are the query's columns
Row = Any
T = TypeVar("T")


def named_rows(cursor: Any) -> Callable[[Sequence[Any]], Row]:
    """Make rows named tuples: psycopg's own factory refuses queries with two columns of one name."""
    result = cursor.pgresult
    if result is None or not result.nfields:
        return no_result
    make: Callable[[Sequence[Any]], Row] = _row_type(tuple(map(result.fname, range(result.nfields))))._make
    return make


@cache
def _row_type(names: tuple[bytes, ...]) -> Any:
    return namedtuple("Row", [name.decode() for name in names], rename=True)  # noqa: PYI024 - known at run time only


def read_row(type_: type[T], row: Row) -> T:
    """Make a value of the columns that are named as its fields; a field with a default may have no column."""
    value: T = _readers(type_, type(row))(row)
    return value


def read_rows(type_: type[T], rows: Iterable[Row]) -> list[T]:
    return [read_row(type_, row) for row in rows]


def _reader(type_: Any, row_type: Any) -> Callable[[Row], Any]:
    columns = row_type._fields
    names = [name for name, is_needed in _names(type_) if is_needed or name in columns]
    missing = set(names) - set(columns)
    if missing:
        raise TypeError(
            f"a row of {', '.join(columns)} makes no {type_.__name__}: {', '.join(sorted(missing))} missing"
        )
    if len(names) == 1:
        return lambda row: type_(**{names[0]: getattr(row, names[0])})
    values = attrgetter(*names)
    return lambda row: type_(**dict(zip(names, values(row), strict=True)))


# typed by hand: mypy holds classes for unhashable here
_readers: Callable[[Any, Any], Callable[[Row], Any]] = cache(_reader)


def _names(type_: type) -> list[tuple[str, bool]]:
    if is_dataclass(type_):
        return [(f.name, f.default is MISSING and f.default_factory is MISSING) for f in fields(type_) if f.init]
    # a named tuple
    return [(name, name not in type_._field_defaults) for name in type_._fields]  # type: ignore[attr-defined]
