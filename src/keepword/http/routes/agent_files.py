"""Agents' own files."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from keepword.answers import AgentFile, AgentFiles, FileVersions
from keepword.compose import files
from keepword.errors import NotFound
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.responses import respond, respond_page
from keepword.http.schemas import Body, PathSlug, Text

router = APIRouter(prefix="/v1/agents/{slug}/files", tags=["agents"])

FileName = Annotated[str, Path(min_length=1, max_length=100, examples=["SOUL.md"])]


class PutFile(Body):
    content: Text


class FileQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = Field(files.MAX_FILES, ge=1, le=files.MAX_FILES)
    cursor: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(None, description="a page's next")


class VersionQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = Field(files.MAX_VERSIONS, ge=1, le=files.MAX_VERSIONS)
    cursor: Annotated[str, Field(pattern="^[1-9][0-9]{0,8}$")] | None = Field(None, description="a page's next")


FileBody = Annotated[PutFile, Depends(JsonBody(PutFile))]


def _size(file: AgentFile) -> int:
    return len((file.content or "").encode())


@router.get("", response_model=AgentFiles, responses=documented(404))
async def list_files(caller: CallerDep, slug: PathSlug, query: Annotated[FileQuery, Query()]) -> Response:
    """List an agent's files by name, as they are now."""
    grant = authorize.to_read_files(caller, slug)
    after = files.check_file_name(query.cursor) if query.cursor else ""
    page = await caller.services.files.page(grant, slug, after, query.limit + 1)
    return respond_page(AgentFiles, page, query.limit, lambda one: one.name, _size)


@router.get("/{name}", response_model=AgentFile, responses=documented(404))
async def get_file(caller: CallerDep, slug: PathSlug, name: FileName) -> Response:
    file = await files.find(caller.services.files, authorize.to_read_files(caller, slug), slug, name)
    return respond(AgentFile, file)


@router.get("/{name}/history", response_model=FileVersions, responses=documented(404))
async def list_versions(
    caller: CallerDep, slug: PathSlug, name: FileName, query: Annotated[VersionQuery, Query()]
) -> Response:
    """List the versions, newest first; one without content says that the file was deleted then."""
    grant = authorize.to_read_files(caller, slug)
    store = caller.services.files
    before = int(query.cursor) if query.cursor else files.LAST_VERSION
    versions = await store.history(grant, slug, files.check_file_name(name), query.limit + 1, before)
    if not versions and query.cursor is None:
        raise NotFound(f"agent {slug!r} never had a file {name!r}")
    return respond_page(FileVersions, versions, query.limit, lambda one: str(one.version), _size)


@router.put(
    "/{name}", response_model=AgentFile, openapi_extra=takes(PutFile, {"content": "Be kind."}),
    responses=documented(400, 403, 409, 413, 415),
)  # fmt: skip
async def put_file(caller: CallerDep, slug: PathSlug, name: FileName, body: FileBody) -> Response:
    """Write a file as a whole; what is there already makes no new version."""
    file, _ = await files.write(caller.services.files, authorize.as_owner(caller), slug, name, body.content)
    return respond(AgentFile, file)


@router.delete("/{name}", status_code=204, response_class=Response, responses=documented(403, 404))
async def delete_file(caller: CallerDep, slug: PathSlug, name: FileName) -> None:
    """Delete a file; its versions stay in its history."""
    await files.remove(caller.services.files, authorize.as_owner(caller), slug, name)
