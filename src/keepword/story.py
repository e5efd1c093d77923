"""The demo's story: three days of two people who open a bakery, and their agent; and the requests that tell it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

AGENT = "aide"
QUESTION = "What do you know about the opening, the oven and Mira's plans?"
_USERS = ("mira", "tom")


@dataclass(frozen=True, slots=True)
class StoryPlace:
    """A conversation of the story."""

    conversation: str
    title: str
    project: str | None = None


ROOM = StoryPlace("counter-talk", "the room `counter` (project bakery)", "bakery")
DIRECT = StoryPlace("mira-direct", "a direct conversation with aide")
OVENS = StoryPlace("ovens", "the session `ovens` (project bakery)", "bakery")
BILLS = StoryPlace("bills", "the new session `bills` (project bakery)", "bakery")
TAX = StoryPlace("tax", "the session `tax` (project audit, isolated)", "audit")
# where the question is asked, and by whom
ASKED_IN = ((ROOM, "tom"), (DIRECT, "mira"), (BILLS, "mira"), (TAX, "mira"))


@dataclass(frozen=True, slots=True)
class StoryLine:
    """What somebody says on a day, so many minutes after nine."""

    day: int
    minute: int
    spot: StoryPlace
    speaker: str
    text: str


LINES = (
    StoryLine(1, 0, ROOM, "mira", "Decision: the bakery opens on 12 June."),
    StoryLine(1, 4, ROOM, "tom", "I am allergic to walnuts, so no walnut bread please."),
    StoryLine(1, 7, ROOM, AGENT, "Noted: opening on 12 June, and no walnuts."),
    StoryLine(1, 60, OVENS, "mira", "The Zanolli oven costs 8,400 euros and can be here by 3 June."),
    StoryLine(
        1, 480, DIRECT, "mira", "Between us: my plan is to move to Lisbon once the bakery has its opening behind it."
    ),
    StoryLine(2, 5, TAX, "mira", "The tax office looks into the oven that we bought in the first year, case K-2207."),
    StoryLine(2, 20, ROOM, "tom", "The flour delivery is on 9 June."),
    StoryLine(2, 70, OVENS, "mira", "We ordered the oven, the order number is Z-5581."),
    StoryLine(3, 0, ROOM, "tom", "The flour delivery is on 11 June."),
)


@dataclass(frozen=True, slots=True)
class StoryRequest:
    """A request of the API that tells a part of the story."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None


def set_up() -> Iterator[StoryRequest]:
    """Make the people, the agent, their places and the one fact that is known before the first day."""
    for user in _USERS:
        yield StoryRequest("PUT", f"/v1/users/{user}", {"name": user.title()})
    yield StoryRequest("PUT", f"/v1/agents/{AGENT}", {"context_window": 16_000})
    yield StoryRequest("PUT", "/v1/projects/bakery", {"name": "The bakery"})
    yield StoryRequest("PUT", "/v1/projects/audit", {"name": "The audit", "isolated": True})
    yield StoryRequest("PUT", "/v1/rooms/counter", {})
    for user in _USERS:
        yield StoryRequest("PUT", f"/v1/rooms/counter/participants/users/{user}")
    yield StoryRequest("PUT", f"/v1/rooms/counter/participants/agents/{AGENT}")
    yield StoryRequest("PUT", "/v1/projects/bakery/members/rooms/counter")
    yield _conversation(ROOM, room="counter")
    yield _conversation(DIRECT, kind="direct", user="mira")
    for spot in (OVENS, BILLS, TAX):
        yield _conversation(spot, user="mira", project=spot.project)
    yield StoryRequest("PUT", "/v1/facts/project/bakery/opening_date", {"value": "12 June", "type": "string"})


def _conversation(spot: StoryPlace, **fields: Any) -> StoryRequest:
    return StoryRequest("PUT", f"/v1/conversations/{spot.conversation}", {"agent": AGENT, **fields})


def say(line: StoryLine, today: datetime) -> StoryRequest:
    """Append a line at its time."""
    who = {"role": "assistant"} if line.speaker == AGENT else {"role": "user", "user": line.speaker}
    body = {"content": line.text, "created_at": time_of(line, today).isoformat(), **who}
    return StoryRequest("POST", f"/v1/conversations/{line.spot.conversation}/messages", body)


def time_of(line: StoryLine, today: datetime) -> datetime:
    """Return when a line is said. The third day is today, and its line is said now."""
    if line.day == 3:  # noqa: PLR2004 - today, whatever the clock says
        return today
    morning = today.astimezone(UTC).replace(hour=9, minute=0, second=0, microsecond=0)
    return morning - timedelta(days=3 - line.day) + timedelta(minutes=line.minute)


def questions() -> Iterator[StoryRequest]:
    """Ask in each place, and append the question, as a client does after the agent has answered."""
    for spot, user in ASKED_IN:
        asked = {"conversation": spot.conversation, "message": QUESTION, "user": user}
        yield StoryRequest("POST", "/v1/compose", asked)
        said = {"role": "user", "content": QUESTION, "user": user}
        yield StoryRequest("POST", f"/v1/conversations/{spot.conversation}/messages", said)
