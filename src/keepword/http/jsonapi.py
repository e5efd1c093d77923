"""JSON:API 1.1: its media type, its errors, and its rules for every request."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import Request, Response

from keepword.errors import KeepwordError

MEDIA_TYPE = "application/vnd.api+json"
ROOT = "/v1/memories"
VERSION = {"version": "1.1"}
_WILDCARDS = {"*/*", "application/*"}


class Refusal(KeepwordError):
    """A refusal that the specification demands, with its status and the position in the request."""

    def __init__(self, status: int, message: str, **source: str) -> None:
        super().__init__(message)
        self.status = status
        self.source = source


def is_spoken_at(path: str) -> bool:
    return path == ROOT or path.startswith(f"{ROOT}/")


def errors(
    status: int, detail: str, *, source: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    error: dict[str, Any] = {"status": str(status), "title": HTTPStatus(status).phrase, "detail": detail}
    if request_id := structlog.contextvars.get_contextvars().get("request_id"):
        error["id"] = request_id
    if source:
        error["source"] = source
    # ASCII keeps a lone surrogate in a quoted value from breaking the answer about it
    return Response(json.dumps({"jsonapi": VERSION, "errors": [error]}), status, headers, MEDIA_TYPE)


def document(content: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    text = json.dumps({"jsonapi": VERSION} | content, ensure_ascii=False)
    return Response(text.encode(), status, headers, MEDIA_TYPE)


def pointer(*parts: str) -> str:
    """Return the JSON pointer (RFC 6901) of a member."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def negotiate(request: Request) -> None:
    """Refuse a client that would not understand the answer: 406. Extensions are not served, profiles change nothing."""
    header = ",".join(request.headers.getlist("accept"))
    kinds = [_media_type(part) for part in _split(header, ",") if part.strip()]
    if kinds and not any(_suits(*kind) for kind in kinds):
        raise Refusal(406, f"Accept is {header!r}; answers here are {MEDIA_TYPE}, without parameters", header="Accept")


def require_media_type(request: Request) -> None:
    """Refuse a body that is not announced as JSON:API's: 415."""
    header = request.headers.get("content-type", "")
    kind, parameters = _media_type(header)
    if kind != MEDIA_TYPE or parameters.keys() - {"profile"}:
        message = f"the body must be sent with Content-Type: {MEDIA_TYPE}, without parameters, not {header!r}"
        raise Refusal(415, message, header="Content-Type")


def query(request: Request, *allowed: str) -> dict[str, str]:
    """Return the query's parameters. One that is unknown or comes twice is refused: 400."""
    parameters: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in allowed:
            known = f"known are: {', '.join(allowed)}" if allowed else "there is none"
            raise Refusal(400, f"no query parameter {name!r} here; {known}", parameter=name)
        if name in parameters:
            raise Refusal(400, f"{name} is sent more than once", parameter=name)
        parameters[name] = value
    return parameters


def _media_type(text: str) -> tuple[str, dict[str, str]]:
    kind, *parameters = _split(text, ";")
    pairs = (part.partition("=") for part in parameters if part.strip())
    return kind.strip().lower(), {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def _suits(kind: str, parameters: dict[str, str]) -> bool:
    is_accepted = parameters.get("q", "1").strip("0.") != ""
    return is_accepted and (kind in _WILDCARDS or (kind == MEDIA_TYPE and not parameters.keys() - {"profile", "q"}))


def _split(text: str, sign: str) -> list[str]:
    """Split at a sign, but not inside quotes."""
    parts, quoted = [""], False
    for char in text:
        quoted ^= char == '"'
        if char == sign and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return parts
