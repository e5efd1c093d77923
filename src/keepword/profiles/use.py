"""Reading and writing profiles within a grant."""

from datetime import datetime
from uuid import UUID

from keepword.access import Grant
from keepword.errors import Conflict, InvalidInput, NotFound, TooLarge
from keepword.profiles.ports import MemoryType, Profile, Profiles, Selection
from keepword.transcript.ports import Doors

MAX_MEMORY_BYTES = 1024 * 1024


async def find(store: Profiles, grant: Grant, id_: UUID) -> Profile:
    return _there(await store.get(grant, id_), id_)


async def select(store: Profiles, grant: Grant, selection: Selection) -> tuple[list[Profile], int]:
    """Return a page and how many there are on all pages."""
    return await store.page(grant, selection)


async def create(
    store: Profiles, doors: Doors, grant: Grant, type_: MemoryType, user: str | None, memory: str
) -> Profile:
    if type_ == "workspace" and user is not None:
        raise InvalidInput("a memory of type workspace has no membership; leave it out, or make it type user", "user")
    if type_ == "user" and user is None:
        raise InvalidInput("a memory of type user needs the membership that it is about", "user")
    check_memory(memory)
    if user is not None and not await doors.is_user(grant.tenant_id, user):
        raise NotFound(f"no membership {user!r}; make it with PUT /v1/users/{user}")
    made = await store.insert(grant, user, memory)
    if made is None:
        whose = f"membership {user!r}" if user is not None else "the workspace"
        raise Conflict(f"{whose} has a memory already; there is one at most. Change that one with PATCH")
    return made


async def change(store: Profiles, grant: Grant, id_: UUID, memory: str) -> Profile:
    check_memory(memory)
    return _there(await store.change(grant, id_, memory), id_)


async def remove(store: Profiles, grant: Grant, id_: UUID) -> None:
    if not await store.delete(grant, id_):
        raise _absent(id_)


async def upsert(store: Profiles, grant: Grant, user: str | None, memory: str, source_time: datetime) -> bool:
    """Write the whole memory of a member, or with None of the workspace, as of the time of its newest source.

    The last writer by that time wins: False tells that what is there is newer. Safe to repeat.
    """
    check_memory(memory)
    return await store.upsert(grant, user, memory, source_time)


def check_memory(memory: str) -> None:
    if "\0" in memory:
        raise InvalidInput("memory holds a NUL character, which can't be stored", "memory")
    if (size := len(memory.encode())) > MAX_MEMORY_BYTES:
        raise TooLarge(f"memory has {size} bytes; at most {MAX_MEMORY_BYTES}", "memory")


def _there(found: Profile | None, id_: UUID) -> Profile:
    if found is None:
        raise _absent(id_)
    return found


def _absent(id_: UUID) -> NotFound:
    return NotFound(f"no memory {str(id_)!r}")
