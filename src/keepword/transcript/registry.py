"""Users, agents, rooms and projects, which places are made of. Only the tenant's owner changes them."""

from typing import Protocol

from keepword.access import Grant
from keepword.answers import Agent, IntroducedUser, Members, Participants, Project, ProjectPut, Room, User
from keepword.errors import InvalidInput, NotFound


class Registry(Protocol):
    async def put_user(self, grant: Grant, user: str, name: str | None) -> tuple[User, bool]: ...
    async def user(self, grant: Grant, user: str) -> User | None: ...
    async def users(self, grant: Grant, after: str, limit: int) -> list[User]: ...

    async def put_agent(self, grant: Grant, slug: str, name: str | None, window: int | None) -> tuple[Agent, bool]: ...
    async def agent(self, grant: Grant, slug: str) -> Agent | None: ...
    async def agents(self, grant: Grant, after: str, limit: int) -> list[Agent]: ...

    async def put_room(self, grant: Grant, room: str, name: str | None) -> tuple[Room, bool]: ...
    async def room(self, grant: Grant, room: str) -> Room | None: ...
    async def rooms(self, grant: Grant, after: str, limit: int) -> list[Room]: ...

    async def participants(self, grant: Grant, room: str) -> Participants: ...
    async def join(self, grant: Grant, room: str, *, user: str | None = None, agent: str | None = None) -> None: ...
    async def leave(self, grant: Grant, room: str, *, user: str | None = None, agent: str | None = None) -> bool: ...

    async def introduce(self, grant: Grant, agent: str, user: str, by: str | None) -> None:
        """Introduce an existing user; one who is introduced already stays so."""
        ...

    async def withdraw(self, grant: Grant, agent: str, user: str, by: str | None) -> bool:
        """Return False if the user is not introduced to the agent."""
        ...

    async def introduced(self, grant: Grant, agent: str, after: str, limit: int) -> list[IntroducedUser]: ...

    async def put_project(
        self, grant: Grant, project: str, name: str | None, isolated: bool | None
    ) -> tuple[Project, bool, bool]:
        """Also tell whether it was isolated before."""
        ...

    async def project(self, grant: Grant, project: str) -> Project | None: ...
    async def projects(self, grant: Grant, after: str, limit: int) -> list[Project]: ...
    async def members(self, grant: Grant, project: str) -> Members: ...
    async def move_room(self, grant: Grant, room: str, project: str | None) -> bool: ...
    async def move_conversation(self, grant: Grant, external_id: str, project: str | None) -> str | None:
        """Return the kind of the conversation that was found; one in a room does not move."""
        ...


async def put_project(
    registry: Registry, grant: Grant, project: str, name: str | None, isolated: bool | None
) -> ProjectPut:
    stored_project, is_new, was_isolated = await registry.put_project(grant, project, name, isolated)
    opens = was_isolated and not stored_project.isolated
    return ProjectPut(stored_project, is_new, await registry.members(grant, project) if opens else Members((), ()))


async def join(
    registry: Registry, grant: Grant, room: str, *, user: str | None = None, agent: str | None = None
) -> None:
    """Let a user or an agent into a room. Idempotent; it takes effect on the next read."""
    if await registry.room(grant, room) is None:
        raise NotFound(f"no room {room!r}")
    if user is not None and await registry.user(grant, user) is None:
        raise NotFound(f"no user {user!r}; make it with PUT /v1/users/{user}")
    await registry.join(grant, room, user=user, agent=agent)


async def move(registry: Registry, grant: Grant, kind: str, member: str, project: str | None) -> None:
    """Put a room or a conversation into a project, or with None out of it; it takes effect on the next read."""
    if project is not None and await registry.project(grant, project) is None:
        raise NotFound(f"no project {project!r}")
    if kind == "rooms":
        if not await registry.move_room(grant, member, project):
            raise NotFound(f"no room {member!r}")
        return
    conversation = await registry.move_conversation(grant, member, project)
    if conversation is None:
        raise NotFound(f"no conversation {member!r}")
    if conversation == "room":
        raise InvalidInput(f"conversation {member!r} is in a room; move the room instead", "external_id")
