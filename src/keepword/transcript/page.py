"""Reading a conversation in time order, a page at a time, in both directions."""

import base64
import binascii
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from keepword.access import Grant, Place
from keepword.errors import InvalidInput
from keepword.model import Message
from keepword.transcript.ports import Position, Span, Transcript

MAX_LIMIT = 200
Order = Literal["asc", "desc"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = struct.Struct(">?qq")  # backward, microseconds since 1970, seq


@dataclass(frozen=True, slots=True)
class PageRequest:
    limit: int = 50
    order: Order = "asc"
    cursor: str | None = None
    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """`next` and `previous` are cursors, None where there is nothing more in that direction now."""

    messages: list[Message]
    next: str | None
    previous: str | None


async def read(store: Transcript, grant: Grant, place: Place, request: PageRequest) -> Page:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be 1 to {MAX_LIMIT}, not {request.limit}", "limit")
    if request.since and request.before and request.since >= request.before:
        raise InvalidInput("since must be earlier than before", "since")
    turned, position = parse_cursor(request.cursor) if request.cursor else (False, None)
    backward = (request.order == "desc") != turned
    span = _span(request, backward=backward, position=position)
    found = await store.page(grant, place, span)
    more = len(found) > request.limit
    found = found[: request.limit]
    if turned:
        found.reverse()
    return _page(found, came_from=position is not None, more=more, turned=turned)


def _span(request: PageRequest, *, backward: bool, position: Position | None) -> Span:
    return Span(
        limit=request.limit + 1,  # one more tells whether there is a next page
        backward=backward,
        after=None if backward else position,
        until=position if backward else None,
        since=request.since,
        before=request.before,
    )


def _page(found: list[Message], *, came_from: bool, more: bool, turned: bool) -> Page:
    if not found:
        return Page([], None, None)
    onward, back = (came_from, more) if turned else (more, came_from)
    return Page(
        found,
        make_cursor(found[-1], turned=False) if onward else None,
        make_cursor(found[0], turned=True) if back else None,
    )


def make_cursor(message: Message, *, turned: bool) -> str:
    microseconds = (message.created_at - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(_CURSOR.pack(turned, microseconds, message.seq)).decode().rstrip("=")


def parse_cursor(text: str) -> tuple[bool, Position]:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        turned, microseconds, seq = _CURSOR.unpack(raw)
        return turned, (_EPOCH + timedelta(microseconds=microseconds), seq)
    except (binascii.Error, struct.error, OverflowError, ValueError) as exc:
        raise InvalidInput(f"{text[:80]!r} is not a cursor; use one from a page's next or previous", "cursor") from exc
