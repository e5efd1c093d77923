"""Imports of histories: uploaded in parts, then read and stored by the worker."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic_core import to_json

from keepword.answers import HistoryImport, HistoryImportPage
from keepword.errors import InvalidInput, WrongMedia
from keepword.histories.kinds import find_kind
from keepword.http import authorize
from keepword.http.body import MAX_BODY_BYTES, JsonBody, read_bounded, takes
from keepword.http.cursors import parse_time_cursor, time_cursor
from keepword.http.guards import CallerDep
from keepword.http.import_schemas import NewImport, StartImport, file_name
from keepword.http.problems import documented
from keepword.http.queries import ListQuery
from keepword.http.responses import respond, respond_page

router = APIRouter(prefix="/v1/imports", tags=["imports"])

_MEDIA = "application/octet-stream"
_EXAMPLE = {"kind": "chatgpt", "file": "export.zip", "user": "ann"}
_PART = {
    "requestBody": {
        "required": True,
        "content": {_MEDIA: {"schema": {"type": "string", "format": "binary", "maxLength": MAX_BODY_BYTES}}},
    }
}

MakeBody = Annotated[NewImport, Depends(JsonBody(NewImport))]
StartBody = Annotated[StartImport | None, Depends(JsonBody(StartImport, optional=True))]
PartNumber = Annotated[int, Path(ge=1, le=100_000, description="the first is 1; a part that is sent again replaces it")]


@router.get("", response_model=HistoryImportPage, responses=documented())
async def list_imports(caller: CallerDep, query: Annotated[ListQuery, Query()]) -> Response:
    """List imports of histories, the newest first, each with how far it is."""
    grant = authorize.as_owner(caller)
    imports = await caller.services.imports.list(grant, parse_time_cursor(query.cursor), query.limit + 1)
    return respond_page(HistoryImportPage, imports, query.limit, lambda one: time_cursor(one.created_at, one.id), _size)


@router.post(
    "", response_model=HistoryImport, status_code=201, responses=documented(400, 409, 413, 415),
    openapi_extra=takes(NewImport, _EXAMPLE),
)  # fmt: skip
async def make_import(caller: CallerDep, body: MakeBody) -> Response:
    """Announce an import; then upload the file in parts, and start it."""
    grant = authorize.as_owner(caller)
    kind = find_kind(body.kind).name
    options = body.model_dump(exclude_unset=True, exclude={"kind", "file"})
    imports = caller.services.imports
    id_ = await imports.make(grant, kind, file_name(body.file), options)
    return respond(HistoryImport, await imports.get(grant, id_), 201)


@router.get("/{import_id}", response_model=HistoryImport, responses=documented(404))
async def get_import(caller: CallerDep, import_id: UUID) -> Response:
    """Tell how far an import is, and what it did."""
    return respond(HistoryImport, await caller.services.imports.get(authorize.as_owner(caller), import_id))


@router.put(
    "/{import_id}/parts/{number}", status_code=204, response_class=Response,
    responses=documented(400, 404, 409, 413, 415), openapi_extra=_PART,
)  # fmt: skip
async def upload_part(request: Request, caller: CallerDep, import_id: UUID, number: PartNumber) -> None:
    """Keep a part of the file, at most 8 MiB, as it is. The parts may come in any order, and again."""
    grant = authorize.as_owner(caller)
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != _MEDIA:
        raise WrongMedia(f"a part is sent with Content-Type: {_MEDIA}, not {media!r}")
    content = await read_bounded(request)
    if not content:
        raise InvalidInput("the part is empty; a part has 1 byte or more")
    services = caller.services
    await services.imports.put_part(grant, import_id, number, content, services.imports_bytes)


@router.post(
    "/{import_id}/start", response_model=HistoryImport, responses=documented(400, 404, 409, 413, 415),
    openapi_extra=takes(StartImport, {"dry_run": True}, required=False),
)  # fmt: skip
async def start_import(caller: CallerDep, import_id: UUID, body: StartBody) -> Response:
    """Let the worker read the upload and store it, or with `dry_run` read and count it alone.

    After a dry run the upload is kept, and the import may be started again. What is stored is noted as done by this
    key; if it is revoked before a worker takes the import up, the import fails.
    """
    grant, imports = authorize.as_owner(caller), caller.services.imports
    await imports.start(grant, import_id, caller.key.id, dry_run=body.dry_run if body else False)
    return respond(HistoryImport, await imports.get(grant, import_id))


@router.post("/{import_id}/cancel", response_model=HistoryImport, responses=documented(404))
async def cancel_import(caller: CallerDep, import_id: UUID) -> Response:
    """End an import and remove its upload. What was stored stays; one that has ended stays as it is."""
    grant, imports = authorize.as_owner(caller), caller.services.imports
    await imports.cancel(grant, import_id)
    return respond(HistoryImport, await imports.get(grant, import_id))


@router.delete("/{import_id}", status_code=204, response_class=Response, responses=documented(404, 409))
async def delete_import(caller: CallerDep, import_id: UUID) -> None:
    """Forget an import that has ended, with its report. What it stored stays."""
    await caller.services.imports.delete(authorize.as_owner(caller), import_id)


def _size(one: HistoryImport) -> int:
    return len(to_json((one.options, one.report)))
