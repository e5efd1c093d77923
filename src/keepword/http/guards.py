"""Who may call which route. A route that is not in this table is not served."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, NamedTuple, Protocol
from urllib.parse import quote, unquote

import structlog
from fastapi import Depends, Request
from pydantic_core import from_json

from keepword import patterns
from keepword.access import Place, Viewer, grant, make_viewer
from keepword.access.keys import Secret
from keepword.errors import Forbidden, InvalidInput, Unauthenticated
from keepword.http import mem0_entities
from keepword.http.peers import is_from_loopback
from keepword.http.services import FoundKey, Services
from keepword.http.slots import remember_key
from keepword.model import Key, KeyRole, check_name, check_slug
from keepword.period import Calendar

ADDED_HEADERS = "keepword.added_headers"  # in a request's scope: what its answer says beside its body
PENDING_ANSWER = "keepword.pending_answer"  # in a request's scope, by the middleware around it
ANYONE: frozenset[KeyRole] = frozenset()  # no key asked for
READ: frozenset[KeyRole] = frozenset({"reader", "agent", "admin"})
WRITE: frozenset[KeyRole] = frozenset({"agent", "admin"})
MANAGE: frozenset[KeyRole] = frozenset({"admin"})

GUARDS: dict[tuple[str, str], frozenset[KeyRole]] = {
    ("GET", "/"): ANYONE,
    ("GET", "/healthz"): ANYONE,
    ("GET", "/readyz"): ANYONE,
    ("GET", "/metrics"): ANYONE,
    ("GET", "/.well-known/oauth-protected-resource"): ANYONE,
    ("GET", "/.well-known/oauth-protected-resource/mcp"): ANYONE,
    ("GET", "/openapi.json"): ANYONE,
    ("GET", "/docs"): ANYONE,
    ("GET", "/docs/{name}"): ANYONE,
    ("GET", "/console"): ANYONE,
    ("GET", "/console/{name}"): ANYONE,
    ("GET", "/v1/whoami"): READ,
    ("GET", "/v1/sources"): READ,
    ("GET", "/v1/conversations/{external_id}/turns"): READ,
    ("GET", "/v1/turns/{turn_id}"): READ,
    ("GET", "/v1/access"): MANAGE,
    ("GET", "/v1/conversations"): READ,
    ("GET", "/v1/conversations/{external_id}"): READ,
    ("PUT", "/v1/conversations/{external_id}"): WRITE,
    ("PATCH", "/v1/conversations/{external_id}"): WRITE,
    ("GET", "/v1/conversations/{external_id}/messages"): READ,
    ("POST", "/v1/conversations/{external_id}/messages"): WRITE,
    ("POST", "/v1/conversations/{external_id}/messages/{seq}/retract"): WRITE,
    ("DELETE", "/v1/conversations/{external_id}/messages/{seq}/retract"): WRITE,
    ("DELETE", "/v1/conversations/{external_id}/messages/{seq}"): WRITE,
    ("DELETE", "/v1/conversations/{external_id}"): WRITE,
    ("DELETE", "/v1/users/{user}"): WRITE,
    ("GET", "/v1/users/{user}/export"): READ,
    ("DELETE", "/v1/tenant"): MANAGE,
    ("GET", "/v1/rooms/{room}/retention"): MANAGE,
    ("PUT", "/v1/rooms/{room}/retention"): MANAGE,
    ("GET", "/v1/conversations/{external_id}/retention"): MANAGE,
    ("PUT", "/v1/conversations/{external_id}/retention"): MANAGE,
    ("GET", "/v1/erasures/{erasure_id}"): READ,
    ("GET", "/v1/browse"): READ,
    ("POST", "/v1/search"): READ,
    ("GET", "/v1/stats"): READ,
    ("GET", "/v1/stats/growth"): MANAGE,
    ("POST", "/mcp"): READ,
    ("POST", "/v1/compose"): READ,
    ("GET", "/v1/conversations/{external_id}/buffer"): READ,
    ("GET", "/working-memory/{conversation_id}"): READ,
    ("PUT", "/working-memory/{conversation_id}"): WRITE,
    ("DELETE", "/working-memory/{conversation_id}"): WRITE,
    ("GET", "/ledger/{conversation_id}"): READ,
    ("POST", "/ledger/{conversation_id}/check"): READ,
    ("POST", "/ledger/{conversation_id}/mark"): WRITE,
    ("POST", "/ledger/{conversation_id}/evict"): WRITE,
    ("GET", "/ok"): ANYONE,
    ("GET", "/store/items"): READ,
    ("PUT", "/store/items"): WRITE,
    ("DELETE", "/store/items"): WRITE,
    ("POST", "/store/items/search"): READ,
    ("POST", "/store/namespaces"): READ,
    ("POST", "/store/batch"): READ,
    ("GET", "/v1/facts"): READ,
    ("GET", "/v1/facts/{scope_kind}/{scope_id}"): READ,
    ("GET", "/v1/facts/{scope_kind}/{scope_id}/{key}"): READ,
    ("PUT", "/v1/facts/{scope_kind}/{scope_id}/{key}"): WRITE,
    ("DELETE", "/v1/facts/{scope_kind}/{scope_id}/{key}"): WRITE,
    ("GET", "/v1/facts/{scope_kind}/{scope_id}/{key}/history"): READ,
    ("GET", "/v1/memories"): READ,
    ("POST", "/v1/memories"): MANAGE,
    ("GET", "/v1/memories/{memory_id}"): READ,
    ("PATCH", "/v1/memories/{memory_id}"): MANAGE,
    ("DELETE", "/v1/memories/{memory_id}"): MANAGE,
    ("GET", "/v1/conversations/{external_id}/summaries"): READ,
    ("POST", "/v1/conversations/{external_id}/summaries"): WRITE,
    ("GET", "/v1/summaries/{summary_id}"): READ,
    ("GET", "/v1/landmarks"): READ,
    ("POST", "/v1/landmarks"): WRITE,
    ("DELETE", "/v1/landmarks/{landmark_id}"): WRITE,
    ("POST", "/episodic/store"): WRITE,
    ("POST", "/episodic/search"): READ,
    ("GET", "/episodic/{conversation_id}"): READ,
    ("GET", "/v1/semantic"): READ,
    ("POST", "/v1/semantic"): WRITE,
    ("POST", "/v1/query/semantic"): READ,
    ("POST", "/v1/delete/semantic"): WRITE,
    ("POST", "/v1/semantic/{memory_id}/restore"): WRITE,
    ("PUT", "/v1/semantic/{memory_id}/feedback"): WRITE,
    ("POST", "/v1/search/semantic"): READ,
    ("GET", "/v1/semantic/{memory_id}"): READ,
    ("PATCH", "/v1/semantic/{memory_id}"): WRITE,
    ("DELETE", "/v1/semantic/{memory_id}"): WRITE,
    ("GET", "/v1/semantic/{memory_id}/history"): READ,
    ("POST", "/v1/try/extraction"): READ,
    ("GET", "/v1/audit"): MANAGE,
    ("GET", "/v1/keys"): MANAGE,
    ("POST", "/v1/keys"): MANAGE,
    ("DELETE", "/v1/keys/{key_id}"): MANAGE,
    ("GET", "/v1/service"): MANAGE,
    ("POST", "/v1/demo"): MANAGE,
    ("GET", "/v1/jobs/failed"): MANAGE,
    ("POST", "/v1/jobs/retry"): MANAGE,
    ("GET", "/v1/imports"): MANAGE,
    ("POST", "/v1/imports"): MANAGE,
    ("GET", "/v1/imports/{import_id}"): MANAGE,
    ("DELETE", "/v1/imports/{import_id}"): MANAGE,
    ("PUT", "/v1/imports/{import_id}/parts/{number}"): MANAGE,
    ("POST", "/v1/imports/{import_id}/start"): MANAGE,
    ("POST", "/v1/imports/{import_id}/cancel"): MANAGE,
    ("GET", "/v1/webhooks"): MANAGE,
    ("POST", "/v1/webhooks"): MANAGE,
    ("GET", "/v1/webhooks/{webhook_id}"): MANAGE,
    ("PATCH", "/v1/webhooks/{webhook_id}"): MANAGE,
    ("DELETE", "/v1/webhooks/{webhook_id}"): MANAGE,
    ("GET", "/v1/webhooks/{webhook_id}/deliveries"): MANAGE,
    ("POST", "/v1/webhooks/{webhook_id}/test"): MANAGE,
    # mem0's client
    ("GET", "/v1/ping/"): READ,
    ("POST", "/v3/memories/add/"): WRITE,
    ("POST", "/v1/memories/"): WRITE,
    ("POST", "/v3/memories/"): READ,
    ("POST", "/v2/memories/"): READ,
    ("GET", "/v1/memories/"): READ,
    ("POST", "/v3/memories/search/"): READ,
    ("POST", "/v2/memories/search/"): READ,
    ("POST", "/v1/memories/search/"): READ,
    ("DELETE", "/v1/memories/"): WRITE,
    ("GET", "/v1/memories/{memory_id}/"): READ,
    ("PUT", "/v1/memories/{memory_id}/"): WRITE,
    ("DELETE", "/v1/memories/{memory_id}/"): WRITE,
    ("GET", "/v1/memories/{memory_id}/history/"): READ,
    ("PUT", "/v1/batch/"): WRITE,
    ("DELETE", "/v1/batch/"): WRITE,
    ("POST", "/v1/feedback/"): WRITE,
    ("GET", "/v1/event/{event_id}/"): READ,
    ("GET", "/v1/events/"): READ,
    ("GET", "/v1/entities/"): READ,
    ("DELETE", "/v1/entities/{entity_type}/{entity}/"): WRITE,
    ("DELETE", "/v2/entities/{entity_type}/{entity}/"): WRITE,
    ("GET", "/api/v1/webhooks/projects/{project_id}/"): MANAGE,
    ("POST", "/api/v1/webhooks/projects/{project_id}/"): MANAGE,
    ("PUT", "/api/v1/webhooks/{webhook_id}/"): MANAGE,
    ("DELETE", "/api/v1/webhooks/{webhook_id}/"): MANAGE,
    ("GET", "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/"): MANAGE,
    ("PATCH", "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/"): MANAGE,
    ("GET", "/v1/settings"): MANAGE,
    ("PATCH", "/v1/settings"): MANAGE,
    ("GET", "/v1/users"): MANAGE,
    ("GET", "/v1/users/{user}"): MANAGE,
    ("PUT", "/v1/users/{user}"): MANAGE,
    ("GET", "/v1/agents"): READ,
    ("GET", "/v1/agents/{slug}"): READ,
    ("PUT", "/v1/agents/{slug}"): MANAGE,
    ("GET", "/v1/agents/{slug}/files"): READ,
    ("GET", "/v1/agents/{slug}/files/{name}"): READ,
    ("GET", "/v1/agents/{slug}/files/{name}/history"): READ,
    ("PUT", "/v1/agents/{slug}/files/{name}"): MANAGE,
    ("DELETE", "/v1/agents/{slug}/files/{name}"): MANAGE,
    ("POST", "/v1/memory-tool"): READ,  # what writes asks the grant
    ("GET", "/v1/files"): READ,
    ("GET", "/v1/file"): READ,
    ("PUT", "/v1/file"): WRITE,
    ("DELETE", "/v1/file"): WRITE,
    ("GET", "/v1/file/version"): READ,
    ("GET", "/v1/file/versions"): READ,
    ("POST", "/v1/file/redact"): MANAGE,
    ("POST", "/v1/search/files"): READ,
    ("GET", "/v1/agents/{slug}/users"): READ,
    ("PUT", "/v1/agents/{slug}/users/{user}"): WRITE,
    ("DELETE", "/v1/agents/{slug}/users/{user}"): WRITE,
    ("GET", "/v1/rooms"): READ,
    ("GET", "/v1/rooms/{room}"): READ,
    ("PUT", "/v1/rooms/{room}"): MANAGE,
    ("GET", "/v1/rooms/{room}/participants"): READ,
    ("PUT", "/v1/rooms/{room}/participants/users/{user}"): MANAGE,
    ("DELETE", "/v1/rooms/{room}/participants/users/{user}"): MANAGE,
    ("PUT", "/v1/rooms/{room}/participants/agents/{slug}"): MANAGE,
    ("DELETE", "/v1/rooms/{room}/participants/agents/{slug}"): MANAGE,
    ("GET", "/v1/projects"): MANAGE,
    ("GET", "/v1/projects/{project}"): MANAGE,
    ("PUT", "/v1/projects/{project}"): MANAGE,
    ("GET", "/v1/projects/{project}/members"): MANAGE,
    ("PUT", "/v1/projects/{project}/members/{kind}/{member}"): MANAGE,
    ("DELETE", "/v1/projects/{project}/members/{kind}/{member}"): MANAGE,
}

_LOOPBACK_HOST = patterns.at_start(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?", patterns.IGNORECASE)


def _conversation_of(body: Mapping[str, Any]) -> str:
    named = body.get("conversation")
    return named if isinstance(named, str) else ""


# the routes whose body names a conversation; one of usual size is read before the key is looked up, so that its place
# is found in the same round trip
NAMED_IN_BODY: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "/v1/search": _conversation_of, "/v1/compose": _conversation_of, "/v3/memories/add/": mem0_entities.session_of,
}  # fmt: skip
USUAL_BYTES = 65_536
# mem0's clients always send a key; this word stands for none
NO_KEY = "local"


class PendingAnswer(Protocol):
    """The answer that a request waits for."""

    def end_with(self, lost: "asyncio.Future[None]", detail: str) -> None:
        """Answer 503 with these words once `lost` is done, if nothing was answered before."""
        ...


class Caller(NamedTuple):
    """The caller of a request, and the services that answer.

    `place` is that of the `conversation` that is named in the path, in the query or, on some routes, in the body.
    """

    key: Key
    viewer: Viewer
    services: Services
    place: Place | None
    conversation: str | None

    @property
    def name(self) -> str:
        """The user, the agent or the key that did something."""
        return self.viewer.user or self.viewer.agent or self.key.id

    @property
    def calendar(self) -> Calendar:
        """How the caller's tenant reads times."""
        return self.services.calendar.of(self.key.time_zone)

    @property
    def counts_uses(self) -> bool:
        """Tell whether the call is for an agent: a person's lookups say nothing about an agent's needs."""
        return self.key.role == "agent" or self.viewer.agent is not None


async def call(request: Request) -> Caller:
    """Authenticate, check the route's guard, and combine the key with whom the request acts for."""
    external_id = await _conversation(request)
    services, key, place = await _key(request, external_id)
    remember_key(key)
    structlog.contextvars.bind_contextvars(tenant=key.tenant, key=key.id)
    route = (request.method, request.scope["route"].path)
    allowed = GUARDS[route]
    if key.role not in allowed:
        raise Forbidden(f"this needs a key with the role {' or '.join(sorted(allowed))}; this one is {key.role!r}")
    agent, user = (_header(request, name) for name in ("Keepword-Agent", "Keepword-User"))
    if agent is not None:
        check_slug(agent, "Keepword-Agent")
    if user is not None:
        check_name(user, "Keepword-User")
    viewer = make_viewer(key, agent, user)
    if place is not None and place.alias is not None and not grant(viewer, place).is_nothing:
        request.scope[ADDED_HEADERS] = [(b"keepword-alias-of", quote(place.external_id, safe="").encode())]
    if key.audits_reads and (allowed is READ or request.method == "GET"):
        run_id = place.run_id if place is not None else None
        await services.audit.note_read(grant(viewer, None), " ".join(route), run_id, external_id)
    return Caller(key, viewer, services, place, external_id)


CallerDep = Annotated[Caller, Depends(call)]


async def _conversation(request: Request) -> str | None:
    # AEGIS' paths have a word of their own for it
    external_id = request.path_params.get("external_id") or request.path_params.get("conversation_id") or ""
    external_id = external_id or request.query_params.get("conversation", "")
    if (named := NAMED_IN_BODY.get(request.scope["route"].path)) is not None:
        external_id = await _named_in_body(request, named)
    # the route reports a bad name, once the caller is known
    with suppress(InvalidInput):
        return check_name(external_id, "external_id")
    return None


async def _named_in_body(request: Request, named: Callable[[Mapping[str, Any]], str]) -> str:
    length = request.headers.get("content-length", "")
    if not length.isdigit() or int(length) > USUAL_BYTES:
        return ""
    # the route reads the body again from the request, and reports its errors
    try:
        body = from_json(await request.body())
    except ValueError:
        return ""
    return named(body) if isinstance(body, dict) else ""


async def _key(request: Request, external_id: str | None) -> tuple[Services, Key, Place | None]:
    headers = request.headers.getlist("authorization")
    if not headers:
        return await _keyless(request, external_id)
    if len(headers) > 1:
        raise Unauthenticated("Authorization is sent more than once; send one key")
    scheme, _, text = headers[0].partition(" ")
    # `Token` is the scheme of mem0's clients
    if scheme.lower() == "token" and text.strip() == NO_KEY:
        return await _keyless(request, external_id)
    secret = Secret.parse(text.strip())
    if scheme.lower() not in {"bearer", "token"} or secret is None:
        raise Unauthenticated("the key is not one of Keepword's; send: Authorization: Bearer kw_...")
    services, stored_key = await _stored_key(request, secret.id, external_id)
    if stored_key is None or not stored_key[0].admits(secret, services.clock()):
        raise Unauthenticated("this key does not work: unknown, expired or revoked")
    return services, stored_key[0].key, stored_key[1]


async def _stored_key(request: Request, key_id: str, external_id: str | None) -> tuple[Services, FoundKey | None]:
    """Find the key, and the services of the server that its tenant lives on."""
    services: Services = request.app.state.services
    if services.servers is None:
        return services, await services.keys.find(key_id, external_id)
    found = await services.servers.find(key_id, external_id)
    if found is None:
        return services, None
    server, stored_key = found
    answer: PendingAnswer | None = request.scope.get(PENDING_ANSWER)
    if answer is not None:
        answer.end_with(server.health.lost, f"the database server {server.name} went away; try again in a moment")
    return server.services, stored_key


async def _keyless(request: Request, external_id: str | None) -> tuple[Services, Key, Place | None]:
    services: Services = request.app.state.services
    # a page in a browser may reach loopback under a name of its own; only the machine's own names pass without a key
    if services.keyless and _is_to_loopback(request) and is_from_loopback(request) and _is_of_own_page(request):
        owner_key = await services.keys.keyless(external_id)
        if owner_key is not None:
            return services, *owner_key
    raise Unauthenticated("a key is needed; make one with `keepword keys create`, send: Authorization: Bearer kw_...")


def _is_to_loopback(request: Request) -> bool:
    # the header as it was sent: request.url replaces one that it can't read by the server's own address
    hosts = request.headers.getlist("host")
    return len(hosts) == 1 and _LOOPBACK_HOST.fullmatch(hosts[0]) is not None


def _is_of_own_page(request: Request) -> bool:
    """Tell whether no browser sent it, or one for a page of this service: any other page could write without a key."""
    origins = request.headers.getlist("origin")
    return not origins or origins == [f"http://{request.headers['host']}"]


def _header(request: Request, name: str) -> str | None:
    values = request.headers.getlist(name)
    if len(values) > 1:
        # a proxy may have added the one it checked to the one that the caller made up
        raise InvalidInput(f"{name} is sent {len(values)} times; send it once", name)
    value = values[0] if values else None
    if value is not None and not value.isascii():
        raise InvalidInput(f"{name} holds raw bytes; write what is not ASCII percent-encoded, such as Zo%C3%AB", name)
    return unquote(value) if value is not None else None
