"""Structured facts: exact values under a key."""

import json
from collections.abc import Iterable
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from keepword import facts
from keepword.answers import Fact, FactHistory, FactPage, FactType, ScopeKind
from keepword.facts import FactDraft, FactSubject, StoredFact, StoredFactVersion
from keepword.facts.text import members
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.cursors import key_cursor, parse_key_cursor
from keepword.http.guards import CallerDep
from keepword.http.preconditions import MAX_VERSION, Expected, ExpectedOrNone, only_version
from keepword.http.problems import documented
from keepword.http.queries import ListQuery
from keepword.http.responses import as_json, cut
from keepword.http.schemas import Body, Name, PathName

router = APIRouter(prefix="/v1/facts", tags=["facts"])

ScopeId = Annotated[PathName, Path(description="the id of the user, project or room; `-` for global")]


class PutFact(Body):
    """A value to write."""

    value: JsonValue = Field(description="any JSON, up to 64 KiB; it comes out as it is written here")
    type: FactType | None = Field(
        None, description="declare the type that this fact has from now on; null takes it away; default: as it is"
    )
    version: int | None = Field(
        None, ge=0, le=MAX_VERSION, description="write only if the fact is at this version; 0: only if there is none"
    )
    source: UUID | None = Field(None, description="the message that it comes from")
    confidence: float | None = Field(None, ge=0, le=1)


class PlaceQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    conversation: Name | None = Field(
        None, description="the conversation in whose place this happens; an unbound admin may leave it out"
    )


class FactsQuery(ListQuery):
    conversation: Name | None = Field(None, description="in whose place to read; an unbound admin may leave it out")


class PlaceFactsQuery(FactsQuery):
    cursor: str | None = Field(None, min_length=1, max_length=2000, description="a page's next")


class HistoryQuery(FactsQuery):
    cursor: Annotated[str, Field(pattern="^[1-9][0-9]{0,17}$")] | None = Field(None, description="a page's next")


_EXAMPLE = {"value": "30m", "type": "string", "confidence": 0.9}
_put_body: JsonBody[PutFact] = JsonBody(PutFact)
_TAGGED = {"headers": {"ETag": {"description": "the version, quoted", "schema": {"type": "string"}}}}


def _subject(scope_kind: ScopeKind, scope_id: ScopeId) -> FactSubject:
    return FactSubject.named(scope_kind, scope_id)


InPlace = Annotated[PlaceQuery, Query()]


@router.get("", response_model=FactPage, responses=documented(404))
async def list_facts_in_place(caller: CallerDep, query: Annotated[PlaceFactsQuery, Query()]) -> Response:
    """List all facts that may be read in a conversation's place, scope by scope; without one, all of the tenant."""
    grant = await authorize.about_subject(caller, None, query.conversation)
    after = parse_key_cursor(query.cursor)
    fact_list = await facts.list_in_place(caller.services.facts, grant, after, query.limit + 1)
    shown = cut(fact_list, query.limit, _size)
    more = key_cursor(shown[-1].subject.run_id, shown[-1].key) if len(fact_list) > len(shown) else None
    return _page("facts", map(_shown, shown), more)


@router.get("/{scope_kind}/{scope_id}", response_model=FactPage, responses=documented(404))
async def list_facts(
    caller: CallerDep,
    subject: Annotated[FactSubject, Depends(_subject)],
    query: Annotated[FactsQuery, Query()],
) -> Response:
    """List a subject's facts by key."""
    grant = await authorize.about_subject(caller, subject, query.conversation)
    fact_list = await facts.list_about(caller.services.facts, grant, subject, query.cursor or "", query.limit + 1)
    shown = cut(fact_list, query.limit, _size)
    return _page("facts", map(_shown, shown), shown[-1].key if len(fact_list) > len(shown) else None)


@router.get(
    "/{scope_kind}/{scope_id}/{key}", response_model=Fact, responses={200: _TAGGED, **documented(404)}
)  # fmt: skip
async def get_fact(
    caller: CallerDep,
    subject: Annotated[FactSubject, Depends(_subject)],
    key: PathName,
    query: InPlace,
) -> Response:
    grant = await authorize.about_subject(caller, subject, query.conversation)
    return _one(await facts.get(caller.services.facts, grant, subject, key))


@router.put(
    "/{scope_kind}/{scope_id}/{key}", response_model=Fact, openapi_extra=takes(PutFact, _EXAMPLE),
    responses={
        200: _TAGGED, 201: {"model": Fact, "description": "It was made", **_TAGGED},
        **documented(400, 404, 412, 413, 415),
    },
)  # fmt: skip
async def put_fact(
    request: Request,
    caller: CallerDep,
    subject: Annotated[FactSubject, Depends(_subject)],
    key: PathName,
    query: InPlace,
    expected: ExpectedOrNone,
) -> Response:
    """Write a fact, the former version goes into its history. Writing what is there already changes nothing."""
    draft = await _draft(request, expected)
    grant = await authorize.about_subject(caller, subject, query.conversation)
    written, is_new = await facts.put(caller.services.facts, grant, subject, key, draft)
    return _one(written, 201 if is_new else 200)


@router.delete(
    "/{scope_kind}/{scope_id}/{key}", status_code=204, response_class=Response, responses=documented(404, 412)
)  # fmt: skip
async def delete_fact(
    caller: CallerDep,
    subject: Annotated[FactSubject, Depends(_subject)],
    key: PathName,
    query: InPlace,
    expected: Expected,
) -> None:
    """Delete a fact; its history stays."""
    grant = await authorize.about_subject(caller, subject, query.conversation)
    await facts.delete(caller.services.facts, grant, subject, key, expected)


@router.get("/{scope_kind}/{scope_id}/{key}/history", response_model=FactHistory, responses=documented(404))
async def read_history(
    caller: CallerDep,
    subject: Annotated[FactSubject, Depends(_subject)],
    key: PathName,
    query: Annotated[HistoryQuery, Query()],
) -> Response:
    """Read all versions of a fact, newest first; a deleted fact has one too."""
    grant = await authorize.about_subject(caller, subject, query.conversation)
    before = int(query.cursor) if query.cursor else MAX_VERSION
    versions = await facts.history(caller.services.facts, grant, subject, key, before, query.limit + 1)
    shown = cut(versions, query.limit, _size)
    more = str(shown[-1].version) if len(versions) > len(shown) else None
    return _page("versions", map(_shown_version, shown), more)


def _size(fact: StoredFact | StoredFactVersion) -> int:
    return len(fact.value or "")


async def _draft(request: Request, expected: int | None) -> FactDraft:
    raw = await _put_body.read(request)
    body = _put_body.parse(raw)
    return FactDraft(
        members(raw.decode())["value"],
        body.type,
        "type" not in body.model_fields_set,
        body.source,
        body.confidence,
        only_version({"a header": expected, "version": body.version}),
    )


def _one(fact: StoredFact, status: int = 200) -> Response:
    answer = as_json(_shown(fact), status)
    answer.headers["ETag"] = f'"{fact.version}"'
    return answer


def _shown(fact: StoredFact) -> bytes:
    return _with_value(
        {"scope_kind": fact.subject.kind, "scope_id": fact.subject.id, "key": fact.key},
        fact.value,
        _origin(fact) | {"created_at": fact.created_at.isoformat(), "updated_at": fact.updated_at.isoformat()},
    )


def _shown_version(version: StoredFactVersion) -> bytes:
    return _with_value(
        {"deleted": version.value is None},
        version.value or "null",
        _origin(version) | {"written_at": version.written_at.isoformat()},
    )


def _origin(fact: StoredFact | StoredFactVersion) -> dict[str, Any]:
    source = None if fact.source is None else str(fact.source)
    return {"type": fact.type, "version": fact.version, "source": source, "confidence": fact.confidence}


def _with_value(before: dict[str, Any], value: str, after: dict[str, Any]) -> bytes:
    """Write an object around a value whose text must stay as it is."""
    first, last = (json.dumps(part, ensure_ascii=False, separators=(",", ":")) for part in (before, after))
    return f'{first[:-1]},"value":{value},{last[1:]}'.encode()


def _page(name: str, shown: Iterable[bytes], following: str | None) -> Response:
    return as_json(b'{"%b":[%b],"next":%b}' % (name.encode(), b",".join(shown), json.dumps(following).encode()))
