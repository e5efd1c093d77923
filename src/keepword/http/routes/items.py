"""Items under LangGraph's own paths, so that its SDK works unchanged."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, Strict, WithJsonSchema

from keepword.answers import ItemHits, ItemResults, Namespaces, StoredItem
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.responses import respond
from keepword.http.schemas import Body
from keepword.items import GetItem, LabelMatch, ListNamespaces, Operation, PutItem, SearchItems
from keepword.items.namespaces import MAX_KEY_BYTES, MAX_LABELS, MAX_PATH_BYTES, check_new_namespace
from keepword.items.operations import MAX_LIMIT, MAX_OFFSET, MAX_OPERATIONS
from keepword.items.paths import MAX_PATH_CHARS, MAX_PATHS

router = APIRouter(tags=["items"])

Label = Annotated[str, Field(min_length=1, max_length=MAX_PATH_BYTES)]
Labels = Annotated[list[Label], Field(max_length=MAX_LABELS, description="the labels of a namespace; none has a dot")]
ItemKey = Annotated[str, Field(min_length=1, max_length=MAX_KEY_BYTES)]


def _only_false(value: bool) -> bool:
    if value:
        raise ValueError("give a list of paths, or false for none")
    return value


Nothing = Annotated[bool, Strict(), AfterValidator(_only_false), WithJsonSchema({"type": "boolean", "const": False})]
IndexPath = Annotated[str, Field(max_length=MAX_PATH_CHARS)]
Index = Annotated[list[IndexPath], Field(max_length=MAX_PATHS)] | Nothing | None


class Ok(BaseModel):
    ok: bool


class ItemName(Body):
    """Which item."""

    namespace: Labels
    key: ItemKey


class PutItemBody(ItemName):
    """A value to store, in place of the former one."""

    value: dict[str, JsonValue] = Field(description="up to 1 MiB of JSON")
    index: Index = Field(None, description="the paths that are searched, false for none; default: the whole value")
    ttl: float | None = Field(None, gt=0, description="minutes from the last write or read; default: for good")


class Page(Body):
    limit: int = Field(10, ge=1, le=MAX_LIMIT)
    offset: int = Field(0, ge=0, le=MAX_OFFSET)


class SearchItemsBody(Page):
    """What to look for."""

    namespace_prefix: Labels = Field(default_factory=list)
    filter: dict[str, JsonValue] | None = Field(
        None, description="members that are equal, or compare by $eq, $ne, $gt, $gte, $lt, $lte"
    )
    query: str | None = Field(None, description="ranks all that pass the filter; default: the last changed first")
    refresh_ttl: bool | None = None


class NamespacesBody(Page):
    """Which namespaces; `*` stands for any one label."""

    limit: int = Field(100, ge=1, le=MAX_LIMIT)
    prefix: Labels | None = None
    suffix: Labels | None = None
    max_depth: int | None = Field(None, ge=1, le=MAX_LABELS, description="cut them to so many labels")


class GetOperation(ItemName):
    op: Literal["get"]
    refresh_ttl: bool | None = None


class PutOperation(ItemName):
    """Without a value the item is deleted."""

    op: Literal["put"]
    value: dict[str, JsonValue] | None = None
    index: Index = None
    ttl: float | None = Field(None, gt=0)


class SearchOperation(SearchItemsBody):
    op: Literal["search"]


class LabelsOperation(Body):
    """Labels that a namespace begins or ends with."""

    match: Literal["prefix", "suffix"]
    path: Labels


class NamespacesOperation(Page):
    op: Literal["namespaces"]
    limit: int = Field(100, ge=1, le=MAX_LIMIT)
    conditions: list[LabelsOperation] = Field(default_factory=list, max_length=MAX_LABELS)
    max_depth: int | None = Field(None, ge=1, le=MAX_LABELS)


AnyOperation = Annotated[GetOperation | PutOperation | SearchOperation | NamespacesOperation, Field(discriminator="op")]


class BatchBody(Body):
    """Operations to do at once; what is read is read before anything is put, and all puts are one write."""

    ops: list[AnyOperation] = Field(max_length=MAX_OPERATIONS)


class ItemQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    namespace: str = Field(
        max_length=MAX_PATH_BYTES, description="its labels with dots between them", examples=["users.ann"]
    )
    key: ItemKey
    refresh_ttl: bool | None = None


_NAME = {"namespace": ["users", "ann"], "key": "drink"}
_VALUE: dict[str, Any] = {**_NAME, "value": {"likes": "tea"}}
PutDep = Annotated[PutItemBody, Depends(JsonBody(PutItemBody))]
NameDep = Annotated[ItemName, Depends(JsonBody(ItemName))]
SearchDep = Annotated[SearchItemsBody, Depends(JsonBody(SearchItemsBody))]
NamespacesDep = Annotated[NamespacesBody, Depends(JsonBody(NamespacesBody))]
BatchDep = Annotated[BatchBody, Depends(JsonBody(BatchBody))]


@router.get("/ok")
async def ok() -> Ok:
    """Tell that the process lives, as LangGraph's clients ask it."""
    return Ok(ok=True)


@router.put(
    "/store/items", status_code=204, response_class=Response, openapi_extra=takes(PutItemBody, _VALUE),
    responses=documented(400, 404, 413, 415),
)  # fmt: skip
async def put_item(caller: CallerDep, body: PutDep) -> None:
    """Store a value under a namespace and a key. The former value is gone."""
    check_new_namespace(body.namespace)
    grant = await authorize.to_use_items(caller)
    await caller.services.items.put(grant, [_put(body, body.value)], caller.services.run)


@router.get("/store/items", response_model=StoredItem | None, responses=documented(404))
async def get_item(caller: CallerDep, query: Annotated[ItemQuery, Query()]) -> Response:
    """Return an item, or null where there is none."""
    grant = await authorize.to_use_items(caller)
    labels = tuple(query.namespace.split("."))
    item = await caller.services.items.get(grant, GetItem(labels, query.key, query.refresh_ttl is not False))
    return respond(StoredItem | None, item)  # type: ignore[arg-type]


@router.delete(
    "/store/items", status_code=204, response_class=Response, openapi_extra=takes(ItemName, _NAME),
    responses=documented(400, 404, 413, 415),
)  # fmt: skip
async def delete_item(caller: CallerDep, body: NameDep) -> None:
    """Delete an item, for good; one that is not there is passed over."""
    grant = await authorize.to_use_items(caller)
    await caller.services.items.put(grant, [PutItem(tuple(body.namespace), body.key, None)])


@router.post(
    "/store/items/search", response_model=ItemHits,
    openapi_extra=takes(SearchItemsBody, {"namespace_prefix": ["users"], "query": "what does Ann drink?", "limit": 5}),
    responses=documented(400, 404, 413, 415),
)  # fmt: skip
async def search_items(caller: CallerDep, body: SearchDep) -> Response:
    """Find items under a namespace, by a filter and a query."""
    grant = await authorize.to_use_items(caller)
    return respond(ItemHits, await caller.services.items.search(grant, _search(body)))


@router.post(
    "/store/namespaces", response_model=Namespaces, openapi_extra=takes(NamespacesBody, {"prefix": ["users"]}),
    responses=documented(400, 404, 413, 415),
)  # fmt: skip
async def list_namespaces(caller: CallerDep, body: NamespacesDep) -> Response:
    """List the namespaces that hold items, in order."""
    grant = await authorize.to_use_items(caller)
    ends = ((body.prefix, False), (body.suffix, True))
    matches = tuple(LabelMatch(tuple(labels), at_end) for labels, at_end in ends if labels)
    wanted = ListNamespaces(matches, body.max_depth, body.limit, body.offset)
    return respond(Namespaces, Namespaces(tuple(await caller.services.items.namespaces(grant, wanted))))


@router.post(
    "/store/batch", response_model=ItemResults,
    openapi_extra=takes(BatchBody, {"ops": [{"op": "get", **_NAME}, {"op": "put", **_VALUE}]}),
    responses=documented(400, 403, 404, 413, 415),
)  # fmt: skip
async def batch_items(caller: CallerDep, body: BatchDep) -> Response:
    """Do several operations in one request."""
    grant = await authorize.to_use_items(caller)
    results = await caller.services.items.batch(grant, [_operation(one) for one in body.ops], caller.services.run)
    return respond(ItemResults, ItemResults(tuple(results)))


def _operation(asked: GetOperation | PutOperation | SearchOperation | NamespacesOperation) -> Operation:
    match asked:
        case GetOperation():
            return GetItem(tuple(asked.namespace), asked.key, asked.refresh_ttl is not False)
        case PutOperation():
            return _put(asked, asked.value)
        case SearchOperation():
            return _search(asked)
        case NamespacesOperation():
            matches = (LabelMatch(tuple(one.path), one.match == "suffix") for one in asked.conditions)
            return ListNamespaces(tuple(matches), asked.max_depth, asked.limit, asked.offset)


def _put(asked: PutItemBody | PutOperation, value: dict[str, Any] | None) -> PutItem:
    nothing = None if asked.index is None else ()
    index = tuple(asked.index) if isinstance(asked.index, list) else nothing
    return PutItem(tuple(asked.namespace), asked.key, value, index, asked.ttl)


def _search(asked: SearchItemsBody) -> SearchItems:
    return SearchItems(
        tuple(asked.namespace_prefix), asked.filter, asked.query, asked.limit, asked.offset,
        asked.refresh_ttl is not False,
    )  # fmt: skip
