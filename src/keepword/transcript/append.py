"""Appending: all or nothing, idempotent by event_id, in the order given."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from keepword.access import Grant, Place, Viewer
from keepword.embedding import Entry, message_parts
from keepword.errors import Conflict, Forbidden, InvalidInput, NotFound
from keepword.ids import series
from keepword.model import Draft, Receipt
from keepword.slices import in_slices
from keepword.transcript.ports import PreparedMessage, TextIndexer, Transcript

MAX_BATCH = 1000
# what is read within a few milliseconds is read at once: most messages are
INLINE_CHARS = 8_000


async def append(
    store: Transcript, reader: TextIndexer, grant: Grant, viewer: Viewer, place: Place, drafts: Sequence[Draft]
) -> list[Receipt]:
    """Store the drafts and return a receipt for each, in order; a retried event gets the first one's receipt."""
    require_append(grant, viewer, place)
    if not 1 <= len(drafts) <= MAX_BATCH:
        raise InvalidInput(f"a batch has 1 to {MAX_BATCH} messages, not {len(drafts)}")
    signed = [attribute(viewer, place, draft, number) for number, draft in enumerate(drafts)]
    salts = (str(grant.tenant_id), place.run_id)
    sealed, firsts = _fold_repeats(await _seal_all(signed, reader, salts))
    receipts = await store.append(grant, place, sealed)
    return [_receipt_for(receipts, first, repeat=repeat) for first, repeat in firsts]


def require_append(grant: Grant, viewer: Viewer, place: Place) -> None:
    if grant.writes != place.run_id:
        raise Forbidden(f"a key with the role {viewer.role!r} may not append here")


def attribute(viewer: Viewer, place: Place, draft: Draft, number: int) -> Draft:
    """Say who spoke, and refuse a speaker who is not in the place."""
    agent = draft.agent or (place.agent if viewer.agent is None else viewer.agent)
    if viewer.agent is not None and agent != viewer.agent:
        raise Forbidden(f"messages.{number}.agent is {agent!r}, and this key speaks for {viewer.agent!r} alone")
    if agent != place.agent and agent not in place.agents:
        raise NotFound(f"no agent {agent!r} in this conversation (messages.{number}.agent)")
    if draft.role != "user":
        if viewer.is_person:
            raise Forbidden(
                f"messages.{number}.role is {draft.role!r}, and this key speaks as the user {viewer.user!r} alone; "
                "use a key that is bound to the agent, or to nobody"
            )
        return replace(draft, agent=agent)
    user = draft.user or viewer.user or place.user
    if viewer.user is not None and user != viewer.user:
        raise Forbidden(f"messages.{number}.user is {user!r}, and this key speaks for {viewer.user!r} alone")
    known = place.users if place.kind == "room" else {place.user}
    if user is not None and user not in known:
        raise NotFound(f"no user {user!r} in this conversation (messages.{number}.user)")
    return replace(draft, agent=agent, user=user)


async def _seal_all(drafts: Sequence[Draft], reader: TextIndexer, salts: tuple[str, str]) -> list[PreparedMessage]:
    """Seal small batches at once, and large ones in slices: reading a text takes a second or more for each MiB."""
    steps = _steps(drafts, reader, salts)
    if sum(map(_size, drafts)) > INLINE_CHARS:
        return [sealed for sealed in await in_slices(steps) if sealed is not None]
    return [sealed for sealed in steps if sealed is not None]


def _size(draft: Draft) -> int:
    values = (draft.tool_args, draft.attachments, draft.metadata)
    return len(draft.content) + len(draft.tool_result or "") + sum(len(str(value)) for value in values if value)


def _steps(drafts: Sequence[Draft], reader: TextIndexer, salts: tuple[str, str]) -> Iterator[PreparedMessage | None]:
    """Yield each draft sealed, and None wherever the work may pause: after each part that was read."""
    ids = series()
    for draft in drafts:
        event_digest = digest(draft) if draft.event_id is not None else None
        entries: list[Entry] = []
        for entry in _entries(draft, reader, salts):
            entries.append(entry)
            yield None
        yield PreparedMessage(draft, next(ids), event_digest, tuple(entries))


def entries_of(draft: Draft, reader: TextIndexer, salts: tuple[str, str]) -> tuple[Entry, ...]:
    """Return what is searched of a message. `salts`: the tenant's, then the run's."""
    return tuple(_entries(draft, reader, salts))


def _entries(draft: Draft, reader: TextIndexer, salts: tuple[str, str]) -> Iterator[Entry]:
    speaker = draft.user if draft.role == "user" else draft.agent
    parts = message_parts(speaker, draft.content, draft.tool_name, draft.tool_args, draft.tool_result)
    if not parts:
        yield Entry(0, None, None, None, None, None)
        return
    whole = len(parts) == 1 and not (draft.tool_name or draft.tool_result)
    for number, part in enumerate(parts):
        yield reader.index_entry(part, salts, number, whole=whole)


def digest(draft: Draft) -> bytes:
    """Equal for equal content, whatever the order of JSON keys."""
    text = json.dumps(asdict(draft), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).digest()


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} in a message")


def _fold_repeats(sealed: Sequence[PreparedMessage]) -> tuple[list[PreparedMessage], list[tuple[int, bool]]]:
    """Drop repeats of an event in the batch; for each message, the index of the one kept and whether it repeats."""
    kept: list[PreparedMessage] = []
    seen: dict[str, int] = {}
    firsts: list[tuple[int, bool]] = []
    for number, message in enumerate(sealed):
        event = message.draft.event_id
        if event is None or event not in seen:
            firsts.append((len(kept), False))
            seen |= {event: len(kept)} if event is not None else {}
            kept.append(message)
        elif kept[seen[event]].digest == message.digest:
            firsts.append((seen[event], True))
        else:
            raise Conflict(f"messages.{number}: event_id {event!r} is twice in this batch, with different content")
    return kept, firsts


def _receipt_for(receipts: Sequence[Receipt], first: int, *, repeat: bool) -> Receipt:
    return replace(receipts[first], duplicate=True) if repeat else receipts[first]
