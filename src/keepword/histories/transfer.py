"""Sends a history through the public calls: several conversations at once, each in its order."""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol
from urllib.parse import quote

from keepword.errors import Conflict, Forbidden, InvalidInput, KeepwordError, NotFound, Unavailable
from keepword.histories.drafts import Draft
from keepword.histories.names import event_id
from keepword.histories.plan import Batch, Item, MemoryItem, TargetPlace
from keepword.histories.records import HistoryFile, Omission
from keepword.histories.report import ImportReport

# most of a batch's time is spent in waiting for commits, which the database makes of several at once
AT_ONCE = 6
# items that are stored or wait for it: as many again as are stored, so that no worker waits for the reader
_IN_HAND = 2 * AT_ONCE
_PLANNED = 8
_TRIES = 8
# of a conversation's settings, which may take 64 KiB
_MAX_DIGESTS = 3_000
SETTING = "imported"


# the messages of a conversation come together, so few are needed again
_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class _StoredPlace:
    settings: Mapping[str, Any]
    has_title: bool


class Call(Protocol):
    """One request of the API: it answers JSON, and raises KeepwordError."""

    async def __call__(self, method: str, path: str, body: Any = None) -> Any: ...


class Transfer:
    """Stores items. A batch that an earlier run stored is known by its digest, and not sent again."""

    def __init__(self, call: Call, kind: str, report: ImportReport) -> None:
        self._call = call
        self._kind = kind
        self._report = report
        self._users: set[str] = set()
        self._agents: set[str] = set()
        self._projects: set[str] = set()
        self._places: dict[str, _StoredPlace | None] = {}
        self._participants: set[tuple[str, str]] = set()
        self._leavers: set[tuple[str, str]] = set()

    async def run(self, items: Iterable[Item]) -> None:
        """Store all items; raises what stops the import. It goes on where it was when it is run again."""
        # a service that is not there is said at once; one that goes away is waited for
        await self._call("GET", "/v1/conversations")
        turns = _Turns(self._work)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(turns.work())
            await _feed(iter(items), turns)
        for room, user in sorted(self._leavers):
            with suppress(NotFound):  # an earlier run let them leave
                await self._again("DELETE", f"{_room(room)}/participants/users/{_part(user)}")

    async def _work(self, item: Item) -> None:
        if isinstance(item, Batch):
            await self._store(item)
        elif isinstance(item, MemoryItem):
            await self._remember(item)
        else:
            await self._write(item)

    async def _store(self, batch: Batch) -> None:
        if batch.place.room is not None:  # also for what is known: a killed run let them in, and not out
            self._leavers |= {(batch.place.room, user) for user in batch.leavers}
        place = await self._place(batch.place, batch.users)
        if place is None:
            self._report.omit(_elsewhere(batch.place.external_id, len(batch.drafts)))
            return
        settings = dict(place.settings)
        imported = settings.get(SETTING) or {"from": self._kind}
        digests = imported.get("batches") or []
        if batch.digest in digests:
            self._report.known += len(batch.drafts)
            return
        await self._join(batch)
        await self._append(batch, list(batch.drafts))
        settings[SETTING] = imported | {"batches": [*digests, batch.digest][-_MAX_DIGESTS:]}
        body: dict[str, Any] = {
            "settings": settings | ({"source": dict(batch.place.metadata)} if batch.place.metadata else {})
        }
        if batch.place.title and not place.has_title:
            body["title"] = batch.place.title
        self._note(batch.place.external_id, await self._again("PATCH", _conversation(batch.place.external_id), body))

    async def _append(self, batch: Batch, drafts: list[Draft]) -> None:
        """Append drafts; where one of them is refused, find it by halves, and leave it out with the reason."""
        path = f"{_conversation(batch.place.external_id)}/messages"
        try:
            answer = await self._again("POST", path, drafts)
        except (Conflict, InvalidInput, NotFound) as exc:
            if len(drafts) > 1:
                middle = len(drafts) // 2
                await self._append(batch, drafts[:middle])
                await self._append(batch, drafts[middle:])
            elif isinstance(exc, Conflict):
                await self._append_edited(batch, drafts[0], path)
            else:
                self._report.omit(Omission(f"a message that was refused: {exc}", drafts[0]["event_id"]))
            return
        duplicates = sum(1 for receipt in answer["messages"] if receipt["duplicate"])
        self._report.known += duplicates
        self._report.stored += len(drafts) - duplicates

    async def _append_edited(self, batch: Batch, draft: Draft, path: str) -> None:
        """Keep an edited message beside its earlier words. Others that differ were stored by another version."""
        first = draft["event_id"]
        edited = batch.edited.get(first)
        if edited is not None:
            metadata = {**draft.get("metadata", {}), "replaces": first}
            with suppress(Conflict):
                own_id = event_id(f"{first}#edited-{edited}")
                answer = await self._again("POST", path, [{**draft, "event_id": own_id, "metadata": metadata}])
                self._report.known += answer["messages"][0]["duplicate"]
                self._report.stored += not answer["messages"][0]["duplicate"]
                return
        self._report.known += 1
        self._report.omit(Omission("a message that is here with other content: what is here stays", first))

    def _note(self, external_id: str, answer: Any) -> _StoredPlace | None:
        stored = None if answer is None else _StoredPlace(answer["settings"], answer["title"] is not None)
        if len(self._places) >= _REMEMBERED:
            del self._places[next(iter(self._places))]
        self._places[external_id] = stored
        return stored

    async def _place(self, place: TargetPlace, users: Mapping[str, str | None]) -> _StoredPlace | None:
        """Make a conversation and all that it needs, once; None where its id is that of another place."""
        if place.external_id in self._places:
            return self._places[place.external_id]
        for user, name in users.items():
            await self._make_user(user, name)
        if place.kind == "direct":
            await self._make_agent(place.agent, place.agent_name)
        if place.room is not None:
            await self._make_room(place)
        project = await self._make_project(place)
        body = {
            "kind": place.kind, "agent": place.agent, "channel": self._kind, "user": place.user, "room": place.room,
            "project": project,
        }  # fmt: skip
        try:
            answer = await self._again("PUT", _conversation(place.external_id), _given(body))
        except Conflict as exc:
            self._report.omit(Omission(f"a conversation that is here in another place: {exc}", place.external_id))
            answer = None
        return self._note(place.external_id, answer)

    async def _make_user(self, user: str, name: str | None) -> None:
        if user not in self._users:
            await self._again("PUT", f"/v1/users/{_part(user)}", _given({"name": name and name[:1000]}))
            self._users.add(user)

    async def _make_agent(self, agent: str, name: str | None) -> None:
        if agent not in self._agents:
            await self._again("PUT", f"/v1/agents/{_part(agent)}", _given({"name": name and name[:1000]}))
            self._agents.add(agent)

    async def _make_room(self, place: TargetPlace) -> None:
        room = place.room or ""
        await self._again("PUT", _room(room), _given({"name": place.title}))
        await self._make_agent(place.agent, None)
        await self._again("PUT", f"{_room(room)}/participants/agents/{_part(place.agent)}")
        for user in place.users:
            await self._enter(room, user)

    async def _enter(self, room: str, user: str) -> None:
        if (room, user) not in self._participants:
            await self._again("PUT", f"{_room(room)}/participants/users/{_part(user)}")
            self._participants.add((room, user))

    async def _join(self, batch: Batch) -> None:
        """Let those into a room who speak there; who is no member of it any more leaves it at the end."""
        if batch.place.room is None:
            return
        for user in sorted(batch.users):
            await self._make_user(user, batch.users[user])
            await self._enter(batch.place.room, user)
        for agent in sorted(batch.agents - self._agents):
            await self._make_agent(agent, None)
        for agent in sorted(batch.agents):
            await self._again("PUT", f"{_room(batch.place.room)}/participants/agents/{_part(agent)}")

    async def _make_project(self, place: TargetPlace) -> str | None:
        if place.project is None or place.kind == "room":
            return None
        if place.project not in self._projects:
            try:
                await self._again("PUT", f"/v1/projects/{_part(place.project)}", _given({"name": place.project_name}))
            except Forbidden:
                self._report.omit(Omission("a project: this key may make none", place.project))
                return None
            self._projects.add(place.project)
        return place.project

    async def _remember(self, item: MemoryItem) -> None:
        if await self._place(item.place, item.users) is None:
            self._report.omit(_elsewhere(item.place.external_id, 1))
            return
        body = {
            "conversation": item.place.external_id, "content": item.memory.text, "type": "fact",
            "metadata": {**item.memory.metadata, "imported": {"from": self._kind, "id": item.memory.id}},
        }  # fmt: skip
        try:
            await self._again("POST", "/v1/semantic", body)
        except InvalidInput as exc:
            self._report.omit(Omission(f"a memory that was refused: {exc}", item.memory.id))
        else:
            self._report.stored += 1

    async def _write(self, file: HistoryFile) -> None:
        await self._make_agent(file.agent, None)
        path = f"/v1/agents/{_part(file.agent)}/files/{_part(file.name)}"
        try:
            await self._again("PUT", path, {"content": file.content})
        except InvalidInput as exc:
            self._report.omit(Omission(f"a file that was refused: {exc}", file.name))

    async def _again(self, method: str, path: str, body: Any = None) -> Any:
        """Call, and again where the service is busy or away for a while: every call here may be repeated."""
        for number in range(_TRIES):
            try:
                return await self._call(method, path, body)
            except Unavailable as exc:
                if number == _TRIES - 1:
                    raise
                await asyncio.sleep(min(max(exc.retry_after_seconds, 2**number / 4), 15))
        raise AssertionError


class _Turns:
    """Hands items to workers: of each conversation one item at a time, in its order."""

    def __init__(self, work: Callable[[Item], Awaitable[None]]) -> None:
        self._work = work
        self._room = asyncio.Semaphore(_IN_HAND)
        self._ready: asyncio.Queue[str | None] = asyncio.Queue()
        # what is in hand by conversation, that which is being stored first
        self._in_hand: dict[str, deque[Item]] = {}

    async def put(self, item: Item) -> None:
        await self._room.acquire()
        name = item.agent if isinstance(item, HistoryFile) else item.place.external_id
        if name in self._in_hand:
            self._in_hand[name].append(item)
        else:
            self._in_hand[name] = deque([item])
            self._ready.put_nowait(name)

    async def end(self) -> None:
        """Wait until all is stored, and let the workers go."""
        for _ in range(_IN_HAND):
            await self._room.acquire()
        for _ in range(AT_ONCE):
            self._ready.put_nowait(None)

    async def work(self) -> None:
        while (name := await self._ready.get()) is not None:
            items = self._in_hand[name]
            await self._work(items[0])
            items.popleft()
            if items:
                self._ready.put_nowait(name)
            else:
                del self._in_hand[name]
            self._room.release()


async def _feed(items: Iterator[Item], turns: _Turns) -> None:
    """Read items in a thread, so that the next are read while these are stored."""
    while planned := await asyncio.to_thread(lambda: list(islice(items, _PLANNED))):
        for item in planned:
            await turns.put(item)
    await turns.end()


def json_call(request: Callable[..., Awaitable[str]]) -> Call:
    """Return calls over a function that sends and answers JSON text."""

    async def call(method: str, path: str, body: Any = None) -> Any:
        text = await request(method, path, body=None if body is None else json.dumps(body))
        return json.loads(text) if text else None

    return call


def first_error(group: BaseExceptionGroup) -> BaseException:
    """Return what stopped an import: the error of Keepword's own among those of its tasks."""
    ours, _ = group.split(KeepwordError)
    some: BaseException = ours or group
    while isinstance(some, BaseExceptionGroup):
        some = some.exceptions[0]
    return some


def _elsewhere(external_id: str, count: int) -> Omission:
    return Omission("a message of a conversation that is here in another place", external_id, count)


def _given(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _part(name: str) -> str:
    return quote(name, safe="")


def _conversation(external_id: str) -> str:
    return f"/v1/conversations/{_part(external_id)}"


def _room(room: str) -> str:
    return f"/v1/rooms/{_part(room)}"
