"""The story that `keepword demo` plays: three days of two people who open a bakery, and their agent."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from keepword.answers import ComposedContext, Hit, Memory
from keepword.client.synchronous import SyncClient

AGENT = "aide"
QUESTION = "What do you know about the opening, the oven and Mira's plans?"
# memories are made once nothing was said for three seconds; a busy machine may need longer
NIGHT_SECONDS = 20
LOOK_SECONDS = 0.2
# the last that is said in each of the conversations that memories come from
REMEMBERED = ("Zanolli", "11 June")


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


@dataclass(frozen=True, slots=True)
class Line:
    """What somebody says on a day, so many minutes after nine."""

    day: int
    minute: int
    spot: StoryPlace
    speaker: str
    text: str


LINES = (
    Line(1, 0, ROOM, "mira", "Decision: the bakery opens on 12 June."),
    Line(1, 4, ROOM, "tom", "I am allergic to walnuts, so no walnut bread please."),
    Line(1, 7, ROOM, AGENT, "Noted: opening on 12 June, and no walnuts."),
    Line(1, 60, OVENS, "mira", "The Zanolli oven costs 8,400 euros and can be here by 3 June."),
    Line(1, 480, DIRECT, "mira", "Between us: my plan is to move to Lisbon once the bakery has its opening behind it."),
    Line(2, 5, TAX, "mira", "The tax office looks into the oven that we bought in the first year, case K-2207."),
    Line(2, 20, ROOM, "tom", "The flour delivery is on 9 June."),
    Line(2, 70, OVENS, "mira", "We ordered the oven, the order number is Z-5581."),
    Line(3, 0, ROOM, "tom", "The flour delivery is on 11 June."),
)


@dataclass(frozen=True, slots=True)
class WithheldItem:
    """What comes near to the question and may not be read in a place, and why."""

    hit: Hit
    why: str


@dataclass(frozen=True, slots=True)
class Scene:
    """The question, asked in one place."""

    spot: StoryPlace
    speaker: str
    composed: ComposedContext
    withheld: tuple[WithheldItem, ...]


def set_up(kw: SyncClient) -> None:
    for user in ("mira", "tom"):
        kw.users.put(user, name=user.title())
    kw.agents.put(AGENT, context_window=16_000)
    kw.projects.put("bakery", name="The bakery")
    kw.projects.put("audit", name="The audit", isolated=True)
    kw.rooms.put("counter")
    for user in ("mira", "tom"):
        kw.rooms.add_user("counter", user)
    kw.rooms.add_agent("counter", AGENT)
    kw.projects.add("bakery", "rooms", "counter")
    kw.conversations.put(ROOM.conversation, room="counter", agent=AGENT)
    kw.conversations.put(DIRECT.conversation, kind="direct", user="mira", agent=AGENT)
    for spot in (OVENS, BILLS, TAX):
        kw.conversations.put(spot.conversation, user="mira", agent=AGENT, project=spot.project)
    kw.facts.set("project", "bakery", "opening_date", "12 June", type="string")


def tell(kw: SyncClient, day: int, today: datetime) -> Iterator[tuple[datetime, Line]]:
    """Append what is said on a day, and hand out each line with its time. The third day is today."""
    for line in (line for line in LINES if line.day == day):
        at = _time(line, today)
        if line.speaker == AGENT:
            kw.append(line.spot.conversation, line.text, role="assistant", created_at=at)
        else:
            kw.append(line.spot.conversation, line.text, user=line.speaker, created_at=at)
        yield at, line


def _time(line: Line, today: datetime) -> datetime:
    if line.day == 3:  # noqa: PLR2004 - today, whatever the clock says
        return today
    morning = today.astimezone(UTC).replace(hour=9, minute=0, second=0, microsecond=0)
    return morning - timedelta(days=3 - line.day) + timedelta(minutes=line.minute)


def wait_for_background(kw: SyncClient) -> tuple[Memory, ...]:
    """Wait until the background has read all that was said; return the memories that are valid now."""
    deadline = time.monotonic() + NIGHT_SECONDS
    while True:
        memories = kw.memories.list(limit=200).memories
        known = " ".join(memory.content for memory in memories)
        if all(part in known for part in REMEMBERED) or time.monotonic() > deadline:
            return memories
        time.sleep(LOOK_SECONDS)


def before(kw: SyncClient, today: datetime) -> tuple[Memory, ...]:
    """Return the memories that were valid until today's words."""
    return kw.memories.list(as_of=today - timedelta(seconds=1), limit=200).memories


def ask(kw: SyncClient, spot: StoryPlace, speaker: str) -> Scene:
    """Ask the question in a place, and find what its grant keeps from it."""
    composed = kw.compose(spot.conversation, QUESTION, user=speaker)
    readable = {message.id for message in kw.browse(spot.conversation, limit=200).messages}
    # without a conversation this searches as the tenant's owner, from whom nothing is kept
    everything = kw.search(QUESTION, kinds=["message"], limit=50).results
    # what a profile tells of it is no secret, as it was said where profiles may learn it
    kept = (hit for hit in everything if hit.id not in readable and hit.text not in composed.text)
    return Scene(spot, speaker, composed, tuple(WithheldItem(hit, _why(spot, hit)) for hit in kept))


def keep_questions(kw: SyncClient, scenes: Iterable[Scene]) -> None:
    """Append what was asked, as a client does after the agent has answered."""
    for scene in scenes:
        kw.append(scene.spot.conversation, QUESTION, user=scene.speaker)


def _why(spot: StoryPlace, hit: Hit) -> str:
    if spot is TAX:
        return "nothing from outside comes into an isolated project"
    if hit.run_id.startswith("dm:"):
        return "said in a direct conversation: it stays there"
    if hit.conversation == TAX.conversation:
        return "said in an isolated project: nothing of it goes out"
    if hit.run_id.startswith("room:"):
        return "said in a room: its words are read there, and in direct conversations of those who sit there"
    return "said in a session: its words are read in sessions of the same project"
