"""The same calls without await: each runs on a loop in a thread of its own. Nothing is written twice.

A line here names a method; its parameters, answer and errors are those of the one it names.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from keepword.client.base import BaseClient
from keepword.client.derived import Landmarks, Summaries, Turns
from keepword.client.files import Files, TreeKind
from keepword.client.imports import Imports
from keepword.client.items import Items
from keepword.client.knowledge import Facts, Ledger, Memories, WorkingMemory
from keepword.client.operations import Jobs, Keys
from keepword.client.places import Agents, Audit, Conversations, Projects, Rooms, Users
from keepword.client.webhooks import Webhooks

P = ParamSpec("P")
R = TypeVar("R")
G = TypeVar("G")


class SyncProxy(Generic[G]):
    def __init__(self, portal: BlockingPortal, calls: G) -> None:
        self._portal = portal
        self._calls = calls


def _call(
    method: Callable[Concatenate[G, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[SyncProxy[G], P], R]:
    @wraps(method)
    def run(self: SyncProxy[G], /, *args: P.args, **kwargs: P.kwargs) -> R:
        answer: R = self._portal.call(partial(method, self._calls, *args, **kwargs))
        return answer

    return run


class SyncConversations(SyncProxy[Conversations]):
    put = _call(Conversations.put)
    get = _call(Conversations.get)
    list = _call(Conversations.list)
    messages = _call(Conversations.messages)
    retract = _call(Conversations.retract)
    unretract = _call(Conversations.unretract)
    erase = _call(Conversations.erase)
    retention = _call(Conversations.retention)
    set_retention = _call(Conversations.set_retention)
    erase_message = _call(Conversations.erase_message)
    buffer = _call(Conversations.buffer)


class SyncUsers(SyncProxy[Users]):
    put = _call(Users.put)
    get = _call(Users.get)
    list = _call(Users.list)
    export = _call(Users.export)
    erase = _call(Users.erase)


class SyncAgents(SyncProxy[Agents]):
    put = _call(Agents.put)
    get = _call(Agents.get)
    list = _call(Agents.list)
    introduce = _call(Agents.introduce)
    withdraw = _call(Agents.withdraw)
    users = _call(Agents.users)
    files = _call(Agents.files)
    file = _call(Agents.file)
    put_file = _call(Agents.put_file)
    delete_file = _call(Agents.delete_file)


class SyncRooms(SyncProxy[Rooms]):
    put = _call(Rooms.put)
    get = _call(Rooms.get)
    list = _call(Rooms.list)
    participants = _call(Rooms.participants)
    retention = _call(Rooms.retention)
    set_retention = _call(Rooms.set_retention)
    add_user = _call(Rooms.add_user)
    remove_user = _call(Rooms.remove_user)
    add_agent = _call(Rooms.add_agent)
    remove_agent = _call(Rooms.remove_agent)


class SyncProjects(SyncProxy[Projects]):
    put = _call(Projects.put)
    get = _call(Projects.get)
    list = _call(Projects.list)
    members = _call(Projects.members)
    add = _call(Projects.add)
    remove = _call(Projects.remove)


class SyncImports(SyncProxy[Imports]):
    create = _call(Imports.create)
    start = _call(Imports.start)
    get = _call(Imports.get)
    list = _call(Imports.list)
    wait = _call(Imports.wait)
    cancel = _call(Imports.cancel)
    delete = _call(Imports.delete)


class SyncAudit(SyncProxy[Audit]):
    list = _call(Audit.list)


class SyncFacts(SyncProxy[Facts]):
    get = _call(Facts.get)
    set = _call(Facts.set)
    delete = _call(Facts.delete)
    list = _call(Facts.list)
    history = _call(Facts.history)


class SyncFiles(SyncProxy[Files]):
    command = _call(Files.command)
    list = _call(Files.list)
    get = _call(Files.get)
    version = _call(Files.version)
    put = _call(Files.put)
    delete = _call(Files.delete)
    versions = _call(Files.versions)
    redact = _call(Files.redact)
    search = _call(Files.search)

    def of(
        self,
        scope: TreeKind,
        id: str | None = None,  # noqa: A002 - the API's own word
        *,
        agent: str | None = None,
        conversation: str | None = None,
    ) -> "SyncFiles":
        """Return the same calls for another tree."""
        return SyncFiles(self._portal, self._calls.of(scope, id, agent=agent, conversation=conversation))


class SyncMemories(SyncProxy[Memories]):
    add = _call(Memories.add)
    search = _call(Memories.search)
    list = _call(Memories.list)
    get = _call(Memories.get)
    update = _call(Memories.update)
    delete = _call(Memories.delete)
    history = _call(Memories.history)
    restore = _call(Memories.restore)
    rate = _call(Memories.rate)
    query = _call(Memories.query)
    delete_matching = _call(Memories.delete_matching)
    try_extraction = _call(Memories.try_extraction)


class SyncKeys(SyncProxy[Keys]):
    make = _call(Keys.make)
    list = _call(Keys.list)
    revoke = _call(Keys.revoke)


class SyncJobs(SyncProxy[Jobs]):
    failed = _call(Jobs.failed)
    retry = _call(Jobs.retry)


class SyncSummaries(SyncProxy[Summaries]):
    tree = _call(Summaries.tree)
    make = _call(Summaries.make)
    get = _call(Summaries.get)


class SyncTurns(SyncProxy[Turns]):
    list = _call(Turns.list)
    get = _call(Turns.get)


class SyncWebhooks(SyncProxy[Webhooks]):
    list = _call(Webhooks.list)
    add = _call(Webhooks.add)
    get = _call(Webhooks.get)
    change = _call(Webhooks.change)
    delete = _call(Webhooks.delete)
    deliveries = _call(Webhooks.deliveries)
    test = _call(Webhooks.test)


class SyncLandmarks(SyncProxy[Landmarks]):
    pin = _call(Landmarks.pin)
    unpin = _call(Landmarks.unpin)
    list = _call(Landmarks.list)


class SyncWorkingMemory(SyncProxy[WorkingMemory]):
    get = _call(WorkingMemory.get)
    put = _call(WorkingMemory.put)
    delete = _call(WorkingMemory.delete)
    clear = _call(WorkingMemory.clear)


class SyncLedger(SyncProxy[Ledger]):
    get = _call(Ledger.get)
    check = _call(Ledger.check)
    mark = _call(Ledger.mark)
    evict = _call(Ledger.evict)


class SyncItems(SyncProxy[Items]):
    get = _call(Items.get)
    put = _call(Items.put)
    delete = _call(Items.delete)
    search = _call(Items.search)
    namespaces = _call(Items.namespaces)
    batch = _call(Items.batch)


class SyncClient(SyncProxy[BaseClient]):
    def __init__(self, portal: BlockingPortal, calls: BaseClient) -> None:
        super().__init__(portal, calls)
        self.conversations = SyncConversations(portal, calls.conversations)
        self.users = SyncUsers(portal, calls.users)
        self.agents = SyncAgents(portal, calls.agents)
        self.rooms = SyncRooms(portal, calls.rooms)
        self.projects = SyncProjects(portal, calls.projects)
        self.audit = SyncAudit(portal, calls.audit)
        self.keys = SyncKeys(portal, calls.keys)
        self.jobs = SyncJobs(portal, calls.jobs)
        self.imports = SyncImports(portal, calls.imports)
        self.webhooks = SyncWebhooks(portal, calls.webhooks)
        self.facts = SyncFacts(portal, calls.facts)
        self.files = SyncFiles(portal, calls.files)
        self.memories = SyncMemories(portal, calls.memories)
        self.summaries = SyncSummaries(portal, calls.summaries)
        self.landmarks = SyncLandmarks(portal, calls.landmarks)
        self.turns = SyncTurns(portal, calls.turns)
        self.working = SyncWorkingMemory(portal, calls.working)
        self.ledger = SyncLedger(portal, calls.ledger)
        self.items = SyncItems(portal, calls.items)

    append = _call(BaseClient.append)
    append_all = _call(BaseClient.append_all)
    search = _call(BaseClient.search)
    browse = _call(BaseClient.browse)
    compose = _call(BaseClient.compose)
    access = _call(BaseClient.access)
    request = _call(BaseClient.request)
    stats = _call(BaseClient.stats)
    growth = _call(BaseClient.growth)
    demo = _call(BaseClient.demo)
    sources = _call(BaseClient.sources)
    whoami = _call(BaseClient.whoami)
    service = _call(BaseClient.service)
    erase_tenant = _call(BaseClient.erase_tenant)
    erasure = _call(BaseClient.erasure)

    def acting(self, *, agent: str | None = None, user: str | None = None) -> "SyncClient":
        """Return the same calls, made for this agent or user: what they may not see is not there."""
        return SyncClient(self._portal, self._calls.acting(agent=agent, user=user))


def blocking(
    opened: Callable[P, AbstractAsyncContextManager[BaseClient]],
) -> Callable[P, AbstractContextManager[SyncClient]]:
    """Open a face on a loop in a thread of its own. Several threads may call it at once."""

    @wraps(opened)
    @contextmanager
    def run(*args: P.args, **kwargs: P.kwargs) -> Iterator[SyncClient]:
        with (
            start_blocking_portal("asyncio", name="keepword") as portal,
            portal.wrap_async_context_manager(portal.call(partial(opened, *args, **kwargs))) as face,
        ):
            yield SyncClient(portal, face)

    return run
