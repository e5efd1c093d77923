"""Pages of messages in time order, forward and backward."""

import base64
import binascii
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal

from keepword.access import Grant, Place
from keepword.answers import MessagePage
from keepword.errors import InvalidInput
from keepword.model import Message, Role
from keepword.transcript.ports import MessageRange, MessageSlice, Position, Transcript

MAX_LIMIT = 200
Order = Literal["asc", "desc"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = struct.Struct(">Bq16s")  # flags, microseconds since 1970, what breaks a tie
_REVERSED, _OF_SEVERAL = 1, 2  # it leads back; it is of a browse across conversations
_REVERSED_BY_FLAGS = {False: {0: False, _REVERSED: True}, True: {_OF_SEVERAL: False, _OF_SEVERAL + _REVERSED: True}}
_TIE_BYTES = 16


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A cursor holds a position in the order of time and no filter: filters may change from page to page."""

    limit: int = 50
    order: Order = "asc"
    cursor: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    agent: str | None = None
    user: str | None = None
    role: Role | None = None


async def read(store: Transcript, grant: Grant, place: Place, request: PageRequest) -> MessagePage:
    """Read one conversation; messages of the same time stand in the order in which they were appended."""
    return await _read(partial(store.page, grant, place), lambda message: message.seq, request, across=False)


async def browse(store: Transcript, grant: Grant, request: PageRequest) -> MessagePage:
    """Read everything that the grant opens, across conversations; messages of the same time stand by id."""
    return await _read(partial(store.browse, grant), lambda message: message.id.int, request, across=True)


async def _read(
    fetch: Callable[[MessageRange], Awaitable[MessageSlice]],
    tie: Callable[[Message], int],
    request: PageRequest,
    *,
    across: bool,
) -> MessagePage:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be 1 to {MAX_LIMIT}, not {request.limit}", "limit")
    if request.since and request.before and request.since >= request.before:
        raise InvalidInput("since must be earlier than before", "since")
    turned, position = parse_cursor(request.cursor, across=across) if request.cursor else (False, None)
    part = await fetch(_span(request, backward=(request.order == "desc") != turned, position=position))
    more = part.is_cut or len(part.messages) > request.limit
    messages = part.messages[: request.limit]
    if turned:
        messages.reverse()
    onward, back = (True, more) if turned else (more, position is not None)
    return MessagePage(
        tuple(messages),
        make_cursor((messages[-1].created_at, tie(messages[-1])), turned=False, across=across)
        if messages and onward
        else None,
        make_cursor((messages[0].created_at, tie(messages[0])), turned=True, across=across)
        if messages and back
        else None,
    )


def _span(request: PageRequest, *, backward: bool, position: Position | None) -> MessageRange:
    return MessageRange(
        limit=request.limit + 1,  # one more tells whether there is a next page
        backward=backward,
        after=None if backward else position,
        until=position if backward else None,
        since=request.since,
        before=request.before,
        agent=request.agent,
        user=request.user,
        role=request.role,
    )


def cursor_after(message: Message) -> str:
    """Return where to go on in a conversation after a message."""
    return make_cursor((message.created_at, message.seq), turned=False)


def make_cursor(position: Position, *, turned: bool, across: bool = False) -> str:
    microseconds = (position[0] - _EPOCH) // timedelta(microseconds=1)
    raw = _CURSOR.pack(_REVERSED * turned + _OF_SEVERAL * across, microseconds, position[1].to_bytes(_TIE_BYTES))
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def parse_cursor(text: str, *, across: bool = False) -> tuple[bool, Position]:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        flags, microseconds, tie = _CURSOR.unpack(raw)
        turned = _REVERSED_BY_FLAGS[across][flags]
        return turned, (_EPOCH + timedelta(microseconds=microseconds), int.from_bytes(tie))
    except (binascii.Error, struct.error, KeyError, OverflowError, ValueError) as exc:
        raise InvalidInput(
            f"{text[:80]!r} is not a cursor of this list; use one from its page's next or previous", "cursor"
        ) from exc
