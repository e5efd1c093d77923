"""The index that recall searches."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, NamedTuple
from uuid import UUID

import numpy as np
from psycopg import errors

from keepword.access import Grant
from keepword.embedding import entry_format as fmt
from keepword.embedding.text_indexer import pack_vector
from keepword.embedding.words import salted
from keepword.errors import InvalidInput
from keepword.postgres.grants import dump, grant_values
from keepword.postgres.halfvec import Vector
from keepword.postgres.pool import Connection, Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_row, read_rows
from keepword.postgres.scope_cache import ScopeCache
from keepword.priority import gives_way
from keepword.recall.cached_scope import CachedScope, FirstMatches
from keepword.recall.ports import (
    DeepQuery,
    EntryView,
    Filter,
    Query,
    Use,
)
from keepword.recall.score import Candidates, nearest_chunks, share_embedded

# a scope up to this is compared whole: faster than walking indexes, and nothing is missed
WHOLE_SCOPE_ROWS = 3000
# more runs than this are searched through the tenant's words, with the runs as a filter
FEW_RUNS = 8
REGEX_MILLISECONDS = 2000
MAX_PATTERN_CHARS = 1000
# this many of a summary's sources are compared: the nearest
INSIDE = 60


@dataclass(frozen=True, slots=True)
class CachedSearch:
    """A search in a cached scope."""

    scope: CachedScope
    query: Query
    first: FirstMatches
    deep_space: int | None
    index: "PostgresIndex"
    grant: Grant

    async def candidates(self, deep: DeepQuery | None) -> Candidates:
        if deep is not None and deep.space_id != self.deep_space:
            return await DatabaseSearch(self.index, self.grant, self.query).candidates(deep)
        return self.scope.candidates(self.query, deep, self.first)


@dataclass(frozen=True, slots=True)
class DatabaseSearch:
    """A search in the tables."""

    index: "PostgresIndex"
    grant: Grant
    query: Query

    async def candidates(self, deep: DeepQuery | None) -> Candidates:
        return await self.index.candidates(self.grant, self.query, deep)


class PostgresIndex:
    def __init__(
        self,
        pool: Pool,
        cache: ScopeCache | None = None,
        *,
        first_wall: bool = True,
        small: int = WHOLE_SCOPE_ROWS,
        amount: int = fmt.HITS_PER_ARM,
    ) -> None:
        self._pool = pool
        self._cache = cache
        self._first_wall = first_wall
        self._small = small
        self._amount = amount
        self._sql = Queries("recall.sql", first_wall=first_wall)

    async def begin(self, grant: Grant, query: Query) -> CachedSearch | DatabaseSearch:
        # a request that gives way asks the database: a cached scope would be made and searched in this process
        is_cached = self._cache is not None and not gives_way.get()
        cached = await self._begin_cached(grant, query) if is_cached else None
        return cached or DatabaseSearch(self, grant, query)

    async def _begin_cached(self, grant: Grant, query: Query) -> CachedSearch | None:
        scope = self._scope(grant)
        read = await self._cache.read(grant, query, scope) if self._cache else None
        if read is None:
            return None
        entry, statistics = read
        if query.question.literals:
            statistics = replace(statistics, literals=await self._holding(scope, query))
        first = entry.scope.match(query, statistics)
        return CachedSearch(entry.scope, query, first, entry.deep_space, self, grant)

    async def _holding(self, scope: dict[str, Any], query: Query) -> dict[int, float]:
        """Return the entries that hold the question's literals, with the share of them that each holds."""
        patterns = [_like(literal) for literal in query.question.literals]
        values = scope | _filter_values(query.filter) | {"patterns": patterns, "amount": self._amount}
        return dict(await self._pool.look_up(self._sql["holding"], values))

    async def candidates(self, grant: Grant, query: Query, deep: DeepQuery | None) -> Candidates:
        values = self._query_values(grant, query) | _deep_values(deep) | _speakers(query)
        (row,) = await self._pool.look_up(self._sql["candidates"], values, binary=True)
        return _unpack(read_row(CandidatesRow, row), has_deep=deep is not None)

    def _query_values(self, grant: Grant, query: Query) -> dict[str, Any]:
        question = query.question
        runs = sorted(grant.run_ids) if self._names_runs(grant) else []
        return self._scope(grant) | _filter_values(query.filter) | {
            "grant": dump(grant),
            "tenant_words": salted(question.hashes, str(grant.tenant_id)).tolist(),
            "run_words": [word for run in runs for word in salted(question.hashes, run).tolist()],
            "rates": question.rates.tolist(),
            "patterns": [_like(literal) for literal in question.literals],
            "instant": Vector(pack_vector(question.vector)),
            "by_instant": query.instant,
            "small": self._small,
            "amount": self._amount,
        }  # fmt: skip

    async def inside(self, grant: Grant, query: Query, deep: DeepQuery | None, summary_id: UUID) -> Candidates:
        values = self._scope(grant) | _filter_values(query.filter) | _deep_values(deep) | {
            "grant": dump(grant),
            "summary_id": summary_id,
            "instant": Vector(pack_vector(query.question.vector)),
            "amount": INSIDE,
        } | _speakers(query)  # fmt: skip
        (row,) = await self._pool.look_up(self._sql["inside"], values, binary=True)
        return _unpack(read_row(CandidatesRow, row), has_deep=deep is not None)

    def _names_runs(self, grant: Grant) -> bool:
        return not grant.everything and not grant.follows_sessions and len(grant.run_ids) <= FEW_RUNS

    async def matching(
        self, grant: Grant, pattern: str, mode: Literal["trigram", "regex"], filter_: Filter, limit: int
    ) -> list[tuple[int, float]]:
        if len(pattern) > MAX_PATTERN_CHARS:
            raise InvalidInput(f"with mode {mode}, query may have {MAX_PATTERN_CHARS} characters at most", "query")
        values = self._scope(grant) | _filter_values(filter_) | {"pattern": pattern, "limit": limit}
        try:
            return await self._match(grant, mode, values)
        except errors.InvalidRegularExpression as exc:
            raise InvalidInput(_what_is_wrong(pattern, exc), "query") from exc
        except (errors.InternalError_, errors.ProgramLimitExceeded) as exc:
            # such as (a{1,255}){1,255}, for which the database would need more memory than it may take at once
            raise InvalidInput(f"this {mode} search is too complex; make the pattern simpler", "query") from exc
        except errors.QueryCanceled as exc:
            seconds = REGEX_MILLISECONDS / 1000
            raise InvalidInput(
                f"this {mode} search took longer than {seconds:g} s and was stopped; make it more specific",
                "query",
            ) from exc

    async def _match(self, grant: Grant, mode: str, values: dict[str, Any]) -> list[tuple[int, float]]:
        async def match(conn: Connection) -> list[tuple[int, float]]:
            await conn.execute(self._sql["limit_time"], {"milliseconds": REGEX_MILLISECONDS})
            run_ids = values["run_ids"]
            if grant.follows_sessions:
                rows = await (await conn.execute(self._sql["sessions"])).fetchall()
                run_ids = [*run_ids, *(row.run_id for row in rows)]
            if mode == "regex":
                # one that is none is refused even where there is nothing to match
                await conn.execute(self._sql["check_pattern"], {"pattern": values["pattern"]})
            cursor = await conn.execute(self._sql[mode], values | {"run_ids": run_ids})
            return [(id_, value) for id_, value in await cursor.fetchall()]

        return await self._pool.transact(grant, match)

    async def show(self, grant: Grant, entry_ids: Sequence[int]) -> list[EntryView]:
        values = self._scope(grant) | {"entry_ids": list(entry_ids)}
        return [_shown_entry(row) for row in await self._pool.read(grant, self._sql.read("show"), values)]

    async def around(self, grant: Grant, entry_ids: Sequence[int], turns: int) -> dict[int, list[EntryView]]:
        values = self._scope(grant) | {"entry_ids": list(entry_ids), "turns": turns}
        rows = await self._pool.read(grant, self._sql.read("around"), values)
        return {hit: read_rows(EntryView, group) for hit, group in groupby(rows, lambda row: row.hit)}

    async def uses(self, grant: Grant, entry_ids: Sequence[int]) -> list[Use]:
        values = self._scope(grant) | {"entry_ids": list(entry_ids)}
        return read_rows(Use, await self._pool.read(grant, self._sql.read("uses"), values))

    async def count_uses(self, grant: Grant, amounts: Mapping[int, int]) -> None:
        values = {"tenant_id": grant.tenant_id, "entry_ids": list(amounts), "amounts": list(amounts.values())}
        await self._pool.fetch(self._sql["count_uses"], values)

    def _scope(self, grant: Grant) -> dict[str, Any]:
        # without the first wall all is asked for, and only the second one stands
        return grant_values(grant) | {"everything": grant.everything or not self._first_wall}


class PostgresSpaces:
    """Which deep space searches use: nobody's content."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._sql = Queries("recall.sql")

    async def serving(self) -> tuple[int, str] | None:
        rows = await self._pool.look_up(self._sql["serving"], {})
        return (rows[0].id, rows[0].name) if rows else None


def _shown_entry(row: Row) -> EntryView:
    covers = None if row.first_seq is None else (row.first_seq, row.last_seq)
    return replace(read_row(EntryView, row), covers=covers, memories=tuple(row.memories))


def _filter_values(filter_: Filter) -> dict[str, Any]:
    return {
        "kinds": list(filter_.kinds) if filter_.kinds is not None else None,
        "agent": filter_.agent,
        "user": filter_.user,
        "since": filter_.since,
        "before": filter_.before,
    }


def _deep_values(deep: DeepQuery | None) -> dict[str, Any]:
    return {
        "deep": Vector(pack_vector(deep.vector)) if deep else None,
        "deep_space": deep.space_id if deep else None,
    }


_LIKE_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\%_"})


def _like(literal: str) -> str:
    return "%" + literal.translate(_LIKE_SIGNS) + "%"


def _what_is_wrong(pattern: str, exc: errors.InvalidRegularExpression) -> str:
    fault = str(exc.diag.message_primary).removeprefix("invalid regular expression: ")
    try:
        re.compile(pattern)
    except re.error as python_error:
        return f"query is no regular expression: {fault} (position {python_error.pos})"
    return f"query is no regular expression: {fault} (position {len(pattern)})"


class CandidatesRow(NamedTuple):
    """The columns of the queries `candidates` and `inside`, which lacks the last ones. Lists of numbers are packed."""

    ids: bytes
    conversations: bytes
    seqs: bytes
    flags: bytes
    times: bytes
    words: bytes
    word_counts: bytes
    pieces: bytes
    piece_counts: bytes
    instants: bytes | None
    deep_ids: bytes
    deeps: bytes
    frequencies: Sequence[float] | None = ()
    entries: int = 0
    is_whole: bool = False
    held: Sequence[int] | None = None
    held_shares: Sequence[float] | None = None


def _speakers(query: Query) -> dict[str, Any]:
    return {"asker": query.asker, "named": list(query.question.names)}


def _unpack(row: CandidatesRow, *, has_deep: bool) -> Candidates:
    ids = fmt.unpack(row.ids, fmt.ID)
    flags = fmt.unpack(row.flags, fmt.FLAGS)
    deeps = (
        nearest_chunks(ids, fmt.unpack(row.deep_ids, fmt.ID), fmt.unpack(row.deeps, fmt.NEARNESS)) if has_deep else None
    )
    # without a vector to compare with there is no nearness
    nearness = fmt.unpack(row.instants, fmt.NEARNESS) if row.instants is not None else np.zeros(len(flags), np.float32)
    return Candidates(
        ids=ids,
        conversations=fmt.unpack(row.conversations, fmt.ID).reshape(-1, 2),
        seqs=fmt.unpack(row.seqs, fmt.ID),
        roles=(flags & fmt.ROLE_MASK).astype(np.int64),
        fits=(flags & fmt.FITS) > 0,
        mine=(flags & fmt.MINE) > 0,
        named=(flags & fmt.NAMED) > 0,
        kinds=(flags % fmt.NAMED // fmt.KIND).astype(np.int64),
        times=fmt.unpack(row.times, fmt.ID).astype("timedelta64[us]") + fmt.EPOCH,
        words=fmt.unpack(row.words, fmt.WORD),
        word_counts=fmt.unpack(row.word_counts, fmt.COUNT).astype(np.int64),
        pieces=fmt.unpack(row.pieces, fmt.PIECE),
        piece_counts=fmt.unpack(row.piece_counts, fmt.COUNT).astype(np.int64),
        instants=nearness,
        deeps=deeps,
        frequencies=None if row.frequencies is None else np.array(row.frequencies, np.float32),
        entries=row.entries,
        is_whole=row.is_whole,
        literals=dict(zip(row.held or [], row.held_shares or [], strict=True)),
        embedded=0.0 if deeps is None else share_embedded(deeps),
    )
