"""Every route has a guard, and every guard holds."""

import re
from types import SimpleNamespace
from uuid import uuid4

import httpx
import pytest

from keepword.http.app import create_app
from keepword.http.guards import ANYONE, GUARDS

ROLES = ("reader", "agent", "admin")
GUARDED = sorted(route for route, roles in GUARDS.items() if roles != ANYONE)


def _served(routes) -> set[tuple[str, str]]:
    found = set()
    for route in routes:
        if (inner := getattr(route, "original_router", None)) is not None:
            found |= _served(inner.routes)
        else:
            # HEAD comes with GET and shows less
            found |= {(method, route.path) for method in route.methods or {"ANY"} if method != "HEAD"}
    return found


@pytest.fixture(scope="module")
def app():
    return create_app(SimpleNamespace(request_timeout_seconds=30))


@pytest.fixture(scope="module")
def clients(keyed_service):
    """One client per role, each with an unbound key of the same tenant, and one without a key."""
    tenant = f"guards-{uuid4().hex}"
    made = {role: keyed_service.client(keyed_service.make_key(tenant, role)) for role in ROLES}
    made["nobody"] = keyed_service.client()
    yield made
    for client in made.values():
        client.close()


def _call(client: httpx.Client, route: tuple[str, str]) -> httpx.Response:
    method, path = route
    path = re.sub(r"\{\w+\}", "x", path.replace("{kind}", "rooms").replace("/docs/{name}", "/docs/start.js"))
    path = path.replace("/console/x", "/console/console.js")
    # without a conversation, these are of the whole tenant and for its owner alone
    tenantwide = {("GET", "/v1/browse"), ("GET", "/v1/landmarks"), ("GET", "/v1/stats"), ("GET", "/v1/semantic")}
    sources = {("GET", "/v1/sources"): {"conversation": "x", "id": str(uuid4())}}
    asked = {"conversation": "x"} if route in tenantwide else sources.get(route)
    if route == ("DELETE", "/v1/tenant"):
        # else the other requests would have no tenant any more
        asked = {"dry_run": "true"}
    return client.request(method, path, params=asked, json={} if method in {"PUT", "PATCH", "POST"} else None)


def test_every_route_has_a_guard_and_every_guard_a_route(app):
    assert _served(app.routes) == set(GUARDS)


def test_every_described_route_is_one_of_them(app):
    described = {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}
    assert described <= set(GUARDS)


def test_roles_are_ordered(app):
    """What a reader may, an agent may; what an agent may, an admin may."""
    assert app
    assert set(GUARDS.values()) <= {ANYONE, frozenset(ROLES), frozenset(ROLES[1:]), frozenset(ROLES[2:])}


@pytest.mark.parametrize("route", GUARDED, ids=" ".join)
def test_without_a_key_the_answer_is_401(clients, route):
    answer = _call(clients["nobody"], route)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].partition(" ")[0] == "Bearer"


@pytest.mark.parametrize("header", ["Bearer kw_0123456789abcdef_" + "A" * 43, "Bearer nonsense", "Basic eDp5", ""])
def test_a_key_that_does_not_work_is_no_key(clients, header):
    answer = clients["nobody"].get("/v1/conversations", headers={"Authorization": header})
    assert answer.status_code == 401


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("route", GUARDED, ids=" ".join)
def test_a_role_outside_the_guard_is_refused_and_one_inside_is_not(clients, route, role):
    answer = _call(clients[role], route)
    if role in GUARDS[route]:
        assert answer.status_code not in {401, 403, 500}
    else:
        assert answer.status_code == 403


@pytest.mark.parametrize("route", sorted(set(GUARDS) - set(GUARDED)), ids=" ".join)
def test_what_is_for_anyone_needs_no_key(clients, route):
    assert _call(clients["nobody"], route).status_code == 200


@pytest.mark.parametrize(
    ("bound", "header"), [({"agent": "ada"}, "Keepword-Agent"), ({"user": "ann"}, "Keepword-User")]
)
def test_a_bound_key_can_ask_for_nobody_else(keyed_service, bound, header):
    key = keyed_service.make_key(f"bound-{uuid4().hex}", "agent", **bound)
    (own,) = bound.values()
    with keyed_service.client(key) as client:
        assert client.get("/v1/conversations", headers={header: own}).status_code == 200
        assert client.get("/v1/conversations", headers={header: "other"}).status_code == 403
        other = {next(iter(bound)): "other"}
        assert client.put("/v1/conversations/c", json=other).status_code == 403


def test_a_bound_admin_manages_nothing_and_enters_no_project(keyed_service):
    tenant = f"bound-{uuid4().hex}"
    with keyed_service.client(keyed_service.make_key(tenant)) as owner:
        assert owner.put("/v1/users/ann", json={}).status_code == 201
        assert owner.put("/v1/projects/sealed", json={"isolated": True}).status_code == 201
        made = owner.put("/v1/conversations/inside", json={"project": "sealed", "user": "ann"})
        assert made.status_code == 201
    with keyed_service.client(keyed_service.make_key(tenant, "admin", user="ann")) as client:
        assert client.put("/v1/users/bob", json={}).status_code == 403
        assert client.put("/v1/projects/sealed/members/conversations/mine", json={}).status_code == 403
        assert client.put("/v1/conversations/mine", json={"project": "sealed"}).status_code == 403
        assert client.put("/v1/conversations/mine", json={}).status_code == 201
