"""The OpenAPI schemas of profiles. Bodies are checked by hand, because JSON:API prescribes its own statuses."""

from http import HTTPStatus
from typing import Any

from keepword.http.jsonapi import MEDIA_TYPE


def _object(*required: str, closed: bool = False, **properties: Any) -> dict[str, Any]:
    # members that are not known are ignored, as the specification asks, except among a memory's own fields
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return (
        schema
        | ({"required": list(required)} if required else {})
        | ({"additionalProperties": False} if closed else {})
    )


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _identifier(name: str) -> dict[str, Any]:
    return _object("type", "id", type={"const": name}, id={"type": "string", "minLength": 1, "maxLength": 200})


def _one_or_none(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_TEXT = {"type": "string"}
_TIME = {"type": "string", "format": "date-time"}
_TYPE = {"type": "string", "enum": ["user", "workspace"]}
_RELATIONSHIPS = _object(
    closed=True,
    workspace=_object("data", data=_identifier("workspace")),
    membership=_object("data", data=_one_or_none(_identifier("membership"))),
)
_NEW = _object(
    "type",
    "attributes",
    type={"const": "memory"},
    attributes=_object("memory", closed=True, type=_TYPE | {"default": "user"}, memory=_TEXT),
    relationships=_RELATIONSHIPS,
)
_CHANGED = _object(
    "type",
    "id",
    type={"const": "memory"},
    id=_TEXT,
    attributes=_object(closed=True, type=_TYPE, memory=_TEXT),
    relationships=_RELATIONSHIPS,
)
_PROFILE = _object(
    "type",
    "id",
    "links",
    type={"const": "memory"},
    id={"type": "string", "format": "uuid"},
    attributes=_object(closed=True, type=_TYPE, memory=_TEXT, created_at=_TIME, updated_at=_TIME),
    relationships=_RELATIONSHIPS,
    links=_object("self", self=_TEXT),
)
_VERSION = _object("version", version=_TEXT)
_LINKS = {"type": "object", "additionalProperties": _one_or_none(_TEXT)}
_ERROR = _object(
    "status", "title", "detail", id=_TEXT, status=_TEXT, title=_TEXT, detail=_TEXT,
    source=_object(pointer=_TEXT, parameter=_TEXT, header=_TEXT),
)  # fmt: skip

SCHEMAS: dict[str, dict[str, Any]] = {
    "Profile": _PROFILE,
    "NewProfileDocument": _object("data", data=_NEW),
    "ChangedProfileDocument": _object("data", data=_CHANGED),
    "ProfileDocument": _object("jsonapi", "data", "links", jsonapi=_VERSION, data=_ref("Profile"), links=_LINKS),
    "ProfilePage": _object(
        "jsonapi", "data", "links", "meta", jsonapi=_VERSION, data={"type": "array", "items": _ref("Profile")},
        links=_LINKS, meta=_object("total", total={"type": "integer"}),
    ),
    "ErrorDocument": _object("jsonapi", "errors", jsonapi=_VERSION, errors={"type": "array", "items": _ERROR}),
}  # fmt: skip


def takes(name: str, example: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": _ref(name), "example": example}}}}


def shows(name: str, description: str = "Found") -> dict[str, Any]:
    return {"description": description, "content": {MEDIA_TYPE: {"schema": _ref(name)}}}


def refuses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors that a route may answer."""
    always = {400, 401, 403, 406, 422, 503}
    return {status: shows("ErrorDocument", HTTPStatus(status).phrase) for status in sorted(always | set(statuses))}


def asks(**parameters: tuple[dict[str, Any], str]) -> dict[str, Any]:
    """Describe query parameters, whose names may hold brackets."""
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": schema, "description": description}
            for name, (schema, description) in parameters.items()
        ]
    }
