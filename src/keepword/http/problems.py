"""Errors as RFC 9457 problem+json."""

import json
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from keepword import errors
from keepword.errors import KeepwordError
from keepword.http import hints, jsonapi, mem0_errors
from keepword.http.guards import GUARDS
from keepword.http.protected_resource import challenge
from keepword.http.statuses import STATUS
from keepword.wording import shown

# a missing field often comes with the one that was sent in its stead
_SHOWN_ERRORS = 3
_log = structlog.get_logger()


class Problem(BaseModel):
    """What went wrong, with which value, and what to do."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["no conversation 'demo'"])
    field: str | None = Field(None, description="the offending value's path", examples=["3.role"])
    request_id: str | None = Field(None, description="also in the header X-Request-Id and in the log")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems that a route may answer, for the OpenAPI document."""
    always = {401, 403, 422, 503}
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted(always | set(statuses))
    }


def problem(status: int, detail: str, *, field: str | None = None, headers: dict[str, str] | None = None) -> Response:
    content: dict[str, Any] = {
        "type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail,
    }  # fmt: skip
    if field is not None:
        content["field"] = field
    if request_id := structlog.contextvars.get_contextvars().get("request_id"):
        content["request_id"] = request_id
    # ASCII keeps a lone surrogate in a quoted value from breaking the answer about it
    return Response(json.dumps(content), status, headers, "application/problem+json")


def answer(
    path: str, status: int, detail: str, *, field: str | None = None, headers: dict[str, str] | None = None
) -> Response:
    """Report an error in the format of the route: a problem, or under JSON:API's and mem0's paths their own."""
    if mem0_errors.is_spoken_at(path):
        return mem0_errors.error(status, detail, headers=headers)
    if not jsonapi.is_spoken_at(path):
        return problem(status, detail, field=field, headers=headers)
    # all of Keepword's own fields that can be wrong there before the route itself looks are headers
    return jsonapi.errors(status, detail, source={"header": field} if field else None, headers=headers)


def install(app: FastAPI) -> None:
    app.add_exception_handler(KeepwordError, _keepword_error)
    app.add_exception_handler(RequestValidationError, _bad_parameter)
    app.add_exception_handler(HTTPException, _http_error)


def response_to(path: str, exc: KeepwordError) -> Response:
    if isinstance(exc, jsonapi.Refusal):
        return jsonapi.errors(exc.status, str(exc), source=exc.source)
    status = next((STATUS[kind] for kind in type(exc).__mro__ if kind in STATUS), 500)
    headers = {}
    if isinstance(exc, errors.Unavailable):
        headers["Retry-After"] = str(exc.retry_after_seconds)
        _log.warning("unavailable", reason=str(exc), cause=repr(exc.__cause__))
    if isinstance(exc, errors.OverQuota):
        headers["Retry-After"] = str(exc.retry_after_seconds)
    if isinstance(exc, errors.Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(exc, errors.TooLarge):
        headers["Connection"] = "close"  # else the server would go on reading what it refused
    return answer(path, status, str(exc), field=getattr(exc, "field", None), headers=headers)


async def _keepword_error(request: Request, exc: Exception) -> Response:
    if not isinstance(exc, KeepwordError):
        raise exc
    response = response_to(request.scope["path"], exc)
    if isinstance(exc, errors.Unauthenticated):
        response.headers["WWW-Authenticate"] = challenge(request, request.app.state.services.resource)
    return response


async def _bad_parameter(request: Request, exc: Exception) -> Response:
    if not isinstance(exc, RequestValidationError):
        raise exc
    # where FastAPI found it (query, path) comes first, and is no part of its name
    error_details = [{**error, "loc": error["loc"][1:]} for error in exc.errors()]
    field, message = explain(error_details, lambda _: _parameters(request), "parameter")
    return answer(request.scope["path"], 422, message, field=field)


async def _http_error(request: Request, exc: Exception) -> Response:
    if not isinstance(exc, HTTPException):
        raise exc
    path, headers, detail = request.scope["path"], dict(exc.headers or {}), str(exc.detail)
    if exc.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (allowed := _allowed(request)):
        headers["Allow"] = ", ".join(allowed)
        detail = hints.wrong_method(request.method, request.scope["route"].path, allowed)
    if exc.status_code == HTTPStatus.NOT_FOUND:
        detail = (
            mem0_errors.no_route(path)
            if mem0_errors.is_spoken_at(path)
            else hints.no_route(path, request.scope.get("raw_path", b""), (at for _, at in GUARDS))
        )
    return answer(path, exc.status_code, detail, headers=headers)


def _allowed(request: Request) -> list[str]:
    """Return the methods of all routes at this path; the router names those of the first one only."""
    path = getattr(request.scope.get("route"), "path", None)
    return sorted(method for method, at in GUARDS if at == path)


def _parameters(request: Request) -> list[str]:
    """Return the names of the route's query parameters."""
    names: list[str] = []
    for parameter in request.scope["route"].dependant.query_params:
        kind = parameter.field_info.annotation
        is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
        names += kind.model_fields if is_model else [parameter.alias]
    return names


def explain(
    error_details: Sequence[ErrorDetails] | Sequence[Any],
    known: Callable[[Sequence[int | str]], Sequence[str]] | None = None,
    what: str = "field",
) -> tuple[str, str]:
    """Explain pydantic's errors in a sentence that names the field; `known` lists the fields beside it."""
    explanations = [_explain_one(error, known, what) for error in error_details[:_SHOWN_ERRORS]]
    more = f"; and {len(error_details) - len(explanations)} more" if len(error_details) > len(explanations) else ""
    return _field(error_details[0]), "; ".join(explanations) + more


def _explain_one(
    error: ErrorDetails | Any, known: Callable[[Sequence[int | str]], Sequence[str]] | None, what: str
) -> str:
    field = _field(error)
    if error["type"] == "extra_forbidden" and known and (names := known(error["loc"][:-1])):
        return f"{field}: unknown {what}; {hints.unknown_field(str(error['loc'][-1]), names)}"
    message = error["msg"].removeprefix("Value error, ")
    value = "" if error["type"] in {"missing", "json_invalid"} else f" (got {shown(error['input'])})"
    return f"{field}: {message}{value}"


def _field(error: ErrorDetails | Any) -> str:
    return ".".join(str(part) for part in error["loc"]) or "body"
