"""All that is kept of one user, to hand out."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from keepword.http import authorize
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import NoQuery
from keepword.http.responses import require
from keepword.http.schemas import PathName

router = APIRouter(prefix="/v1", tags=["erasure"])

_LINES = "application/x-ndjson"


class _Lines(StreamingResponse):
    """Lines out of a temporary file, which goes with whoever reads them."""

    media_type = _LINES

    def __init__(self, first: bytes, rest: AsyncGenerator[bytes]) -> None:
        self._rest = rest
        super().__init__(_after(first, rest), headers={"Cache-Control": "no-store"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._rest):
            await super().__call__(scope, receive, send)


@router.get(
    "/users/{user}/export",
    response_class=StreamingResponse,
    responses={200: {"content": {_LINES: {"schema": {"type": "string"}}}}, **documented(404, 409)},
)
async def export_user(caller: CallerDep, user: PathName, _: Annotated[NoQuery, Query()]) -> StreamingResponse:
    """Write all that is kept of a user, a JSON object a line: for them and for the tenant's owner.

    It is as it was at one moment. A user's own key does not get what was taken back.
    """
    grant = authorize.to_speak_for_user(caller, user, "export")
    chunks = caller.services.personal.chunks(grant, user)
    first = await anext(chunks, None)
    return _Lines(require(first, f"no user {user!r} whom this key may export"), chunks)


async def _after(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk
