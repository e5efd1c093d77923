"""Says in words what a grant opens, and why something that was said elsewhere is open or not. It decides nothing."""

from collections.abc import Iterator

from keepword.access.grant import Grant
from keepword.access.place import Place


def describe(grant: Grant, place: Place) -> tuple[str, ...]:
    """Return a sentence for each thing that the grant opens in the place."""
    if grant.is_nothing:
        return ("nothing: they may not enter this place",)
    return tuple(_described(grant, place))


def _described(grant: Grant, place: Place) -> Iterator[str]:
    project = place.project
    yield f"all that was said here, in {name_of(place)}"
    if grant.sessions_of is not None:
        yield f"all that was said in the sessions of the project {grant.sessions_of!r}, as they are now"
    if grant.threads_of is not None:
        user, agent = grant.threads_of
        yield f"all that was said in sessions of {user!r} with {agent!r} outside isolated projects"
    rooms = sorted(run_id for run_id in grant.run_ids if run_id.startswith("room:") and run_id != place.run_id)
    if rooms:
        yield f"all that was said in rooms in which both sit: {', '.join(rooms)}"
    if project is not None:
        yield f"the facts and memories of the project {project.id!r}"
    if project is not None and project.isolated:
        yield f"nothing from outside the isolated project {project.id!r}, and no profile"
        return
    yield "the facts and the profile that the whole tenant shares"
    for person in sorted(grant.profiles_of):
        yield _lines_of(grant, place, person)


def _lines_of(grant: Grant, place: Place, person: str) -> str:
    if grant.lines_of_theirs:
        where = "what they said in rooms in which they sit and in their sessions"
        where += ", and here" if place.kind == "direct" else ""
    else:
        where = "what they said here, and what was shared by hand"
    to = f", only to {grant.lines_to!r}" if grant.lines_to else ""
    return f"of the profile of {person!r}: {where}{to}"


def why(grant: Grant, place: Place, origin: Place, *, sees: bool) -> str:
    """Say why a message of the place `origin` is seen in `place`, or why not."""
    if sees:
        return _why_seen(grant, place, origin)
    if grant.is_nothing:
        return f"they may not enter {name_of(place)}"
    if grant.opens(origin):
        return "its place is open, but it was retracted or erased"
    return _why_not(place, origin)


def _why_seen(grant: Grant, place: Place, origin: Place) -> str:
    if grant.everything:
        return "the tenant's owner reads everything"
    if origin.run_id == place.run_id:
        return "it was said here"
    if origin.kind == "room":
        return "it was said in a room in which both the user and the agent sit"
    if grant.sessions_of is not None:
        return f"it was said in a session of the same project {grant.sessions_of!r}"
    return "it was said in another session of the same user with the same agent, and this session reads those"


def _why_not(place: Place, origin: Place) -> str:
    for isolated, reason in (
        (place, "this place is in the isolated project {!r}: nothing from outside comes in"),
        (origin, "it was said in the isolated project {!r}: nothing of it goes out"),
    ):
        project = isolated.project
        if project is not None and project.isolated and _project_of(place) != _project_of(origin):
            return reason.format(project.id)
    if origin.kind == "direct":
        return f"it was said in a direct conversation of {origin.user!r} with {origin.agent!r}: it stays there"
    return _why_no_room(place, origin) if origin.kind == "room" else _why_no_session(place)


def _why_no_room(place: Place, origin: Place) -> str:
    if place.kind != "direct":
        return f"it was said in the room {origin.room!r}: its words are read there, and in direct conversations alone"
    if place.settings is not None and not place.settings.direct_reads_rooms:
        return "it was said in a room, and the setting direct_reads_rooms keeps direct conversations from reading those"
    return f"it was said in the room {origin.room!r}, in which not both {place.user!r} and {place.agent!r} sit"


def _why_no_session(place: Place) -> str:
    if place.kind != "session":
        return f"it was said in a session: its words are not read in a {place.kind} conversation"
    if place.project is not None:
        return f"it was said in a session outside the project {place.project.id!r}, whose sessions are read here"
    if place.reach == "own":
        return "it was said in another session, and this one reads itself alone (its reach is `own`)"
    return "it was said in a session of another user or with another agent"


def _project_of(place: Place) -> str | None:
    return place.project.id if place.project is not None else None


def name_of(place: Place) -> str:
    if place.kind == "room":
        return f"the room {place.room!r}"
    if place.kind == "direct":
        return f"the direct conversation of {place.user!r} with {place.agent!r}"
    return f"the session {place.external_id!r}"
