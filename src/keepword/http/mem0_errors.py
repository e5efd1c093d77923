"""Errors as mem0's clients read them: `detail` and `error` in application/json, under their paths alone.

Their paths end in a slash, which Keepword's own never do.
"""

import json
from http import HTTPStatus
from typing import Any

from fastapi import Response

_ROOTS = (
    "/v1/ping/", "/v1/memories/", "/v2/memories/", "/v3/memories/", "/v1/entities/", "/v2/entities/", "/v1/batch/",
    "/v1/feedback/", "/v1/event/", "/v1/events/", "/v1/exports/", "/v1/summary/", "/v2/profiles/", "/api/v1/",
)  # fmt: skip
_NOT_SERVED = {
    "/v1/exports/": "exports in mem0's form; `keepword export` writes a tenant as a file",
    "/v1/summary/": "mem0's summaries; GET /v1/conversations/{id}/summaries has Keepword's own",
    "/v2/profiles/": "mem0's profile jobs; GET /v1/memories has Keepword's own profiles",
    "/v2/entities/": "mem0's profiles; GET /v1/memories has Keepword's own",
    "/api/v1/orgs/": "members of mem0's projects; keys are made with `keepword keys create`",
}


def is_spoken_at(path: str) -> bool:
    return path.endswith("/") and path.startswith(_ROOTS)


def error(status: int, detail: str, *, headers: dict[str, str] | None = None) -> Response:
    # their command line shows the detail of a 400 alone, and no client of theirs tells the two apart
    shown = HTTPStatus.BAD_REQUEST if status == HTTPStatus.UNPROCESSABLE_ENTITY else status
    # ASCII keeps a lone surrogate in a quoted value from breaking the answer about it
    return Response(json.dumps({"detail": detail, "error": detail}), shown, headers, "application/json")


def describe(paths: dict[str, Any]) -> None:
    """Take out of the OpenAPI document's paths what FastAPI says of every parameter: here it is a 400."""
    for path, item in paths.items():
        if is_spoken_at(path):
            for operation in item.values():
                operation["responses"].pop("422", None)


def no_route(path: str) -> str:
    """Say what of mem0's interface is not served."""
    what = next((what for root, what in _NOT_SERVED.items() if path.startswith(root)), f"mem0's {path}")
    return f"Keepword does not serve {what}"


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors that a route may answer, for the OpenAPI document."""
    schema = {"type": "object", "properties": {"detail": {"type": "string"}, "error": {"type": "string"}}}
    return {
        status: {
            "description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": schema}},
        }
        for status in sorted({400, 401, 403, 503, *statuses})
    }  # fmt: skip
