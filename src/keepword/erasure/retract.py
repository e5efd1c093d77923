"""Retracting: a message is taken back, by whoever may speak for its author, and given back by the same."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from keepword.access import Grant, Place, Viewer
from keepword.answers import RetractedMessage
from keepword.compaction.ports import Summaries
from keepword.erasure.ports import Retractions, Speakers
from keepword.errors import Conflict, Forbidden, InvalidInput, NotFound
from keepword.memories.ports import Memories
from keepword.model import Message
from keepword.transcript.ports import TextIndexer
from keepword.working import WorkingStores

MAX_REASON_CHARS = 500
# a field or an item that holds a text of fewer characters holds it by chance
_LEAST_CHARS = 8


@dataclass(frozen=True, slots=True)
class RetractStores:
    """The stores that a retraction changes."""

    retractions: Retractions
    summaries: Summaries
    memories: Memories
    working: WorkingStores
    reader: TextIndexer


async def retract(
    stores: RetractStores, grant: Grant, viewer: Viewer, place: Place, seq: int, by: str, reason: str | None
) -> RetractedMessage:
    """Take a message back; repeating it is safe. Summaries and memories that others had a part in are made again."""
    if reason is not None and len(reason) > MAX_REASON_CHARS:
        raise InvalidInput(f"reason has {len(reason)} characters; it has at most {MAX_REASON_CHARS}", "reason")
    of = speakers(grant, viewer, place)
    said = await _read(stores.summaries, grant, place, seq)
    done = await stores.retractions.retract(grant, place, seq, of, by, reason)
    _check(done.outcome, place, seq)
    if done.outcome == "erased" or done.message_id is None or done.at is None:
        raise _absent(place, seq)
    await _index_revived(stores, grant, place, done.revived)
    await scrub(stores.working, grant, place, said)
    return RetractedMessage(place.external_id, done.message_id, seq, done.at)


async def unretract(stores: RetractStores, grant: Grant, viewer: Viewer, place: Place, seq: int) -> None:
    """Undo a retraction; of a message that is not retracted there is nothing to do."""
    outcome = await stores.retractions.restore(grant, place, seq, speakers(grant, viewer, place))
    _check(outcome, place, seq)
    if outcome == "erased":
        raise Conflict(f"message {seq} of {place.external_id!r} was erased; its words are gone and can't be given back")
    await stores.working.buffer.forget(grant, place)


def speakers(grant: Grant, viewer: Viewer, place: Place) -> Speakers:
    """Tell whose messages a viewer may take back.

    In a session or a direct conversation, those of both; in a room their own; an admin those of all.
    """
    if grant.writes != place.run_id:
        raise Forbidden(f"a key with the role {viewer.role!r} may not retract here")
    if place.kind != "room" or viewer.role == "admin":
        return Speakers()
    user = None if viewer.is_bot else viewer.user
    return Speakers(user, None if viewer.is_person else viewer.agent)


async def scrub(working: WorkingStores, grant: Grant, place: Place, said: Sequence[Message]) -> None:
    """Take what repeats a message to the letter out of its conversation's scratch fields, ledger and buffer."""
    written = list(_written(said))
    if written:
        fields = await working.fields.get(grant, place)
        names = [name for name, value in fields.items() if _holds((name, value), written)]
        if names:
            await working.fields.delete(grant, place, names)
        for item_key, value in (await working.ledger.get(grant, place)).items():
            if _holds((item_key, value), written):
                await working.ledger.evict(grant, place, item_key)
    await working.buffer.forget(grant, place)


def _holds(texts: Iterable[str], written: Sequence[str]) -> bool:
    return any(one in text for text in texts for one in written)


def _written(said: Sequence[Message]) -> Iterable[str]:
    """Yield the texts of messages as they may stand in others: bare, or written as JSON in one of two ways."""
    for message in said:
        for text in (message.content, message.tool_result):
            if text is not None and len(text.strip()) >= _LEAST_CHARS:
                yield text.strip()
                yield from (json.dumps(text.strip(), ensure_ascii=ascii_)[1:-1] for ascii_ in (False, True))


async def _read(summaries: Summaries, grant: Grant, place: Place, seq: int) -> Sequence[Message]:
    return await summaries.messages(grant, _conversation(place), seq, seq)


async def _index_revived(stores: RetractStores, grant: Grant, place: Place, revived: Sequence[UUID]) -> None:
    if revived:
        salts = (str(grant.tenant_id), place.run_id)
        found = await stores.memories.get(grant, list(revived))
        entries = {one.id: stores.reader.index_entry(one.content, salts, whole=False) for one in found}
        await stores.retractions.index_revived(grant, entries)


def _conversation(place: Place) -> UUID:
    if place.conversation_id is None:
        raise NotFound(f"no conversation {place.external_id!r}")
    return place.conversation_id


def _check(outcome: str, place: Place, seq: int) -> None:
    if outcome == "absent":
        raise _absent(place, seq)
    if outcome == "of another":
        raise Forbidden(
            f"message {seq} of {place.external_id!r} was said by another; in a room each takes back what they said "
            "themselves, and an admin what anybody said"
        )


def _absent(place: Place, seq: int) -> NotFound:
    return NotFound(f"no message {seq} in {place.external_id!r}")
