"""Where `/mcp` tells its clients how to get a token: the metadata of a protected resource (RFC 9728)."""

from dataclasses import dataclass

from fastapi import Request

from keepword import patterns

PATH = "/.well-known/oauth-protected-resource"
RESOURCE = "/mcp"
# the characters that a header's quoted text may hold; others are not repeated
_HOST = patterns.at_start(r"[A-Za-z0-9.:\[\]_-]{1,255}")


@dataclass(frozen=True, slots=True)
class ResourceSettings:
    """`public_url` is where others reach this service, None: as each request names it; `servers` give out tokens."""

    public_url: str | None = None
    servers: tuple[str, ...] = ()


def metadata(request: Request, settings: ResourceSettings) -> dict[str, object]:
    """Describe `/mcp`; without servers it is only told that a bearer token goes into the header."""
    base = _base(request, settings)
    servers = {"authorization_servers": list(settings.servers)} if settings.servers else {}
    return {
        "resource": f"{base}{RESOURCE}", **servers, "bearer_methods_supported": ["header"],
        "resource_name": "Keepword", "resource_documentation": f"{base}/docs",
    }  # fmt: skip


def challenge(request: Request, settings: ResourceSettings) -> str:
    """Return the header of a refusal for want of a key."""
    if request.scope["path"] != RESOURCE or not _base(request, settings):
        return "Bearer"
    return f'Bearer resource_metadata="{_base(request, settings)}{PATH}{RESOURCE}"'


def _base(request: Request, settings: ResourceSettings) -> str:
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
    host = request.headers.get("host", "")
    return f"{request.scope['scheme']}://{host}" if _HOST.fullmatch(host) else ""
