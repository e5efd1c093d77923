"""keepword users, rooms, projects and conversations: who speaks and where."""

from typing import Annotated, Any

import typer

from keepword.cli.service import AsAgent, AsUser, plain, read_pages, service
from keepword.cli.tables import Row, minute, print_row, print_rows
from keepword.cli.trees import print_summaries
from keepword.errors import InvalidInput, Unavailable

users = typer.Typer(help="Users: the people of a tenant.", no_args_is_help=True)
rooms = typer.Typer(help="Rooms: places in which several people and agents speak.", no_args_is_help=True)
projects = typer.Typer(help="Projects: named groups of conversations and rooms.", no_args_is_help=True)
conversations = typer.Typer(help="Conversations: sessions, direct ones, and those in rooms.", no_args_is_help=True)

MOST_DIGITS = 10
Id = Annotated[str, typer.Argument(help="Its id.")]
Name = Annotated[str | None, typer.Option(help="A name to show.")]
Limit = Annotated[int, typer.Option(help="How many at most.", min=1)]
InUser = Annotated[str | None, typer.Option("--user", help="This user.")]
InAgent = Annotated[str | None, typer.Option("--agent", help="This agent.")]
InConversation = Annotated[str | None, typer.Option("--conversation", help="This conversation.")]
Days = Annotated[str | None, typer.Argument(help="So many days, or none: as its room or the tenant says.")]
InRoom = Annotated[str | None, typer.Option("--room", help="This room.")]

_NAMED = {"id": lambda row: row["id"], "name": lambda row: row["name"], "made": lambda row: minute(row["created_at"])}
_CONVERSATION = {
    "id": lambda row: row["external_id"],
    "kind": lambda row: row["kind"],
    "user": lambda row: row["user"],
    "agent": lambda row: row["agent"],
    "room": lambda row: row["room"],
    "project": lambda row: row["project"],
    "title": lambda row: row["title"],
    "made": lambda row: minute(row["created_at"]),
}


@users.command("list")
def list_users(limit: Limit = 1000) -> None:
    """List users: a table on a terminal, JSON lines in a pipe."""
    with service() as kw:
        print_rows(read_pages(kw.users.list, "users", limit), _NAMED)


@users.command("show")
def show_user(user: Id) -> None:
    """Show a user."""
    with service() as kw:
        print_row(plain(kw.users.get(user)))


@users.command("put")
def put_user(user: Id, name: Name = None) -> None:
    """Make a user, or rename one."""
    with service() as kw:
        print_row(plain(kw.users.put(user, name=name)))


@rooms.command("list")
def list_rooms(limit: Limit = 1000, agent: AsAgent = None, user: AsUser = None) -> None:
    """List rooms: a table on a terminal, JSON lines in a pipe."""
    with service(agent, user) as kw:
        print_rows(read_pages(kw.rooms.list, "rooms", limit), {**_NAMED, "project": lambda row: row["project"]})


@rooms.command("show")
def show_room(room: Id) -> None:
    """Show a room and who is in it."""
    with service() as kw:
        print_row(plain(kw.rooms.get(room)) | plain(kw.rooms.participants(room)))


@rooms.command("put")
def put_room(room: Id, name: Name = None) -> None:
    """Make a room, or rename one."""
    with service() as kw:
        print_row(plain(kw.rooms.put(room, name=name)))


@rooms.command("add")
def add_to_room(room: Id, user: InUser = None, agent: InAgent = None) -> None:
    """Let a user or an agent in. What was said in the room before can be read by them, too."""
    with service() as kw:
        if _only(user, agent, "--user or --agent") == user:
            kw.rooms.add_user(room, user)
        elif agent:
            kw.rooms.add_agent(room, agent)
        print_row(plain(kw.rooms.participants(room)))


@rooms.command("remove")
def remove_from_room(room: Id, user: InUser = None, agent: InAgent = None) -> None:
    """Take a user or an agent out: the next read shows them nothing of the room."""
    with service() as kw:
        if _only(user, agent, "--user or --agent") == user:
            kw.rooms.remove_user(room, user)
        elif agent:
            kw.rooms.remove_agent(room, agent)
        print_row(plain(kw.rooms.participants(room)))


@projects.command("list")
def list_projects(limit: Limit = 1000) -> None:
    """List projects: a table on a terminal, JSON lines in a pipe."""
    with service() as kw:
        columns = {**_NAMED, "isolated": lambda row: row["isolated"]}
        print_rows(read_pages(kw.projects.list, "projects", limit), columns)


@projects.command("show")
def show_project(project: Id) -> None:
    """Show a project and what is in it."""
    with service() as kw:
        print_row(plain(kw.projects.get(project)) | plain(kw.projects.members(project)))


@projects.command("put")
def put_project(
    project: Id,
    name: Name = None,
    isolated: Annotated[
        bool | None, typer.Option("--isolated/--open", help="Isolated, it lets nothing in or out.")
    ] = None,
) -> None:
    """Make or change a project. Opened again, it names what it no longer shields."""
    with service() as kw:
        print_row(plain(kw.projects.put(project, name=name, isolated=isolated)))


@projects.command("add")
def add_to_project(project: Id, conversation: InConversation = None, room: InRoom = None) -> None:
    """Move a conversation or a room into a project, out of the one it was in."""
    with service() as kw:
        kw.projects.add(project, *_member(conversation, room))
        print_row(plain(kw.projects.members(project)))


@projects.command("remove")
def remove_from_project(project: Id, conversation: InConversation = None, room: InRoom = None) -> None:
    """Move a conversation or a room out of a project."""
    with service() as kw:
        kw.projects.remove(project, *_member(conversation, room))
        print_row(plain(kw.projects.members(project)))


@conversations.command("list")
def list_conversations(limit: Limit = 1000, agent: AsAgent = None, user: AsUser = None) -> None:
    """List conversations, oldest first; with --agent or --user, theirs."""
    with service(agent, user) as kw:
        print_rows(read_pages(kw.conversations.list, "conversations", limit), _CONVERSATION)


@conversations.command("show")
def show_conversation(conversation: Id, agent: AsAgent = None, user: AsUser = None) -> None:
    """Show a conversation; `keepword browse` reads it."""
    with service(agent, user) as kw:
        print_row(plain(kw.conversations.get(conversation)))


@conversations.command("put")
def put_conversation(
    conversation: Id,
    kind: Annotated[str | None, typer.Option(help="session, direct or room.")] = None,
    user: InUser = None,
    agent: InAgent = None,
    room: InRoom = None,
    project: Annotated[str | None, typer.Option(help="The project that it is in.")] = None,
    title: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    reach: Annotated[
        str | None, typer.Option(help="What a session reads: own, or user for all of its user's with its agent.")
    ] = None,
) -> None:
    """Make a conversation, or change its title, project or reach. Its place stays as it was made."""
    options: dict[str, Any] = {
        "kind": kind, "user": user, "agent": agent, "room": room, "project": project, "reach": reach,
    }  # fmt: skip
    with service() as kw:
        print_row(_conversation(plain(kw.conversations.put(conversation, title=title, **options))))


@rooms.command("retention")
def room_retention(room: Id, days: Days = None) -> None:
    """Show for how many days a room keeps its messages, or set that."""
    with service() as kw:
        print_row(plain(kw.rooms.set_retention(room, _days(days)) if days else kw.rooms.retention(room)))


@conversations.command("retention")
def conversation_retention(conversation: Id, days: Days = None) -> None:
    """Show for how many days a conversation keeps its messages, or set that."""
    with service() as kw:
        of = kw.conversations
        print_row(plain(of.set_retention(conversation, _days(days)) if days else of.retention(conversation)))


def _days(written: str) -> int | None:
    if written == "none":
        return None
    if not (written.isascii() and written.isdecimal() and len(written) < MOST_DIGITS):
        raise InvalidInput(f"{written!r} is no number of days; write a number, or none", "days")
    return int(written)


@conversations.command("summarize")
def summarize_conversation(conversation: Id, agent: AsAgent = None, user: AsUser = None) -> None:
    """Make a conversation's summaries now, the last messages included, and print them all, in a pipe as JSON lines."""
    with service(agent, user) as kw:
        made, left = kw.summaries.make(conversation), None
        while made.left and made.left != left:  # or others are at it
            left = made.left
            made = kw.summaries.make(conversation)
    print_summaries([plain(node) for node in made.summaries])
    if made.left:
        raise Unavailable(f"{made.left} messages have no summary yet; call again")


def _conversation(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def _only(first: str | None, second: str | None, names: str) -> str:
    if (first is None) == (second is None):
        raise InvalidInput(f"name one of {names}")
    return first or second or ""


def _member(conversation: str | None, room: str | None) -> tuple[Any, str]:
    member = _only(conversation, room, "--conversation or --room")
    return ("rooms" if room else "conversations"), member
