"""Reading JSON bodies: bounded, strict, and with the offending field named."""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from fastapi import Request
from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import models_json_schema
from pydantic_core import from_json

from keepword.errors import InvalidInput, Malformed, TooLarge, WrongMedia
from keepword.http.problems import explain

# the largest of all routes: of text that no word repeats in, so much is read and stored within a request's time
MAX_BODY_BYTES = 8 * 1024 * 1024
USUAL_BODY_BYTES = 512 * 1024
# lists, objects, names and values: parsing this many blocks the event loop for about 50 ms; long texts cost little
MAX_VALUES = 200_000
# JSON writes a text up to three times as long (Cyrillic as \\u0431), and a body has more than its largest value
BODY_BYTES = {
    "/v1/conversations/{external_id}/messages": MAX_BODY_BYTES,
    "/v1/imports/{import_id}/parts/{number}": MAX_BODY_BYTES,
    "/v1/compose": 4 * 1024 * 1024,
    "/v1/memories": 4 * 1024 * 1024,
    "/v1/memories/{memory_id}": 4 * 1024 * 1024,
    "/store/items": 4 * 1024 * 1024,
    "/store/batch": MAX_BODY_BYTES,
    "/episodic/store": 1024 * 1024,
    "/v1/agents/{slug}/files/{name}": 1024 * 1024,
    "/v1/memory-tool": MAX_BODY_BYTES,
    "/v1/file": MAX_BODY_BYTES,
    "/mcp": 1024 * 1024,
    "/v1/search": 256 * 1024,
    "/v3/memories/add/": 256 * 1024,
    "/v1/memories/": 256 * 1024,
    "/v3/memories/search/": 256 * 1024,
    "/v1/search/semantic": 256 * 1024,
    "/episodic/search": 256 * 1024,
    "/v1/try/extraction": 256 * 1024,
}
_NUL = b"\\u0000"

T = TypeVar("T")


class JsonBody(Generic[T]):
    """A dependency that reads a body of one type; `optional` lets it be absent (None)."""

    def __init__(self, type_: Any, *, optional: bool = False) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(type_)
        self._optional = optional

    async def __call__(self, request: Request) -> T | None:
        raw = await self.read(request)
        return self.parse(raw) if raw or not self._optional else None

    async def read(self, request: Request) -> bytes:
        raw = await read_bounded(request)
        if raw:
            require_json(request.headers.get("content-type", ""))
        return raw

    def parse(self, raw: bytes) -> T:
        if not raw.strip():
            raise Malformed("the body is empty; JSON is wanted here, at least {}")
        require_few_values(raw)
        try:
            value = self._adapter.validate_json(raw, strict=True)
        except ValidationError as exc:
            raise self._readable(exc) from exc
        if _NUL in raw and (where := _find_nul(from_json(raw), ())) is not None:
            raise InvalidInput(f"{where} holds a NUL character, which can't be stored", where)
        return value

    def _readable(self, exc: ValidationError) -> InvalidInput:
        error_details = exc.errors(include_url=False, include_context=False)
        field, message = explain(error_details, lambda loc: _fields_at(self._adapter.json_schema(), loc))
        if error_details[0]["type"] == "json_invalid":
            return Malformed(message.removeprefix("body: "))
        if error_details[0]["type"] == "too_large":
            return TooLarge(message, field)
        return InvalidInput(message, field)


async def read_bounded(request: Request) -> bytes:
    """Read at most the route's limit; a body that announces more is refused unread."""
    most = BODY_BYTES.get(request.scope["route"].path, USUAL_BODY_BYTES)
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most:
        raise TooLarge(f"the body has {announced} bytes; here at most {most} are read")
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise TooLarge(f"the body is over {most} bytes, which is the limit here")
        chunks.append(chunk)
    return b"".join(chunks)


def require_few_values(raw: bytes) -> None:
    """Refuse a body of very many small values before it is parsed: that holds Python's lock from end to end."""
    if len(raw) <= MAX_VALUES:
        return
    # an escaped quote ends no string; the characters between two quotes are a string
    plain = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    between = b"".join(plain.split(b'"')[::2]) if plain.count(b'"') <= 4 * MAX_VALUES else plain
    values = sum(between.count(sign) for sign in (b"[", b"{", b","))
    if values > MAX_VALUES:
        raise TooLarge(f"the body has {values} JSON values; at most {MAX_VALUES} are read, send it in parts")


def require_json(content_type: str) -> None:
    # a browser may send text/plain to any address unasked, but not JSON: this keeps foreign pages out
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise WrongMedia(f"the body must be sent with Content-Type: application/json, not {content_type!r}")


def _fields_at(schema: dict[str, Any], loc: Sequence[int | str]) -> list[str]:
    """Return the field names at this position of a JSON schema; none where the schema does not tell."""
    node = schema
    for part in (*loc, None):
        if "$ref" in node:
            node = schema.get("$defs", {}).get(str(node["$ref"]).rpartition("/")[2], {})
        if part is not None:
            node = node.get("items", {}) if isinstance(part, int) else node.get("properties", {}).get(part, {})
    return list(node.get("properties", {}))


def _find_nul(value: Any, path: tuple[str, ...]) -> str | None:
    if isinstance(value, str):
        return (".".join(path) or "body") if "\0" in value else None
    for name, child in _children(value):
        if "\0" in name:
            return ".".join((*path, "(a key)"))
        if (path_of_nul := _find_nul(child, (*path, name))) is not None:
            return path_of_nul
    return None


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(number), child) for number, child in enumerate(value))


# the models that bodies are read into; FastAPI does not see them, so the OpenAPI document gets them from here
_described: set[Any] = set()


def takes(model: Any, example: Any, *, required: bool = True, many: bool = False) -> dict[str, Any]:
    """Describe a route's body for the OpenAPI document; `many` also allows several, bare or as `messages`."""
    _described.add(model)
    one = {"$ref": f"#/components/schemas/{model.__name__}"}
    several = {"type": "array", "items": one, "minItems": 1, "maxItems": 1000}
    inside = {"type": "object", "properties": {"messages": several}, "required": ["messages"]}
    schema = {"oneOf": [one, several, inside | {"additionalProperties": False}]} if many else one
    return {
        "requestBody": {
            "required": required,
            "content": {"application/json": {"schema": schema, "example": example}},
        }
    }


def described_schemas() -> dict[str, Any]:
    models = sorted(_described, key=lambda model: str(model.__name__))
    _, top = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/components/schemas/{model}"
    )
    definitions: dict[str, Any] = top.get("$defs", {})
    return definitions
