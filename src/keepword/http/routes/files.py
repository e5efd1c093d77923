"""Trees of files, and Claude's memory tool on them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import AfterValidator, Field, RootModel, StringConstraints

from keepword import files
from keepword.answers import (
    CommandResult,
    FileMatches,
    FilePage,
    FileVersionPage,
    FileVersionText,
    StoredFile,
    TreeFile,
)
from keepword.errors import InvalidInput
from keepword.files import MemoryCommand, check_path
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import Caller, CallerDep
from keepword.http.problems import documented
from keepword.http.responses import respond, respond_page
from keepword.http.schemas import Body
from keepword.http.slots import pass_gate
from keepword.http.trees import PathText, TreeQuery, author, open_tree, open_writer

router = APIRouter(tags=["files"])

# larger ones take tens of milliseconds and more
_LARGE_BYTES = 256 * 1024
_BUSY = "other large files are being written, and few may be at once; nothing was written, try again later"
_COMMAND = {"command": "create", "path": "/memories/notes.md", "file_text": "Ann prefers window seats.\n"}
_PATH = "such as /memories/notes.md"

Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Version = Annotated[int, Field(ge=1, le=2**31 - 1)]


class MemoryToolCommand(RootModel[MemoryCommand]):
    """A command as Claude writes it."""


_command: JsonBody[MemoryToolCommand] = JsonBody(MemoryToolCommand)


class ListQuery(TreeQuery):
    under: PathText = Field(files.ROOT, description="the folder to list, with all folders below it")
    limit: int = Field(200, ge=1, le=1000)
    cursor: PathText | None = Field(None, description="a page's next")


class FileQuery(TreeQuery):
    path: PathText = Field(description=_PATH)


class VersionQuery(FileQuery):
    version: Version


class VersionsQuery(FileQuery):
    limit: int = Field(50, ge=1, le=200)
    cursor: Annotated[str, Field(pattern="^[1-9][0-9]{0,8}$")] | None = Field(None, description="a page's next")


class DeleteQuery(FileQuery):
    sha256: Sha256 | None = Field(None, description="delete only if the file has this sha256")


class PutTreeFile(Body):
    content: str
    sha256: Annotated[str, StringConstraints(pattern="^([0-9a-f]{64})?$")] | None = Field(
        None, description='write only over this sha256; "": only if there is no such file'
    )


class RedactFile(Body):
    version: Version


class SearchFiles(Body):
    query: Annotated[str, AfterValidator(str.strip)] = Field(min_length=1, max_length=500)
    limit: int = Field(20, ge=1, le=100)


PutBody = Annotated[PutTreeFile, Depends(JsonBody(PutTreeFile))]
RedactBody = Annotated[RedactFile, Depends(JsonBody(RedactFile))]
SearchBody = Annotated[SearchFiles, Depends(JsonBody(SearchFiles))]


@router.post(
    "/v1/memory-tool", response_model=CommandResult, openapi_extra=takes(MemoryToolCommand, _COMMAND),
    responses=documented(400, 403, 404, 409, 413, 415),
)  # fmt: skip
async def run_command(request: Request, caller: CallerDep, query: Annotated[TreeQuery, Query()]) -> Response:
    """Run a command of Claude's memory tool: view, create, str_replace, insert, delete or rename."""
    raw = await _command.read(request)
    async with _large(caller, len(raw)):
        writer = await open_writer(caller, query)
        text = await files.execute(writer, _command.parse(raw).root)
    return respond(CommandResult, CommandResult(text))


@router.get("/v1/files", response_model=FilePage, responses=documented(403, 404))
async def list_files(caller: CallerDep, query: Annotated[ListQuery, Query()]) -> Response:
    """List the files of a tree by path, without their contents."""
    opened = await open_tree(caller, query)
    after = check_path(query.cursor, "cursor") if query.cursor else ""
    page = await caller.services.trees.list(
        opened.grant, opened.tree, check_path(query.under, "under"), after, query.limit + 1
    )
    return respond_page(FilePage, page, query.limit, lambda one: one.path)


@router.get("/v1/file", response_model=StoredFile, responses=documented(403, 404))
async def get_file(caller: CallerDep, query: Annotated[FileQuery, Query()]) -> Response:
    opened = await open_tree(caller, query)
    return respond(StoredFile, await files.find(caller.services.trees, opened.grant, opened.tree, query.path))


@router.get("/v1/file/version", response_model=FileVersionText, responses=documented(403, 404))
async def get_version(caller: CallerDep, query: Annotated[VersionQuery, Query()]) -> Response:
    """Read a version of a file, also of one that was deleted."""
    opened, store = await open_tree(caller, query), caller.services.trees
    version = await files.find_version(store, opened.grant, opened.tree, query.path, query.version)
    return respond(FileVersionText, version)


@router.put(
    "/v1/file", response_model=TreeFile, openapi_extra=takes(PutTreeFile, {"content": "Ann prefers window seats.\n"}),
    responses=documented(400, 403, 404, 409, 412, 413, 415),
)  # fmt: skip
async def put_file(caller: CallerDep, query: Annotated[FileQuery, Query()], body: PutBody) -> Response:
    """Write a file as a whole; what is there already makes no new version."""
    path = check_path(query.path)
    if path == files.ROOT:
        raise InvalidInput(f"{files.ROOT} is the folder of all files; name a file in it", "path")
    async with _large(caller, len(body.content)):
        writer = await open_writer(caller, query)
        return respond(TreeFile, await writer.write(path, body.content, body.sha256))


@router.delete("/v1/file", status_code=204, response_class=Response, responses=documented(403, 404, 412))
async def delete_file(caller: CallerDep, query: Annotated[DeleteQuery, Query()]) -> None:
    """Delete a file, or a folder with all in it; the versions stay."""
    writer, path = await open_writer(caller, query), check_path(query.path)
    if not await writer.delete(path, query.sha256):
        await files.find(writer.store, writer.grant, writer.tree, path)


@router.get("/v1/file/versions", response_model=FileVersionPage, responses=documented(403, 404))
async def list_versions(caller: CallerDep, query: Annotated[VersionsQuery, Query()]) -> Response:
    """List the versions of a file, newest first, without their contents; a deletion is one."""
    opened = await open_tree(caller, query)
    before = int(query.cursor) if query.cursor else None
    versions = await files.list_versions(
        caller.services.trees, opened.grant, opened.tree, query.path, query.limit + 1, before
    )
    return respond_page(FileVersionPage, versions, query.limit, lambda one: str(one.version))


@router.post(
    "/v1/file/redact", status_code=204, response_class=Response, openapi_extra=takes(RedactFile, {"version": 1}),
    responses=documented(400, 403, 404, 409, 415),
)  # fmt: skip
async def redact_version(caller: CallerDep, query: Annotated[FileQuery, Query()], body: RedactBody) -> None:
    """Erase the words of a former version, for good. For an unbound admin."""
    authorize.as_owner(caller)
    opened = await open_tree(caller, query)
    await files.redact(caller.services.trees, opened.grant, opened.tree, query.path, body.version, author(caller))


@router.post(
    "/v1/search/files", response_model=FileMatches, openapi_extra=takes(SearchFiles, {"query": "window seats"}),
    responses=documented(400, 403, 404, 415),
)  # fmt: skip
async def search_files(caller: CallerDep, query: Annotated[TreeQuery, Query()], body: SearchBody) -> Response:
    """Find the files of a tree that hold all words of the query, the latest written first."""
    opened = await open_tree(caller, query)
    matches = await files.search(caller.services.trees, opened.grant, opened.tree, body.query, body.limit)
    return respond(FileMatches, FileMatches(tuple(matches)))


@asynccontextmanager
async def _large(caller: Caller, size: int) -> AsyncIterator[None]:
    """Let few large writes be worked on at once."""
    if size <= _LARGE_BYTES:
        yield
        return
    async with pass_gate(caller.services.large_gate, caller.key, _BUSY):
        yield
