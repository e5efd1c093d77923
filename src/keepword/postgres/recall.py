"""The index that recall searches."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Literal
from uuid import UUID

import numpy as np
from psycopg import errors

from keepword.access import Grant
from keepword.embedding.reading import pack_vector
from keepword.embedding.words import salted
from keepword.errors import InvalidInput
from keepword.postgres.copies import Copies, Prepared
from keepword.postgres.packed import Vector
from keepword.postgres.pool import Pool, dump
from keepword.postgres.queries import Queries
from keepword.postgres.unpack import array
from keepword.recall.ports import Asked, Compaction, Coverage, Filter, Jobs, Queue, Shown, Use, Wanted
from keepword.recall.question import Question
from keepword.recall.score import Candidates, nearest_chunks

# a scope up to this is compared whole: faster than walking indexes, and nothing is missed
SMALL = 3000
# of a larger one, that many by each arm
AMOUNT = 60
# more runs than this are searched through the tenant's words, with the runs as a filter
FEW_RUNS = 8
# a worker that has not shown itself for this long is gone; the others take its jobs over then
DEAD_SECONDS = 20.0
REGEX_MILLISECONDS = 2000
MAX_PATTERN_CHARS = 1000
_EPOCH = np.datetime64("2000-01-01T00:00:00", "us")
_FITS, _MINE = 256, 512
_ROLE = 255
_KIND = 1024
# of what a summary was made from, the nearest that many are looked at
INSIDE = 60


@dataclass(frozen=True, slots=True)
class Begun:
    """What words and the instant space found in a large scope, and what holds the question's literals."""

    hits: list[int] | None = None
    held: list[int] | None = None
    held_shares: list[float] | None = None


class PostgresIndex:
    def __init__(
        self,
        pool: Pool,
        copies: Copies | None = None,
        *,
        first_wall: bool = True,
        small: int = SMALL,
        amount: int = AMOUNT,
    ) -> None:
        self._pool = pool
        self._copies = copies
        self._first_wall = first_wall
        self._small = small
        self._amount = amount
        self._sql = Queries("recall.sql", first_wall=first_wall)

    async def prepare(self, grant: Grant, asked: Asked) -> Prepared | Begun | None:
        if self._copies is not None:
            patterns = _sieve(asked.filter) | {
                "patterns": [_like(literal) for literal in asked.question.literals], "amount": self._amount,
            }  # fmt: skip
            prepared = await self._copies.look(grant, asked, self._scope(grant), patterns)
            if prepared is not None:
                return prepared
        return await self._begin(grant, asked) if asked.deep_space is not None else None

    async def _begin(self, grant: Grant, asked: Asked) -> Begun | None:
        """Look by words and by the instant space, so that this is done when the model has the question's vector."""
        values = self._asked(grant, asked.question, asked.filter, instant=asked.instant)
        ((hits, held, held_shares),) = await self._pool.fetch(self._sql["arms"], values, binary=True)
        return None if hits is None else Begun(hits, held, held_shares)

    async def candidates(self, grant: Grant, wanted: Wanted, prepared: object = None) -> Candidates:
        deep_space = wanted.deep.space_id if wanted.deep else None
        if isinstance(prepared, Prepared) and deep_space in {None, prepared.deep_space}:
            return prepared.copied.find(wanted, prepared.looked)
        begun = prepared if isinstance(prepared, Begun) else Begun()
        values = self._asked(grant, wanted.question, wanted.filter, instant=wanted.instant) | asdict(begun) | {
            "deep": Vector(pack_vector(wanted.deep.vector)) if wanted.deep else None,
            "deep_space": deep_space,
            "asker": wanted.asker,
        }  # fmt: skip
        (row,) = await self._pool.fetch(self._sql["candidates"], values, binary=True)
        return _unpack(row, asked_deep=wanted.deep is not None)

    def _asked(self, grant: Grant, asked: Question, sieve: Filter, *, instant: bool) -> dict[str, Any]:
        runs = sorted(grant.run_ids) if self._names_runs(grant) else []
        return self._scope(grant) | _sieve(sieve) | {
            "grant": dump(grant),
            "tenant_words": salted(asked.hashes, str(grant.tenant_id)).tolist(),
            "run_words": [word for run in runs for word in salted(asked.hashes, run).tolist()],
            "rates": asked.rates.tolist(),
            "patterns": [_like(literal) for literal in asked.literals],
            "instant": Vector(pack_vector(asked.vector)),
            "arms": ["instant"] if instant else [],
            "small": self._small,
            "amount": self._amount,
        }  # fmt: skip

    async def inside(self, grant: Grant, wanted: Wanted, summary_id: UUID) -> Candidates:
        values = self._scope(grant) | _sieve(wanted.filter) | {
            "grant": dump(grant),
            "summary_id": summary_id,
            "instant": Vector(pack_vector(wanted.question.vector)),
            "deep": Vector(pack_vector(wanted.deep.vector)) if wanted.deep else None,
            "deep_space": wanted.deep.space_id if wanted.deep else None,
            "asker": wanted.asker,
            "amount": INSIDE,
        }  # fmt: skip
        (row,) = await self._pool.fetch(self._sql["inside"], values, binary=True)
        return _unpack((*row, [], 0, False, [], []), asked_deep=wanted.deep is not None)

    def _names_runs(self, grant: Grant) -> bool:
        return not grant.everything and grant.sessions_of is None and len(grant.run_ids) <= FEW_RUNS

    async def matching(
        self, grant: Grant, pattern: str, mode: Literal["trigram", "regex"], wanted: Filter, limit: int
    ) -> list[tuple[int, float]]:
        if len(pattern) > MAX_PATTERN_CHARS:
            raise InvalidInput(f"with mode {mode}, query may have {MAX_PATTERN_CHARS} characters at most", "query")
        values = self._scope(grant) | _sieve(wanted) | {"pattern": pattern, "limit": limit}
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
        async with self._pool.raw(grant) as conn:
            await conn.execute(self._sql["limit_time"], {"milliseconds": REGEX_MILLISECONDS})
            if grant.sessions_of is not None:
                rows = await (await conn.execute(self._sql["sessions"])).fetchall()
                values["run_ids"] = [*values["run_ids"], *(run for (run,) in rows)]
            return [(id_, value) for id_, value in await (await conn.execute(self._sql[mode], values)).fetchall()]

    async def show(self, grant: Grant, entry_ids: Sequence[int]) -> list[Shown]:
        values = self._scope(grant) | {"entry_ids": list(entry_ids)}
        return [Shown(*row) for row in await self._pool.read(grant, self._sql.read("show"), values)]

    async def around(self, grant: Grant, entry_ids: Sequence[int], turns: int) -> dict[int, list[Shown]]:
        values = self._scope(grant) | {"entry_ids": list(entry_ids), "turns": turns}
        rows = await self._pool.read(grant, self._sql.read("around"), values)
        return {hit: [Shown(*row[1:]) for row in group] for hit, group in groupby(rows, lambda row: row[0])}

    async def uses(self, grant: Grant, entry_ids: Sequence[int]) -> list[Use]:
        values = self._scope(grant) | {"entry_ids": list(entry_ids)}
        return [Use(*row) for row in await self._pool.read(grant, self._sql.read("uses"), values)]

    async def count_uses(self, grant: Grant, amounts: Mapping[int, int]) -> None:
        values = {"tenant_id": grant.tenant_id, "entry_ids": list(amounts), "amounts": list(amounts.values())}
        await self._pool.fetch(self._sql["count_uses"], values)

    async def census(self, grant: Grant) -> dict[str, int]:
        return dict(await self._pool.read(grant, self._sql.read("census"), self._scope(grant)))

    async def queues(self, grant: Grant) -> list[Queue]:
        rows = await self._pool.fetch(self._sql["queues"], {"tenant_id": grant.tenant_id})
        return [Queue(*row) for row in rows]

    async def coverage(self, grant: Grant) -> list[Coverage]:
        rows = await self._pool.fetch(self._sql["coverage"], {"tenant_id": grant.tenant_id})
        return [Coverage(*row) for row in rows]

    async def jobs(self, grant: Grant) -> list[Jobs]:
        values = {"tenant_id": grant.tenant_id, "dead_after": DEAD_SECONDS}
        return [Jobs(*row) for row in await self._pool.fetch(self._sql["jobs"], values)]

    async def compaction(self, grant: Grant) -> Compaction:
        (row,) = await self._pool.fetch(self._sql["compaction"], {"tenant_id": grant.tenant_id})
        return Compaction(*row)

    def _scope(self, grant: Grant) -> dict[str, Any]:
        return {
            "tenant_id": grant.tenant_id,
            # without the first wall all is asked for, and only the second one stands
            "everything": grant.everything or not self._first_wall,
            "run_ids": sorted(grant.run_ids),
            "visibilities": sorted(grant.visibilities),
            "private_to": grant.private_to,
        }


class PostgresSpaces:
    """Which deep space searches use: nobody's content."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._sql = Queries("recall.sql")

    async def serving(self) -> tuple[int, str] | None:
        rows = await self._pool.fetch(self._sql["serving"], {})
        return (rows[0][0], rows[0][1]) if rows else None


def _sieve(wanted: Filter) -> dict[str, Any]:
    return {
        "kinds": list(wanted.kinds) if wanted.kinds is not None else None,
        "agent": wanted.agent,
        "user": wanted.user,
        "since": wanted.since,
        "before": wanted.before,
    }


_LIKE_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\%_"})


def _like(literal: str) -> str:
    return "%" + literal.translate(_LIKE_SIGNS) + "%"


def _what_is_wrong(pattern: str, exc: errors.InvalidRegularExpression) -> str:
    said = str(exc.diag.message_primary).removeprefix("invalid regular expression: ")
    try:
        re.compile(pattern)
    except re.error as found:
        return f"query is no regular expression: {said} (position {found.pos})"
    return f"query is no regular expression: {said} (position {len(pattern)})"


def _unpack(row: Sequence[Any], *, asked_deep: bool) -> Candidates:
    ids, talks, seqs, flags, times, words, word_counts, pieces, piece_counts, instants, deep_ids, deeps, *rest = row
    frequencies, entries, is_whole, held, shares = rest
    known = array(ids, ">i8")
    marks = array(flags, ">i2")
    # without a vector to compare with there is no nearness
    nearness = array(instants, ">f4") if instants is not None else np.zeros(len(marks), np.float32)
    return Candidates(
        ids=known,
        talks=array(talks, ">i8").reshape(-1, 2),
        seqs=array(seqs, ">i8"),
        roles=(marks & _ROLE).astype(np.int64),
        fits=(marks & _FITS) > 0,
        mine=(marks & _MINE) > 0,
        kinds=(marks // _KIND).astype(np.int64),
        days=(array(times, ">i8").astype("timedelta64[us]") + _EPOCH).astype("datetime64[D]"),
        words=array(words, ">i4"),
        word_counts=array(word_counts, ">i4").astype(np.int64),
        pieces=array(pieces, ">u2"),
        piece_counts=array(piece_counts, ">i4").astype(np.int64),
        instants=nearness,
        deeps=nearest_chunks(known, array(deep_ids, ">i8"), array(deeps, ">f4")) if asked_deep else None,
        frequencies=None if frequencies is None else np.array(frequencies, np.float32),
        entries=entries,
        is_whole=is_whole,
        literals=dict(zip(held or [], shares or [], strict=True)),
    )
