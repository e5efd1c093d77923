"""A tenant's rows as the lines of an archive, and back. Both as the owner, from the command line alone."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg import IsolationLevel, errors
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from keepword.access import everything_in
from keepword.archive import KINDS, Block, Header, Progress
from keepword.embedding import TextIndexer
from keepword.errors import BrokenArchive, Conflict, NotFound, Unavailable
from keepword.items.operations import pieces_of, read_pieces
from keepword.model import Draft
from keepword.postgres.entries import entry_columns, index_texts
from keepword.postgres.grants import dump
from keepword.postgres.halfvec import Vectors, register_sync
from keepword.postgres.items import pack_parts
from keepword.postgres.queries import Queries
from keepword.postgres.transcript import pack_messages
from keepword.transcript import PreparedMessage, entries_of

_SQL = Queries("archive.sql")
_TRANSCRIPT = Queries("transcript.sql")
_FIRST_ID = UUID(int=0)
# the server ends a killed import's transaction by itself, and needs a moment for it
LOCK_SECONDS = 10

Connection = psycopg.Connection[Any]


@contextmanager
def snapshot(conn: Connection, name: str) -> Iterator[tuple[Mapping[str, Any], Iterator[tuple[str, Iterator[bytes]]]]]:
    """Lend the tenant and its rows by kind, all as they are at one moment, whatever is written meanwhile."""
    conn.execute("SELECT set_config('timezone', 'UTC', false)")
    conn.isolation_level, conn.read_only = IsolationLevel.REPEATABLE_READ, True
    with conn.transaction():
        tenant_row = conn.execute(_SQL["tenant"], {"name": name}).fetchone()
        if tenant_row is None:
            known = ", ".join(repr(row[0]) for row in conn.execute(_SQL["tenants"]))
            raise NotFound(f"no tenant {name!r}; there are: {known}")
        tenant_id, _, created_at, is_importing, settings, is_erasing = tenant_row
        if is_importing:
            raise Conflict(
                f"the tenant {name!r} is not complete: its import was interrupted. Run that import again first"
            )
        if is_erasing:
            raise Conflict(
                f"something of the tenant {name!r} is being erased, and an export would keep it; "
                "a worker goes on with it: export again when it is done"
            )
        tenant = {"id": str(tenant_id), "name": name, "created_at": created_at.isoformat()}
        if settings:
            tenant["settings"] = settings
        yield tenant, ((kind, _lines(conn, kind, tenant_id)) for kind in KINDS)


def _lines(conn: Connection, kind: str, tenant_id: UUID) -> Iterator[bytes]:
    # COPY hands over row by row; a cursor would fetch many at once, however long they are
    with conn.cursor() as cursor, cursor.copy(_SQL[kind], {"tenant_id": tenant_id}) as copy:
        for (line,) in copy.rows():
            yield line.encode()


class PostgresImport:
    """Stores an archive block by block, each in one transaction with the note of how far it came."""

    def __init__(self, conn: Connection, reader: TextIndexer) -> None:
        self._conn = conn
        self._reader = reader
        # plans are made anew: tables grow under our hands
        conn.prepare_threshold = None
        register_sync(conn)

    def begin(self, header: Header, tenant: str) -> Progress:
        self._lock(tenant)
        values = {
            "tenant_id": header.tenant_id, "tenant": tenant, "created_at": header.created_at, "header": header.digest,
        }  # fmt: skip
        with self._conn.transaction():
            ((outcome, tenant_id, block, digest, contents),) = self._conn.execute(_SQL["begin"], values).fetchall()
            if outcome not in {"not empty", "other file"}:
                settings = {"tenant_id": tenant_id, "settings": Jsonb(dict(header.settings))}
                self._conn.execute(_SQL["settings"], settings)
        if outcome == "not empty":
            raise Conflict(
                f"the tenant {tenant!r} is not empty: it has {', '.join(contents)}. Import under another name with "
                "--tenant, or into another database"
            )
        if outcome == "other file":
            raise Conflict(
                f"the import of another file into the tenant {tenant!r} was not finished: run that one again, or drop "
                f"what it left with: keepword import --drop-unfinished --tenant {tenant}"
            )
        return Progress(tenant_id, block, bytes(digest))

    def put(self, tenant_id: UUID, block: Block) -> None:
        rows = f"[{b','.join(block.lines).decode()}]"
        values = {"tenant_id": tenant_id, "rows": rows, "block": block.number, "digest": block.digest}
        with _explained(block), self._conn.transaction():
            self._conn.execute(_SQL["grant"], {"grant": dump(everything_in(tenant_id))})
            cursor = self._conn.execute(_SQL[f"import_{block.kind}"], values)
            # a use whose entry is made no more has nothing to belong to
            if cursor.rowcount != len(block.lines) and block.kind != "use":
                raise BrokenArchive(
                    f"block {block.number}: {len(block.lines) - cursor.rowcount} records ({block.kind}) refer to "
                    "something that the export does not hold"
                )
            self._index(tenant_id, block, cursor)
            if block.kind == "conversation":
                self._conn.execute(_SQL["introduce_pairs"], values)
            if block.kind == "profile":
                self._conn.execute(_SQL["import_older_texts"], values)
            if block.kind == "memory_source":
                self._conn.execute(_SQL["place_memories"], values)
            self._conn.execute(_SQL["note"], values)

    def finish(self, tenant_id: UUID) -> None:
        with self._conn.transaction():
            self._conn.execute(_SQL["finish"], {"tenant_id": tenant_id})
            self._conn.execute(_SQL["note_import"], {"tenant_id": tenant_id})

    def drop(self, tenant: str) -> bool:
        """Delete the rows of an unfinished import; False if there is none of that name."""
        self._lock(tenant)
        with self._conn.transaction():
            return self._conn.execute(_SQL["drop"], {"tenant": tenant}).fetchone() == (True,)

    def _lock(self, tenant: str) -> None:
        # of the session: it goes with the process, however that ends
        deadline = time.monotonic() + LOCK_SECONDS
        while self._conn.execute(_SQL["lock"], {"tenant": tenant}).fetchone() != (True,):
            if time.monotonic() > deadline:
                raise Conflict(f"another import into the tenant {tenant!r} is running; wait until it has ended")
            time.sleep(0.1)

    def _index(self, tenant_id: UUID, block: Block, stored: psycopg.Cursor[TupleRow]) -> None:
        match block.kind:
            case "message":
                self._index_messages(tenant_id, block, dict(stored.fetchall()))
                self._conn.execute(_SQL["forget_tasks"], {"tenant_id": tenant_id})
            case "sentence":
                for conversation_id, seq, text, run_id in stored.fetchall():
                    packed = index_texts(self._reader, (str(tenant_id), run_id), [(_FIRST_ID, text)])
                    place = {"tenant_id": tenant_id, "conversation_id": conversation_id, "seq": seq}
                    self._conn.execute(_SQL["index_sentence"], packed | place)
            case "summary" | "landmark":
                self._index_derived(tenant_id, block.kind, stored.fetchall())
            case "retraction":
                self._park(tenant_id, stored.fetchall())
            case "memory":
                self._index_memories(tenant_id, stored.fetchall())
            case "item":
                self._index_items(tenant_id, stored.fetchall())
            case "fact":
                self._conn.execute(_SQL["forget_versions"], {"tenant_id": tenant_id})

    def _index_messages(self, tenant_id: UUID, block: Block, runs: dict[UUID, str]) -> None:
        prepared = []
        for line in block.lines:
            record = json.loads(line, parse_int=_number)
            id_ = UUID(record["id"])
            draft = _draft(record)
            prepared.append(
                PreparedMessage(draft, id_, None, entries_of(draft, self._reader, (str(tenant_id), runs[id_])))
            )
        self._conn.execute(_TRANSCRIPT["index"], pack_messages(prepared))

    def _park(self, tenant_id: UUID, rows: list[TupleRow]) -> None:
        seqs: dict[UUID, list[int]] = {}
        for conversation_id, seq in rows:
            seqs.setdefault(conversation_id, []).append(seq)
        for conversation_id, each in seqs.items():
            values = {"tenant_id": tenant_id, "conversation_id": conversation_id, "seqs": each}
            self._conn.execute(_SQL["park_retracted"], values)

    def _index_derived(self, tenant_id: UUID, kind: str, rows: list[TupleRow]) -> None:
        packed: dict[str, list[Any]] = {}
        for id_, text, run_id in rows:
            if text is not None:
                for name, values in index_texts(self._reader, (str(tenant_id), run_id), [(id_, text)]).items():
                    packed.setdefault(name, []).extend(values)
        if not packed:
            return
        values = packed | {"tenant_id": tenant_id, "instants": Vectors(packed["instants"])}
        self._conn.execute(_SQL[f"index_{kind}"], values)

    def _index_memories(self, tenant_id: UUID, rows: list[TupleRow]) -> None:
        entries = [self._reader.index_entry(text, (str(tenant_id), run_id), whole=False) for _, text, run_id in rows]
        values = {"tenant_id": tenant_id, "source_ids": [id_ for id_, *_ in rows]}
        self._conn.execute(_SQL["index_memory"], values | entry_columns(entries))

    def _index_items(self, tenant_id: UUID, rows: list[TupleRow]) -> None:
        parts = [
            (id_, entry)
            for id_, value, indexed, run_id in rows
            for entry in read_pieces(pieces_of(value, indexed), (str(tenant_id), run_id), 0)
        ]
        self._conn.execute(_SQL["index_item"], pack_parts(parts) | {"tenant_id": tenant_id})


def _draft(record: dict[str, Any]) -> Draft:
    return Draft(
        record["role"], record["content"], record["user_id"], record["agent"], record["tool_name"], record["tool_args"],
        record["tool_result"],
    )  # fmt: skip


def _number(text: str) -> float:
    # a message may hold numbers that Python does not parse for their length; they are only searched here
    return int(text) if len(text) < 1000 else float(text)  # noqa: PLR2004


@contextmanager
def _explained(block: Block) -> Iterator[None]:
    try:
        yield
    except errors.DiskFull as exc:
        raise Unavailable(
            f"the database's disk is full. What came before block {block.number} is stored, and closed to everyone: "
            "make space and run the same import again, which goes on there"
        ) from exc
    except psycopg.OperationalError as exc:
        raise Unavailable(
            f"the database went away. What came before block {block.number} is stored, and closed to everyone: run the "
            "same import again, which goes on there"
        ) from exc
    except errors.UniqueViolation as exc:
        if block.kind == "key":
            raise Conflict(
                f"a key of the export exists already ({exc.diag.message_detail}); import without --with-keys"
            ) from exc
        raise BrokenArchive(f"block {block.number} holds something twice: {exc.diag.message_detail}") from exc
    except (errors.IntegrityError, errors.DataError) as exc:
        raise BrokenArchive(
            f"block {block.number} holds a record ({block.kind}) that does not fit: {exc.diag.message_primary}"
        ) from exc
