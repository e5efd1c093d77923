"""The console: a page that comes with the package and reads the API with the visitor's own key."""

import gzip
import hashlib
from functools import cache
from importlib import resources

from fastapi import APIRouter, Request, Response

from keepword.errors import NotFound

router = APIRouter(include_in_schema=False)

# no inline script or style, nothing from elsewhere, no frame, and no text that a script turns into markup
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE = "index.html"
_TYPES = {
    _PAGE: "text/html; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "console.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@router.get("/console")
async def console(request: Request) -> Response:
    return _answer(request, _PAGE)


@router.get("/console/{name}")
async def console_file(request: Request, name: str) -> Response:
    if name not in _TYPES or name == _PAGE:
        raise NotFound(f"no file {name!r} here; the console is at /console")
    return _answer(request, name)


def _answer(request: Request, name: str) -> Response:
    content, compressed, tag = _file(name)
    # asked for each time, so that a newer version counts at once; what did not change is not sent again
    headers = {
        "Content-Security-Policy": POLICY, "Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding",
        "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
    }  # fmt: skip
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(content, media_type=_TYPES[name], headers=headers)
    return Response(compressed, media_type=_TYPES[name], headers=headers | {"Content-Encoding": "gzip"})


@cache
def _file(name: str) -> tuple[bytes, bytes, str]:
    """Return a file, the same compressed, and its entity tag."""
    content = (resources.files("keepword.http") / "console" / name).read_bytes()
    return content, gzip.compress(content, mtime=0), f'"{hashlib.sha256(content).hexdigest()[:32]}"'
