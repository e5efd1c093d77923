"""Calls for users, agents, rooms, projects and conversations."""

from typing import Any, Literal

from keepword import answers
from keepword.client.transport import HttpTransport, When, given, segment
from keepword.model import Conversation, Kind, Role, SessionReach


class Users:
    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def put(self, user: str, *, name: str | None = None) -> answers.User:
        """Make a user, or rename one."""
        return await self._wire.call(answers.User, "PUT", _user(user), body=given(name=name))

    async def get(self, user: str) -> answers.User:
        return await self._wire.call(answers.User, "GET", _user(user))

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> answers.UserPage:
        return await self._wire.call(answers.UserPage, "GET", "/v1/users", query=_paging(limit, cursor))

    async def export(self, user: str) -> str:
        """Return all that is kept of a user, a JSON object a line: for them and for the tenant's owner."""
        return await self._wire.text("GET", f"{_user(user)}/export")

    async def erase(self, user: str, *, dry_run: bool = False) -> answers.Erasure:
        """Erase a user for good: what they said, their conversations, and all that is kept about them."""
        return await self._wire.call(answers.Erasure, "DELETE", _user(user), query=_dry_run(dry_run=dry_run))


class Agents:
    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def put(self, slug: str, *, name: str | None = None, context_window: int | None = None) -> answers.Agent:
        """Describe an agent; `context_window` is in tokens."""
        body = given(name=name, context_window=context_window)
        return await self._wire.call(answers.Agent, "PUT", _agent(slug), body=body)

    async def get(self, slug: str) -> answers.Agent:
        return await self._wire.call(answers.Agent, "GET", _agent(slug))

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> answers.AgentPage:
        return await self._wire.call(answers.AgentPage, "GET", "/v1/agents", query=_paging(limit, cursor))

    async def introduce(self, slug: str, user: str) -> None:
        """Let the agent's own key act with the user. The owner may, and a key bound to the user."""
        await self._wire.do("PUT", f"{_agent(slug)}/users/{segment(user, 'user')}")

    async def withdraw(self, slug: str, user: str) -> None:
        """Take that back; it counts from the next call on."""
        await self._wire.do("DELETE", f"{_agent(slug)}/users/{segment(user, 'user')}")

    async def users(self, slug: str, *, limit: int = 50, cursor: str | None = None) -> answers.IntroducedPage:
        """List the users who are introduced to the agent."""
        query = _paging(limit, cursor)
        return await self._wire.call(answers.IntroducedPage, "GET", f"{_agent(slug)}/users", query=query)

    async def files(self, slug: str, *, limit: int = 200, cursor: str | None = None) -> answers.AgentFiles:
        """Return the agent's own files, as they are now."""
        return await self._wire.call(answers.AgentFiles, "GET", f"{_agent(slug)}/files", query=_paging(limit, cursor))

    async def file(self, slug: str, name: str) -> answers.AgentFile:
        """Return one of the agent's files, as it is now."""
        path = f"{_agent(slug)}/files/{segment(name, 'name')}"
        return await self._wire.call(answers.AgentFile, "GET", path)

    async def put_file(self, slug: str, name: str, content: str) -> answers.AgentFile:
        """Write a file as a whole, such as SOUL.md; the versions before it stay."""
        path = f"{_agent(slug)}/files/{segment(name, 'name')}"
        return await self._wire.call(answers.AgentFile, "PUT", path, body={"content": content})

    async def delete_file(self, slug: str, name: str) -> None:
        await self._wire.do("DELETE", f"{_agent(slug)}/files/{segment(name, 'name')}")


class Rooms:
    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def put(self, room: str, *, name: str | None = None) -> answers.Room:
        """Make a room, or rename one."""
        return await self._wire.call(answers.Room, "PUT", _room(room), body=given(name=name))

    async def get(self, room: str) -> answers.Room:
        return await self._wire.call(answers.Room, "GET", _room(room))

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> answers.RoomPage:
        return await self._wire.call(answers.RoomPage, "GET", "/v1/rooms", query=_paging(limit, cursor))

    async def retention(self, room: str) -> answers.Retention:
        """Tell for how many days it keeps its messages. The tenant's owner may ask."""
        return await self._wire.call(answers.Retention, "GET", f"{_room(room)}/retention")

    async def set_retention(self, room: str, days: int | None) -> answers.Retention:
        """Erase its messages after so many days; None: as its room or the tenant says. The tenant's owner may."""
        return await self._wire.call(answers.Retention, "PUT", f"{_room(room)}/retention", body={"days": days})

    async def participants(self, room: str) -> answers.Participants:
        return await self._wire.call(answers.Participants, "GET", f"{_room(room)}/participants")

    async def add_user(self, room: str, user: str) -> None:
        """Let a user join; from the next read on, old messages included."""
        await self._wire.do("PUT", f"{_room(room)}/participants/users/{segment(user, 'user')}")

    async def remove_user(self, room: str, user: str) -> None:
        """Let a user leave; the next read shows them nothing of the room."""
        await self._wire.do("DELETE", f"{_room(room)}/participants/users/{segment(user, 'user')}")

    async def add_agent(self, room: str, slug: str) -> None:
        await self._wire.do("PUT", f"{_room(room)}/participants/agents/{segment(slug, 'agent')}")

    async def remove_agent(self, room: str, slug: str) -> None:
        await self._wire.do("DELETE", f"{_room(room)}/participants/agents/{segment(slug, 'agent')}")


MemberKind = Literal["conversations", "rooms"]


class Projects:
    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def put(self, project: str, *, name: str | None = None, isolated: bool | None = None) -> answers.ProjectPut:
        """Make or change a project; what is isolated lets nothing in or out."""
        body = given(name=name, isolated=isolated)
        return await self._wire.call(answers.ProjectPut, "PUT", _project(project), body=body)

    async def get(self, project: str) -> answers.Project:
        return await self._wire.call(answers.Project, "GET", _project(project))

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> answers.ProjectPage:
        return await self._wire.call(answers.ProjectPage, "GET", "/v1/projects", query=_paging(limit, cursor))

    async def members(self, project: str) -> answers.Members:
        return await self._wire.call(answers.Members, "GET", f"{_project(project)}/members")

    async def add(self, project: str, kind: MemberKind, member: str) -> None:
        """Move a conversation or a room into the project, out of the one it was in."""
        await self._wire.do("PUT", f"{_project(project)}/members/{kind}/{segment(member, 'member')}")

    async def remove(self, project: str, kind: MemberKind, member: str) -> None:
        """Move it out: from the next read on it is on its own."""
        await self._wire.do("DELETE", f"{_project(project)}/members/{kind}/{segment(member, 'member')}")


class Conversations:
    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def put(
        self,
        conversation: str,
        *,
        kind: Kind | None = None,
        user: str | None = None,
        agent: str | None = None,
        room: str | None = None,
        project: str | None = None,
        title: str | None = None,
        channel: str | None = None,
        channel_id: str | None = None,
        bot_identity: str | None = None,
        settings: dict[str, Any] | None = None,
        active: bool | None = None,
        reach: SessionReach | None = None,
    ) -> Conversation:
        """Make a conversation, or update what is given; repeating it is safe.

        Without a kind it is in the room that is named, or else a session. The place is fixed once it is made, but for a
        session's user if it has none. A second direct conversation of the same two is the first under a further name:
        `external_id` is the first's, `alias` the one that was asked for, and every call takes either. With `reach`
        "user" a session outside projects reads all sessions of its user with its agent.
        """
        body = given(
            kind=kind, user=user, agent=agent, room=room, project=project, title=title, channel=channel,
            channel_id=channel_id, bot_identity=bot_identity, settings=settings, active=active, reach=reach,
        )  # fmt: skip
        return await self._wire.call(Conversation, "PUT", conversation_path(conversation), body=body)

    async def get(self, conversation: str) -> Conversation:
        return await self._wire.call(Conversation, "GET", conversation_path(conversation))

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> answers.ConversationPage:
        """List the tenant's, oldest first; when acting for an agent or user, theirs."""
        query = _paging(limit, cursor)
        return await self._wire.call(answers.ConversationPage, "GET", "/v1/conversations", query=query)

    async def messages(
        self,
        conversation: str,
        *,
        limit: int = 50,
        order: Literal["asc", "desc"] = "asc",
        cursor: str | None = None,
        since: When | None = None,
        before: When | None = None,
        window: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        role: Role | None = None,
        retracted: bool | None = None,
    ) -> answers.MessagePage:
        """Read one conversation in time order, a page at a time.

        The tenant's owner is also shown what was retracted, marked so, unless `retracted` is False.
        """
        query = given(
            limit=limit, order=order, cursor=cursor, since=since, before=before, window=window, agent=agent, user=user,
            role=role, retracted=retracted,
        )  # fmt: skip
        path = f"{conversation_path(conversation)}/messages"
        return await self._wire.call(answers.MessagePage, "GET", path, query=query)

    async def retract(self, conversation: str, seq: int, *, reason: str | None = None) -> answers.RetractedMessage:
        """Take a message back: from the next call on nobody but the tenant's owner reads it, or what came of it."""
        path = f"{message_path(conversation, seq)}/retract"
        return await self._wire.call(answers.RetractedMessage, "POST", path, body=given(reason=reason))

    async def unretract(self, conversation: str, seq: int) -> None:
        """Undo a retraction; what had been derived from the message is made again."""
        await self._wire.do("DELETE", f"{message_path(conversation, seq)}/retract")

    async def erase_message(self, conversation: str, seq: int, *, dry_run: bool = False) -> answers.Erasure:
        """Erase a message for good, with what was derived from it alone; who may retract it may."""
        return await self._wire.call(
            answers.Erasure, "DELETE", message_path(conversation, seq), query=_dry_run(dry_run=dry_run)
        )

    async def retention(self, conversation: str) -> answers.Retention:
        """Tell for how many days it keeps its messages. The tenant's owner may ask."""
        return await self._wire.call(answers.Retention, "GET", f"{conversation_path(conversation)}/retention")

    async def set_retention(self, conversation: str, days: int | None) -> answers.Retention:
        """Erase its messages after so many days; None: as its room or the tenant says. The tenant's owner may."""
        return await self._wire.call(
            answers.Retention, "PUT", f"{conversation_path(conversation)}/retention", body={"days": days}
        )

    async def erase(self, conversation: str, *, dry_run: bool = False) -> answers.Erasure:
        """Erase a conversation for good. Its user may, and an admin who may write there."""
        path = conversation_path(conversation)
        return await self._wire.call(answers.Erasure, "DELETE", path, query=_dry_run(dry_run=dry_run))

    async def buffer(self, conversation: str, *, limit: int = 40) -> answers.Buffer:
        """Return the last messages of the conversation's place, newest last."""
        path = f"{conversation_path(conversation)}/buffer"
        return await self._wire.call(answers.Buffer, "GET", path, query={"limit": limit})


class Audit:
    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def list(
        self,
        *,
        action: str | None = None,
        actor: str | None = None,
        since: When | None = None,
        before: When | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> answers.AuditPage:
        """List who changed rights or removed something, the newest first. Of the owner's alone.

        `action` "memory" takes all that begin with "memory."; `actor` is such as "user:ann", "agent:ada" or "owner".
        """
        query = given(action=action, actor=actor, since=since, before=before, limit=limit, cursor=cursor)
        return await self._wire.call(answers.AuditPage, "GET", "/v1/audit", query=query)


def conversation_path(conversation: str) -> str:
    return f"/v1/conversations/{segment(conversation, 'conversation')}"


def message_path(conversation: str, seq: int) -> str:
    return f"{conversation_path(conversation)}/messages/{segment(str(seq), 'seq')}"


def _user(user: str) -> str:
    return f"/v1/users/{segment(user, 'user')}"


def _agent(slug: str) -> str:
    return f"/v1/agents/{segment(slug, 'agent')}"


def _room(room: str) -> str:
    return f"/v1/rooms/{segment(room, 'room')}"


def _project(project: str) -> str:
    return f"/v1/projects/{segment(project, 'project')}"


def _dry_run(*, dry_run: bool) -> dict[str, Any] | None:
    return {"dry_run": "true"} if dry_run else None


def _paging(limit: int, cursor: str | None) -> dict[str, Any]:
    return given(limit=limit, cursor=cursor)
