"""Is it alive, is it ready, how is it doing."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from pydantic import BaseModel

from keepword.http.problems import problem
from keepword.http.services import Services

router = APIRouter(tags=["operations"])

CONNECTIONS = Gauge("keepword_pool_connections", "Database connections", ["state"])


class Health(BaseModel):
    status: str


_PLAIN = {200: {"description": "Prometheus' text format", "content": {"text/plain": {"schema": {"type": "string"}}}}}
_AWAY = {
    503: {
        "description": "The database is away",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


@router.get("/healthz")
async def healthz() -> Health:
    """Tell that the process lives; it says nothing about the database."""
    return Health(status="ok")


@router.get("/readyz", response_model=Health, responses=_AWAY)  # type: ignore[arg-type]
async def readyz(request: Request) -> Health | Response:
    """Tell whether requests can be served now."""
    services: Services = request.app.state.services
    if await services.is_ready():
        return Health(status="ready")
    return problem(503, "the database is away", headers={"Retry-After": "1"})


@router.get("/metrics", response_class=Response, responses=_PLAIN)  # type: ignore[arg-type]
async def metrics(request: Request) -> Response:
    services: Services = request.app.state.services
    stats = services.pool_stats()
    CONNECTIONS.labels("open").set(stats.get("pool_size", 0))
    CONNECTIONS.labels("idle").set(stats.get("pool_available", 0))
    CONNECTIONS.labels("waiting").set(stats.get("requests_waiting", 0))
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
