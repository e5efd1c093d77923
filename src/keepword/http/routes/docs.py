"""The API's own pages, from files that come with the package: a browser loads nothing from elsewhere."""

import importlib.util
from functools import cache
from importlib import resources
from pathlib import Path

from fastapi import APIRouter, Response

from keepword.errors import NotFound

router = APIRouter(include_in_schema=False)

# Swagger UI sets styles and shows small pictures from its own script
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_OWN = {"start.js": "text/javascript"}
_SWAGGER = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}


@router.get("/docs")
async def docs() -> Response:
    page = (resources.files("keepword.http") / "pages" / "docs.html").read_bytes()
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": POLICY})


@router.get("/docs/{name}")
async def docs_file(name: str) -> Response:
    if name in _OWN:
        content = (resources.files("keepword.http") / "pages" / name).read_bytes()
        return Response(content, media_type=_OWN[name])
    if name in _SWAGGER:
        return Response(_swagger_file(name), media_type=_SWAGGER[name], headers={"Cache-Control": "max-age=3600"})
    raise NotFound(f"no file {name!r} here; the API is described at /docs and /openapi.json")


@cache
def _swagger_file(name: str) -> bytes:
    # found, not imported: only its files are wanted
    spec = importlib.util.find_spec("fastapi_offline")
    if spec is None or not spec.submodule_search_locations:
        raise NotFound("Swagger UI comes with the package fastapi-offline, which is not installed; see /openapi.json")
    return (Path(spec.submodule_search_locations[0]) / "static" / name).read_bytes()
