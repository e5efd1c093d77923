"""What is to be sent, in batches: a stream of records becomes threads with their place, and drafts of messages."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from keepword.histories import names
from keepword.histories.drafts import Draft, to_drafts
from keepword.histories.people import People
from keepword.histories.records import (
    EARLIEST,
    HistoryFile,
    HistoryMemory,
    HistoryMessage,
    Omission,
    Person,
    Record,
    Thread,
)
from keepword.histories.report import ImportReport

# bodies over 256 KiB wait for each other
MAX_BATCH_BYTES = 200_000
MAX_BATCH = 500
MAX_AHEAD = timedelta(days=1)
# of a room's members who never spoke; more of them join when they speak
MAX_SILENT_MEMBERS = 1_000
_FEW_PEOPLE = 2


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """`user` is whose history it is, `agent` who answered there, `project` where all sessions go.

    `project_of` names the project of a folder; None: none.
    """

    kind: str
    user: str
    now: datetime
    agent: str
    project: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    project_of: Callable[[str], str | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """Where a thread goes. `users` are a room's participants, `agents` its agents; `leavers` spoke, and left."""

    external_id: str
    kind: str
    title: str | None
    user: str | None
    agent: str
    agent_name: str | None = None
    room: str | None = None
    project: str | None = None
    project_name: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of one place in their order. `users` and `agents` speak in them; `edited` by event id.

    `members` says whether somebody is of the room, where the source tells who is.
    """

    place: TargetPlace
    drafts: tuple[Draft, ...]
    digest: str
    users: Mapping[str, str | None]
    agents: frozenset[str]
    edited: Mapping[str, str]
    leavers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MemoryItem:
    place: TargetPlace
    memory: HistoryMemory
    users: Mapping[str, str | None]


Item = Batch | MemoryItem | HistoryFile


class Planner:
    """Turns records into batches. What is left out is counted in the report."""

    def __init__(self, options: ImportOptions, people: People, report: ImportReport) -> None:
        self._options = options
        self._people = people
        self._report = report
        self._thread: Thread | None = None
        self._place: TargetPlace | None = None
        self._counted: set[str] = set()
        self._last_at: datetime | None = None
        self._drafts: list[Draft] = []
        self._edited: dict[str, str] = {}
        self._users: dict[str, str | None] = {}
        self._agents: set[str] = set()
        self._size = 0

    def items(self, records: Iterable[Record]) -> Iterator[Item]:
        for record in records:
            if isinstance(record, Omission):
                self._report.omit(record)
            elif isinstance(record, Person):
                self._people.meet(record)
            elif isinstance(record, Thread):
                yield from self._batch()
                self._open(record)
            elif isinstance(record, HistoryMessage):
                yield from self._message(record)
            elif isinstance(record, HistoryMemory):
                yield from self._memory(record)
            else:
                self._report.files += 1
                agent = names.slug(f"{self._options.kind}-{record.agent}")
                yield replace(record, agent=agent, name=names.name(record.name.strip("/").replace("/", "-")))
        yield from self._batch()

    def _open(self, thread: Thread) -> None:
        if self._thread is None or self._thread.id != thread.id:
            self._last_at = None
        self._thread = thread
        self._place = self._target(thread)

    def _target(self, thread: Thread) -> TargetPlace | None:
        """Return where a thread goes; None for a direct conversation in which the importing user has no part."""
        options, title = self._options, thread.title and thread.title[:1000]
        external_id = names.name(f"{options.kind}:{thread.id}")
        place = TargetPlace(
            external_id, thread.kind, title, options.user, options.agent, metadata=_bounded(thread.metadata)
        )
        if thread.kind == "room":
            members = thread.members or ()
            users = tuple(self._people.user(one) for one in members[:MAX_SILENT_MEMBERS])
            if len(members) > MAX_SILENT_MEMBERS:
                silent = len(members) - MAX_SILENT_MEMBERS
                self._report.omit(Omission("a member of a large room: they join when they speak", thread.id, silent))
            # an export of one's own has only rooms that one is in
            users += () if thread.members is not None else (options.user,)
            return replace(place, room=external_id, user=None, users=users)
        if thread.kind == "direct":
            return self._direct(thread, place)
        user = self._people.user(thread.members[0]) if thread.members else options.user
        project = options.project or (thread.project and names.name(f"{options.kind}:{thread.project}"))
        if project is None and thread.folder is not None:
            project = options.project_of(thread.folder)
        return replace(place, user=user, project=project, project_name=thread.project_name)

    def _direct(self, thread: Thread, place: TargetPlace) -> TargetPlace | None:
        if thread.members is not None and len(set(thread.members)) == 1:
            return replace(place, kind="session") if self._people.owners(thread.members) else None
        if thread.members is not None and not self._is_own(thread.members):
            return None
        others = [one for one in thread.members or () if not self._people.is_owner(one)]
        name = self._people.name(others[0]) if len(others) == 1 else None
        # a direct conversation is of one user and one agent: each of the others stands for an agent of their own
        slug = names.slug(f"{self._options.kind}-{thread.id}")
        return replace(place, agent=slug, agent_name=name or thread.title)

    def _is_own(self, members: tuple[str, ...]) -> bool:
        # a chat that one person exported is theirs; a workspace's export has everybody's
        return self._options.kind != "slack" or self._people.owners(members)

    def _message(self, message: HistoryMessage) -> Iterator[Item]:
        if self._place is None or self._thread is None:
            self._report.omit(
                Omission("a message of a direct conversation of others: import it with --user and --map of one of them",
                         message.thread)
            )  # fmt: skip
            return
        self._report.messages += 1
        for draft in to_drafts(self._timed(message)):
            if isinstance(draft, Omission):
                self._report.omit(draft)
                continue
            self._attribute(draft, message)
            size = len(json.dumps(draft, ensure_ascii=False).encode())
            if self._drafts and (self._size + size > MAX_BATCH_BYTES or len(self._drafts) >= MAX_BATCH):
                yield from self._batch()
            if message.edited:
                self._edited[draft["event_id"]] = message.edited
            self._note_speaker(draft)
            self._drafts.append(draft)
            self._size += size

    def _timed(self, message: HistoryMessage) -> HistoryMessage:
        """Give a message without a time, or with one that can't be, the time of the message before."""
        at = message.at
        if at is not None and not EARLIEST <= at <= self._options.now + MAX_AHEAD:
            self._report.omit(Omission("a time that can't be: the message before gives its own", message.id))
            metadata = {**message.metadata, "source_time": at.isoformat()}
            message, at = replace(message, metadata=metadata), None
        self._last_at = at or self._last_at
        return replace(message, at=self._last_at)

    def _attribute(self, draft: Draft, message: HistoryMessage) -> None:
        """Say who spoke. In a room everybody is a user; elsewhere whoever is not the owner speaks as the other side."""
        place, author = self._place, message.author
        if place is None:
            return
        is_owner = author is None or self._people.is_owner(author)
        if author is not None and message.role == "user":
            self._count(author)
        if place.kind == "room" and message.role == "user":
            draft["user"] = self._options.user if author is None else self._people.user(author)
            return
        if author is None or (is_owner and message.role == "user"):
            return
        about = {"id": author} | ({"name": name} if (name := self._people.name(author)) else {})
        draft["metadata"] = draft.get("metadata", {}) | {"author": about}
        draft["role"] = "assistant"
        if place.kind == "room":
            draft["agent"] = names.slug(f"{self._options.kind}-{author}")

    def _count(self, author: str) -> None:
        person = self._people.known.get(author)
        if person is None or not person.is_bot:
            self._people.user(author)
            self._report.people[author].messages += 1

    def _note_speaker(self, draft: Draft) -> None:
        if "user" in draft:
            self._users[draft["user"]] = None
        if "agent" in draft:
            self._agents.add(draft["agent"])

    def _batch(self) -> Iterator[Item]:
        if not self._drafts or self._place is None or self._thread is None:
            return
        if self._place.external_id not in self._counted:
            self._counted.add(self._place.external_id)
            self._report.conversations += 1
        drafts = tuple(self._drafts)
        digest = hashlib.sha256(json.dumps(drafts, sort_keys=True).encode()).hexdigest()[:12]
        yield Batch(
            self._place, drafts, digest, self._named(), frozenset(self._agents), dict(self._edited), self._leavers()
        )
        self._drafts, self._edited, self._users, self._agents, self._size = [], {}, {}, set(), 0

    def _named(self) -> dict[str, str | None]:
        """Return all users that the batch needs, with their names."""
        place = self._place
        needed = {*self._users, *(place.users if place else ())} | ({place.user} if place and place.user else set())
        by_user = {one.user: one.name for one in self._report.people.values()} if len(needed) > _FEW_PEOPLE else {}
        if not by_user:
            by_user = {one.user: one.name for one in self._report.people.values() if one.user in needed}
        return {user: by_user.get(user) for user in sorted(needed)}

    def _leavers(self) -> frozenset[str]:
        """Return who speaks in the batch and is no member of the room, where its members are told."""
        if self._thread is None or self._thread.kind != "room" or self._thread.members is None:
            return frozenset()
        members = {self._people.user(one) for one in self._thread.members}
        return frozenset(self._users) - members

    def _memory(self, memory: HistoryMemory) -> Iterator[Item]:
        yield from self._batch()
        if self._place is None:
            return
        self._report.memories += 1
        yield MemoryItem(self._place, memory, {self._place.user: None} if self._place.user else {})


def _bounded(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[:1000] if isinstance(value, str) else value for name, value in metadata.items()}
