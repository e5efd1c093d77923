"""The application: routes, errors and the OpenAPI document, around services that main puts together."""

from concurrent.futures import Future
from functools import partial
from typing import Any

from fastapi import FastAPI

from keepword import __version__
from keepword.daemon import run_in_daemon
from keepword.http import mem0_errors, problems
from keepword.http.admission import BODIES_BYTES, AdmissionMiddleware
from keepword.http.body import described_schemas
from keepword.http.concurrency import Limits
from keepword.http.middleware import RequestMiddleware
from keepword.http.profile_schemas import SCHEMAS
from keepword.http.routes import (
    access,
    agent_files,
    audit,
    compose,
    console,
    conversations,
    demo,
    docs,
    episodic,
    erasures,
    facts,
    files,
    imports,
    introductions,
    items,
    jobs,
    keys,
    mcp,
    mem0,
    memories,
    operations,
    personal,
    places,
    profiles,
    retention,
    retractions,
    search,
    service,
    settings,
    sources,
    trials,
    turns,
    webhooks,
    welcome,
    well_known,
    whoami,
    working,
)
from keepword.http.services import Services

_DESCRIPTION = """
Keepword keeps every word of every conversation, and tells an agent only what it may know in that place.

Send a key as `Authorization: Bearer kw_...`; on loopback, as long as no key was made, none is needed.
`Keepword-Agent` and `Keepword-User` say for whom a key acts. Errors are RFC 9457 problems.
"""

_LIMITS = Limits()


def create_app(services: Services, limits: Limits = _LIMITS, body_bytes: int = BODIES_BYTES) -> FastAPI:
    app = create_inner_app(services)
    app.add_middleware(AdmissionMiddleware, limits=limits, body_bytes=body_bytes)
    app.add_middleware(RequestMiddleware, timeout_seconds=services.request_timeout_seconds)
    return app


def create_inner_app(services: Services) -> FastAPI:
    """Make the application without what guards it against many callers: for one that is its only caller."""
    app = FastAPI(
        title="Keepword",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    app.state.routes = None
    # a request is compared with the routes in this order: what programs call all the time comes first
    app.include_router(conversations.router)
    app.include_router(search.router)
    app.include_router(compose.router)
    app.include_router(items.router)
    app.include_router(mem0.router)
    app.include_router(welcome.router)
    app.include_router(well_known.router)
    app.include_router(operations.router)
    app.include_router(docs.router)
    app.include_router(console.router)
    app.include_router(whoami.router)
    app.include_router(sources.router)
    app.include_router(trials.router)
    app.include_router(turns.router)
    app.include_router(access.router)
    app.include_router(conversations.browsing)
    app.include_router(retractions.router)
    app.include_router(erasures.router)
    app.include_router(personal.router)
    app.include_router(retention.router)
    app.include_router(audit.router)
    app.include_router(webhooks.router)
    app.include_router(mcp.router)
    app.include_router(agent_files.router)
    app.include_router(files.router)
    app.include_router(introductions.router)
    app.include_router(jobs.router)
    app.include_router(service.router)
    app.include_router(keys.router)
    app.include_router(demo.router)
    app.include_router(places.router)
    app.include_router(working.router)
    app.include_router(facts.router)
    app.include_router(profiles.router)
    app.include_router(episodic.router)
    app.include_router(memories.router)
    app.include_router(settings.router)
    app.include_router(imports.router)
    problems.install(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def build_routes(app: FastAPI) -> "Future[None]":
    """Build the types of all routes in a thread, which the end of the process does not wait for.

    FastAPI builds them when a request is first compared with them: the first one waited for half of all routes.
    """
    routes = run_in_daemon(partial(_match_all, app), "routes")
    app.state.routes = routes
    return routes


def _match_all(app: FastAPI) -> None:
    nowhere = {"type": "http", "method": "GET", "path": "/nowhere", "root_path": "", "headers": []}
    for route in app.router.routes:
        route.matches(nowhere)


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas |= described_schemas() | SCHEMAS
        mem0_errors.describe(document["paths"])
        schemas["Problem"] = problems.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}, {}]
        app.openapi_schema = document
    return app.openapi_schema
