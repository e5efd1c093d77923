"""Reading and writing profiles within a grant."""

from uuid import UUID

from keepword.access import Grant
from keepword.errors import Conflict, InvalidInput, NotFound, TooLarge
from keepword.profiles.ports import Profile, Profiles, ProfileType, Selection
from keepword.transcript.ports import PlaceLookup

MAX_MEMORY_BYTES = 1024 * 1024


async def find(store: Profiles, grant: Grant, id_: UUID) -> Profile:
    profile = await store.get(grant, id_)
    if profile is None:
        raise _absent(id_)
    return profile


async def select(store: Profiles, grant: Grant, selection: Selection) -> tuple[list[Profile], int]:
    """Return a page and how many there are on all pages."""
    return await store.page(grant, selection)


async def create(
    store: Profiles,
    lookup: PlaceLookup,
    grant: Grant,
    type_: ProfileType,
    user: str | None,
    memory: str,
    by: str | None,
) -> Profile:
    if type_ == "workspace" and user is not None:
        raise InvalidInput("a memory of type workspace has no membership; leave it out, or make it type user", "user")
    if type_ == "user" and user is None:
        raise InvalidInput("a memory of type user needs the membership that it is about", "user")
    check_memory(memory)
    if user is not None and not await lookup.is_user(grant.tenant_id, user):
        raise NotFound(f"no membership {user!r}; make it with PUT /v1/users/{user}")
    existing, _ = await store.page(grant, Selection(size=1, type=type_, user=user))
    if existing:
        whose = f"membership {user!r}" if user is not None else "the workspace"
        raise Conflict(f"{whose} has a memory already; there is one at most. Change that one with PATCH")
    return await find(store, grant, await store.write(grant, user, memory, by))


async def change(store: Profiles, grant: Grant, existing: Profile, memory: str, by: str | None) -> Profile:
    """Write a profile's text anew. The text that was read, sent back, changes nothing and shares nothing."""
    check_memory(memory)
    if memory == existing.memory:
        return existing
    return await find(store, grant, await store.write(grant, existing.user, memory, by))


async def remove(store: Profiles, grant: Grant, id_: UUID, by: str | None) -> None:
    """Delete the hand-written text and the remembered lines; later messages make a new profile."""
    await find(store, grant, id_)
    await store.delete(grant, id_, by)


def check_memory(memory: str) -> None:
    if "\0" in memory:
        raise InvalidInput("memory holds a NUL character, which can't be stored", "memory")
    if (size := len(memory.encode())) > MAX_MEMORY_BYTES:
        raise TooLarge(f"memory has {size} bytes; at most {MAX_MEMORY_BYTES}", "memory")


def _absent(id_: UUID) -> NotFound:
    return NotFound(f"no memory {str(id_)!r}")
