"""psycopg dumpers that send halfvec values in binary: parsing text takes longer than a search."""

import struct
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection, Connection, pq
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper

_ARRAY_HEAD = struct.Struct(">iiIii")
_LENGTH = struct.Struct(">i")
_OIDS = "SELECT 'public.halfvec'::regtype::oid::int8, 'public.halfvec[]'::regtype::oid::int8"


class Vector(bytes):
    """One packed vector."""

    __slots__ = ()


class Vectors(tuple[bytes | None, ...]):
    """Packed vectors, or None where there is none."""

    __slots__ = ()


async def register(conn: AsyncConnection[Any]) -> None:
    """Teach a connection to send vectors. Asks the database, where types have other numbers in each."""
    row = await (await conn.execute(_OIDS)).fetchone()
    if row is not None:
        _teach(conn, *row)


def register_sync(conn: Connection[Any]) -> None:
    """Do the same for a connection of the command line."""
    row = conn.execute(_OIDS).fetchone()
    if row is not None:
        _teach(conn, *row)


def _teach(context: AdaptContext, one: int, many: int) -> None:

    class VectorDumper(Dumper):
        format = pq.Format.BINARY
        oid = one

        def dump(self, obj: Any) -> Buffer:
            return bytes(obj)

    class VectorsDumper(Dumper):
        format = pq.Format.BINARY
        oid = many

        def dump(self, obj: Any) -> Buffer:
            return _dump_array(obj, one)

    context.adapters.register_dumper(Vector, VectorDumper)
    context.adapters.register_dumper(Vectors, VectorsDumper)


def _dump_array(vectors: Sequence[bytes | None], oid: int) -> bytes:
    if not vectors:
        return struct.pack(">iiI", 0, 0, oid)
    parts = [_ARRAY_HEAD.pack(1, 1, oid, len(vectors), 1)]
    for vector in vectors:
        parts += [_LENGTH.pack(-1)] if vector is None else [_LENGTH.pack(len(vector)), vector]
    return b"".join(parts)
