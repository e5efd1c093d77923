"""Appending: all or nothing, idempotent by event_id, in the order given."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from keepword.access import Grant, Place, Viewer
from keepword.embedding import Entry, message_parts, text_indexer
from keepword.errors import Conflict, Forbidden, InvalidInput, NotFound
from keepword.ids import series
from keepword.model import Draft, Receipt, StoredMessage
from keepword.slices import Runner
from keepword.transcript.ports import AppendOptions, PreparedMessage, TextIndexer, Transcript

MAX_BATCH = 1000
MAX_AHEAD = timedelta(days=1)
# characters that are indexed in this process, within a few milliseconds: most messages are shorter
INLINE_CHARS = 8_000
# characters that `run` indexes in one call, about 50 ms: then other callers of it come first
CALL_CHARS = 64_000
NOTHING_TO_FIND = Entry(0, None, None, None, None, None)

NO_BUFFER = AppendOptions()


async def append(
    store: Transcript,
    reader: TextIndexer,
    grant: Grant,
    viewer: Viewer,
    place: Place,
    drafts: Sequence[Draft],
    options: AppendOptions = NO_BUFFER,
) -> list[StoredMessage]:
    """Store the drafts, hand them to the buffer, and return them in order; a retried event is marked as a duplicate."""
    require_append(grant, viewer, place)
    if not 1 <= len(drafts) <= MAX_BATCH:
        raise InvalidInput(f"a batch has 1 to {MAX_BATCH} messages, not {len(drafts)}")
    signed = [attribute(viewer, place, draft, number) for number, draft in enumerate(drafts)]
    salts = (str(grant.tenant_id), place.run_id)
    prepared, firsts = _fold_repeats(await _prepare_all(signed, reader, salts, options.run))
    receipts = await store.append(grant, place, prepared)
    if options.buffer is not None:
        fresh = [_stored(place, *pair) for pair in zip(prepared, receipts, strict=True) if not pair[1].duplicate]
        options.buffer.note(grant, place, fresh)
    return [_stored(place, prepared[first], receipts[first], repeat=repeat) for first, repeat in firsts]


def require_said(drafts: Iterable[Draft], now: datetime) -> None:
    """Refuse times more than a day ahead: clocks differ, but such a message would stay the newest for long."""
    for number, draft in enumerate(drafts):
        if draft.created_at is not None and draft.created_at > now + MAX_AHEAD:
            raise InvalidInput(
                f"messages.{number}.created_at is {draft.created_at.isoformat()}, which is more than a day ahead of "
                f"now, {now.isoformat(timespec='seconds')}; an unbound admin's import may say so with ?import=true",
                f"messages.{number}.created_at",
            )


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


async def _prepare_all(
    drafts: Sequence[Draft], reader: TextIndexer, salts: tuple[str, str], run: Runner
) -> list[PreparedMessage]:
    """Index small batches here and large ones in another process: a text takes a second or more for each MiB."""
    ids = series()
    if sum(map(_size, drafts)) <= INLINE_CHARS:
        return [_prepared(draft, next(ids), tuple(_entries(draft, reader, salts))) for draft in drafts]
    prepared: list[PreparedMessage] = []
    for group in _groups(drafts):
        if len(group) == 1 and _size(group[0]) > CALL_CHARS:
            prepared.append(await _prepare_long(group[0], next(ids), salts, run))
        else:
            batch = await run(_read_all, group, salts)
            prepared += [PreparedMessage(draft, next(ids), *one) for draft, one in zip(group, batch, strict=True)]
    return prepared


async def _prepare_long(draft: Draft, id_: UUID, salts: tuple[str, str], run: Runner) -> PreparedMessage:
    parts, event_digest = await run(_split, draft)
    entries: list[Entry] = []
    for texts in _groups_of_texts(parts):
        entries += await run(_index, texts, salts, len(entries), whole=_is_whole(draft, parts))
    return PreparedMessage(draft, id_, event_digest, tuple(entries) or (NOTHING_TO_FIND,))


def _size(draft: Draft) -> int:
    values = (draft.tool_args, draft.attachments, draft.metadata)
    return len(draft.content) + len(draft.tool_result or "") + sum(len(str(value)) for value in values if value)


def _groups(drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
    """Yield drafts that are read in one call: as many as fit, or a single one that is larger."""
    group: list[Draft] = []
    size = 0
    for draft in drafts:
        more = _size(draft)
        if group and size + more > CALL_CHARS:
            yield group
            group, size = [], 0
        group.append(draft)
        size += more
    yield group


def _groups_of_texts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    begin = size = 0
    for number, text in enumerate(texts):
        if size + len(text) > CALL_CHARS and number > begin:
            yield texts[begin:number]
            begin, size = number, 0
        size += len(text)
    if texts:
        yield texts[begin:]


def _prepared(draft: Draft, id_: UUID, entries: tuple[Entry, ...]) -> PreparedMessage:
    return PreparedMessage(draft, id_, _event_digest(draft), entries)


def _event_digest(draft: Draft) -> bytes | None:
    return digest(draft) if draft.event_id is not None else None


def _read_all(drafts: Sequence[Draft], salts: tuple[str, str]) -> list[tuple[bytes | None, tuple[Entry, ...]]]:
    return [(_event_digest(draft), tuple(_entries(draft, text_indexer(), salts))) for draft in drafts]


def _split(draft: Draft) -> tuple[list[str], bytes | None]:
    return _parts(draft), _event_digest(draft)


def _index(texts: Sequence[str], salts: tuple[str, str], first: int, *, whole: bool) -> list[Entry]:
    reader = text_indexer()
    return [reader.index_entry(text, salts, first + number, whole=whole) for number, text in enumerate(texts)]


def entries_of(draft: Draft, reader: TextIndexer, salts: tuple[str, str]) -> tuple[Entry, ...]:
    """Return the entries of a message. `salts`: the tenant's, then the run's."""
    return tuple(_entries(draft, reader, salts))


def _entries(draft: Draft, reader: TextIndexer, salts: tuple[str, str]) -> Iterator[Entry]:
    parts = _parts(draft)
    if not parts:
        yield NOTHING_TO_FIND
    for number, part in enumerate(parts):
        yield reader.index_entry(part, salts, number, whole=_is_whole(draft, parts))


def _parts(draft: Draft) -> list[str]:
    speaker = draft.user if draft.role == "user" else draft.agent
    return message_parts(speaker, draft.content, draft.tool_name, draft.tool_args, draft.tool_result)


def _is_whole(draft: Draft, parts: Sequence[str]) -> bool:
    return len(parts) == 1 and not (draft.tool_name or draft.tool_result)


def digest(draft: Draft) -> bytes:
    """Equal for equal content, whatever the order of JSON keys."""
    text = json.dumps(asdict(draft), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).digest()


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} in a message")


def _fold_repeats(prepared: Sequence[PreparedMessage]) -> tuple[list[PreparedMessage], list[tuple[int, bool]]]:
    """Drop repeats of an event in the batch; for each message, the index of the one kept and whether it repeats."""
    kept: list[PreparedMessage] = []
    seen: dict[str, int] = {}
    firsts: list[tuple[int, bool]] = []
    for number, message in enumerate(prepared):
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


def _stored(place: Place, message: PreparedMessage, receipt: Receipt, *, repeat: bool = False) -> StoredMessage:
    draft = message.draft
    return StoredMessage(
        receipt.id, place.external_id, receipt.seq, draft.role, draft.user, draft.agent, draft.content, draft.tool_name,
        draft.tool_args, draft.tool_result, draft.attachments, draft.metadata, draft.event_id, receipt.created_at,
        duplicate=receipt.duplicate or repeat,
    )  # fmt: skip
