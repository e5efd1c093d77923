"""Which of several database servers answers a request: the one whose tenant the key belongs to.

The directory is a hint. A server is only used once it has found the key itself, and a server that gave a tenant away
says where that lives; so a wrong hint costs questions, and never leads to another tenant's words.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

import structlog

from keepword.errors import KeepwordError, TenantMoved, Unavailable
from keepword.http.services import FoundKey, Server

_log = structlog.get_logger()

# of keys whose server is known to this process, each some 200 bytes
KNOWN_KEYS = 50_000
# while a tenant is being moved both servers refuse it, for less than a second: its requests wait for so long
MOVE_SECONDS = 1.5
MOVE_LOOK_SECONDS = 0.05
# the directory saves questions to all servers, so nobody waits long for it
HINT_SECONDS = 0.5
# the tenants of a server that is down are looked for on the others, in case the directory is wrong, but not each time
MISSED_SECONDS = 2.0


class Directory(Protocol):
    async def find(self, key_id: str) -> str | None: ...

    async def note(self, key_id: str, tenant: UUID, server: str) -> None: ...


@dataclass(slots=True)
class _Search:
    """What one search for a key has asked: `moved` says where a server sent it, `away` which gave no answer."""

    key_id: str
    external_id: str | None
    moved: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    away: set[str] = field(default_factory=set)

    @property
    def asked(self) -> set[str]:
        return {*self.moved, *self.unknown, *self.away}


@dataclass(frozen=True, slots=True)
class _Miss:
    """When a key was found nowhere, and which servers did not answer then."""

    until: float
    away: frozenset[str]


class ServerChoice:
    def __init__(self, servers: Mapping[str, Server], directory: Directory) -> None:
        """`directory` is on the first of the servers."""
        self._servers = servers
        self._directory = directory
        self._first = next(iter(servers.values()))
        self._known: OrderedDict[str, str] = OrderedDict()
        self._missed: dict[str, _Miss] = {}
        self._noting: set[asyncio.Task[None]] = set()

    @property
    def servers(self) -> Mapping[str, Server]:
        return self._servers

    async def find(self, key_id: str, external_id: str | None) -> tuple[Server, FoundKey] | None:
        """Return the server of the key's tenant, with what it has of the key; None for a key that nobody made.

        Raises Unavailable where a server that may have the key is down, or while the tenant is being moved.
        """
        self._refuse_missed(key_id)
        hint = self._known.get(key_id) or await self._hint(key_id)
        deadline = _now() + MOVE_SECONDS
        while True:
            search = _Search(key_id, external_id)
            found = await self._follow(search, hint) or await self._ask_others(search)
            if found is not None:
                self._learn(key_id, *found, is_new=found[0].name != hint)
                return found
            if search.away or not search.moved:
                break
            if elsewhere := search.moved.values() - self._servers.keys():
                raise TenantMoved(min(elsewhere))
            if _now() > deadline:
                raise _still_moving(search.moved)
            await asyncio.sleep(MOVE_LOOK_SECONDS)
        if search.away:
            self._miss(key_id, search.away)
            raise _away(search.away)
        self._known.pop(key_id, None)
        return None

    async def _hint(self, key_id: str) -> str | None:
        if not self._first.health.is_up:
            return None
        asking = asyncio.ensure_future(self._directory.find(key_id))
        either: set[asyncio.Future[Any]] = {asking, self._first.health.lost}
        try:
            await asyncio.wait(either, timeout=HINT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        except KeepwordError:
            return None
        finally:
            # cancelling costs a busy server more than the answer; one that is lost gives none
            if self._first.health.is_up:
                asking.add_done_callback(_forget)
            else:
                _abandon(asking)

    async def _follow(self, search: _Search, hint: str | None) -> tuple[Server, FoundKey] | None:
        """Ask the server of the hint, then the one that it names, and so on, none twice."""
        name = hint
        while name is not None and name in self._servers and name not in search.asked:
            found = await self._ask(search, self._servers[name])
            if found is not None:
                return found
            name = search.moved.get(name)
        return None

    async def _ask_others(self, search: _Search) -> tuple[Server, FoundKey] | None:
        others = [server for name, server in self._servers.items() if name not in search.asked]
        answers = await asyncio.gather(*(self._ask(search, server) for server in others))
        return next(filter(None, answers), None)

    async def _ask(self, search: _Search, server: Server) -> tuple[Server, FoundKey] | None:
        """Ask a server for the key, for as long as the server answers at all."""
        found: FoundKey | None = None
        is_away = not server.health.is_up
        if not is_away:
            asking = asyncio.ensure_future(server.services.keys.find(search.key_id, search.external_id))
            try:
                await asyncio.wait((asking, server.health.lost), return_when=asyncio.FIRST_COMPLETED)
                is_away = not asking.done()
                found = None if is_away else asking.result()
            except TenantMoved as moved:
                search.moved[server.name] = moved.server
                return None
            except Unavailable:
                is_away = True
            finally:
                _abandon(asking)
        if found is not None:
            return server, found
        (search.away if is_away else search.unknown).add(server.name)
        return None

    def _learn(self, key_id: str, server: Server, found: FoundKey, *, is_new: bool) -> None:
        self._known[key_id] = server.name
        self._known.move_to_end(key_id)
        self._missed.pop(key_id, None)
        if len(self._known) > KNOWN_KEYS:
            self._known.popitem(last=False)
        if is_new and self._first.health.is_up:
            noting = asyncio.ensure_future(self._note(key_id, found[0].key.tenant_id, server.name))
            self._noting.add(noting)
            noting.add_done_callback(self._noting.discard)

    async def _note(self, key_id: str, tenant: UUID, server: str) -> None:
        try:
            await self._directory.note(key_id, tenant, server)
        except KeepwordError as exc:
            _log.info("the directory was not corrected; the next process asks all servers", reason=str(exc))

    def _refuse_missed(self, key_id: str) -> None:
        missed = self._missed.get(key_id)
        if missed is None or missed.until < _now():
            return
        if away := {name for name in missed.away if not self._servers[name].health.is_up}:
            raise _away(away)

    def _miss(self, key_id: str, away: Iterable[str]) -> None:
        if len(self._missed) > KNOWN_KEYS:
            self._missed.clear()
        self._missed[key_id] = _Miss(_now() + MISSED_SECONDS, frozenset(away))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _abandon(task: "asyncio.Future[Any]") -> None:
    """Cancel without waiting: a stuck server keeps the driver busy with cancelling."""
    task.add_done_callback(_forget)
    task.cancel()


def _forget(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()


def _away(names: set[str]) -> Unavailable:
    which = f"the database server {min(names)} is" if len(names) == 1 else f"{len(names)} database servers are"
    return Unavailable(f"{which} away; nothing was stored. Try again in a moment")


def _still_moving(moved: Mapping[str, str]) -> Unavailable:
    servers = " and ".join(sorted({*moved, *moved.values()}))
    return Unavailable(f"this key's tenant is being moved between the servers {servers}; try again in a moment")
