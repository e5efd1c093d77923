"""The root page: links to the docs and the API."""

from html import escape

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from keepword import __version__

router = APIRouter(include_in_schema=False)

_WHAT = "A memory service for AI agents. It keeps every word, and tells an agent only what it may know in that place."
_LINKS = {
    "console": "/console", "routes": "/docs", "openapi": "/openapi.json", "health": "/healthz", "ready": "/readyz",
    "mcp": "/mcp",
}  # fmt: skip
# in the source tree, from which Keepword was installed
_PAGES = {
    "start": "docs/quickstart.md",
    "an agent in 20 lines": "docs/howto/agent.md",
    "rooms and direct conversations": "docs/howto/rooms.md",
    "your own model": "docs/howto/models.md",
    "Python": "docs/python.md",
    "MCP": "docs/mcp.md",
    "reference": "docs/reference.md",
}
_VARY = {"Vary": "Accept"}


@router.get("/")
async def welcome(request: Request) -> Response:
    if "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(_PAGE, headers=_VARY)
    document = {"name": "Keepword", "version": __version__, "what": _WHAT} | _LINKS | {"pages": _PAGES}
    return JSONResponse(document, headers=_VARY)


def _page() -> str:
    links = "\n".join(
        f'<li><a href="{path}">{path}</a>: {description}</li>'
        for path, description in (
            ("/console", "what it knows, and why, to look at"),
            ("/docs", "every route, to read and to try"),
            ("/openapi.json", "the same for programs"),
            ("/healthz", "whether the service lives"),
        )
    )
    pages = "\n".join(f"<li>{escape(title)}: <code>{page}</code></li>" for title, page in _PAGES.items())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Keepword</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Keepword {__version__}</h1>
<p>{_WHAT}</p>
<ul>
{links}
</ul>
<p>To read, in the source tree:</p>
<ul>
{pages}
</ul>
</body>
</html>
"""


_PAGE = _page()
