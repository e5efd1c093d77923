"""Profiles as JSON:API: the memory of the workspace and of each member."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from keepword import access, profiles
from keepword.access import Grant, WholeTenant
from keepword.errors import InvalidInput, NotFound
from keepword.http import authorize
from keepword.http import profile_document as documents
from keepword.http.guards import Caller, CallerDep
from keepword.http.jsonapi import ROOT, Refusal, document, negotiate, query
from keepword.http.profile_document import ATTRIBUTES, RELATIONSHIPS, TYPE, ProfileDocument
from keepword.http.profile_schemas import asks, refuses, shows, takes
from keepword.http.responses import cut
from keepword.model import check_name
from keepword.profiles import Profile, ProfileType, Selection

FIELDS = f"fields[{TYPE}]"
PLACE = "inConversation"
MAX_SIZE = 200
MAX_NUMBER = 1_000_000
MAX_SORTS = 3
SORTS = ("created_at", "updated_at", "type")


_PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "page[number]": ({"type": "integer", "minimum": 1, "maximum": MAX_NUMBER, "default": 1}, "which page"),
    "page[size]": ({"type": "integer", "minimum": 1, "maximum": MAX_SIZE, "default": 50}, "how many on a page"),
    "filter[type]": ({"type": "string", "enum": ["user", "workspace"]}, "only those of a type"),
    "filter[membership]": ({"type": "string", "minLength": 1, "maxLength": 200}, "only that of a user"),
    "sort": ({"type": "string"}, f"up to {MAX_SORTS} of {', '.join(SORTS)}; a minus turns one round"),
    FIELDS: ({"type": "string"}, f"which of {', '.join((*ATTRIBUTES, *RELATIONSHIPS))}, by commas"),
    PLACE: ({"type": "string", "minLength": 1, "maxLength": 200}, "read in this conversation's place"),
}
_SPARSE = asks(**{FIELDS: _PARAMETERS[FIELDS]})
_SPARSE_IN_PLACE = asks(**{name: _PARAMETERS[name] for name in (FIELDS, PLACE)})
_MEMORY = "User prefers invoices sorted by due_date ascending."
_NEW = {
    "data": {
        "type": TYPE,
        "attributes": {"type": "user", "memory": _MEMORY},
        "relationships": {"membership": {"data": {"type": "membership", "id": "u"}}},
    }
}
_CHANGED = {"data": {"type": TYPE, "id": "a3f8c2d1-7e54-4b6a-9c0d-1f2e3a4b5c6d", "attributes": {"memory": _MEMORY}}}

router = APIRouter(prefix=ROOT, tags=["profiles"])


async def _call(request: Request, caller: CallerDep) -> Caller:
    # who asks is found out first: a stranger is told nothing else
    negotiate(request)
    return caller


Negotiated = Annotated[Caller, Depends(_call)]


@router.get(
    "", response_class=Response, openapi_extra=asks(**_PARAMETERS),
    responses={200: shows("ProfilePage"), **refuses(404)},
)  # fmt: skip
async def list_memories(request: Request, caller: Negotiated) -> Response:
    """List the memories that may be read: all for an unbound admin, in a place those that it opens, else one's own."""
    parameters = query(request, *_PARAMETERS)
    selection, fields = _selection(parameters), _fields(parameters)
    grant = await _readable(caller, _name(parameters, PLACE))
    profile_list, total = await profiles.select(caller.services.profiles, grant, selection)
    size = _fitting(profile_list, selection)
    return document(
        {
            "data": [documents.resource(profile, caller.key.tenant, fields) for profile in profile_list[:size]],
            "links": _links(parameters, selection, total, size),
            "meta": {"total": total},
        }
    )


@router.post(
    "", response_class=Response, status_code=201,
    openapi_extra=takes("NewProfileDocument", _NEW) | _SPARSE,
    responses={201: shows("ProfileDocument", "It was made"), **refuses(404, 409, 413, 415)},
)  # fmt: skip
async def create_memory(request: Request, caller: Negotiated) -> Response:
    """Make the memory of the workspace, or of a member; there is one at most."""
    services = caller.services
    owner, fields = authorize.as_owner(caller), _fields(query(request, FIELDS))
    data = await documents.read(request)
    if "id" in data:
        raise Refusal(403, "the system gives ids; leave it out", pointer="/data/id")
    sent = documents.parse(data, caller.key.tenant)
    if sent.memory is None:
        raise Refusal(422, "memory is missing", pointer="/data/attributes" if "attributes" in data else "/data")
    with documents.pointing(sent):
        profile = await profiles.create(
            services.profiles, services.lookup, owner, sent.type or "user", sent.membership, sent.memory, _by(caller)
        )
    return _one(profile, caller, fields, 201)


@router.get(
    "/{memory_id}", response_class=Response, openapi_extra=_SPARSE_IN_PLACE,
    responses={200: shows("ProfileDocument"), **refuses(404)},
)  # fmt: skip
async def get_memory(request: Request, caller: Negotiated, memory_id: str) -> Response:
    parameters = query(request, FIELDS, PLACE)
    fields = _fields(parameters)
    grant = await _readable(caller, _name(parameters, PLACE))
    return _one(await profiles.find(caller.services.profiles, grant, _id(memory_id)), caller, fields)


@router.patch(
    "/{memory_id}", response_class=Response,
    openapi_extra=takes("ChangedProfileDocument", _CHANGED) | _SPARSE,
    responses={200: shows("ProfileDocument", "It was changed"), **refuses(404, 409, 413, 415)},
)  # fmt: skip
async def change_memory(request: Request, caller: Negotiated, memory_id: str) -> Response:
    """Replace the text of a memory; whose it is never changes. What was read may be sent back as it is."""
    services = caller.services
    owner, fields = authorize.as_owner(caller), _fields(query(request, FIELDS))
    data = await documents.read(request)
    profile = await profiles.find(services.profiles, owner, _id(memory_id))
    sent = documents.parse(data, caller.key.tenant, documents.resource(profile, caller.key.tenant))
    _require_same(data, sent, profile)
    if sent.memory is not None:
        with documents.pointing(sent):
            profile = await profiles.change(services.profiles, owner, profile, sent.memory, _by(caller))
    return _one(profile, caller, fields)


@router.delete(
    "/{memory_id}", response_class=Response, status_code=204, responses=refuses(404)
)  # fmt: skip
async def delete_memory(request: Request, caller: Negotiated, memory_id: str) -> Response:
    owner = authorize.as_owner(caller)
    query(request)
    await profiles.remove(caller.services.profiles, owner, _id(memory_id), _by(caller))
    return Response(status_code=204)


async def _readable(caller: Caller, conversation: str | None) -> Grant:
    """Return what may be read in the place that is named, by the tenant's owner, or for the user who is named."""
    if conversation is not None:
        try:
            return (await authorize.in_place(caller, conversation))[1]
        except NotFound as exc:
            raise Refusal(404, str(exc), parameter=PLACE) from exc
    viewer = caller.viewer
    owner = access.grant(viewer, WholeTenant())
    if not owner.is_nothing:
        return owner
    if viewer.user is None:
        raise Refusal(400, f"say where, with {PLACE}, or whose, with the header Keepword-User", parameter=PLACE)
    return await authorize.about_user(caller, viewer.user)


def _one(profile: Profile, caller: Caller, fields: frozenset[str] | None, status: int = 200) -> Response:
    shown = documents.resource(profile, caller.key.tenant, fields)
    headers = {"Location": shown["links"]["self"]} if status == HTTPStatus.CREATED else None
    return document({"data": shown, "links": shown["links"]}, status, headers)


def _by(caller: Caller) -> str:
    return caller.key.id


def _id(text: str) -> UUID:
    try:
        id_ = UUID(text)
    except ValueError:
        id_ = None
    if id_ is None or str(id_) != text:
        raise NotFound(f"no memory {text!r}")
    return id_


def _require_same(data: Mapping[str, Any], sent: ProfileDocument, profile: Profile) -> None:
    """Refuse a document that is about another memory, or would make this one another's."""
    if not isinstance(data.get("id"), str):
        raise Refusal(400, "the resource has no id; it must be the one in the path", pointer="/data")
    if data["id"] != str(profile.id):
        raise Refusal(409, f"id is {data['id']!r}, but the path says {str(profile.id)!r}", pointer="/data/id")
    if sent.type not in {None, profile.type}:
        raise Refusal(422, f"type is {profile.type!r} and can't be changed", pointer="/data/attributes/type")
    if "membership" in sent.named and sent.membership != profile.user:
        message = "whose memory this is can't be changed; make another one"
        raise Refusal(403, message, pointer="/data/relationships/membership")


def _selection(parameters: dict[str, str]) -> Selection:
    return Selection(
        _number(parameters, "page[number]", 1, MAX_NUMBER),
        _number(parameters, "page[size]", 50, MAX_SIZE),
        _sorts(parameters.get("sort", "created_at")),
        _type(parameters.get("filter[type]")),
        _name(parameters, "filter[membership]"),
    )


def _type(text: str | None) -> ProfileType | None:
    match text:
        case None | "user" | "workspace":
            return text
    raise Refusal(400, f"filter[type] is {text!r}; it is user or workspace", parameter="filter[type]")


def _number(parameters: dict[str, str], name: str, default: int, most: int) -> int:
    text = parameters.get(name, str(default))
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(most)) else 0
    if not 1 <= number <= most:
        raise Refusal(400, f"{name} is {text!r}; it is a number from 1 to {most}", parameter=name)
    return number


def _sorts(text: str) -> tuple[str, ...]:
    sorts = tuple(text.split(","))
    if len(sorts) > MAX_SORTS or any(sort.removeprefix("-") not in SORTS for sort in sorts):
        message = f"sort is {text!r}; it is up to {MAX_SORTS} of {', '.join(SORTS)}, by commas, with - the other way"
        raise Refusal(400, message, parameter="sort")
    return sorts


def _fields(parameters: dict[str, str]) -> frozenset[str] | None:
    if FIELDS not in parameters:
        return None
    fields = frozenset(parameters[FIELDS].split(",")) - {""}
    if unknown := sorted(fields - {*ATTRIBUTES, *RELATIONSHIPS}):
        known = ", ".join((*ATTRIBUTES, *RELATIONSHIPS))
        raise Refusal(400, f"no field {unknown[0]!r}; known are: {known}", parameter=FIELDS)
    return fields


def _name(parameters: dict[str, str], name: str) -> str | None:
    try:
        return check_name(parameters[name], name) if name in parameters else None
    except InvalidInput as exc:
        raise Refusal(400, str(exc), parameter=name) from exc


def _fitting(profile_list: Sequence[Profile], selection: Selection) -> int:
    """Return the size of a page: as asked for, or if that is too many bytes, a smaller one that divides what is before.

    So the pages after it can be numbered.
    """
    fitting = len(cut(profile_list, selection.size, lambda profile: len(profile.memory.encode())))
    if fitting == len(profile_list):
        return selection.size
    before = (selection.number - 1) * selection.size
    return next(size for size in range(fitting, 0, -1) if before % size == 0)


def _links(parameters: dict[str, str], selection: Selection, total: int, size: int) -> dict[str, str | None]:
    last = max(1, -(-total // selection.size))

    def link(number: int) -> str | None:
        return f"{ROOT}?{urlencode(parameters | {'page[number]': number})}" if 1 <= number <= last else None

    current = f"{ROOT}?{urlencode(parameters)}" if parameters else ROOT
    number = selection.number
    following = link(number + 1)
    if size < selection.size:
        place = {"page[number]": (number - 1) * selection.size // size + 2, "page[size]": size}
        following = f"{ROOT}?{urlencode(parameters | place)}"
    return {"self": current, "first": link(1), "last": link(last), "prev": link(number - 1), "next": following}
