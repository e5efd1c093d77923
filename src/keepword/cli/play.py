"""How `keepword demo` plays the story, and finds what is withheld in each place."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from keepword import story
from keepword.answers import ComposedContext, Hit, Memory
from keepword.client.synchronous import SyncClient
from keepword.story import QUESTION, TAX, StoryLine, StoryPlace, StoryRequest

# memories are made once nothing was said for three seconds; a busy machine may need longer
NIGHT_SECONDS = 20
LOOK_SECONDS = 0.2
# the last that is said in each of the conversations that memories come from
REMEMBERED = ("Zanolli", "11 June")


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
    for request in story.set_up():
        _send(kw, request)


def tell(kw: SyncClient, day: int, today: datetime) -> Iterator[tuple[datetime, StoryLine]]:
    """Append what is said on a day, and hand out each line with its time. The third day is today."""
    for line in (line for line in story.LINES if line.day == day):
        _send(kw, story.say(line, today))
        yield story.time_of(line, today), line


def _send(kw: SyncClient, request: StoryRequest) -> None:
    body = None if request.body is None else json.dumps(request.body)
    kw.request(request.method, request.path, body=body)


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
