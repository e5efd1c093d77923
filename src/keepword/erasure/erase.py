"""Erasing: what was said goes for good, with all that was derived from it."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from keepword.access import Grant, Place, Viewer, everything_in
from keepword.answers import Erasure, ErasureKind
from keepword.compaction.ports import Summaries
from keepword.erasure.ports import ErasureQueue, Erasures, ErasureStart, ErasureStep
from keepword.erasure.retract import RetractStores, scrub, speakers
from keepword.errors import Forbidden, NotFound, Unavailable
from keepword.memories.ports import Memories
from keepword.model import Message
from keepword.transcript.ports import TextIndexer

# 500 took more than the 10 s of a statement on a machine that was busy with other work
BATCH_MESSAGES = 100
# a request goes on for so long with what it began; a worker does the rest
REQUEST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class EraseStores:
    """The stores that an erasure changes."""

    erasures: Erasures
    queue: ErasureQueue
    memories: Memories
    reader: TextIndexer


async def erase_message(
    stores: EraseStores,
    others: RetractStores,
    grant: Grant,
    viewer: Viewer,
    place: Place,
    seq: int,
    *,
    dry_run: bool,
) -> Erasure:
    """Erase one message, by the rights of a retraction."""
    missing = f"no message {seq} in {place.external_id!r} that this key may erase"
    try:
        of = speakers(grant, viewer, place)
    except Forbidden as exc:
        raise NotFound(missing) from exc
    said = [] if dry_run else await _read(others.summaries, grant, place, seq)
    by = viewer.user or viewer.agent or (viewer.by.name if viewer.by else "owner")
    start = await stores.erasures.erase_message(grant, place, seq, of, by, dry_run=dry_run)
    if start is not None and start.id is not None:
        await _index_revived(stores, grant.tenant_id, start.revived)
        await scrub(others.working, grant, place, said)
    return await _begun(stores, grant, "message", start, missing)


async def erase_conversation(
    stores: EraseStores, grant: Grant, viewer: Viewer, place: Place, *, dry_run: bool
) -> Erasure:
    """Erase a conversation: its user may, and an admin who may write there."""
    missing = f"no conversation {place.external_id!r} that this key may erase"
    is_its_users = place.kind != "room" and viewer.user is not None and viewer.user == place.user and not viewer.is_bot
    if not grant.owner and (grant.writes != place.run_id or not (is_its_users or viewer.role == "admin")):
        raise NotFound(missing)
    start = await stores.erasures.begin_conversation(grant, place, dry_run=dry_run)
    return await _begun(stores, grant, "conversation", start, missing)


async def erase_user(stores: EraseStores, grant: Grant, user: str, *, dry_run: bool) -> Erasure:
    """Erase a user: what they said, their conversations, and all that is kept about them."""
    start = await stores.erasures.begin_user(grant, user, dry_run=dry_run)
    return await _begun(stores, grant, "user", start, f"no user {user!r} whom this key may erase")


async def erase_tenant(stores: EraseStores, grant: Grant, *, dry_run: bool) -> Erasure:
    """Erase all of a tenant; its keys stop working with the first transaction."""
    start = await stores.erasures.begin_tenant(grant, dry_run=dry_run)
    return await _begun(stores, grant, "tenant", start, "this tenant is erased")


async def advance(
    stores: EraseStores, erasure_id: UUID | None, messages: int = BATCH_MESSAGES, seconds: float | None = None
) -> ErasureStep | None:
    """Erase a batch, and let searches find the memories that are true again by that."""
    step = await stores.queue.advance(erasure_id, messages, seconds)
    if step is not None:
        await _index_revived(stores, step.tenant_id, step.revived)
    return step


async def expire(
    stores: EraseStores, at: datetime, messages: int = BATCH_MESSAGES, seconds: float | None = None
) -> ErasureStep | None:
    """Erase a batch of the messages that are older than their tenant keeps them."""
    step = await stores.queue.expire(at, messages, seconds)
    if step is not None:
        await _index_revived(stores, step.tenant_id, step.revived)
    return step


async def _begun(
    stores: EraseStores, grant: Grant, kind: ErasureKind, start: ErasureStart | None, missing: str
) -> Erasure:
    if start is None:
        raise NotFound(missing)
    if start.id is None:
        return Erasure(None, kind, "dry run", start.counts, 0)
    # it has begun, so that nothing may fail the request any more: a worker goes on
    found = None
    with suppress(Unavailable):
        await _go_on(stores, start.id)
        found = await stores.erasures.find(grant, start.id)
    return found or Erasure(start.id, kind, "running", start.counts, 0)


async def _go_on(stores: EraseStores, erasure_id: UUID) -> None:
    until = time.monotonic() + REQUEST_SECONDS
    while time.monotonic() < until:
        step = await advance(stores, erasure_id)
        if step is None or step.state != "running":
            break


async def _read(summaries: Summaries, grant: Grant, place: Place, seq: int) -> Sequence[Message]:
    return () if place.conversation_id is None else await summaries.messages(grant, place.conversation_id, seq, seq)


async def _index_revived(stores: EraseStores, tenant_id: UUID, revived: Sequence[UUID]) -> None:
    if not revived:
        return
    owner = everything_in(tenant_id)
    for memory in await stores.memories.get(owner, list(revived)):
        entry = stores.reader.index_entry(memory.content, (str(tenant_id), memory.run_id), whole=False)
        await stores.erasures.index_revived(owner, {memory.id: entry})
