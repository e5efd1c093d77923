"""Profiles as JSON:API documents: parsing, with a pointer to each error, and rendering."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import Request
from pydantic_core import from_json

from keepword.errors import InvalidInput, NotFound, TooLarge
from keepword.http.body import read_bounded
from keepword.http.jsonapi import ROOT, Refusal, pointer, require_media_type
from keepword.model import check_name
from keepword.profiles import Profile, ProfileType

TYPE = "memory"
ATTRIBUTES = ("type", "memory", "created_at", "updated_at")
RELATIONSHIPS = ("workspace", "membership")
SYSTEM = ("memory_id", "created_at", "updated_at")


@dataclass(frozen=True, slots=True)
class ProfileDocument:
    """What a document says; None where it says nothing. `membership` is in `named` if it is said, also as null."""

    type: ProfileType | None
    memory: str | None
    membership: str | None
    named: frozenset[str]


async def read(request: Request) -> Mapping[str, Any]:
    """Read the primary data of a body: one resource object of type memory."""
    require_media_type(request)
    raw = await read_bounded(request)
    try:
        content = from_json(raw, allow_inf_nan=False)
    except ValueError as exc:
        raise Refusal(400, f"the body is not JSON: {exc}") from exc
    if not isinstance(content, dict) or "data" not in content:
        raise Refusal(400, "the document has no data; send {'data': {'type': 'memory', ...}}", pointer="")
    data = _object(content, "data", ())
    if data.get("type") != TYPE:
        if not isinstance(data.get("type"), str):
            raise Refusal(400, f"the resource has no type; here it is {TYPE!r}", pointer="/data")
        raise Refusal(409, f"type is {data['type']!r}; here it is {TYPE!r}", pointer="/data/type")
    return data


def parse(data: Mapping[str, Any], tenant: str, existing: Mapping[str, Any] | None = None) -> ProfileDocument:
    """Check attributes and relationships.

    Attributes that only the system writes are refused, unless they are equal to those of the `existing` resource: a
    client may send back what it read.
    """
    attributes = _object(data, "attributes", ("data",))
    same = {name: value for name, value in (existing or {}).get("attributes", {}).items() if name in SYSTEM}
    for name in attributes.keys() - {"type", "memory"}:
        if name in same and attributes[name] == same[name]:
            continue
        known = "only the system writes it" if name in SYSTEM else "there is no such attribute"
        raise Refusal(422, f"{name!r} can't be written: {known}", pointer=pointer("data", "attributes", name))
    type_, memory = attributes.get("type"), attributes.get("memory")
    if "type" in attributes and type_ not in ("user", "workspace"):
        raise Refusal(422, f"type is {type_!r}; it is 'user' or 'workspace'", pointer="/data/attributes/type")
    if "memory" in attributes and not isinstance(memory, str):
        raise Refusal(422, "memory must be a text", pointer="/data/attributes/memory")
    named = _relationships(data)
    if "workspace" in named and named["workspace"] != tenant:
        message = f"no workspace {named['workspace']!r}; this key's is {tenant!r}"
        raise Refusal(404, message, pointer="/data/relationships/workspace/data")
    return ProfileDocument(type_, memory, named.get("membership"), frozenset((*attributes, *named)))


def _relationships(data: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the id that each relationship names, None where it is null."""
    sent, relationships = _object(data, "relationships", ("data",)), {}
    for name in sent:
        at = pointer("data", "relationships", name)
        if name not in RELATIONSHIPS:
            raise Refusal(422, f"there is no relationship {name!r}", pointer=at)
        relationship = _object(sent, name, ("data", "relationships"))
        if "data" not in relationship:
            raise Refusal(400, f"the relationship {name!r} has no data", pointer=at)
        relationships[name] = _linked(name, relationship["data"], f"{at}/data")
    return relationships


def _linked(name: str, linkage: Any, at: str) -> str | None:
    if linkage is None:
        return None
    if not isinstance(linkage, dict) or not isinstance(linkage.get("id"), str):
        raise Refusal(400, f"the data of {name!r} must be null or {{'type': {name!r}, 'id': '...'}}", pointer=at)
    if linkage.get("type") != name:
        raise Refusal(422, f"type is {linkage.get('type')!r}; here it is {name!r}", pointer=at)
    try:
        return check_name(linkage["id"], "id")
    except InvalidInput as exc:
        raise Refusal(422, str(exc), pointer=f"{at}/id") from exc


def _object(of: Mapping[str, Any], name: str, path: tuple[str, ...]) -> Mapping[str, Any]:
    member = of.get(name, {})
    if not isinstance(member, dict):
        raise Refusal(400, f"{name} must be an object", pointer=pointer(*path, name))
    return member


@contextmanager
def pointing(sent: ProfileDocument) -> Iterator[None]:
    """Turn a refusal of the profiles package into an error with a JSON pointer."""
    at = {"memory": "/data/attributes/memory", "user": "/data/relationships/membership"}
    try:
        yield
    except InvalidInput as exc:
        where = at.get(exc.field or "", "/data") if sent.membership or exc.field != "user" else "/data"
        raise Refusal(413 if isinstance(exc, TooLarge) else 422, str(exc), pointer=where) from exc
    except NotFound as exc:
        raise Refusal(404, str(exc), pointer=at["user"] + "/data") from exc


def resource(profile: Profile, tenant: str, fields: frozenset[str] | None = None) -> dict[str, Any]:
    """Write a memory as a resource object, with all fields or those that are asked for."""
    attributes = {
        "type": profile.type,
        "memory": profile.memory,
        "created_at": _time(profile.created_at),
        "updated_at": _time(profile.updated_at),
    }
    membership = None if profile.user is None else {"type": "membership", "id": profile.user}
    linked = {"workspace": {"type": "workspace", "id": tenant}, "membership": membership}
    body: dict[str, Any] = {
        "type": TYPE,
        "id": str(profile.id),
        "attributes": {name: value for name, value in attributes.items() if fields is None or name in fields},
        "relationships": {name: {"data": to} for name, to in linked.items() if fields is None or name in fields},
        "links": {"self": f"{ROOT}/{profile.id}"},
    }
    # an object without members is left out, as a field that was not asked for
    return {name: value for name, value in body.items() if value}


def _time(value: datetime) -> str:
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
