"""The first request does not wait until the types of all routes are built."""

import httpx
import pytest
from pydantic import TypeAdapter

from keepword.http.app import build_routes, create_inner_app

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("is_built_ahead", [False, True])
async def test_after_the_routes_are_built_a_first_request_builds_no_types(monkeypatch, is_built_ahead):
    app = create_inner_app(None)
    if is_built_ahead:
        build_routes(app).result()
    built = []
    build = TypeAdapter.__init__

    def counted(self, *args, **kwargs):
        built.append(args)
        build(self, *args, **kwargs)

    monkeypatch.setattr(TypeAdapter, "__init__", counted)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        assert (await http.get("/nothing-is-here")).status_code == 404
    assert bool(built) is not is_built_ahead
