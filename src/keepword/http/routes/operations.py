"""Health, readiness and metrics."""

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field

from keepword.errors import Forbidden
from keepword.http.peers import is_from_loopback
from keepword.http.problems import documented, problem
from keepword.http.services import Services
from keepword.metrics import BACKLOG_ENTRIES, POOL_CONNECTIONS

router = APIRouter(tags=["operations"])


_DEPTHS_SECONDS = 1


class Health(BaseModel):
    status: str


class Readiness(Health):
    servers_down: list[str] | None = Field(
        None, description="of several database servers those that do not answer; their tenants get 503"
    )


_PLAIN: dict[int | str, dict[str, Any]] = {
    200: {"description": "Prometheus' text format", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
_AWAY = {
    503: {
        "description": "The database is away, or tables and models are still being loaded",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


@router.get("/healthz")
async def healthz() -> Health:
    """Tell that the process lives; it says nothing about the database."""
    return Health(status="ok")


@router.get("/readyz", response_model=Readiness, response_model_exclude_none=True, responses=_AWAY)  # type: ignore[arg-type]
async def readyz(request: Request) -> Readiness | Response:
    """Tell whether requests can be served now."""
    services: Services = request.app.state.services
    routes = request.app.state.routes
    if (services.loaded is not None and not services.loaded.is_set()) or (routes is not None and not routes.done()):
        return problem(503, "tables and models are still being loaded", headers={"Retry-After": "1"})
    if await services.is_ready():
        return Readiness(status="ready", servers_down=_down(services))
    return problem(503, "the database is away", headers={"Retry-After": "1"})


def _down(services: Services) -> list[str] | None:
    if services.servers is None:
        return None
    return [name for name, server in services.servers.servers.items() if not server.health.is_up]


@router.get("/metrics", response_class=Response, responses=_PLAIN | documented(403))
async def metrics(request: Request) -> Response:
    """Count the work of all processes of this service, of all tenants together."""
    services: Services = request.app.state.services
    if not services.metrics_for_anyone and not is_from_loopback(request):
        raise Forbidden(
            "metrics count the work for all tenants; read them on this machine, or set KEEPWORD_METRICS=anyone"
        )
    await _count_backlog(services)
    return Response(await services.metrics(), media_type=CONTENT_TYPE_LATEST)


def show_pool(stats: Callable[[], dict[str, int]]) -> None:
    """Let the metrics tell a pool's connections."""
    for state, name in {"open": "pool_size", "idle": "pool_available", "waiting": "requests_waiting"}.items():
        POOL_CONNECTIONS.labels(state).set_function(lambda name=name: stats().get(name, 0))  # type: ignore[misc]


async def _count_backlog(services: Services) -> None:
    probe = asyncio.ensure_future(services.depths())
    done, _ = await asyncio.wait({probe}, timeout=_DEPTHS_SECONDS)
    # not awaited: a stuck server keeps the driver busy with cancelling
    probe.cancel()
    BACKLOG_ENTRIES.clear()
    if probe in done and not probe.exception():
        for depth in probe.result():
            BACKLOG_ENTRIES.labels(depth.space, "waiting").set(depth.waiting)
            BACKLOG_ENTRIES.labels(depth.space, "failed").set(depth.failed)
